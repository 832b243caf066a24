//! Members of zip archives from strangers: sizes are limited, what is unpacked is checked against its checksum.

use crate::error::{Error, Result};
use crate::file;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// More members than any dataset has.
const MAX_MEMBERS: usize = 10_000;

/// An archive in memory.
#[derive(Debug)]
pub(crate) struct Zip {
    path: PathBuf,
    archive: ZipSliceArchive<Vec<u8>>,
    members: BTreeMap<String, (ZipArchiveEntryWayfinder, CompressionMethod)>,
}

impl Zip {
    /// Reads the list of members of the archive in these bytes; `path` is named in errors.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let broken = |error: rawzip::Error| broken(path, &error);
        let archive = ZipArchive::from_slice(bytes).map_err(broken)?;
        let mut members = BTreeMap::new();
        let mut entries = archive.entries();
        while let Some(entry) = entries.next_entry().map_err(broken)? {
            let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
            members.insert(name, (entry.wayfinder(), entry.compression_method()));
            if members.len() > MAX_MEMBERS {
                let (path, limit) = (path.to_owned(), MAX_MEMBERS as u64);
                return Err(Error::TooLarge { path, what: "members of the archive", limit, found: limit + 1 });
            }
        }
        Ok(Self { path: path.to_owned(), archive, members })
    }

    /// The names of all members, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// What a member is called in errors.
    pub fn member_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The bytes of a member, unpacked.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        let Some((wayfinder, method)) = self.members.get(name) else {
            let known = self.names().take(12).collect::<Vec<_>>().join(", ");
            return Err(Error::NotFound {
                path: self.member_path(name),
                advice: format!("the archive holds {}", if known.is_empty() { "nothing" } else { &known }),
            });
        };
        let path = self.member_path(name);
        let entry = self.archive.get_entry(*wayfinder).map_err(|error| broken(&path, &error))?;
        let data = entry.data();
        let limit = file::unpacked_limit(data.len());
        match *method {
            CompressionMethod::STORE => file::unpack(&path, entry.verifying_reader(data), limit),
            CompressionMethod::DEFLATE => {
                file::unpack(&path, entry.verifying_reader(flate2::read::DeflateDecoder::new(data)), limit)
            }
            other => Err(Error::Mismatch {
                path,
                what: "compression of the member".into(),
                expected: "none or deflate".into(),
                found: format!("method {}", other.as_u16()),
            }),
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
    fn bytes_that_are_no_archive_are_refused() {
        for bytes in [&b""[..], b"PK", b"PK\x05\x06", &[0u8; 200]] {
            let error = Zip::parse(Path::new("a.zip"), bytes.to_vec()).unwrap_err().to_string();
            assert!(error.starts_with("a.zip: cannot be unpacked ("), "{error}");
        }
    }
}
