//! Compilation of kernels by NVRTC for the present GPU. Compiled code is kept in the user's cache folder.

use crate::error::device_error;
use crate::library;
use cudarc::nvrtc::{result, sys};
use std::ffi::CString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use supergat_core::{Error, Result};

/// A file of kernels.
#[derive(Debug)]
pub struct Source {
    /// Name of the file.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Functions that are put in front of every source.
const COMMON: &str = include_str!("../kernels/common.cuh");

/// Returns the machine code of a source with these definitions, for an architecture such as `sm_90`.
pub(crate) fn compile(source: &Source, defines: &[(&str, i64)], architecture: &str) -> Result<Vec<u8>> {
    library::compiler()?;
    let mut options = vec![
        format!("--gpu-architecture={architecture}"),
        "--std=c++17".to_owned(),
        "--extra-device-vectorization".to_owned(),
        "-default-device".to_owned(),
    ];
    options.extend(defines.iter().map(|(name, value)| format!("-D{name}={value}")));
    let text = format!("{COMMON}\n#line 1 \"{}.cu\"\n{}", source.name, source.text);
    let cached = cache_file(source.name, &text, &options);
    let kept = || cached.as_ref().and_then(|path| std::fs::read(path).ok()).filter(|code| is_whole(code));
    if let Some(code) = kept() {
        return Ok(code);
    }
    // One compilation at a time: trainings that start together need the same kernels, which the first one then keeps.
    static COMPILING: Mutex<()> = Mutex::new(());
    let _alone = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(code) = kept() {
        return Ok(code);
    }
    let code = run(source.name, &text, &options)?;
    if let Some(path) = &cached {
        // Without a cache, kernels are compiled again next time.
        let _ = store(path, &code);
    }
    Ok(code)
}

/// Returns whether a file starts like machine code of a GPU.
fn is_whole(code: &[u8]) -> bool {
    code.starts_with(b"\x7fELF")
}

/// Writes a file under another name first, so that other processes never read half of it.
fn store(path: &std::path::Path, code: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let part = path.with_extension(format!("part{}", std::process::id()));
    // A new file: a symbolic link of this name is not followed.
    let _ = std::fs::remove_file(&part);
    std::fs::File::create_new(&part)?.write_all(code)?;
    std::fs::rename(&part, path)
}

/// Returns the file that compiled code is kept in; `None` without a cache folder.
fn cache_file(name: &str, text: &str, options: &[String]) -> Option<PathBuf> {
    let folder = match std::env::var_os("SUPERGAT_KERNEL_CACHE") {
        Some(folder) if folder.is_empty() => return None,
        Some(folder) => PathBuf::from(folder),
        None => user_cache()?.join("supergat").join("kernels"),
    };
    let mut hash = [DefaultHasher::new(), DefaultHasher::new()];
    for (k, hash) in hash.iter_mut().enumerate() {
        (k, text, options, library::compiler_version()).hash(hash);
    }
    Some(folder.join(format!("{name}-{:016x}{:016x}.cubin", hash[0].finish(), hash[1].finish())))
}

fn user_cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if cfg!(windows) {
        set("LOCALAPPDATA")
    } else {
        set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))
    }
}

/// A program of NVRTC, destroyed at the end.
struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program exists and is not used again.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

fn run(name: &str, text: &str, options: &[String]) -> Result<Vec<u8>> {
    let fail = |what: &str| -> Error { device_error(format!("the kernels of {name} do not compile: {what}")) };
    let text = CString::new(text).map_err(|_| fail("a zero byte in the source"))?;
    let file = CString::new(name).map_err(|_| fail("a zero byte in the name"))?;
    let program = Program(result::create_program(&text, Some(&file)).map_err(|e| fail(&format!("{:?}", e.0)))?);
    // SAFETY: the program exists; sizes are asked for before buffers are filled.
    unsafe {
        if let Err(error) = result::compile_program(program.0, options) {
            let log = result::get_program_log(program.0).unwrap_or_default();
            let log: Vec<u8> = log.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
            return Err(fail(&format!("{:?} {}", error.0, String::from_utf8_lossy(&log).trim())));
        }
        let mut size = 0;
        sys::nvrtcGetCUBINSize(program.0, &mut size).result().map_err(|e| fail(&format!("{:?}", e.0)))?;
        let mut code = vec![0u8; size];
        sys::nvrtcGetCUBIN(program.0, code.as_mut_ptr().cast()).result().map_err(|e| fail(&format!("{:?}", e.0)))?;
        Ok(code)
    }
}

/// A source with definitions.
pub(crate) type Variant = (&'static Source, Vec<(&'static str, i64)>);
