//! Reader for Wiki-CS (Mernyei & Cangea, 2020): Wikipedia articles on computer science in one file,
//! `data.json`.
//!
//! | key | contents |
//! |---|---|
//! | `features` | features, one row per article |
//! | `labels` | class of each article |
//! | `links` | list of link targets of each article |
//! | `train_masks`, `val_masks` | 20 boolean masks, one per split |
//! | `test_mask` | boolean mask of the test articles, shared by all splits |
//!
//! Links are directed, as listed, as in the paper. `stopping_masks` is ignored, since the paper uses
//! `val_masks` for early stopping.

use super::prepare;
use crate::dataset::split::{self, Split};
use crate::dataset::{Dataset, numbered};
use crate::error::{Error, Result};
use crate::files;
use crate::options::LoadOptions;
use serde::Deserialize;
use std::path::Path;
use supergat_core::{Direction, Example, Features, Graph};

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str = "data.json with features, labels, links and masks";

/// Returns whether these file names belong to this format.
pub(crate) fn recognises(names: &[String]) -> bool {
    names.iter().any(|name| is_one(name))
}

/// Returns whether a file of this name contains a dataset.
pub(crate) fn is_one(name: &str) -> bool {
    name == "data.json"
}

/// Contents of `data.json`.
#[derive(Deserialize)]
struct Content {
    features: Vec<Vec<f32>>,
    labels: Vec<i64>,
    links: Vec<Vec<u32>>,
    train_masks: Vec<Vec<bool>>,
    val_masks: Vec<Vec<bool>>,
    test_mask: Vec<bool>,
}

/// Parses the bytes of a file; `path` is only used in error messages.
pub fn parse(path: &Path, bytes: &[u8], name: String, options: &LoadOptions) -> Result<Dataset> {
    let expected = "an object with features, labels, links, train_masks, val_masks and test_mask";
    let content: Content = files::json(path, bytes, expected)?;
    let nodes = content.labels.len();
    let require_equal = |what: String, expected: usize, found: usize| match expected == found {
        true => Ok(()),
        false => Err(Error::mismatch(path, what, expected.to_string(), found)),
    };
    require_equal("rows of features, one per label".into(), nodes, content.features.len())?;
    require_equal("lists of links, one per label".into(), nodes, content.links.len())?;
    require_equal("val_masks, as many as train_masks".into(), content.train_masks.len(), content.val_masks.len())?;
    let masks = content.train_masks.iter().chain(&content.val_masks).chain([&content.test_mask]);
    masks
        .into_iter()
        .try_for_each(|mask| require_equal("values of a mask, one per label".into(), nodes, mask.len()))?;
    let columns = content.features.first().map_or(0, Vec::len);
    for (node, row) in content.features.iter().enumerate() {
        require_equal(format!("features of node {node}"), columns, row.len())?;
    }

    let edges = |(from, to): (usize, &Vec<u32>)| to.iter().map(move |&to| (from as u32, to)).collect::<Vec<_>>();
    let edges: Vec<(u32, u32)> = content.links.iter().enumerate().flat_map(edges).collect();
    let core = Error::core(path);
    let graph = Graph::from_edges(nodes, &edges, Direction::Directed).map_err(core)?;
    let features = Features::dense(nodes, columns, content.features.into_iter().flatten().collect()).map_err(core)?;
    let labels = prepare::classes(path, &content.labels)?;
    let masks = content.train_masks.iter().zip(&content.val_masks);
    let of_files: Vec<Split> = masks
        .map(|(train, validation)| [selected(train), selected(validation), selected(&content.test_mask)])
        .collect();
    let mut notes = vec!["links as listed, direction kept".to_owned()];
    let split = split::choose(options.split, path, &name, &labels, of_files.clone(), &mut notes)?;
    Ok(Dataset {
        name,
        class_names: numbered(labels.classes()),
        examples: vec![Example::new(graph, features, labels, split).map_err(core)?],
        listed_links: edges.len() as u64,
        notes,
        splits: of_files,
        ..Dataset::default()
    })
}

/// Returns the nodes whose mask is true.
fn selected(mask: &[bool]) -> Vec<u32> {
    mask.iter().enumerate().filter(|(_, selected)| **selected).map(|(node, _)| node as u32).collect()
}
