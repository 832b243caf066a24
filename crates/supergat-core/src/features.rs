//! Node features, dense or sparse. Sparse features remain sparse in training, including dropout.

use crate::dropout::Dropout;
use crate::error::{Error, Result};
use crate::memory::in_large_pages;
use crate::order::NodeOrder;
use crate::real::Real;

/// One row of features per node.
///
/// ```
/// use supergat_core::{Features, SparseMatrix};
/// let dense = Features::dense(2, 3, vec![0.0f32, 5.0, 0.0, 0.0, 0.0, 7.0])?;
/// let sparse = Features::Sparse(SparseMatrix::new(3, vec![0, 1, 2], vec![1, 2], vec![5.0f32, 7.0])?);
/// assert_eq!((dense.rows(), dense.columns(), dense.stored()), (2, 3, 6));
/// assert_eq!((sparse.rows(), sparse.columns(), sparse.stored()), (2, 3, 2));
/// assert_eq!(dense.density(), sparse.density());
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum Features<T> {
    /// Row after row, `values.len() == rows * columns`.
    Dense {
        /// Number of nodes.
        rows: usize,
        /// Number of features.
        columns: usize,
        /// All rows.
        values: Vec<T>,
    },
    /// Nonzero values only.
    Sparse(SparseMatrix<T>),
}

/// A matrix in compressed rows: the entries of row `i` are at `offsets[i]..offsets[i + 1]`, in ascending
/// order of columns.
///
/// ```
/// use supergat_core::SparseMatrix;
/// // [[0, 5, 0], [6, 0, 7]]
/// let matrix = SparseMatrix::new(3, vec![0, 1, 3], vec![1, 0, 2], vec![5.0f32, 6.0, 7.0])?;
/// assert_eq!((matrix.rows(), matrix.columns()), (2, 3));
/// assert_eq!(matrix.row(1), (&[0, 2][..], &[6.0, 7.0][..]));
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SparseMatrix<T> {
    rows: usize,
    columns: usize,
    offsets: Vec<u64>,
    column_of: Vec<u32>,
    values: Vec<T>,
}

impl<T: Real> SparseMatrix<T> {
    /// Creates a matrix from compressed rows. Fails unless columns ascend strictly in each row.
    pub fn new(columns: usize, offsets: Vec<u64>, column_of: Vec<u32>, values: Vec<T>) -> Result<Self> {
        if values.len() != column_of.len() {
            return Err(Error::SizeMismatch {
                what: "values of a sparse matrix",
                expected: column_of.len(),
                found: values.len(),
            });
        }
        if column_of.len() > u32::MAX as usize {
            return Err(Error::SizeMismatch {
                what: "entries of a sparse matrix (at most)",
                expected: u32::MAX as usize,
                found: column_of.len(),
            });
        }
        if offsets.first() != Some(&0) || offsets.last() != Some(&(values.len() as u64)) {
            return Err(Error::SizeMismatch {
                what: "last row offset of a sparse matrix",
                expected: values.len(),
                found: offsets.last().map_or(0, |&v| v as usize),
            });
        }
        for (row, pair) in offsets.windows(2).enumerate() {
            let entries = (pair[0] <= pair[1]).then(|| column_of.get(pair[0] as usize..pair[1] as usize)).flatten();
            let Some(entries) = entries else {
                return Err(Error::OutOfRange {
                    what: "row offset of a sparse matrix",
                    position: row,
                    expected: "offsets that do not decrease".into(),
                    found: format!("{} then {}", pair[0], pair[1]),
                });
            };
            let ascending = entries.windows(2).all(|w| w[0] < w[1]);
            if !ascending || entries.last().is_some_and(|&c| c as usize >= columns) {
                return Err(Error::OutOfRange {
                    what: "row of a sparse matrix",
                    position: row,
                    expected: format!("ascending columns below {columns}"),
                    found: format!("{:?}", &entries[..entries.len().min(8)]),
                });
            }
        }
        Ok(Self { rows: offsets.len() - 1, columns, offsets, column_of, values })
    }

    /// Creates a matrix of rows, each a list of entries: columns and values. Fails unless columns ascend strictly in each
    /// row.
    pub fn from_rows(columns: usize, rows: impl IntoIterator<Item: IntoIterator<Item = (u32, T)>>) -> Result<Self> {
        let (mut offsets, mut entries) = (vec![0], (Vec::new(), Vec::new()));
        for row in rows {
            entries.extend(row);
            offsets.push(entries.0.len() as u64);
        }
        Self::new(columns, offsets, entries.0, entries.1)
    }

