//! A dataset in one `.npz` file. Its arrays tell which of two published layouts it has.

use super::{gnn_benchmark, heterophilous};
use crate::containers::npz::Npz;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::options::LoadOptions;

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str =
    "one .npz file with adj_data, attr_data and labels, or with node_features, node_labels and edges";

/// Returns whether these file names belong to this format.
pub(crate) fn recognises(names: &[String]) -> bool {
    let tables = names.iter().any(|name| [".csv", ".tsv", ".parquet"].iter().any(|end| name.ends_with(end)));
    names.iter().filter(|name| is_one(name)).count() == 1 && !tables
}

/// Returns whether a file of this name contains a dataset.
pub(crate) fn is_one(name: &str) -> bool {
    name.ends_with(".npz")
}

/// Reads the dataset of an open file. `name` is its name, unless the content is a published one.
pub fn parse(npz: &Npz, name: String, options: &LoadOptions) -> Result<Dataset> {
    if npz.has("node_features") || npz.has("edges") {
        heterophilous::parse(npz, name, options)
    } else if npz.names().any(|name| name.starts_with("adj_")) {
        gnn_benchmark::parse(npz, name, options)
    } else {
        let found = npz.names().collect::<Vec<_>>().join(", ");
        Err(npz.mismatch("arrays", "adj_data, attr_data and labels, or node_features, node_labels and edges", found))
    }
}
