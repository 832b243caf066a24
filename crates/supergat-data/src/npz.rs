//! numpy's `.npz` files: a zip archive of `.npy` files. A member is unpacked and decoded when it is asked for, so arrays of Python
//! objects that nobody asks for do no harm.

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

    /// Takes the bytes of a file; `path` is only named in errors.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        Ok(Self { path: path.to_owned(), zip: Zip::parse(path, bytes)? })
    }

    /// Whether there is an array of that name.
    pub fn has(&self, name: &str) -> bool {
        self.zip.names().any(|member| member.strip_suffix(".npy") == Some(name))
    }

    /// The array of that name.
    pub fn array(&self, name: &str) -> Result<Array> {
        let member = format!("{name}.npy");
        Array::parse(&self.zip.member_path(&member), self.zip.read(&member)?)
    }

    /// The sparse matrix in compressed rows whose parts are called `prefix` and then `data`, `indices`, `indptr` and `shape`.
    pub fn csr(&self, prefix: &str) -> Result<SparseMatrix<f32>> {
        let part = |name: &str| self.array(&format!("{prefix}{name}"));
        let [rows, columns] = self.shape(&format!("{prefix}shape"))?;
        let pairs = self.pairs(part("indptr")?.integers()?, part("indices")?.integers()?, [rows, columns])?;
        sparse::from_entries(&self.path, [rows, columns], pairs, part("data")?.numbers()?)
    }

    /// Row and column of every entry, `indptr` dividing them by row.
    fn pairs(&self, indptr: Vec<i64>, indices: Vec<i64>, sides: [usize; 2]) -> Result<Vec<[u32; 2]>> {
        sparse::pairs(&self.path, &indptr, &indices, sides)
    }

    /// The two numbers of an array that tells the shape of a matrix.
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

/// The matrix of a file that `scipy.sparse.save_npz` wrote.
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
