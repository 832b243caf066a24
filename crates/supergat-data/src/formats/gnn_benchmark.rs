//! Reader for the npz files of the "Pitfalls of graph neural network evaluation" benchmark (Shchur et al.,
//! 2018) and of CitationFull: Cora-ML, Cora-Full, DBLP, CS, Physics, Photo and Computers.
//!
//! | array | contents |
//! |---|---|
//! | `adj_data`, `adj_indices`, `adj_indptr`, `adj_shape` | links as a sparse matrix (CSR) |
//! | `attr_data`, ... or `attr_matrix` | features, sparse (CSR) or dense |
//! | `labels` | class of each node, -1 if unknown |
//!
//! Links are undirected, without duplicates and self-loops. Arrays of Python objects, such as node names, are
//! ignored. The published datasets, recognised by their numbers of nodes and features, are prepared as in the
//! paper: positive features become 1, all others 0; features of CS, Physics and Cora-Full are reduced to 500
//! principal components, unless they are divided by their row sum ([`crate::FeatureChoice::row_normalise`]). Other
//! files keep their features.

use super::prepare::{self, COMPONENTS};
use crate::containers::npz::Npz;
use crate::dataset::{Dataset, split};
use crate::error::{Error, Result};
use crate::options::LoadOptions;
use supergat_core::{Example, Features, SparseMatrix};
use supergat_numerics::pca::principal_components;

/// A dataset whose published preparation is known.
struct Published {
    name: &'static str,
    nodes: usize,
    features: usize,
    /// Whether the features are reduced to principal components.
    reduced: bool,
}

const fn published(name: &'static str, nodes: usize, features: usize, reduced: bool) -> Published {
    Published { name, nodes, features, reduced }
}

const PUBLISHED: [Published; 8] = [
    published("cora-ml", 2995, 2879, false),
    published("cora-full", 19793, 8710, true),
    published("dblp", 17716, 1639, false),
    published("cs", 18333, 6805, true),
    published("physics", 34493, 8415, true),
    published("photo", 7650, 745, false),
    published("computers", 13752, 767, false),
    published("citeseer-full", 4230, 602, false),
];

/// Reads the dataset of an open file. `name` is its name, unless the content is a published one.
pub fn parse(npz: &Npz, name: String, options: &LoadOptions) -> Result<Dataset> {
    let path = npz.path();
    let core = Error::core(path);
    let adjacency = npz.csr("adj_")?;
    let nodes = adjacency.offsets().len() - 1;
    let mut notes = Vec::new();

    let (labels, class_names) = prepare::named_classes(path, &npz.array("labels")?.integers()?, &mut notes)?;
    let features = if npz.has("attr_matrix") { npz.dense_features("attr_matrix")? } else { npz.csr_features("attr_")? };
    let shape = (features.rows(), features.columns());
    let published = PUBLISHED.iter().find(|published| shape == (published.nodes, published.features));
    let (name, features) = match published {
        Some(published) => {
            let reduced = published.reduced && !options.features.is_row_normalised();
            (published.name.to_owned(), prepared(&features, reduced, &mut notes).map_err(core)?)
        }
        None => {
            notes.push("features: values kept as in the file".into());
            (name, features)
        }
    };

    let pairs: Vec<(u32, u32)> =
        (0..nodes).flat_map(|row| adjacency.row(row).0.iter().map(move |&column| (row as u32, column))).collect();
    let (graph, links) = prepare::undirected_noted(nodes, &pairs, &mut notes).map_err(core)?;
    let split = split::choose(options.split, path, &name, &labels, Vec::new(), &mut notes)?;
    Ok(Dataset {
        name,
        class_names,
        examples: vec![Example::new(graph, features, labels, split).map_err(core)?],
        listed_links: links,
        notes,
        ..Dataset::default()
    })
}

/// Prepares features as in the paper: binary and, if `reduced`, as principal components.
fn prepared(features: &Features<f32>, reduced: bool, notes: &mut Vec<String>) -> supergat_core::Result<Features<f32>> {
    let matrix = binary(features)?;
    notes.push("features: every positive value became 1, as published".into());
    if !reduced {
        return Ok(Features::Sparse(matrix));
    }
    notes.push(format!("features: {} words reduced to {COMPONENTS} principal components", features.columns()));
    Ok(principal_components(&matrix, COMPONENTS))
}

/// Returns a sparse matrix with 1 in place of positive values and without all others.
fn binary(features: &Features<f32>) -> supergat_core::Result<SparseMatrix<f32>> {
    let ones = |row| features.entries(row).filter(|(_, value)| *value > 0.0).map(|(column, _)| (column, 1.0));
    SparseMatrix::from_rows(features.columns(), (0..features.rows()).map(ones))
}
