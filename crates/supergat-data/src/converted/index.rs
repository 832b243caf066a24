//! Typed access to the arrays of a converted file. The file is untrusted: numbers are copied out of it and
//! validated after the copy.

use super::{Header, METADATA_KEY, PARTITIONED, VERSION};
use crate::error::{Error, Result};
use crate::files;
use crate::files::read_at::ReadAt;
use rayon::prelude::*;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use supergat_core::graph::Adjacency;

/// Minimum number of values that a thread decodes at once.
const MIN_CHUNK: usize = 1 << 16;
/// Number of bytes that are read before they are decoded, and of those that a thread reads at once.
const BLOCK: usize = 1 << 24;
const MIN_READ: usize = 1 << 20;
/// Largest header that is read, in bytes.
const MAX_HEADER: u64 = 100_000_000;

/// Header of a file, and the place of each array.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) path: PathBuf,
    pub(super) header: Header,
    arrays: HashMap<String, TensorInfo>,
    /// Position of the first byte of the arrays.
    start: u64,
}

/// A file with its index.
#[derive(Clone, Copy)]
pub(super) struct Arrays<'a> {
    pub(super) index: &'a Index,
    bytes: &'a dyn ReadAt,
}

impl std::fmt::Debug for Arrays<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arrays").field("index", &self.index).finish_non_exhaustive()
    }
}

impl Index {
    /// Reads the header of a file of this length; `path` is only used in error messages.
    pub(super) fn of(path: &Path, bytes: &dyn ReadAt, length: u64) -> Result<Self> {
        let mismatch = |what: &str, expected: &str, found: &str| Error::mismatch(path, what, expected, found);
        let invalid = |reason: &dyn std::fmt::Display| {
            mismatch("file", "a complete safetensors file", &format!("something else ({reason})"))
        };
        let cannot_read = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => invalid(&"it ends in its header"),
            _ => Error::Io { path: path.to_owned(), source: error },
        };
        let mut size = [0; 8];
        bytes.read_at(&mut size, 0).map_err(cannot_read)?;
        let size = u64::from_le_bytes(size);
        if size > MAX_HEADER || size > length {
            return Err(invalid(&format!("a header of {size} bytes")));
        }
        let mut text: Vec<u8> = files::filled(path, 0, size as usize)?;
        bytes.read_at(&mut text, 8).map_err(cannot_read)?;
        let metadata: Metadata = serde_json::from_slice(&text).map_err(|error| invalid(&error))?;
        let entry = metadata.metadata().as_ref().and_then(|entries| entries.get(METADATA_KEY)).ok_or_else(|| {
            let found = "another file with this extension, such as a trained model";
            mismatch("file", "a dataset that `supergat convert` wrote", found)
        })?;
        let header: Header = serde_json::from_str(entry)
            .map_err(|error| mismatch("description of the dataset", "version 1 or 2", &error.to_string()))?;
        if ![VERSION, PARTITIONED].contains(&header.version) {
            return Err(mismatch("version", "1 or 2", &header.version.to_string()));
        }
        let arrays: HashMap<String, TensorInfo> =
            metadata.tensors().into_iter().map(|(name, info)| (name, info.clone())).collect();
        let start = 8 + size;
        if start.checked_add(metadata.data_len() as u64) != Some(length) {
            return Err(invalid(&"its length is not that of its arrays"));
        }
        match header.directed.len() {
            0 => Err(mismatch("graphs", "at least one", "none")),
            graphs if graphs > arrays.len() => Err(mismatch("graphs", "at most one per array", &graphs.to_string())),
            _ => Ok(Self { path: path.to_owned(), header, arrays, start }),
        }
    }

    /// Adds the bytes of the file that this is the index of.
    pub(super) fn arrays<'a>(&'a self, bytes: &'a dyn ReadAt) -> Arrays<'a> {
        Arrays { index: self, bytes }
    }
}

