//! Reader for the GraphSAINT layout (Zeng et al., 2020): Flickr.
//!
//! | file | contents |
//! |---|---|
//! | `adj_full.npz` | links as a SciPy sparse matrix |
//! | `feats.npy` | features, one row per node; may be missing if features are computed |
//! | `class_map.json` | class of each node, or a list of 0 and 1 for multi-label data |
//! | `role.json` | training (`tr`), validation (`va`) and test (`te`) nodes |
//!
//! Links are undirected, without duplicates and self-loops.

use super::prepare;
use crate::containers::npy::Array;
use crate::containers::npz::{Npz, sparse_matrix};
use crate::dataset::{Dataset, graph_features, numbered, split};
use crate::error::{Error, Result};
use crate::files;
use crate::options::LoadOptions;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;
use supergat_core::{Example, Features, Labels};

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str = "adj_full.npz, feats.npy, class_map.json and role.json";

/// Returns whether these file names belong to this format, even if some files are missing.
pub(crate) fn recognises(names: &[String]) -> bool {
    names.iter().any(|name| name == "adj_full.npz")
}

/// Contents of `role.json`.
#[derive(Deserialize)]
struct Roles {
    tr: Vec<u32>,
    va: Vec<u32>,
    te: Vec<u32>,
}

/// Label of a node in `class_map.json`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Class {
    One(i64),
    Several(Vec<u8>),
}

/// Reads the dataset from a folder.
pub fn read(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let bytes = |name: &str| files::read(&folder.join(name), files::MAX_BYTES);
    let files = [bytes("adj_full.npz")?, bytes("class_map.json")?, bytes("role.json")?];
    let are_read = graph_features::are_read(&folder.join("feats.npy"), options.features.given())?;
    let features = are_read.then(|| bytes("feats.npy")).transpose()?;
    parse(folder, files, features, prepare::name_of(folder), options)
}

/// Parses adj_full.npz, class_map.json and role.json, in this order, and feats.npy if there are features.
///
/// `folder` is only used in error messages.
pub fn parse(
    folder: &Path,
    files: [Vec<u8>; 3],
    features: Option<Vec<u8>>,
    name: String,
    options: &LoadOptions,
) -> Result<Dataset> {
    let [adjacency, classes, roles] = files;
    let path = |name: &str| folder.join(name);
    let core = Error::core(folder);

    let adjacency = sparse_matrix(&Npz::parse(&path("adj_full.npz"), adjacency)?)?;
    let nodes = adjacency.offsets().len() - 1;
    let pairs = (0..nodes).flat_map(|row| adjacency.row(row).0.iter().map(move |&column| (row as u32, column)));
    let (graph, links) = prepare::undirected(nodes, pairs).map_err(core)?;

    let features = match features {
        None => graph_features::none(nodes),
        Some(features) => {
            let features = Array::parse(&path("feats.npy"), features)?;
            let [rows, columns] = features.rows_and_columns()?;
            Features::dense(rows, columns, features.numbers()?).map_err(core)?
        }
    };
    let labels = labels(&path("class_map.json"), &classes, nodes)?;
    let expected = "an object with the lists tr, va and te";
    let Roles { tr, va, te } = files::json(&path("role.json"), &roles, expected)?;
    let mut notes = vec!["links in both directions, without duplicates and self-loops".to_owned()];
    let split = split::choose(options.split, folder, &name, &labels, vec![[tr, va, te]], &mut notes)?;
    Ok(Dataset {
        name,
        class_names: numbered(labels.classes()),
        examples: vec![Example::new(graph, features, labels, split).map_err(core)?],
        listed_links: links,
        notes,
        ..Dataset::default()
    })
}

fn labels(path: &Path, text: &[u8], nodes: usize) -> Result<Labels> {
    let mut map: HashMap<String, Class> = files::json(path, text, "an object from each node to its class or classes")?;
    let mismatch = |what: String, expected: &str, found: &str| Error::mismatch(path, what, expected, found);
    if map.len() != nodes {
        return Err(Error::mismatch(path, "nodes", format!("{nodes}, as adj_full.npz has"), map.len()));
    }
    let (mut one, mut several, mut width) = (Vec::new(), Vec::new(), None);
    for node in 0..nodes {
        let class = map.remove(&node.to_string());
        let class = class.ok_or_else(|| mismatch(format!("node {node}"), "a class", "nothing"))?;
        match class {
            Class::One(class) if width.is_none() => one.push(class),
            Class::Several(row) if one.is_empty() && *width.get_or_insert(row.len()) == row.len() => {
                several.extend(row)
            }
            _ => {
                let expected = "a class like that of the nodes before, or as many 0 and 1";
                return Err(mismatch(format!("class of node {node}"), expected, "another kind"));
            }
        }
    }
    match width {
        None => prepare::classes(path, &one),
        Some(classes) => {
            if let Some(at) = several.iter().position(|label| *label > 1) {
                return Err(mismatch(format!("class of node {}", at / classes), "0 or 1", &several[at].to_string()));
            }
            Ok(Labels::Multi { classes, of: several })
        }
    }
}
