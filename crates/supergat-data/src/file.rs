//! Reading files and folders from strangers: only regular files, only up to a limit.

use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The whole file, which may hold at most `limit` bytes. A pipe or a device would have no end and is refused.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let about = std::fs::metadata(path).map_err(io)?;
    if !about.is_file() {
        return Err(Error::Mismatch {
            path: path.to_owned(),
            what: "kind of file".into(),
            expected: "a regular file".into(),
            found: if about.is_dir() { "a folder".into() } else { "a device or pipe".into() },
        });
    }
    let too_large = |found| Error::TooLarge { path: path.to_owned(), what: "bytes of the file", limit, found };
    if about.len() > limit {
        return Err(too_large(about.len()));
    }
    let mut bytes = Vec::with_capacity(about.len() as usize);
    // The file may have grown since.
    File::open(path).map_err(io)?.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// The largest file that is read whole.
pub(crate) const MAX_BYTES: u64 = 4 << 30;

/// How much packed data may grow to. Honest files of equal numbers are packed a thousandfold, so small ones may.
pub(crate) fn unpacked_limit(packed: usize) -> u64 {
    (packed as u64).saturating_mul(256).saturating_add(64 << 20).min(MAX_BYTES)
}

/// Everything that an unpacking reader gives, up to a limit.
pub(crate) fn unpack(path: &Path, reader: impl Read, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = reader.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    if bytes.len() as u64 > limit {
        let (path, found) = (path.to_owned(), bytes.len() as u64);
        return Err(Error::TooLarge { path, what: "bytes when unpacked", limit, found });
    }
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Error::Damaged { path: path.to_owned(), reason: error.to_string() }),
    }
}

/// Reads JSON of a fixed shape, which `expected` describes.
pub(crate) fn json<T: DeserializeOwned>(path: &Path, bytes: &[u8], expected: &str) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| Error::Text {
        path: path.to_owned(),
        line: error.line(),
        expected: expected.to_owned(),
        found: error.to_string().chars().take(120).collect(),
    })
}

/// The names in a folder, sorted, so that messages are the same everywhere.
pub(crate) fn list(folder: &Path) -> Result<Vec<String>> {
    let io = |source| Error::Io { path: folder.to_owned(), source };
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
    fn only_regular_files_up_to_the_limit() {
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
}
