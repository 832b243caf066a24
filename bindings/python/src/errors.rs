//! Errors of the library as exceptions of Python.

use pyo3::exceptions::{
    PyFileNotFoundError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use supergat_core as engine;
use supergat_data as data;

/// Replaces the parameters that a message of the library names by keywords of Python.
pub fn in_keywords(message: &str) -> String {
    engine::parameter::in_words(message, |name, value| match value {
        None => format!("`{name}`"),
        Some("true") => format!("`{name}=True`"),
        Some("false") => format!("`{name}=False`"),
        Some(value) => match value.parse::<f64>() {
            Ok(_) => format!("`{name}={value}`"),
            Err(_) => format!("`{name}=\"{value}\"`"),
        },
    })
}

/// Converts an error of the library; the message is the library's sentence.
pub fn exception(error: supergat::Error) -> PyErr {
    let text = in_keywords(&error.to_string());
    match &error {
        supergat::Error::Data(data::Error::NotFound { .. }) => PyFileNotFoundError::new_err(text),
        supergat::Error::Data(data::Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        supergat::Error::Data(data::Error::OutOfMemory { .. }) => PyMemoryError::new_err(text),
        supergat::Error::Data(data::Error::Io { .. } | data::Error::Write { .. } | data::Error::Download { .. })
        | supergat::Error::Write { .. } => PyOSError::new_err(text),
        supergat::Error::Model(engine::Error::Device { .. }) => PyRuntimeError::new_err(text),
        supergat::Error::Open { path, .. } if !path.exists() => PyFileNotFoundError::new_err(text),
        supergat::Error::Interrupted => PyKeyboardInterrupt::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// Runs `work` without the interpreter lock. A panic becomes a `RuntimeError`.
pub fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> supergat::Result<T> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(result) => result.map_err(exception),
        Err(panic) => Err(internal(&*panic)),
    }
}

/// Converts a panic.
pub fn internal(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("unknown cause");
    PyRuntimeError::new_err(format!("internal error of supergat, please report it: {text}"))
}