    /// Inserts stored values before the first row that belong to no row, so that later ones have other bits in a
    /// dropout mask.
    pub fn after(self, count: usize) -> Self {
        let shifted = self.offsets.iter().map(|offset| offset + count as u64).collect();
        let column_of = std::iter::repeat_n(0, count).chain(self.column_of).collect();
        let values = std::iter::repeat_n(T::ZERO, count).chain(self.values).collect();
        Self { offsets: shifted, column_of, values, ..self }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the row offsets, one more than there are rows.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Returns the column of each entry.
    pub fn column_of(&self) -> &[u32] {
        &self.column_of
    }

    /// Returns the value of each entry.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the rows in the internal order of the nodes.
    fn renumbered(&self, order: &NodeOrder) -> Self {
        let mut offsets = Vec::with_capacity(self.offsets.len());
        offsets.push(0);
        let (mut column_of, mut values) = (in_large_pages(self.column_of.len()), in_large_pages(self.values.len()));
        for &node in order.outer() {
            let (columns, row) = self.row(node as usize);
            column_of.extend_from_slice(columns);
            values.extend_from_slice(row);
            offsets.push(values.len() as u64);
        }
        Self { rows: self.rows, columns: self.columns, offsets, column_of, values }
    }

    /// Returns the columns and values of a row.
    pub fn row(&self, i: usize) -> (&[u32], &[T]) {
        let range = self.offsets[i] as usize..self.offsets[i + 1] as usize;
        (&self.column_of[range.clone()], &self.values[range])
    }

    /// Returns the entries of a row: columns and values.
    pub fn entries(&self, i: usize) -> impl Iterator<Item = (u32, T)> {
        let (columns, values) = self.row(i);
        columns.iter().copied().zip(values.iter().copied())
    }
}

impl<T: Real> Features<T> {
    /// Creates dense features. Fails unless there are `rows * columns` values.
    pub fn dense(rows: usize, columns: usize, values: Vec<T>) -> Result<Self> {
        if rows.checked_mul(columns) != Some(values.len()) {
            return Err(Error::SizeMismatch {
                what: "values of dense features (nodes * features)",
                expected: rows.saturating_mul(columns),
                found: values.len(),
            });
        }
        Ok(Self::Dense { rows, columns, values })
    }

    /// Returns the number of nodes.
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense { rows, .. } => *rows,
            Self::Sparse(matrix) => matrix.rows(),
        }
    }

    /// Returns the number of features.
    pub fn columns(&self) -> usize {
        match self {
            Self::Dense { columns, .. } => *columns,
            Self::Sparse(matrix) => matrix.columns(),
        }
    }

    /// Returns the number of stored values: all values of dense features, the entries of sparse ones.
    pub fn stored(&self) -> usize {
        self.values().len()
    }

    /// Returns the number of bytes of a dropout mask: a bit per stored value. Rows of dense features start a
    /// new byte.
    pub fn mask_bytes(&self) -> usize {
        match self {
            Self::Dense { rows, columns, .. } => rows * Dropout::mask_bytes(*columns),
            Self::Sparse(matrix) => matrix.values.len().div_ceil(8),
        }
    }

    /// Returns the memory use in bytes.
    pub fn bytes(&self) -> u64 {
        let index = match self {
            Self::Dense { .. } => 0,
            Self::Sparse(matrix) => 8 * matrix.offsets.len() + 4 * matrix.column_of.len(),
        };
        (size_of_val(self.values()) + index) as u64
    }

    /// Returns the stored values.
    pub fn values(&self) -> &[T] {
        match self {
            Self::Dense { values, .. } => values,
            Self::Sparse(matrix) => &matrix.values,
        }
    }

    /// Returns the entries of a row, columns and values: those that are stored, or those of dense features that are not
    /// zero.
    pub fn entries(&self, row: usize) -> impl Iterator<Item = (u32, T)> {
        let (dense, sparse) = match self {
            Self::Dense { columns, values, .. } => {
                let row = values[row * columns..][..*columns].iter().copied();
                (Some((0..).zip(row).filter(|(_, value)| *value != T::ZERO)), None)
            }
            Self::Sparse(matrix) => (None, Some(matrix.entries(row))),
        };
        dense.into_iter().flatten().chain(sparse.into_iter().flatten())
    }

    /// Returns the share of values that are not zero.
    pub fn density(&self) -> f64 {
        let nonzero = self.values().iter().filter(|v| **v != T::ZERO).count();
        nonzero as f64 / (self.rows() as f64 * self.columns() as f64).max(1.0)
    }

    /// Returns the rows in the internal order of the nodes.
    pub fn renumbered(&self, order: &NodeOrder) -> Self {
        match self {
            Self::Dense { rows, columns, values } => {
                Self::Dense { rows: *rows, columns: *columns, values: order.rows_to_internal(values, *columns) }
            }
            Self::Sparse(matrix) => Self::Sparse(matrix.renumbered(order)),
        }
    }

    /// Converts the features to another precision.
    pub fn cast<U: Real>(&self) -> Features<U> {
        let convert = |values: &[T]| values.iter().map(|v| U::from_f64(v.to_f64())).collect();
        match self {
            Self::Dense { rows, columns, values } => {
                Features::Dense { rows: *rows, columns: *columns, values: convert(values) }
            }
            Self::Sparse(m) => Features::Sparse(SparseMatrix {
                rows: m.rows,
                columns: m.columns,
                offsets: m.offsets.clone(),
                column_of: m.column_of.clone(),
                values: convert(&m.values),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_malformed_rows() {
        assert!(SparseMatrix::new(2, vec![0, 1], vec![2], vec![1.0f32]).is_err());
        assert!(SparseMatrix::new(2, vec![0, 2], vec![1, 0], vec![1.0f32, 1.0]).is_err());
        assert!(SparseMatrix::new(2, vec![0, 3, 1], vec![0], vec![1.0f32]).is_err());
        assert!(SparseMatrix::new(2, vec![0, 2], vec![0], vec![1.0f32]).is_err());
        assert!(SparseMatrix::<f32>::new(2, vec![], vec![], vec![]).is_err());
        assert!(Features::dense(2, 2, vec![1.0f32; 3]).is_err());
    }
}
