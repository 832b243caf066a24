//! Reads untrusted files and folders: only regular files, only up to a limit, and with allocations that may
//! fail.

pub mod atomic;
pub mod csv;
pub(crate) mod decompress;
pub(crate) mod lines;
pub(crate) mod read_at;
pub mod size;

use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Size of the largest file that is read whole.
pub(crate) const MAX_BYTES: u64 = 4 << 30;
/// Number of values that are encoded at once.
const BLOCK: usize = 1 << 15;

/// Reads the whole file, which may have at most `limit` bytes. Pipes and devices have no end and are refused.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let about = std::fs::metadata(path).map_err(Error::io(path))?;
    if !about.is_file() {
        let found = if about.is_dir() { "a folder" } else { "a device or pipe" };
        return Err(Error::mismatch(path, "kind of file", "a regular file", found));
    }
    let too_large = |found| Error::too_large(path, "bytes of the file", limit, found);
    if about.len() > limit {
        return Err(too_large(about.len()));
    }
    let mut bytes = with_capacity(path, about.len() as usize)?;
    // The file may have grown since its size was read.
    let file = File::open(path).map_err(Error::io(path))?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| failed(path, about.len(), error))?;
    if bytes.len() as u64 > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Returns the error for a failed read or mapping of `bytes` bytes.
pub(crate) fn failed(path: &Path, bytes: u64, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::OutOfMemory => Error::OutOfMemory { path: path.to_owned(), bytes },
        _ => Error::Io { path: path.to_owned(), source },
    }
}

/// Allocates an empty vector for `count` values of a file.
pub(crate) fn with_capacity<T>(path: &Path, count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| out_of_memory::<T>(path, count))?;
    Ok(values)
}

/// Allocates `count` copies of a value.
pub(crate) fn filled<T: Clone>(path: &Path, value: T, count: usize) -> Result<Vec<T>> {
    let mut values = with_capacity(path, count)?;
    values.resize(count, value);
    Ok(values)
}

/// Collects values of which there are about `count`, up to the first error.
pub(crate) fn collect<T>(path: &Path, count: usize, values: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut all = with_capacity(path, count)?;
    for value in values {
        push(path, &mut all, value?)?;
    }
    Ok(all)
}

/// Appends a value.
pub(crate) fn push<T>(path: &Path, values: &mut Vec<T>, value: T) -> Result<()> {
    if values.len() == values.capacity() {
        reserve(path, values, 1)?;
    }
    values.push(value);
    Ok(())
}

/// Makes room for `additional` values, and for more so that repeated calls stay cheap.
pub(crate) fn reserve<T>(path: &Path, values: &mut Vec<T>, additional: usize) -> Result<()> {
    values.try_reserve(additional).map_err(|_| out_of_memory::<T>(path, values.len() + additional))
}

/// Returns the error for `count` values of a file that could not be allocated.
pub(crate) fn out_of_memory<T>(path: &Path, count: usize) -> Error {
    Error::OutOfMemory { path: path.to_owned(), bytes: (count as u64).saturating_mul(size_of::<T>() as u64) }
}

/// Encodes numbers of `N` bytes in blocks, without a copy of all of them.
pub(crate) fn encoded<T, const N: usize>(values: &[T], bytes: fn(&T) -> [u8; N]) -> impl Iterator<Item = Vec<u8>> {
    values.chunks(BLOCK).map(move |block| block.iter().map(bytes).collect::<Vec<_>>().into_flattened())
}

/// Reads JSON of a fixed structure, which `expected` describes.
pub(crate) fn json<T: DeserializeOwned>(path: &Path, bytes: &[u8], expected: &str) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::text(path, error.line(), expected, error.to_string().chars().take(120).collect::<String>())
    })
}

/// Computes the SHA-256 of a file in hexadecimal digits.
pub(crate) fn sha256(path: &Path) -> Result<String> {
    let io = Error::io(path);
    let mut file = File::open(path).map_err(io)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(io)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Lists the names in a folder, sorted, so that messages do not depend on the file system.
pub(crate) fn list(folder: &Path) -> Result<Vec<String>> {
    let io = Error::io(folder);
    let mut names = std::fs::read_dir(folder)
        .map_err(io)?
        .map(|entry| Ok(entry.map_err(io)?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_regular_files_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b");
        std::fs::write(&path, b"12345").unwrap();
        std::fs::write(folder.path().join("a"), b"").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(matches!(read(&path, 4), Err(Error::TooLarge { limit: 4, found: 5, .. })));
        assert!(matches!(read(folder.path(), 5), Err(Error::Mismatch { .. })));
        assert!(matches!(read(&folder.path().join("c"), 5), Err(Error::Io { .. })));
        assert_eq!(list(folder.path()).unwrap(), ["a", "b"]);
    }

    #[test]
    fn reports_failed_allocations() {
        let path = Path::new("big.npz");
        let error = with_capacity::<u64>(path, 1 << 59).unwrap_err();
        assert_eq!(
            error.to_string(),
            "big.npz: not enough memory to read it: 4611686018427387904 bytes could not be allocated; \
             free memory or raise the memory limit of the process"
        );
        assert!(matches!(filled(path, 0u8, usize::MAX), Err(Error::OutOfMemory { .. })));
        assert!(matches!(collect::<u8>(path, usize::MAX, std::iter::empty()), Err(Error::OutOfMemory { .. })));
        assert!(matches!(reserve(path, &mut vec![0u8], usize::MAX - 1), Err(Error::OutOfMemory { .. })));
        let refused = failed(path, 7, io::ErrorKind::OutOfMemory.into());
        assert!(matches!(refused, Error::OutOfMemory { bytes: 7, .. }));
        assert!(matches!(failed(path, 7, io::ErrorKind::PermissionDenied.into()), Error::Io { .. }));
        assert_eq!(collect(path, 0, [Ok(1), Ok(2)].into_iter()).unwrap(), [1, 2]);
    }
}
