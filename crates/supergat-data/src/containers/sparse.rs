//! Builds sparse matrices from the arrays of a file: checked, sorted, without duplicates and zeros.

use crate::error::{Error, Result};
use crate::files;
use std::path::Path;
use supergat_core::SparseMatrix;

/// Maximum number of rows or columns. They cost memory even in a matrix without entries.
const MAX_SIDE: usize = 1 << 26;

/// Rejects a matrix with too many rows or columns.
pub(crate) fn check_sides(path: &Path, sides: [usize; 2]) -> Result<()> {
    match sides.into_iter().max() {
        Some(found) if found > MAX_SIDE => {
            Err(Error::too_large(path, "rows or columns of a matrix", MAX_SIDE as u64, found as u64))
        }
        _ => Ok(()),
    }
}

/// Returns the major and minor index of every entry. The entries of major index `k` are at
/// `offsets[k]..offsets[k + 1]`.
pub(crate) fn pairs(path: &Path, offsets: &[i64], indices: &[i64], sides: [usize; 2]) -> Result<Vec<[u32; 2]>> {
    let refuse = |expected: String, found: String| {
        Err(Error::mismatch(path, "offsets (indptr) of a sparse matrix", expected, found))
    };
    if offsets.len() != sides[0] + 1 {
        let expected = format!("{}, one more than the shape says", sides[0] + 1);
        return refuse(expected, offsets.len().to_string());
    }
    let ends = (offsets[0], offsets[sides[0]]);
    if ends != (0, indices.len() as i64) {
        let expected = format!("0 at the beginning and {} at the end", indices.len());
        return refuse(expected, format!("{} and {}", ends.0, ends.1));
    }
    let mut pairs = files::with_capacity(path, indices.len())?;
    for (major, ends) in offsets.windows(2).enumerate() {
        let range = usize::try_from(ends[0]).ok().zip(usize::try_from(ends[1]).ok());
        let Some(entries) = range.and_then(|(start, end)| indices.get(start..end)) else {
            let expected = format!("not to decrease, and at most {}", indices.len());
            return refuse(expected, format!("{} then {}", ends[0], ends[1]));
        };
        for &minor in entries {
            pairs.push([major as u32, index(path, minor, sides[1])?]);
        }
    }
    Ok(pairs)
}

/// Returns the row and column of every entry from a list of rows and a list of columns.
pub(crate) fn zip_pairs(path: &Path, rows: &[i64], columns: &[i64], sides: [usize; 2]) -> Result<Vec<[u32; 2]>> {
    same_length(path, "columns of a sparse matrix", rows.len(), columns.len())?;
    let pair = |(&row, &column): (&i64, &i64)| Ok([index(path, row, sides[0])?, index(path, column, sides[1])?]);
    files::collect(path, rows.len(), rows.iter().zip(columns).map(pair))
}

fn index(path: &Path, value: i64, end: usize) -> Result<u32> {
    let refuse = || Error::mismatch(path, "row or column of an entry", format!("a number below {end}"), value);
    u32::try_from(value).ok().filter(|&value| (value as usize) < end).ok_or_else(refuse)
}

fn same_length(path: &Path, what: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::mismatch(path, what, format!("{expected}, one per entry"), found))
}

/// Builds the matrix of entries whose rows and columns were checked: sorts, adds up duplicates, drops zeros.
pub(crate) fn from_entries(
    path: &Path,
    [rows, columns]: [usize; 2],
    pairs: Vec<[u32; 2]>,
    values: Vec<f32>,
) -> Result<SparseMatrix<f32>> {
    same_length(path, "values of a sparse matrix", pairs.len(), values.len())?;
    let mut entries = files::collect(path, pairs.len(), pairs.into_iter().zip(values).map(Ok))?;
    if !entries.is_sorted_by(|a: &([u32; 2], f32), b| a.0 < b.0) {
        // The sort allocates a buffer of up to this size and would abort.
        drop(files::with_capacity::<([u32; 2], f32)>(path, entries.len())?);
        // Stable: duplicates are added up in the order of the file.
        entries.sort_by_key(|entry| entry.0);
    }
    let mut offsets = files::filled(path, 0u64, rows + 1)?;
    let (mut column_of, mut values) =
        (files::with_capacity(path, entries.len())?, files::with_capacity(path, entries.len())?);
    for same in entries.chunk_by(|a, b| a.0 == b.0) {
        let sum: f32 = same.iter().map(|entry| entry.1).sum();
        if sum != 0.0 {
            let [row, column] = same[0].0;
            offsets[row as usize + 1] += 1;
            column_of.push(column);
            values.push(sum);
        }
    }
    for row in 0..rows {
        offsets[row + 1] += offsets[row];
    }
    SparseMatrix::new(columns, offsets, column_of, values).map_err(Error::core(path))
}
