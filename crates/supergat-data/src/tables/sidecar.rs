//! `dataset.toml`: what tables cannot say about a dataset. Every entry may be left out, and so may the file.

use super::place::Place;
use crate::error::Result;
use crate::file;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Its name in a folder of tables.
pub(crate) const SIDECAR: &str = "dataset.toml";

const MOST_BYTES: u64 = 64 << 20;

/// The entries of `dataset.toml`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Sidecar {
    /// The name of the dataset, instead of the folder's.
    pub name: Option<String>,
    /// Whether links have a direction.
    pub directed: bool,
    /// Features per node, for features that are listed entry by entry.
    pub features: Option<usize>,
    /// Whether features are kept sparse.
    pub sparse: Option<bool>,
    /// The names of all classes, in their order.
    pub classes: Option<Vec<String>>,
    /// Whether a node may have several classes, which are joined by `|`.
    pub several_labels: Option<bool>,
    /// Links as the publisher counts them.
    pub listed_links: Option<u64>,
}

impl Sidecar {
    /// Reads the file of a folder, where there is one.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(SIDECAR);
        if !path.exists() {
            return Ok(Self::default());
        }
        let bytes = file::read(&path, MOST_BYTES)?;
        let text = String::from_utf8_lossy(&bytes);
        toml::from_str(&text).map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start.min(bytes.len()));
            let line = 1 + bytes[..start].iter().filter(|byte| **byte == b'\n').count() as u64;
            let expected = "name, directed, features, sparse, classes, several_labels or listed_links";
            let found = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            Place { path: &path, line, column: "" }.error(expected, format!("`{found}`"), "mend or remove the file")
        })
    }
}
