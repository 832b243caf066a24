//! Libraries of CUDA, which are looked for when a GPU is opened: the driver, the compiler NVRTC, and cuBLAS.
//!
//! The driver is part of the system. The other two may be installed with the CUDA toolkit or as Python packages,
//! whose folders are searched as well.

use crate::error::{device_error, failed};
use cudarc::driver::sys as driver_sys;
use libloading::Library;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use supergat_core::Result;

/// Checks that the driver is present, starts it, and returns the version of CUDA that it supports.
pub(crate) fn driver() -> Result<(i32, i32)> {
    // SAFETY: loading the driver runs its initialisation only.
    if !unsafe { driver_sys::is_culib_present() } {
        return Err(device_error("no NVIDIA driver found: install the driver of the GPU, or train on the CPU".into()));
    }
    let mut version = 0;
    // SAFETY: the driver is present, and the number is a valid place.
    let _ = unsafe { driver_sys::cuDriverGetVersion(&mut version) };
    let version = (version / 1000, version % 1000 / 10);
    if version.0 < 12 {
        return Err(device_error(format!(
            "the NVIDIA driver supports CUDA {}.{} only: install a driver for CUDA 12 or later",
            version.0, version.1
        )));
    }
    match cudarc::driver::result::init() {
        Ok(()) => Ok(version),
        Err(error) if error.0 == driver_sys::CUresult::CUDA_ERROR_NO_DEVICE => Err(no_gpu()),
        Err(error) => Err(failed("start: check the installation of its driver with nvidia-smi", error)),
    }
}

/// Returns the number of GPUs, which is at least 1.
pub(crate) fn count() -> Result<usize> {
    let count = cudarc::driver::CudaContext::device_count().map_err(|e| failed("be counted", e))?;
    if count < 1 { Err(no_gpu()) } else { Ok(count as usize) }
}

fn no_gpu() -> supergat_core::Error {
    device_error("no NVIDIA GPU found: check CUDA_VISIBLE_DEVICES and nvidia-smi, or train on the CPU".into())
}

/// Returns the version of NVRTC.
pub(crate) fn compiler_version() -> (i32, i32) {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is present, and both numbers are valid places.
    unsafe { cudarc::nvrtc::sys::nvrtcVersion(&mut major, &mut minor) };
    (major, minor)
}

/// Checks that the compiler of kernels is present and not newer than the driver.
pub(crate) fn compiler() -> Result<()> {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let found = *FOUND.get_or_init(|| {
        // SAFETY: loading the library runs its initialisation only.
        let present = || unsafe { cudarc::nvrtc::sys::is_culib_present() };
        load(&["nvrtc-builtins", "nvrtc"], &present)
    });
    if !found {
        return Err(missing("NVRTC", "nvidia-cuda-nvrtc"));
    }
    Ok(())
}

/// Checks that the driver can run what the compiler produces.
pub(crate) fn compatible(driver: (i32, i32)) -> Result<()> {
    let compiler = compiler_version();
    if compiler.0 > driver.0 {
        return Err(device_error(format!(
            "NVRTC {}.{} is newer than the NVIDIA driver, which supports CUDA {}.{}: update the driver, or install NVRTC and cuBLAS {}",
            compiler.0, compiler.1, driver.0, driver.1, driver.0
        )));
    }
    Ok(())
}

/// Checks that cuBLAS is present.
pub(crate) fn blas() -> Result<()> {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let found = *FOUND.get_or_init(|| {
        // SAFETY: loading the library runs its initialisation only.
        let present = || unsafe { cudarc::cublas::sys::is_culib_present() };
        load(&["cublasLt", "cublas"], &present)
    });
    if found { Ok(()) } else { Err(missing("cuBLAS", "nvidia-cublas")) }
}

fn missing(library: &str, package: &str) -> supergat_core::Error {
    device_error(format!(
        "{library} not found: install the CUDA toolkit or `pip install {package}`, and if it lies in an unusual folder, name the folder in LD_LIBRARY_PATH"
    ))
}

/// Makes a library present. If the system does not find it, its files are loaded from the folders of packages: a
/// library that is loaded is found by its name from then on.
fn load(names: &[&str], present: &dyn Fn() -> bool) -> bool {
    if present() {
        return true;
    }
    folders().iter().any(|folder| {
        for name in names {
            for file in files(folder, name) {
                // SAFETY: loading a library of CUDA runs its initialisation only.
                if let Ok(library) = unsafe { Library::new(&file) } {
                    std::mem::forget(library);
                    break;
                }
            }
        }
        present()
    })
}

/// Returns the files of a library in a folder, the newest version first.
fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
    let start = if cfg!(windows) { format!("{name}64_") } else { format!("lib{name}.so") };
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(&start)))
        .collect();
    files.sort_unstable_by(|a, b| b.cmp(a));
    files
}

/// Returns the folders in which packages put the libraries.
fn folders() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let mut roots: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| variable(name)).collect();
    roots.extend(variable("HOME").map(|home| home.join(".local")));
    roots.extend(variable("PATH").iter().flat_map(std::env::split_paths).filter_map(|bin| Some(bin.parent()?.into())));
    roots.extend(["/usr/local", "/usr"].map(PathBuf::from));
    let mut packages = Vec::new();
    for root in &roots {
        packages.push(root.join("Lib").join("site-packages"));
        let Ok(entries) = std::fs::read_dir(root.join("lib")) else { continue };
        for entry in entries.filter_map(|entry| entry.ok()) {
            if entry.file_name().to_string_lossy().starts_with("python3") {
                packages.extend(["site-packages", "dist-packages"].map(|name| entry.path().join(name)));
            }
        }
    }
    packages.extend(std::env::var_os("PYTHONPATH").iter().flat_map(std::env::split_paths));
    let mut folders: Vec<PathBuf> = [variable("CUDA_HOME"), variable("CUDA_PATH"), Some("/usr/local/cuda".into())]
        .into_iter()
        .flatten()
        .flat_map(|root| [root.join("lib64"), root.join("lib"), root.join("bin")])
        .collect();
    for package in packages {
        let nvidia = package.join("nvidia");
        for part in ["cu13", "cu12", "cuda_nvrtc", "cublas"] {
            folders.extend(["lib", "bin"].map(|name| nvidia.join(part).join(name)));
        }
    }
    folders.retain(|folder| folder.is_dir());
    folders.dedup();
    folders
}
