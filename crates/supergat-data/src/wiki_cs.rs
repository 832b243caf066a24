//! Wiki-CS (Mernyei & Cangea, 2020): articles on computer science in one file, `data.json`.
//!
//! | key | holds |
//! |---|---|
//! | `features` | a row of features per article |
//! | `labels` | the class of each article |
//! | `links` | for each article those it links to |
//! | `train_masks`, `val_masks` | 20 lists of truth values, one for each split |
//! | `test_mask` | the test articles, the same in all splits |
//!
//! Links are taken as listed, direction kept, as in the paper. `stopping_masks` is not used: the paper stops by `val_masks`.

use crate::dataset::{Dataset, numbered};
use crate::error::{Error, Result};
use crate::options::LoadOptions;
use crate::split::Split;
use crate::{file, prepare, split};
use serde::Deserialize;
use std::path::Path;
use supergat_core::{Direction, Example, Features, Graph};

/// What the files of a folder must be called.
pub(crate) const EXPECTED: &str = "data.json with features, labels, links and masks";

const FILE: &str = "data.json";

/// Whether files of these names are a dataset of this format.
pub(crate) fn recognises(names: &[String]) -> bool {
    names.iter().any(|name| name == FILE)
}

#[derive(Deserialize)]
struct Content {
    features: Vec<Vec<f32>>,
    labels: Vec<i64>,
    links: Vec<Vec<u32>>,
    train_masks: Vec<Vec<bool>>,
    val_masks: Vec<Vec<bool>>,
    test_mask: Vec<bool>,
}

/// Reads the dataset in a folder.
pub fn read(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let path = folder.join(FILE);
    parse(&path, &file::read(&path, file::MAX_BYTES)?, prepare::name_of(folder), options)
}

/// Takes the bytes of a file; `path` is only named in errors.
pub fn parse(path: &Path, bytes: &[u8], name: String, options: &LoadOptions) -> Result<Dataset> {
    let expected = "an object with features, labels, links, train_masks, val_masks and test_mask";
    let content: Content = file::json(path, bytes, expected)?;
    let nodes = content.labels.len();
    let same = |what: String, expected: usize, found: usize| {
        let mismatch = || Error::Mismatch {
            path: path.to_owned(),
            what,
            expected: expected.to_string(),
            found: found.to_string(),
        };
        if expected == found { Ok(()) } else { Err(mismatch()) }
    };
    same("rows of features, one per label".into(), nodes, content.features.len())?;
    same("lists of links, one per label".into(), nodes, content.links.len())?;
    same("val_masks, as many as train_masks".into(), content.train_masks.len(), content.val_masks.len())?;
    let masks = content.train_masks.iter().chain(&content.val_masks).chain([&content.test_mask]);
    masks.into_iter().try_for_each(|mask| same("values of a mask, one per label".into(), nodes, mask.len()))?;
    let columns = content.features.first().map_or(0, Vec::len);
    for (node, row) in content.features.iter().enumerate() {
        same(format!("features of node {node}"), columns, row.len())?;
    }

    let edges = |(from, to): (usize, &Vec<u32>)| to.iter().map(move |&to| (from as u32, to)).collect::<Vec<_>>();
    let edges: Vec<(u32, u32)> = content.links.iter().enumerate().flat_map(edges).collect();
    let core = |source| Error::Core { path: path.to_owned(), source };
    let graph = Graph::from_edges(nodes, &edges, Direction::Directed).map_err(core)?;
    let features = Features::dense(nodes, columns, content.features.into_iter().flatten().collect()).map_err(core)?;
    let labels = prepare::classes(path, &content.labels)?;
    let masks = content.train_masks.iter().zip(&content.val_masks);
    let of_files: Vec<Split> =
        masks.map(|(train, validation)| [chosen(train), chosen(validation), chosen(&content.test_mask)]).collect();
    let mut notes = vec!["links as listed, direction kept".to_owned()];
    let split = split::choose(options.split, path, &name, &labels, of_files, &mut notes)?;
    Ok(Dataset {
        name,
        class_names: numbered(labels.classes()),
        examples: vec![Example::new(graph, features, labels, split).map_err(core)?],
        node_ids: None,
        listed_links: edges.len() as u64,
        notes,
        schema: None,
    })
}

fn chosen(mask: &[bool]) -> Vec<u32> {
    mask.iter().enumerate().filter(|(_, chosen)| **chosen).map(|(node, _)| node as u32).collect()
}
