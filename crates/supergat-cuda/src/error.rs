//! Errors of the device.

use cudarc::driver::{DriverError, sys};
use supergat_core::Error;

/// Returns the error of a device.
pub(crate) fn device_error(message: String) -> Error {
    Error::Device { message }
}

/// Returns the error of a call of the driver; `what` completes "the GPU could not ...".
pub(crate) fn failed(what: &str, error: DriverError) -> Error {
    let name = error.error_name().ok().and_then(|n| n.to_str().ok()).unwrap_or("unknown error").to_owned();
    let text = error.error_string().ok().and_then(|n| n.to_str().ok()).unwrap_or("").to_owned();
    device_error(match error.0 {
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
            format!(
                "the GPU has too little free memory to {what}: use a smaller network or graph, or end other programs if \
                 they use it (`supergat devices` shows its free memory)"
            )
        }
        _ => format!("the GPU could not {what}: {text} ({name})"),
    })
}

/// Returns the error of a call of cuBLAS.
pub(crate) fn blas_failed(what: &str, error: cudarc::cublas::result::CublasError) -> Error {
    device_error(format!("the GPU could not {what}: {:?}", error.0))
}