impl<'a> Arrays<'a> {
    pub(super) fn path(&self) -> &'a Path {
        &self.index.path
    }

    /// Returns an error about an array.
    pub(super) fn wrong(&self, k: usize, name: &str, expected: &str, found: &str) -> Error {
        Error::mismatch(self.path(), format!("`{k}.{name}`"), expected, found)
    }

    pub(super) fn has(&self, k: usize, name: &str) -> bool {
        self.index.arrays.contains_key(&format!("{k}.{name}"))
    }

    fn info(&self, k: usize, name: &str, dtype: Dtype) -> Result<&'a TensorInfo> {
        let expected = format!("an array of {dtype:?}");
        match self.index.arrays.get(&format!("{k}.{name}")) {
            Some(info) if info.dtype == dtype => Ok(info),
            Some(info) => Err(self.wrong(k, name, &expected, &format!("{:?}", info.dtype))),
            None => Err(self.wrong(k, name, &expected, "none")),
        }
    }

    /// Returns the shape of an array.
    pub(super) fn shape(&self, k: usize, name: &str, dtype: Dtype) -> Result<&'a [usize]> {
        Ok(&self.info(k, name, dtype)?.shape)
    }

    /// Returns the number of values of an array.
    pub(super) fn length(&self, k: usize, name: &str, dtype: Dtype) -> Result<usize> {
        let (start, end) = self.info(k, name, dtype)?.data_offsets;
        Ok((end - start) / (dtype.bitsize() / 8).max(1))
    }

    pub(super) fn u32s(&self, k: usize, name: &str) -> Result<Vec<u32>> {
        self.u32s_in(k, name, 0..self.length(k, name, Dtype::U32)?)
    }

    pub(super) fn u64s(&self, k: usize, name: &str) -> Result<Vec<u64>> {
        self.u64s_in(k, name, 0..self.length(k, name, Dtype::U64)?)
    }

    pub(super) fn f32s(&self, k: usize, name: &str) -> Result<Vec<f32>> {
        self.f32s_in(k, name, 0..self.length(k, name, Dtype::F32)?)
    }

    pub(super) fn u32s_in(&self, k: usize, name: &str, range: Range<usize>) -> Result<Vec<u32>> {
        self.numbers(k, name, Dtype::U32, range, u32::from_le_bytes)
    }

    pub(super) fn u64s_in(&self, k: usize, name: &str, range: Range<usize>) -> Result<Vec<u64>> {
        self.numbers(k, name, Dtype::U64, range, u64::from_le_bytes)
    }

    pub(super) fn f32s_in(&self, k: usize, name: &str, range: Range<usize>) -> Result<Vec<f32>> {
        self.numbers(k, name, Dtype::F32, range, f32::from_le_bytes)
    }

    /// Decodes the numbers of `N` bytes in a range of an array.
    fn numbers<T: Send, const N: usize>(
        &self,
        k: usize,
        name: &str,
        dtype: Dtype,
        range: Range<usize>,
        decode: fn([u8; N]) -> T,
    ) -> Result<Vec<T>> {
        let (first, length) = (self.info(k, name, dtype)?.data_offsets.0, self.length(k, name, dtype)?);
        if range.start > range.end || range.end > length {
            return Err(self.wrong(k, name, &format!("at least {} values", range.end), &format!("{length} values")));
        }
        let mut numbers = files::with_capacity(self.path(), range.len())?;
        let mut block = files::filled(self.path(), 0, BLOCK.min(N * range.len()))?;
        while numbers.len() < range.len() {
            let at = self.index.start + (first + N * (range.start + numbers.len())) as u64;
            let bytes = &mut block[..BLOCK.min(N * (range.len() - numbers.len()))];
            self.read(k, name, bytes, at)?;
            let (values, _) = bytes.as_chunks::<N>();
            match values.len() <= MIN_CHUNK {
                true => numbers.extend(values.iter().map(|value| decode(*value))),
                false => numbers.par_extend(values.par_iter().with_min_len(MIN_CHUNK).map(|value| decode(*value))),
            }
        }
        Ok(numbers)
    }

    /// Reads the bytes of an array from position `at` of the file on. It is apart from [`Self::numbers`], which is compiled
    /// for every type of numbers.
    fn read(&self, k: usize, name: &str, bytes: &mut [u8], at: u64) -> Result<()> {
        let read = match bytes.len() <= MIN_READ {
            true => self.bytes.read_at(bytes, at),
            false => {
                let parts = bytes.par_chunks_mut(MIN_READ).enumerate();
                parts.map(|(k, part)| self.bytes.read_at(part, at + (k * MIN_READ) as u64)).collect()
            }
        };
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let found = "the end of the file, which another program has shortened meanwhile";
                self.wrong(k, name, "all of its bytes", found)
            }
            _ => Error::Io { path: self.path().to_owned(), source: error },
        })
    }

    pub(super) fn u8s(&self, k: usize, name: &str) -> Result<Vec<u8>> {
        self.numbers(k, name, Dtype::U8, 0..self.length(k, name, Dtype::U8)?, |[byte]| byte)
    }

    /// Returns 0/1 labels in a range of the values of their matrix.
    pub(super) fn flags_in(&self, k: usize, range: Range<usize>) -> Result<Vec<u8>> {
        let labels = self.numbers(k, "labels", Dtype::U8, range, |[label]| label)?;
        match labels.iter().find(|has| **has > 1) {
            Some(has) => Err(self.wrong(k, "labels", "0 or 1", &has.to_string())),
            None => Ok(labels),
        }
    }

    pub(super) fn adjacency(&self, k: usize, name: &str) -> Result<Adjacency> {
        let offsets = self.u64s(k, &format!("{name}.offsets"))?;
        Ok(Adjacency { offsets, neighbours: self.u32s(k, &format!("{name}.neighbours"))? })
    }
}
