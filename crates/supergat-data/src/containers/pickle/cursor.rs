//! Bounds-checked reading of the bytes of a file. Lengths in the file are untrusted.

use crate::error::{Error, Result};
use std::path::Path;

/// Read position in a file.
pub(super) struct Cursor<'a> {
    pub(super) path: &'a Path,
    bytes: &'a [u8],
    at: usize,
    /// Offset of the current instruction.
    pub(super) start: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Self { path, bytes, at: 0, start: 0 }
    }

    /// Returns the length of the file in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Reads the opcode of the next instruction.
    pub(super) fn instruction(&mut self) -> Result<u8> {
        self.start = self.at;
        self.u8()
    }

    /// Reads `length` bytes; `what` names them in errors.
    pub(super) fn take(&mut self, length: u64, what: &str) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        match usize::try_from(length).ok().and_then(|length| rest.get(..length)) {
            Some(taken) => {
                self.at += taken.len();
                Ok(taken)
            }
            None => Err(self.truncated(format!("{what} of {length} bytes"))),
        }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.bytes[self.at..].first_chunk() {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(self.truncated("an instruction".into())),
        }
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Reads the bytes up to the next line feed and skips it.
    pub(super) fn line(&mut self) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        match rest.iter().position(|&byte| byte == b'\n') {
            Some(end) => {
                self.at += end + 1;
                Ok(&rest[..end])
            }
            None => Err(self.truncated("a line".into())),
        }
    }

    /// Builds an error at the current instruction.
    pub(super) fn refuse(&self, expected: &str, found: impl Into<String>) -> Error {
        Error::binary(self.path, self.start, expected, found)
    }

    fn truncated(&self, expected: String) -> Error {
        Error::Truncated { path: self.path.to_owned(), offset: self.start, expected }
    }
}

/// Returns the beginning of a text from the file, escaped for messages.
pub(super) fn shortened(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_reads_beyond_end() {
        let mut cursor = Cursor::new(Path::new("f"), b"\x01\x02\x03ab\ncd");
        assert_eq!((cursor.instruction().unwrap(), cursor.array().unwrap()), (1, [2, 3]));
        assert_eq!(cursor.line().unwrap(), b"ab");
        assert!(cursor.line().is_err());
        assert!(cursor.u32().is_err());
        assert!(cursor.take(u64::MAX, "a string").is_err());
        assert_eq!(cursor.take(2, "a string").unwrap(), b"cd");
        let message = cursor.instruction().unwrap_err().to_string();
        assert_eq!(message, "f, byte 8: the file ends within an instruction; it is truncated, fetch it again");
    }
}
