//! Labelled nodes of a dataset and their neighbours.

use serde::Serialize;
use supergat_core::{Example, Labels};
use supergat_data::Dataset;
use supergat_numerics::homophily::{agreement, neighbours};
use supergat_numerics::ridge::NodeRef;

/// Labels that may be used. Labels of test nodes are never used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// Labels of the training nodes.
    Training,
    /// Labels of the training and validation nodes.
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

/// Reason why there is no homophily estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// No node has a label.
    #[error("no node has a label")]
    NoLabels,
    /// All labelled nodes have the same class.
    #[error("all labelled nodes have the same class")]
    OneClass,
    /// Fewer labelled nodes than classes.
    #[error("too few labelled nodes ({labelled} for {classes} classes)")]
    TooFew {
        /// Number of labelled nodes.
        labelled: usize,
        /// Number of classes.
        classes: usize,
    },
    /// No labelled node has a neighbour.
    #[error("no labelled node has a neighbour")]
    NoNeighbours,
    /// Neither links nor features contain evidence.
    #[error("no link joins two labelled nodes, and features do not separate their classes")]
    NoEvidence,
}

/// Labelled nodes of a dataset with their classes and neighbours.
pub(super) struct LabelledNodes<'a> {
    pub(super) examples: &'a [Example<f32>],
    pub(super) classes: usize,
    pub(super) nodes: Vec<NodeRef>,
    /// Class of each labelled node; zeros if nodes may have several classes.
    pub(super) class_of: Vec<usize>,
    /// Neighbours of each labelled node, without itself, and one divided by the number of all its neighbours.
    pub(super) around: Vec<(Vec<u32>, f64)>,
    /// Index of each node of each graph among the labelled nodes, if it is labelled.
    pub(super) index: Vec<Vec<Option<u32>>>,
    /// Mean share of self-loops among the neighbours of a node.
    pub(super) loops: f64,
}

impl<'a> LabelledNodes<'a> {
    /// Collects the labelled nodes of a dataset; fails if they contain no evidence of homophily.
    pub(super) fn of(dataset: &'a Dataset, known: Known) -> Result<Self, Unknown> {
        let (examples, classes) = (&dataset.examples[..], dataset.classes());
        let mut sample = Self {
            examples,
            classes,
            nodes: Vec::new(),
            class_of: Vec::new(),
            around: Vec::new(),
            index: examples.iter().map(|example| vec![None; example.graph.nodes()]).collect(),
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
                sample.index[e][i] = Some(sample.nodes.len() as u32);
                sample.nodes.push((e, i));
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
        let labelled = self.nodes.len();
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

    /// Returns the mean agreement of a labelled node with itself: 1, unless nodes have several classes.
    pub(super) fn agreement_with_itself(&self) -> f64 {
        let each = self.nodes.iter().filter_map(|(e, i)| agreement(&self.examples[*e].labels, *i, *i));
        each.sum::<f64>() / self.nodes.len() as f64
    }

    /// Whether most nodes are labelled in the graphs that have labelled nodes.
    pub(super) fn are_most_nodes(&self) -> bool {
        let with_labels = self.index.iter().filter(|index| index.iter().any(Option::is_some));
        2 * self.nodes.len() >= with_labels.map(Vec::len).sum::<usize>()
    }
}
