//! `dataset.toml`: information about a dataset that tables cannot express. The file and all its entries are
//! optional.

use super::rows::location::Location;
use crate::error::Result;
use crate::files;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the file in a folder of tables.
pub(crate) const SIDECAR: &str = "dataset.toml";

/// Maximum size of the file in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Entries of `dataset.toml`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Sidecar {
    /// Name of the dataset (default: name of the folder).
    pub name: Option<String>,
    /// Whether links are directed.
    pub directed: bool,
    /// Number of features per node, if features are listed as entries.
    pub features: Option<usize>,
    /// Whether features are stored as a sparse matrix.
    pub sparse: Option<bool>,
    /// Whether the columns of nodes are finished features, which are used as they are.
    pub prepared: bool,
    /// Names of all classes, in order.
    pub classes: Option<Vec<String>>,
    /// Whether a node may have several classes, separated by `|`.
    pub several_labels: Option<bool>,
    /// Number of links as counted by the publisher.
    pub listed_links: Option<u64>,
}

impl Sidecar {
    /// Returns whether the columns of nodes are finished features. Files of earlier versions of `supergat convert`
    /// do not say so, but state number and storage of the features.
    pub fn is_prepared(&self) -> bool {
        self.prepared || self.features.is_some() && self.sparse.is_some()
    }

    /// Reads the file from a folder; returns the defaults if it is missing.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(SIDECAR);
        if !path.exists() {
            return Ok(Self::default());
        }
        let bytes = files::read(&path, MAX_BYTES)?;
        let text = String::from_utf8_lossy(&bytes);
        toml::from_str(&text).map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start.min(bytes.len()));
            let line = 1 + bytes[..start].iter().filter(|byte| **byte == b'\n').count() as u64;
            let expected = "name, directed, features, sparse, prepared, classes, several_labels or listed_links";
            let found = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            Location::line(&path, line).error(expected, format!("`{found}`"), "fix or remove the file")
        })
    }
}
