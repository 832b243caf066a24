//! A dataset in one `.npz` file. Its arrays tell which of two published layouts it has.

use super::{gnn_benchmark, heterophilous, prepare};
use crate::containers::npz::Npz;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files;
use crate::options::LoadOptions;
use std::path::Path;

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str =
    "one .npz file with adj_data, attr_data and labels, or with node_features, node_labels and edges";

/// Returns whether these file names belong to this format.
pub(crate) fn recognises(names: &[String]) -> bool {
    let tables = names.iter().any(|name| [".csv", ".tsv", ".parquet"].iter().any(|end| name.ends_with(end)));
    names.iter().filter(|name| name.ends_with(".npz")).count() == 1 && !tables
}

/// Reads the dataset from a folder. The name follows from the content, else from the folder.
pub fn read(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let names = files::list(folder)?;
    let Some(name) = names.iter().find(|name| name.ends_with(".npz")) else {
        return Err(Error::NotFound {
            path: folder.join("*.npz"),
            advice: format!("the folder must contain {EXPECTED}"),
        });
    };
    parse(&Npz::open(&folder.join(name))?, prepare::name_of(folder), options)
}

/// Reads the dataset in a single file. The name follows from the content, else from the file.
pub fn read_file(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    parse(&Npz::open(path)?, prepare::name_of(&path.with_extension("")), options)
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
