//! Maps files into memory. The only module of the crate with unsafe code.

#![allow(unsafe_code)]

use crate::error::{Error, Result};
use crate::file;
use memmap2::Mmap;
use std::fs::File;
use std::path::Path;

/// Maps a regular file; the system reads its bytes when they are used.
pub(crate) fn open(path: &Path) -> Result<Mmap> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let opened = File::open(path).map_err(io)?;
    let about = opened.metadata().map_err(io)?;
    if !about.is_file() {
        return Err(Error::Mismatch {
            path: path.to_owned(),
            what: "kind of file".into(),
            expected: "a regular file".into(),
            found: "a folder, device or pipe".into(),
        });
    }
    // SAFETY: the map is read-only, and nothing that borrows from it leaves the readers of converted files: every
    // number is copied and checked after the copy. If another program changes the file meanwhile,
    // those checks can fail; if it shortens the file, the system can end this process, as with every map.
    // Files of this format are replaced by renaming and never changed in place.
    unsafe { Mmap::map(&opened) }.map_err(|error| file::failed(path, about.len(), error))
}
