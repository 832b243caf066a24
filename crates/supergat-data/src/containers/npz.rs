//! numpy's `.npz` files: zip archives of `.npy` files. A member is decompressed and decoded when it is
//! requested, so unused arrays of Python objects do no harm.

use super::npy::Array;
use super::sparse;
use super::zip::Zip;
use crate::error::{Error, Result};
use crate::files;
use std::path::{Path, PathBuf};
use supergat_core::{Features, SparseMatrix};

/// Minimum number of columns for storing dense features as a sparse matrix.
const MIN_SPARSE_COLUMNS: usize = 64;
/// Maximum fraction of nonzero values for storing dense features as a sparse matrix.
const MAX_SPARSE_DENSITY: f64 = 0.25;

/// An open archive of arrays.
#[derive(Debug)]
pub struct Npz {
    path: PathBuf,
    zip: Zip,
}

impl Npz {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::parse(path, files::read(path, files::MAX_BYTES)?)
    }

    /// Parses the bytes of a file; `path` is only named in errors.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        Ok(Self { path: path.to_owned(), zip: Zip::parse(path, bytes)? })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of the arrays, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.zip.names().filter_map(|member| member.strip_suffix(".npy"))
    }

    /// Returns whether there is an array called `name`.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|array| array == name)
    }

    /// Reads the array called `name`.
    pub fn array(&self, name: &str) -> Result<Array> {
        let member = format!("{name}.npy");
        Array::parse(&self.zip.member_path(&member), self.zip.read(&member)?)
    }

    /// Reads a sparse matrix in compressed rows from the arrays called `prefix` followed by `data`,
    /// `indices`, `indptr` and `shape`.
    pub fn csr(&self, prefix: &str) -> Result<SparseMatrix<f32>> {
        let named = |name: &str| self.array(&format!("{prefix}{name}"));
        let [rows, columns] = self.shape(&format!("{prefix}shape"))?;
        let (offsets, indices) = (named("indptr")?.integers()?, named("indices")?.integers()?);
        let pairs = sparse::pairs(&self.path, &offsets, &indices, [rows, columns])?;
        sparse::from_entries(&self.path, [rows, columns], pairs, named("data")?.numbers()?)
    }

    /// Reads features from a sparse matrix; see [`Npz::csr`]. Every value must be finite.
    pub fn csr_features(&self, prefix: &str) -> Result<Features<f32>> {
        self.finite(&format!("{prefix}data"), Features::Sparse(self.csr(prefix)?))
    }

    /// Reads features from an array of two axes; mostly zeros in many columns are stored as a sparse matrix.
    /// Every value must be finite.
    pub fn dense_features(&self, name: &str) -> Result<Features<f32>> {
        let array = self.array(name)?;
        let sides @ [rows, columns] = array.rows_and_columns()?;
        sparse::check_sides(&self.path, sides)?;
        let values = array.numbers()?;
        let filled = values.iter().filter(|value| **value != 0.0).count();
        let features = if columns < MIN_SPARSE_COLUMNS || filled as f64 >= MAX_SPARSE_DENSITY * values.len() as f64 {
            Features::dense(rows, columns, values).map_err(Error::core(&self.path))?
        } else {
            let mut pairs = files::with_capacity(&self.path, filled)?;
            let mut kept = files::with_capacity(&self.path, filled)?;
            for (at, value) in values.into_iter().enumerate().filter(|(_, value)| *value != 0.0) {
                pairs.push([(at / columns) as u32, (at % columns) as u32]);
                kept.push(value);
            }
            Features::Sparse(sparse::from_entries(&self.path, sides, pairs, kept)?)
        };
        self.finite(name, features)
    }

    /// Returns the features if all values are finite, else an error that names the first one that is not.
    fn finite(&self, array: &str, features: Features<f32>) -> Result<Features<f32>> {
        let Some(at) = features.values().iter().position(|value| !value.is_finite()) else { return Ok(features) };
        let [row, column] = match &features {
            Features::Dense { columns, .. } => [at / columns, at % columns],
            Features::Sparse(matrix) => {
                [matrix.offsets().partition_point(|&offset| offset <= at as u64) - 1, matrix.column_of()[at] as usize]
            }
        };
        let what = format!("{array}, row {row}, column {column}");
        let expected = "a finite number (replace missing values, for example by 0, and save the file again)";
        Err(self.mismatch(&what, expected, features.values()[at].to_string()))
    }

    /// Reads the array that contains the shape of a matrix.
    fn shape(&self, name: &str) -> Result<[usize; 2]> {
        let found = self.array(name)?.integers()?;
        let sides: Vec<usize> = found.iter().filter_map(|&side| usize::try_from(side).ok()).collect();
        let [rows, columns] = sides[..] else {
            return Err(self.mismatch(name, "rows and columns of a matrix", format!("{found:?}")));
        };
        sparse::check_sides(&self.path, [rows, columns])?;
        Ok([rows, columns])
    }

    /// Returns an error about the content of the file.
    pub(crate) fn mismatch(&self, what: &str, expected: &str, found: String) -> Error {
        Error::mismatch(&self.path, what, expected, found.chars().take(80).collect::<String>())
    }
}

/// Reads the file that `scipy.sparse.save_npz` writes, in the formats csr, csc and coo, as features.
pub fn sparse_features(path: &Path) -> Result<Features<f32>> {
    let npz = Npz::open(path)?;
    npz.finite("data", Features::Sparse(sparse_matrix(&npz)?))
}

/// Reads the matrix that `scipy.sparse.save_npz` wrote.
pub fn sparse_matrix(npz: &Npz) -> Result<SparseMatrix<f32>> {
    let sides @ [rows, columns] = npz.shape("shape")?;
    let whole = |name: &str| npz.array(name)?.integers();
    let format = npz.array("format")?.texts()?.pop().unwrap_or_default();
    let pairs = match format.as_str() {
        "csr" => sparse::pairs(&npz.path, &whole("indptr")?, &whole("indices")?, sides)?,
        "csc" => {
            let mut pairs = sparse::pairs(&npz.path, &whole("indptr")?, &whole("indices")?, [columns, rows])?;
            pairs.iter_mut().for_each(|pair| pair.reverse());
            pairs
        }
        "coo" => sparse::zip_pairs(&npz.path, &whole("row")?, &whole("col")?, sides)?,
        _ => return Err(npz.mismatch("format", "csr, csc or coo", format)),
    };
    sparse::from_entries(&npz.path, sides, pairs, npz.array("data")?.numbers()?)
}
