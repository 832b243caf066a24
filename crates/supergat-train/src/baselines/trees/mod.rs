//! Gradient-boosted trees as a model: trees ask for the columns of a node and of its neighbours.
//!
//! [`supergat_numerics::node_columns`] has the columns, [`supergat_numerics::boosted_trees`] the scores. With classes `c`
//! and scores `s_c`, each from trees that tell class `c` from all others, the logits of a node are
//!
//! ```text
//! one of two classes:      [0, s_1]
//! one of several classes:  ln sigmoid(s_c), so that probabilities are sigmoid(s_c) / sum_d sigmoid(s_d)
//! several classes:         s_c
//! ```
//!
//! Growing trees needs the cargo feature `trees`. A stored model is read, and predicts, without it.

#[cfg(feature = "trees")]
mod grow;
#[cfg(test)]
mod tests;

use crate::settings::Settings;
use std::borrow::Cow;
use std::collections::HashMap;
use supergat_core::{Architecture, Error, Example, Result};
use supergat_cpu::Checkpoint;
use supergat_data::Dataset;
use supergat_numerics::boosted_trees::{BoostedTrees, scores};
use supergat_numerics::node_columns::{self, NodeColumns, dense_rows};
use supergat_numerics::pca::Directions;

/// Names of lists in a model file.
const DIRECTIONS: &str = "trees.directions";
const DIRECTION_COLUMNS: &str = "trees.directions.columns";

/// Boosted trees. They predict the nodes of any graph with the same columns.
///
/// See [`crate::Fitted`] for an example of a trained model.
#[derive(Debug, Clone)]
pub struct Trees {
    architecture: Architecture,
    /// Directions of the principal components that replace the columns of a node, if there are many.
    directions: Option<Directions>,
    /// Trees of each score: see [`score_count`].
    scores: Vec<BoostedTrees>,
}

/// Returns the number of scores of a node: one for one of two classes, otherwise one per class.
fn score_count(architecture: &Architecture) -> usize {
    if architecture.classes == 2 && !architecture.multi_label { 1 } else { architecture.classes }
}

/// Returns the columns of the nodes of a graph.
fn columns<'a>(example: &'a Example<f32>, directions: Option<&Directions>) -> NodeColumns<'a> {
    let (width, rows) = match directions {
        Some(directions) => (directions.parts().0, Cow::Owned(directions.project(&example.features))),
        None => (example.features.columns(), dense_rows(&example.features)),
    };
    let weights = example.edges.as_ref().map_or(&[][..], |edges| edges.weights());
    NodeColumns::new(&example.graph, weights, width, rows)
}

/// Returns the number of columns of a node after principal components have replaced many.
pub fn width(features: usize, settings: &Settings) -> usize {
    features.min(settings.trees().tree_components)
}

impl Trees {
    /// Grows the trees. Validation nodes decide only how many.
    #[cfg(feature = "trees")]
    pub(super) fn fit(dataset: &Dataset, settings: &Settings, seed: u64) -> Result<Self> {
        let architecture = settings.architecture(dataset);
        let components = settings.trees().tree_components;
        let directions = match dataset.features() > components {
            true => Some(Directions::of(&*grow::all_features(dataset)?, components)),
            false => None,
        };
        let graphs: Vec<_> = dataset.examples.iter().map(|example| columns(example, directions.as_ref())).collect();
        let scores = grow::grow(dataset, &graphs, score_count(&architecture), settings.trees(), seed)?;
        Ok(Self { architecture, directions, scores })
    }

    #[cfg(not(feature = "trees"))]
    pub(super) fn fit(_: &Dataset, settings: &Settings, _: u64) -> Result<Self> {
        super::check_available(settings.model).map(|()| unreachable!("refused without the feature"))
    }

    pub(super) fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Returns the number of trees of each score: one score for one of two classes, otherwise one per class.
    pub fn counts(&self) -> Vec<usize> {
        self.scores.iter().map(BoostedTrees::len).collect()
    }

    pub(super) fn logits(&self, dataset: &Dataset) -> Result<Vec<Vec<f32>>> {
        let expected = self.architecture.input_features;
        if let Some(example) = dataset.examples.iter().find(|example| example.features.columns() != expected) {
            let found = example.features.columns();
            return Err(Error::SizeMismatch { what: "features per node", expected, found });
        }
        let of_graph = |example| self.of_scores(&scores(&columns(example, self.directions.as_ref()), &self.scores));
        Ok(dataset.examples.iter().map(of_graph).collect())
    }

    /// Returns the logits of nodes with these scores.
    fn of_scores(&self, scores: &[f64]) -> Vec<f32> {
        // ln sigmoid(s) = -ln(1 + exp(-s)), with an exponent that is not positive.
        let log_sigmoid = |s: f64| s.min(0.0) - (-s.abs()).exp().ln_1p();
        match (self.architecture.multi_label, score_count(&self.architecture) == self.architecture.classes) {
            (true, _) => scores.iter().map(|&score| score as f32).collect(),
            (false, true) => scores.iter().map(|&score| log_sigmoid(score) as f32).collect(),
            (false, false) => scores.iter().flat_map(|&score| [0.0, score as f32]).collect(),
        }
    }

    pub(super) fn store(&self, lists: &mut HashMap<String, Vec<u32>>) {
        for (k, trees) in self.scores.iter().enumerate() {
            lists.insert(name(k), trees.to_words());
        }
        if let Some(directions) = &self.directions {
            let (_, used, values) = directions.parts();
            lists.insert(DIRECTIONS.into(), values.iter().map(|value| value.to_bits()).collect());
            lists.insert(DIRECTION_COLUMNS.into(), used.to_vec());
        }
    }

    pub(super) fn restore(checkpoint: &mut Checkpoint) -> Result<Self> {
        let damaged = || Error::Checkpoint { reason: "its trees are damaged".into() };
        let (architecture, lists) = (checkpoint.architecture, &mut checkpoint.lists);
        let directions = match (lists.remove(DIRECTIONS), lists.remove(DIRECTION_COLUMNS)) {
            (None, None) => None,
            (Some(values), Some(used)) => {
                let components = values.len() / used.len().max(1);
                let values = values.into_iter().map(f32::from_bits).collect();
                Some(Directions::from_parts(components, used, values).ok_or_else(damaged)?)
            }
            _ => return Err(damaged()),
        };
        let width = directions.as_ref().map_or(architecture.input_features, |directions| directions.parts().0);
        if u32::try_from(width).is_err() || architecture.classes == 0 {
            return Err(damaged());
        }
        let mut scores = Vec::new();
        while scores.len() < score_count(&architecture) {
            let words = lists.remove(&name(scores.len())).ok_or_else(damaged)?;
            scores.push(BoostedTrees::from_words(&words, node_columns::count(width)).ok_or_else(damaged)?);
        }
        Ok(Self { architecture, directions, scores })
    }
}

/// Returns the name of the list with the trees of a score in a model file.
fn name(score: usize) -> String {
    format!("trees.{score}")
}
