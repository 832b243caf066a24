//! Reads ranges of bytes from files or from memory.
//!
//! Files are not mapped into memory: the system would end the process if another program shortened the file meanwhile.
//! A read past the new end is an ordinary error.

use crate::error::{Error, Result};
use std::fs::File;
use std::io;
use std::path::Path;

/// Bytes that are read where they are needed.
pub(crate) trait ReadAt: Send + Sync {
    /// Fills `buffer` with the bytes from position `at` on.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()>;
}

impl ReadAt for &[u8] {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let bytes = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        self.as_slice().read_at(buffer, at)
    }
}

impl ReadAt for File {
    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, at)
    }

    #[cfg(windows)]
    fn read_at(&self, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self, buffer, at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => (buffer, at) = (&mut buffer[read..], at + read as u64),
            }
        }
        Ok(())
    }
}

/// Opens a regular file; returns it with its length.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    let io = Error::io(path);
    let opened = File::open(path).map_err(io)?;
    let about = opened.metadata().map_err(io)?;
    if !about.is_file() {
        return Err(Error::mismatch(path, "kind of file", "a regular file", "a folder, device or pipe"));
    }
    Ok((opened, about.len()))
}
