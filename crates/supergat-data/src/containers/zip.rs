//! Members of untrusted zip archives: sizes are limited, and decompressed data is checked against its
//! checksum.

use crate::error::{Error, Result};
use crate::files::decompress::{self, Source};
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum number of members, more than any dataset has.
const MAX_MEMBERS: usize = 10_000;

/// A zip archive in memory.
#[derive(Debug)]
pub(crate) struct Zip {
    path: PathBuf,
    archive: ZipSliceArchive<Vec<u8>>,
    members: BTreeMap<String, Member>,
}

/// A member as the directory of the archive describes it.
#[derive(Debug)]
struct Member {
    wayfinder: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    /// Declared size after decompression.
    size: u64,
}

impl Zip {
    /// Reads the list of members of the archive in `bytes`; `path` is named in errors.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let broken = |error: rawzip::Error| broken(path, &error);
        let length = bytes.len();
        let archive = ZipArchive::from_slice(bytes).map_err(broken)?;
        let mut members = BTreeMap::new();
        let mut declared = 0u64;
        let mut entries = archive.entries();
        while let Some(entry) = entries.next_entry().map_err(broken)? {
            let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
            let size = entry.uncompressed_size_hint();
            declared = declared.saturating_add(size);
            decompress::check_declared(path, length, declared)?;
            members.insert(name, Member { wayfinder: entry.wayfinder(), method: entry.compression_method(), size });
            if members.len() > MAX_MEMBERS {
                let limit = MAX_MEMBERS as u64;
                return Err(Error::too_large(path, "members of the archive", limit, limit + 1));
            }
        }
        Ok(Self { path: path.to_owned(), archive, members })
    }

    /// Returns the names of all members, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Returns the path that names a member in errors.
    pub fn member_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Decompresses a member.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.member_path(name);
        let Some(member) = self.members.get(name) else {
            let known = self.names().take(12).collect::<Vec<_>>().join(", ");
            let advice = format!("the archive holds {}", if known.is_empty() { "nothing" } else { &known });
            return Err(Error::not_found(path, advice));
        };
        let entry = self.archive.get_entry(member.wayfinder).map_err(|error| broken(&path, &error))?;
        let bytes = entry.data();
        let others = (self.archive.get_ref().len() - bytes.len()) as u64;
        let source = Source { bytes, others, declared: Some(member.size) };
        match member.method {
            CompressionMethod::STORE => {
                decompress::decompress(&path, &source, &|stored| Box::new(entry.verifying_reader(stored)))
            }
            CompressionMethod::DEFLATE => decompress::decompress(&path, &source, &|deflated| {
                Box::new(entry.verifying_reader(flate2::bufread::DeflateDecoder::new(deflated)))
            }),
            other => {
                let found = format!("method {}", other.as_u16());
                Err(Error::mismatch(&path, "compression of the member", "none or deflate", found))
            }
        }
    }
}

fn broken(path: &Path, error: &rawzip::Error) -> Error {
    Error::Damaged { path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_bytes_that_are_no_archive() {
        for bytes in [&b""[..], b"PK", b"PK\x05\x06", &[0u8; 200]] {
            let error = Zip::parse(Path::new("a.zip"), bytes.to_vec()).unwrap_err().to_string();
            assert!(error.starts_with("a.zip: cannot be unpacked ("), "{error}");
        }
    }
}
