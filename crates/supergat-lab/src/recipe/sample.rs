//! The labelled nodes of a dataset, and what they are linked with.

use super::classifier::Place;
use crate::graph_statistics::{agreement, neighbours};
use serde::Serialize;
use supergat_core::{Example, Labels};
use supergat_data::Dataset;

/// Which labels may be looked at. Those of test nodes never are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// Those of the training nodes.
    Training,
    /// Those of the training and validation nodes.
    TrainingAndValidation,
}

impl Known {
    fn nodes(self, example: &Example<f32>) -> impl Iterator<Item = u32> {
        let validation = match self {
            Self::Training => &[][..],
            Self::TrainingAndValidation => &example.validation,
        };
        example.train.iter().chain(validation).copied()
    }
}

/// Why there is no estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// No labels.
    #[error("no node has a label")]
    NoLabels,
    /// Nothing can disagree.
    #[error("all labelled nodes have the same class")]
    OneClass,
    /// Classes without a labelled node.
    #[error("{labelled} labelled nodes are fewer than the {classes} classes")]
    TooFew {
        /// Labelled nodes.
        labelled: usize,
        /// Classes.
        classes: usize,
    },
    /// No neighbours.
    #[error("no labelled node has a neighbour")]
    NoNeighbours,
    /// Neither links nor features say anything.
    #[error("no link joins two labelled nodes, and features say nothing of their classes")]
    NoEvidence,
}

/// The labelled nodes of a dataset and what they are linked with.
pub(super) struct Sample<'a> {
    pub(super) examples: &'a [Example<f32>],
    pub(super) classes: usize,
    pub(super) places: Vec<Place>,
    /// Class of each labelled node; zeros where a node may have several.
    pub(super) class_of: Vec<usize>,
    /// Of each labelled node its neighbours, besides itself, and one over their number.
    pub(super) around: Vec<(Vec<u32>, f64)>,
    /// For each graph and node the number of the labelled node, if it is one.
    pub(super) number: Vec<Vec<Option<u32>>>,
    /// Mean share of a node's neighbours that is the node itself.
    pub(super) loops: f64,
}

impl<'a> Sample<'a> {
    /// Refuses what says nothing of homophily.
    pub(super) fn of(dataset: &'a Dataset, known: Known) -> Result<Self, Unknown> {
        let (examples, classes) = (&dataset.examples[..], dataset.classes());
        let mut sample = Self {
            examples,
            classes,
            places: Vec::new(),
            class_of: Vec::new(),
            around: Vec::new(),
            number: examples.iter().map(|example| vec![None; example.graph.nodes()]).collect(),
            loops: 0.0,
        };
        let mut linked = 0.0;
        for (e, example) in examples.iter().enumerate() {
            let mut lists = neighbours(&example.graph);
            for (i, list) in lists.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
                linked += 1.0;
                sample.loops += list.iter().filter(|j| **j as usize == i).count() as f64 / list.len() as f64;
            }
            for node in known.nodes(example) {
                let i = node as usize;
                let mut list = std::mem::take(&mut lists[i]);
                let share = 1.0 / (list.len() as f64).max(1.0);
                list.retain(|other| *other != node);
                sample.number[e][i] = Some(sample.places.len() as u32);
                sample.places.push((e, i));
                sample.around.push((list, share));
                sample.class_of.push(match &example.labels {
                    Labels::Single { of, .. } => of[i] as usize,
                    Labels::Multi { .. } => 0,
                });
            }
        }
        sample.loops /= f64::max(linked, 1.0);
        sample.check(dataset.is_multi_label())
    }

    fn check(self, several: bool) -> Result<Self, Unknown> {
        let labelled = self.places.len();
        let Some(first) = self.class_of.first() else { return Err(Unknown::NoLabels) };
        if !several && self.class_of.iter().all(|class| class == first) {
            return Err(Unknown::OneClass);
        }
        if !several && labelled < self.classes {
            return Err(Unknown::TooFew { labelled, classes: self.classes });
        }
        if self.around.iter().all(|(list, _)| list.is_empty()) {
            return Err(Unknown::NoNeighbours);
        }
        Ok(self)
    }

    /// The mean agreement of a labelled node with itself: 1, unless nodes have several classes.
    pub(super) fn agreement_with_itself(&self) -> f64 {
        let each = self.places.iter().filter_map(|(e, i)| agreement(&self.examples[*e].labels, *i, *i));
        each.sum::<f64>() / self.places.len() as f64
    }

    /// Whether most nodes are labelled, of the graphs that have labelled ones.
    pub(super) fn speaks_for_itself(&self) -> bool {
        let with_labels = self.number.iter().filter(|number| number.iter().any(Option::is_some));
        2 * self.places.len() >= with_labels.map(Vec::len).sum::<usize>()
    }
}
