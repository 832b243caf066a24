//! A file as memory. The one module of the crate with unsafe code.

#![allow(unsafe_code)]

use crate::error::{Error, Result};
use memmap2::Mmap;
use std::fs::File;
use std::path::Path;

/// The bytes of a regular file, which the system fetches as they are read.
pub(crate) fn open(path: &Path) -> Result<Mmap> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    if !file.metadata().map_err(io)?.is_file() {
        return Err(Error::Mismatch {
            path: path.to_owned(),
            what: "kind of file".into(),
            expected: "a regular file".into(),
            found: "a folder, device or pipe".into(),
        });
    }
    // SAFETY: the map is read-only and lives only while a dataset is read. Nothing is kept that borrows from it, every number is copied
    // out and checked after the copy. Another program that changes the file meanwhile can make those checks fail; one that shortens it can
    // end this process, as the system does for every map. Files of this format are replaced by renaming, never changed in place.
    unsafe { Mmap::map(&file) }.map_err(io)
}
