//! Typed access to the arrays of a converted file. The file is untrusted: numbers are copied out of it and
//! validated after the copy.

use super::{Header, METADATA_KEY, PARTITIONED, VERSION};
use crate::error::{Error, Result};
use crate::file;
use rayon::prelude::*;
use safetensors::tensor::{Dtype, SafeTensors, TensorInfo};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use supergat_core::graph::Adjacency;

/// Minimum number of values that a thread copies at once.
const MIN_CHUNK: usize = 1 << 16;

/// Header of a file, and the place of each array.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) path: PathBuf,
    pub(super) header: Header,
    arrays: HashMap<String, TensorInfo>,
    /// Position of the first byte of the arrays.
    start: usize,
}

/// A file with its index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrays<'a> {
    pub(super) index: &'a Index,
    bytes: &'a [u8],
}

pub(super) fn mismatch(path: &Path, what: &str, expected: &str, found: &str) -> Error {
    Error::Mismatch { path: path.to_owned(), what: what.into(), expected: expected.into(), found: found.into() }
}

impl Index {
    /// Reads the header of a file; `path` is only used in error messages.
    pub(super) fn of(path: &Path, bytes: &[u8]) -> Result<Self> {
        let invalid = |error: safetensors::SafeTensorError| {
            mismatch(path, "file", "a complete safetensors file", &format!("something else ({error})"))
        };
        let (length, metadata) = SafeTensors::read_metadata(bytes).map_err(invalid)?;
        let entry = metadata.metadata().as_ref().and_then(|entries| entries.get(METADATA_KEY)).ok_or_else(|| {
            let found = "another file with this extension, such as a trained model";
            mismatch(path, "file", "a dataset that `supergat convert` wrote", found)
        })?;
        let header: Header = serde_json::from_str(entry)
            .map_err(|error| mismatch(path, "description of the dataset", "version 1 or 2", &error.to_string()))?;
        if ![VERSION, PARTITIONED].contains(&header.version) {
            return Err(mismatch(path, "version", "1 or 2", &header.version.to_string()));
        }
        let arrays: HashMap<String, TensorInfo> =
            metadata.tensors().into_iter().map(|(name, info)| (name, info.clone())).collect();
        let start = length + size_of::<u64>();
        let end = arrays.values().map(|info| info.data_offsets.1).max().unwrap_or(0);
        if start.checked_add(end) != Some(bytes.len()) {
            let found = "something else (its length is not that of its arrays)";
            return Err(mismatch(path, "file", "a complete safetensors file", found));
        }
        match header.directed.len() {
            0 => Err(mismatch(path, "graphs", "at least one", "none")),
            graphs if graphs > arrays.len() => {
                Err(mismatch(path, "graphs", "at most one per array", &graphs.to_string()))
            }
            _ => Ok(Self { path: path.to_owned(), header, arrays, start }),
        }
    }

    /// Adds the bytes of the file that this is the index of.
    pub(super) fn arrays<'a>(&'a self, bytes: &'a [u8]) -> Arrays<'a> {
        Arrays { index: self, bytes }
    }
}

impl<'a> Arrays<'a> {
    pub(super) fn path(&self) -> &'a Path {
        &self.index.path
    }

    /// Returns an error about an array.
    pub(super) fn wrong(&self, k: usize, name: &str, expected: &str, found: &str) -> Error {
        mismatch(self.path(), &format!("`{k}.{name}`"), expected, found)
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

    /// Returns the bytes of an array.
    pub(super) fn data(&self, k: usize, name: &str, dtype: Dtype) -> Result<&'a [u8]> {
        let (start, end) = self.info(k, name, dtype)?.data_offsets;
        let data = self.bytes.get(self.index.start + start..self.index.start + end);
        data.ok_or_else(|| self.wrong(k, name, "all of its bytes", "the end of the file"))
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
        let (all, _) = self.data(k, name, dtype)?.as_chunks::<N>();
        let found = || format!("{} values", all.len());
        let bytes = all
            .get(range.clone())
            .ok_or_else(|| self.wrong(k, name, &format!("at least {} values", range.end), &found()))?;
        let mut numbers = file::with_capacity(self.path(), bytes.len())?;
        numbers.par_extend(bytes.par_iter().with_min_len(MIN_CHUNK).map(|bytes| decode(*bytes)));
        Ok(numbers)
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
