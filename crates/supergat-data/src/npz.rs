//! numpy's `.npz` files: zip archives of `.npy` files. A member is decompressed and decoded when it is
//! requested, so unused arrays of Python objects do no harm.

use crate::error::{Error, Result};
use crate::file;
use crate::npy::Array;
use crate::sparse;
use crate::zip::Zip;
use std::path::{Path, PathBuf};
use supergat_core::{Features, SparseMatrix};

/// An open archive of arrays.
#[derive(Debug)]
pub struct Npz {
    path: PathBuf,
    zip: Zip,
}

impl Npz {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::parse(path, file::read(path, file::MAX_BYTES)?)
    }

    /// Parses the bytes of a file; `path` is only named in errors.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        Ok(Self { path: path.to_owned(), zip: Zip::parse(path, bytes)? })
    }

    /// Returns whether there is an array called `name`.
    pub fn has(&self, name: &str) -> bool {
        self.zip.names().any(|member| member.strip_suffix(".npy") == Some(name))
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
        let pairs = self.pairs(named("indptr")?.integers()?, named("indices")?.integers()?, [rows, columns])?;
        sparse::from_entries(&self.path, [rows, columns], pairs, named("data")?.numbers()?)
    }

    /// Returns the row and column of every entry; `indptr` contains the offsets of the rows.
    fn pairs(&self, indptr: Vec<i64>, indices: Vec<i64>, sides: [usize; 2]) -> Result<Vec<[u32; 2]>> {
        sparse::pairs(&self.path, &indptr, &indices, sides)
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

    fn mismatch(&self, what: &str, expected: &str, found: String) -> Error {
        let found = found.chars().take(80).collect();
        Error::Mismatch { path: self.path.clone(), what: what.into(), expected: expected.into(), found }
    }
}

/// Reads the file that `scipy.sparse.save_npz` writes, in the formats csr, csc and coo, as features.
pub fn sparse_features(path: &Path) -> Result<Features<f32>> {
    sparse_matrix(&Npz::open(path)?).map(Features::Sparse)
}

/// Reads the matrix that `scipy.sparse.save_npz` wrote.
pub fn sparse_matrix(npz: &Npz) -> Result<SparseMatrix<f32>> {
    let sides @ [rows, columns] = npz.shape("shape")?;
    let whole = |name: &str| npz.array(name)?.integers();
    let format = npz.array("format")?.texts()?.pop().unwrap_or_default();
    let pairs = match format.as_str() {
        "csr" => npz.pairs(whole("indptr")?, whole("indices")?, sides)?,
        "csc" => {
            let mut pairs = npz.pairs(whole("indptr")?, whole("indices")?, [columns, rows])?;
            pairs.iter_mut().for_each(|pair| pair.reverse());
            pairs
        }
        "coo" => sparse::zip_pairs(&npz.path, &whole("row")?, &whole("col")?, sides)?,
        _ => return Err(npz.mismatch("format", "csr, csc or coo", format)),
    };
    sparse::from_entries(&npz.path, sides, pairs, npz.array("data")?.numbers()?)
}
