//! Sparse features in the memory of the GPU, and lists cut into segments.

use crate::launch::Cuda;
use cudarc::driver::CudaSlice;
use supergat_core::{Result, SparseMatrix};

/// Lists cut into segments of similar length; see `kernels/segments.cuh`.
#[derive(Debug)]
pub(crate) struct Segments {
    /// List, start, end and place in `splits` of each segment.
    pub segments: CudaSlice<u32>,
    /// First segment, number of segments and row of the first sum of each cut list.
    pub splits: CudaSlice<u32>,
    /// Number of finished segments of each cut list; zero between kernels.
    pub tickets: CudaSlice<u32>,
    /// Number of segments.
    pub count: usize,
    /// Rows of sums of segments.
    pub rows: usize,
}

/// Entries of the shortest cut list.
const LONGEST_SEGMENT: usize = 16;

impl Segments {
    /// Cuts lists that start at these offsets. A list of n entries is cut into at most sqrt(n) segments, so that
    /// neither a segment nor the sum over the segments takes long.
    pub fn new(cuda: &Cuda, offsets: impl ExactSizeIterator<Item = u64>) -> Result<Self> {
        let (segments, splits, rows) = cut(offsets);
        Ok(Self {
            count: segments.len() / 4,
            rows,
            tickets: cuda.zeros(splits.len() / 4)?,
            segments: cuda.uploaded(&segments)?,
            splits: cuda.uploaded(&splits)?,
        })
    }
}

fn cut(offsets: impl ExactSizeIterator<Item = u64>) -> (Vec<u32>, Vec<u32>, usize) {
    let mut segments = Vec::with_capacity(4 * offsets.len());
    let (mut splits, mut rows) = (Vec::new(), 0usize);
    let mut start = None;
    for (list, end) in offsets.enumerate() {
        let Some(from) = start.replace(end) else { continue };
        let (list, len) = (list as u32 - 1, (end - from) as usize);
        let longest = LONGEST_SEGMENT.max(len.isqrt());
        let parts = len.div_ceil(longest).max(1);
        let split = if parts == 1 { u32::MAX } else { (splits.len() / 4) as u32 };
        if parts > 1 {
            splits.extend([(segments.len() / 4) as u32, parts as u32, rows as u32, 0]);
            rows += parts;
        }
        for part in 0..parts {
            let first = from as usize + part * longest;
            segments.extend([list, first as u32, (first + longest).min(end as usize) as u32, split]);
        }
    }
    (segments, splits, rows)
}

/// Returns the lanes of a warp that share a row: a power of two up to 32.
pub(crate) fn lanes(quads: u32) -> u32 {
    quads.next_power_of_two().min(32)
}

/// Sparse features in the memory of the GPU.
#[derive(Debug)]
pub(crate) struct SparseFeatures {
    /// Number of columns.
    pub(crate) columns: usize,
    /// Start of each row, and the end of the last.
    pub(crate) offsets: CudaSlice<u32>,
    /// Column of each entry.
    pub(crate) index: CudaSlice<u32>,
    /// Value of each entry.
    pub(crate) values: CudaSlice<f32>,
    /// The entries in the order of columns; only needed in training.
    pub(crate) by_column: Option<ByColumn>,
}

#[derive(Debug)]
pub(crate) struct ByColumn {
    pub(crate) segments: Segments,
    /// Row of each entry.
    pub(crate) rows: CudaSlice<u32>,
    /// Position of each entry in the order of rows.
    pub(crate) places: CudaSlice<u32>,
    /// Value of each entry.
    pub(crate) values: CudaSlice<f32>,
}

impl SparseFeatures {
    /// Places features in the memory of the GPU, for training also in the order of columns.
    pub fn new(cuda: &Cuda, matrix: &SparseMatrix<f32>, training: bool) -> Result<Self> {
        let offsets: Vec<u32> = matrix.offsets().iter().map(|&offset| offset as u32).collect();
        let by_column = if training { Some(ByColumn::new(cuda, matrix)?) } else { None };
        Ok(Self {
            columns: matrix.columns(),
            offsets: cuda.uploaded(&offsets)?,
            index: cuda.uploaded(matrix.column_of())?,
            values: cuda.uploaded(matrix.values())?,
            by_column,
        })
    }
}

impl ByColumn {
    fn new(cuda: &Cuda, matrix: &SparseMatrix<f32>) -> Result<Self> {
        let mut offsets = vec![0u64; matrix.columns() + 1];
        for &column in matrix.column_of() {
            offsets[column as usize + 1] += 1;
        }
        for column in 0..matrix.columns() {
            offsets[column + 1] += offsets[column];
        }
        let mut next = offsets.clone();
        let entries = matrix.values().len();
        let (mut rows, mut places, mut values) = (vec![0u32; entries], vec![0u32; entries], vec![0f32; entries]);
        for row in 0..matrix.rows() {
            for e in matrix.offsets()[row] as usize..matrix.offsets()[row + 1] as usize {
                let next = &mut next[matrix.column_of()[e] as usize];
                let at = *next as usize;
                *next += 1;
                (rows[at], places[at], values[at]) = (row as u32, e as u32, matrix.values()[e]);
            }
        }
        Ok(Self {
            segments: Segments::new(cuda, offsets.into_iter())?,
            rows: cuda.uploaded(&rows)?,
            places: cuda.uploaded(&places)?,
            values: cuda.uploaded(&values)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_every_entry_once() {
        let longest = LONGEST_SEGMENT as u64;
        let lens = [3, 0, longest, longest + 1, 100_000, 1];
        let mut offsets = vec![0];
        lens.iter().for_each(|len| offsets.push(offsets[offsets.len() - 1] + len));
        let (segments, splits, rows) = cut(offsets.iter().copied());
        let mut next = 0;
        for s in segments.chunks_exact(4) {
            assert!(s[1] == next && s[2] >= s[1]);
            assert!(u64::from(s[1]) >= offsets[s[0] as usize] && u64::from(s[2]) <= offsets[s[0] as usize + 1]);
            next = s[2];
        }
        assert_eq!(u64::from(next), offsets[lens.len()]);
        assert_eq!(splits.len() / 4, 2);
        assert_eq!(splits.chunks_exact(4).map(|s| s[1] as usize).sum::<usize>(), rows);
        assert!(segments.chunks_exact(4).filter(|s| s[3] != u32::MAX).count() == rows);
    }
}
