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
use crate::files;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
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
    compressed.saturating_mul(RATIO).saturating_add(FLOOR).min(files::MAX_BYTES)
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
    decompress(path, &source, &|counter| Box::new(flate2::bufread::MultiGzDecoder::new(counter)))
}

/// Decompresses a zstd file, which may consist of several frames.
pub(crate) fn unzstd(path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    let source = Source { bytes, others: 0, declared: None };
    decompress(path, &source, &|counter| Box::new(Frames { source: counter, decoder: FrameDecoder::new() }))
}

/// Endings of compressed files.
pub(crate) const ENDINGS: [&str; 2] = ["gz", "zst"];

/// Reads a file of at most `limit` bytes, decompressed if its name ends in one of [`ENDINGS`].
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let bytes = files::read(path, limit)?;
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => gunzip(path, &bytes),
        Some("zst") => unzstd(path, &bytes),
        _ => Ok(bytes),
    }
}

/// Decompresses `source` with the reader that `decoder` creates for its bytes.
pub(crate) fn decompress<'a>(
    path: &Path,
    source: &Source<'a>,
    decoder: &dyn Fn(Counter<'a>) -> Box<dyn Read + 'a>,
) -> Result<Vec<u8>> {
    let damaged = |reason: String| Error::Damaged { path: path.to_owned(), reason };
    let consumed = Rc::new(Cell::new(0));
    let mut reader = decoder(Counter { rest: source.bytes, consumed: consumed.clone() });
    let mut bytes = files::with_capacity(path, source.declared.unwrap_or(0) as usize)?;
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
        files::reserve(path, &mut bytes, read)?;
        bytes.extend_from_slice(&chunk[..read]);
    }
}

fn too_large(path: &Path, limit: u64, found: u64) -> Error {
    Error::too_large(path, "decompressed bytes", limit, found)
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

/// A reader of the frames of a zstd file, one after another, with their checksums.
struct Frames<'a> {
    source: Counter<'a>,
    decoder: FrameDecoder,
}

impl Frames<'_> {
    /// Checks the finished frame and begins the next one; returns whether there is one.
    fn next(&mut self) -> io::Result<bool> {
        let declared = self.decoder.get_checksum_from_data();
        if declared.is_some() && declared != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("its checksum is wrong"));
        }
        while !self.source.rest.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = length as usize;
                    if length > self.source.rest.len() {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    self.source.consume(length);
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl Read for Frames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 {
            if !self.decoder.is_finished() {
                let step = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, step).map_err(io::Error::other)?;
            } else if !self.next()? {
                return Ok(0);
            }
        }
        self.decoder.read(buffer)
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

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn reads_all_frames_of_a_zstd_file() {
        let path = Path::new("x.csv.zst");
        let text: Vec<u8> = (0..100_000u32).flat_map(|k| (k % 1000).to_string().into_bytes()).collect();
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let file = [zstd(&text), skipped.clone(), zstd(b""), zstd(b"end")].concat();
        assert_eq!(unzstd(path, &file).unwrap(), [&text[..], b"end"].concat());
        assert!(unzstd(path, b"").unwrap().is_empty());
        let packed = zstd(&text);
        for broken in [&packed[..packed.len() - 9], &skipped[..9], b"not zstd"] {
            let error = unzstd(path, broken).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "{error}");
        }
    }

    #[test]
    fn rejects_a_changed_zstd_file() {
        // The frame of `printf abc | zstd`, whose last four bytes are a checksum.
        let frame = *b"\x28\xb5\x2f\xfd\x04\x58\x19\x00\x00abc\x99\x09\x77\xad";
        assert_eq!(unzstd(Path::new("x.zst"), &frame).unwrap(), b"abc");
        let mut changed = frame;
        changed[9] = b'b';
        let error = unzstd(Path::new("x.zst"), &changed).unwrap_err().to_string();
        assert!(error.contains("its checksum is wrong"), "{error}");
    }

    #[test]
    fn limits_the_expansion_of_zstd_files() {
        // Frames of blocks that repeat one byte 128 KiB times, in four bytes each.
        let mut bomb = b"\x28\xb5\x2f\xfd\x00\x38".to_vec();
        for _ in 0..1000 {
            bomb.extend(((1u32 << 1) | ((128u32 << 10) << 3)).to_le_bytes()[..3].iter().chain(&[0]));
        }
        let error = unzstd(Path::new("x.zst"), &bomb).unwrap_err();
        assert!(matches!(error, Error::TooLarge { what: "decompressed bytes", .. }), "{error}");
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
        let error = decompress(Path::new("a.zip/b"), &source, &|counter| Box::new(counter)).unwrap_err().to_string();
        assert!(error.starts_with("a.zip/b: cannot be unpacked (it is longer than the archive declares)"), "{error}");
    }
}
