//! Reader for the npz files of the heterophilous graph benchmark (Platonov et al., 2023).
//!
//! | array | contents |
//! |---|---|
//! | `node_features` | features, one row per node |
//! | `node_labels` | class of each node, -1 if unknown |
//! | `edges` | links, two nodes in each row, each link once |
//! | `train_masks`, `val_masks`, `test_masks` | one boolean mask of the nodes per split; optional |
//!
//! Links are undirected, without duplicates and self-loops. Features are used as they are.

use super::prepare;
use crate::containers::npz::Npz;
use crate::dataset::Dataset;
use crate::dataset::split::{self, Split};
use crate::error::{Error, Result};
use crate::files;
use crate::options::LoadOptions;
use crate::words::count;
use supergat_core::Example;

const MASKS: [&str; 3] = ["train_masks", "val_masks", "test_masks"];

/// Reads the dataset of an open file.
pub fn parse(npz: &Npz, name: String, options: &LoadOptions) -> Result<Dataset> {
    let path = npz.path();
    let mut notes = Vec::new();
    let features = npz.dense_features("node_features")?;
    let nodes = features.rows();
    let (labels, class_names) = prepare::named_classes(path, &npz.array("node_labels")?.integers()?, &mut notes)?;
    if labels.nodes() != nodes {
        let expected = format!("{nodes}, one per row of node_features");
        return Err(npz.mismatch("node_labels", &expected, labels.nodes().to_string()));
    }
    let pairs = edges(npz, nodes)?;
    let core = Error::core(path);
    let (graph, links) = prepare::undirected_noted(nodes, &pairs, &mut notes).map_err(core)?;
    let splits = splits(npz, nodes)?;
    let chosen = split::choose(options.split, path, &name, &labels, splits.clone(), &mut notes)?;
    Ok(Dataset {
        name,
        class_names,
        examples: vec![Example::new(graph, features, labels, chosen).map_err(core)?],
        listed_links: links,
        notes,
        splits,
        ..Dataset::default()
    })
}

/// Reads the links; both ends must be below `nodes`.
fn edges(npz: &Npz, nodes: usize) -> Result<Vec<(u32, u32)>> {
    let array = npz.array("edges")?;
    let [rows, columns] = array.rows_and_columns()?;
    if columns != 2 {
        return Err(npz.mismatch("edges", "two columns, the nodes of each link", count(columns, "column")));
    }
    let ends = array.integers()?;
    let end = |row: usize, column: usize| {
        let node = ends[2 * row + column];
        u32::try_from(node).ok().filter(|&node| (node as usize) < nodes).ok_or_else(|| {
            npz.mismatch(&format!("edges, row {row}"), &format!("a node below {nodes}"), node.to_string())
        })
    };
    files::collect(npz.path(), rows, (0..rows).map(|row| Ok((end(row, 0)?, end(row, 1)?))))
}

/// Reads the splits of the file; none if it has no masks.
fn splits(npz: &Npz, nodes: usize) -> Result<Vec<Split>> {
    if !MASKS.iter().any(|name| npz.has(name)) {
        return Ok(Vec::new());
    }
    let [train, validation, test] = MASKS.map(|name| masks(npz, name, nodes));
    let (train, validation, test) = (train?, validation?, test?);
    for (name, masks) in [(MASKS[1], &validation), (MASKS[2], &test)] {
        if masks.len() != train.len() {
            let expected = format!("{} rows, as in {}", train.len(), MASKS[0]);
            return Err(npz.mismatch(name, &expected, count(masks.len(), "row")));
        }
    }
    let splits: Vec<Split> = train.into_iter().zip(validation).zip(test).map(|((a, b), c)| [a, b, c]).collect();
    for (number, lists) in splits.iter().enumerate() {
        let mut taken = files::filled(npz.path(), false, nodes)?;
        for &node in lists.iter().flatten() {
            if std::mem::replace(&mut taken[node as usize], true) {
                let what = format!("row {number} of the masks");
                return Err(npz.mismatch(&what, "every node in at most one mask", format!("node {node} in two")));
            }
        }
    }
    Ok(splits)
}

/// Returns the nodes that each row of a mask selects.
fn masks(npz: &Npz, name: &str, nodes: usize) -> Result<Vec<Vec<u32>>> {
    let array = npz.array(name)?;
    let columns = array.shape().last().copied().unwrap_or(0);
    if columns != nodes || array.shape().len() > 2 {
        let expected = format!("rows of {nodes} values, one per node");
        return Err(npz.mismatch(name, &expected, format!("an array of shape {:?}", array.shape())));
    }
    let values = array.integers()?;
    let selected = |row: &[i64]| (0..).zip(row).filter(|(_, value)| **value != 0).map(|(node, _)| node).collect();
    Ok(values.chunks_exact(nodes.max(1)).map(selected).collect())
}
