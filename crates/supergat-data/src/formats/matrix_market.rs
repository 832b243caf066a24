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
use crate::tables;
use std::path::Path;

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str = "one .mtx file with the links, and nodes.csv with id, label and features";

/// Returns whether these file names belong to this format.
pub(crate) fn recognises(names: &[String]) -> bool {
    names.iter().filter(|name| is_one(name)).count() == 1 && !tables::lists_links(names)
}

/// Returns whether a file of this name contains the links of a dataset.
pub(crate) fn is_one(name: &str) -> bool {
    is_matrix(Path::new(name))
}
