//! Reader for Matrix Market files (`.mtx`): the links of a graph as a sparse matrix.
//!
//! ```text
//! %%MatrixMarket matrix coordinate pattern symmetric
//! % a comment
//! 3 3 2
//! 2 1
//! 3 1
//! ```
//!
//! The matrix is general or symmetric, with entries pattern, integer or real. An entry is a link between two
//! nodes, counted from 1. Classes and features come from tables in the same folder, whose ids are these numbers.

use crate::containers::matrix_market::is_matrix;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files::{self};
use crate::options::LoadOptions;
use crate::tables;
use std::path::Path;

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str = "one .mtx file with the links, and nodes.csv with id, label and features";

/// Returns whether these file names belong to this format.
pub(crate) fn recognises(names: &[String]) -> bool {
    names.iter().filter(|name| is_matrix(Path::new(name))).count() == 1 && !tables::lists_links(names)
}

/// Reads the dataset from a folder.
pub fn read(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let names = files::list(folder)?;
    let name = names.iter().find(|name| is_matrix(Path::new(name))).ok_or_else(|| Error::NotFound {
        path: folder.join("*.mtx"),
        advice: format!("the folder must contain {EXPECTED}"),
    })?;
    tables::load_links(folder, &folder.join(name), options)
}

/// Reads the dataset of a single file and the tables beside it.
pub fn read_file(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tables::load_links(folder, path, options)
}
