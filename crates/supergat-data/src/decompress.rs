//! Decompresses untrusted data into memory.
//!
//! One rule limits how far data may expand: at any point, the bytes decompressed so far must not exceed
//! 64 MiB plus 256 times the compressed bytes read so far, and never exceed 4 GiB. Valid constant arrays
//! compress by a factor of 1000, so everything up to 64 MiB is allowed; the features of a dense bag of words
//! compress by a factor of 100 to 200. A file that expands a thousandfold is refused after about 86 MiB,
//! whatever its size.
//!
//! Zip archives declare the sizes of their members. Their sum must obey the rule for the whole archive, which
//! is checked before anything is decompressed ([`check_declared`]), and no member may expand beyond its
//! declared size. The size at the end of a gzip file is not used: it is arbitrary in a truncated file and
//! wraps around at 4 GiB.

use crate::error::{Error, Result};
use crate::file;
use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::path::Path;
use std::rc::Rc;

/// Decompressed bytes that are always allowed.
const FLOOR: u64 = 64 << 20;

/// Decompressed bytes allowed per compressed byte beyond the floor.
const RATIO: u64 = 256;

/// Bytes that are decompressed at a time.
const CHUNK: usize = 1 << 16;

/// Maximum decompressed size of `compressed` bytes.
fn limit(compressed: u64) -> u64 {
    compressed.saturating_mul(RATIO).saturating_add(FLOOR).min(file::MAX_BYTES)
}

/// Compressed data and its context.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// Compressed bytes.
    pub bytes: &'a [u8],
    /// Number of other compressed bytes in the same file, which raise the limit.
    pub others: u64,
    /// Declared size of the decompressed data.
    pub declared: Option<u64>,
}

/// Refuses an archive of `compressed` bytes whose members declare `declared` decompressed bytes together.
pub(crate) fn check_declared(path: &Path, compressed: usize, declared: u64) -> Result<()> {
    match limit(compressed as u64) {
        limit if declared > limit => Err(too_large(path, limit, declared)),
        _ => Ok(()),
    }
}

/// Decompresses a gzip file, which may consist of several members.
pub(crate) fn gunzip(path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    let source = Source { bytes, others: 0, declared: None };
    decompress(path, &source, flate2::bufread::MultiGzDecoder::new)
}

/// Decompresses `source` with the reader that `decoder` creates for its bytes.
pub(crate) fn decompress<'a, R: Read>(
    path: &Path,
    source: &'a Source<'a>,
    decoder: impl FnOnce(Counter<'a>) -> R,
) -> Result<Vec<u8>> {
    let damaged = |reason: String| Error::Damaged { path: path.to_owned(), reason };
    let consumed = Rc::new(Cell::new(0));
    let mut reader = decoder(Counter { rest: source.bytes, consumed: consumed.clone() });
    let mut bytes = file::with_capacity(path, source.declared.unwrap_or(0) as usize)?;
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = reader.read(&mut chunk).map_err(|error| damaged(error.to_string()))?;
        if read == 0 {
            return Ok(bytes);
        }
        let (found, limit) = ((bytes.len() + read) as u64, limit(source.others + consumed.get()));
        if found > limit {
            return Err(too_large(path, limit, found));
        }
        if source.declared.is_some_and(|declared| found > declared) {
            return Err(damaged("it is longer than the archive declares".into()));
        }
        file::reserve(path, &mut bytes, read)?;
        bytes.extend_from_slice(&chunk[..read]);
    }
}

fn too_large(path: &Path, limit: u64, found: u64) -> Error {
    Error::TooLarge { path: path.to_owned(), what: "decompressed bytes", limit, found }
}

/// A reader of bytes in memory that counts those it has returned.
#[derive(Debug)]
pub(crate) struct Counter<'a> {
    rest: &'a [u8],
    consumed: Rc<Cell<u64>>,
}

impl Read for Counter<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(buffer)?;
        self.consumed.set(self.consumed.get() + read as u64);
        Ok(read)
    }
}

impl BufRead for Counter<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.rest)
    }

    fn consume(&mut self, count: usize) {
        self.rest = &self.rest[count..];
        self.consumed.set(self.consumed.get() + count as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn accepts_constant_data_up_to_the_floor() {
        let path = Path::new("zeros.gz");
        let packed = gzip(&vec![0; FLOOR as usize]);
        assert!(packed.len() < FLOOR as usize / 900);
        assert_eq!(gunzip(path, &packed).unwrap().len() as u64, FLOOR);
        let twice = [&packed[..], &packed].concat();
        let Err(Error::TooLarge { limit, found, .. }) = gunzip(path, &twice) else { panic!("accepted") };
        assert!(found > limit && found < FLOOR + (32 << 20), "{found}");
    }

    #[test]
    fn the_limit_on_declared_sizes_grows_with_the_archive() {
        assert!(check_declared(Path::new("a"), 1, FLOOR + RATIO).is_ok());
        assert!(check_declared(Path::new("a"), 1, FLOOR + RATIO + 1).is_err());
        assert!(check_declared(Path::new("a"), usize::MAX, u64::MAX).is_err());
    }

    #[test]
    fn rejects_more_bytes_than_declared() {
        let source = Source { bytes: b"12345", others: 0, declared: Some(4) };
        let error = decompress(Path::new("a.zip/b"), &source, |counter| counter).unwrap_err().to_string();
        assert!(error.starts_with("a.zip/b: cannot be unpacked (it is longer than the archive declares)"), "{error}");
    }
}
