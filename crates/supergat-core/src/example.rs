//! What is learned from: a graph, its features, its labels, and which nodes are for what.

use crate::error::{Error, Result};
use crate::features::Features;
use crate::graph::Graph;
use crate::kernels::Real;

/// Labels of all nodes of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Labels {
    /// One class per node, [`Labels::UNKNOWN`] where nobody knows.
    Single {
        /// Number of classes.
        classes: usize,
        /// Class of each node.
        of: Vec<u32>,
    },
    /// Any number of classes per node.
    Multi {
        /// Number of classes.
        classes: usize,
        /// 0 or 1 for each node and class, row after row.
        of: Vec<u8>,
    },
}

impl Labels {
    /// Marks a node whose class is not known.
    pub const UNKNOWN: u32 = u32::MAX;

    /// Number of classes.
    pub fn classes(&self) -> usize {
        match self {
            Self::Single { classes, .. } | Self::Multi { classes, .. } => *classes,
        }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        match self {
            Self::Single { of, .. } => of.len(),
            Self::Multi { classes, of } => of.len() / (*classes).max(1),
        }
    }

    /// Whether a node may have several classes at once.
    pub fn is_multi(&self) -> bool {
        matches!(self, Self::Multi { .. })
    }
}

/// One graph to learn from or to predict on. A transductive dataset is one example with three lists of nodes; an inductive one
/// is many examples whose nodes all belong to one of the lists.
#[derive(Debug, Clone)]
pub struct Example<T> {
    /// The links.
    pub graph: Graph,
    /// The nodes' features.
    pub features: Features<T>,
    /// The nodes' labels.
    pub labels: Labels,
    /// Nodes whose labels are learned from.
    pub train: Vec<u32>,
    /// Nodes that select the model.
    pub validation: Vec<u32>,
    /// Nodes that are only measured.
    pub test: Vec<u32>,
}

impl<T: Real> Example<T> {
    /// Checks that all parts speak of the same nodes, that features are finite and that every split node has a label.
    pub fn new(graph: Graph, features: Features<T>, labels: Labels, splits: [Vec<u32>; 3]) -> Result<Self> {
        let nodes = graph.nodes();
        if features.rows() != nodes {
            return Err(Error::SizeMismatch {
                what: "rows of features (one per node)",
                expected: nodes,
                found: features.rows(),
            });
        }
        let label_entries = match &labels {
            Labels::Single { of, .. } => (nodes, of.len()),
            Labels::Multi { classes, of } => (nodes * classes, of.len()),
        };
        if label_entries.0 != label_entries.1 {
            return Err(Error::SizeMismatch {
                what: "labels (one row per node)",
                expected: label_entries.0,
                found: label_entries.1,
            });
        }
        if let Some(position) = features.values().iter().position(|v| !v.to_f64().is_finite()) {
            return Err(Error::OutOfRange {
                what: "feature value",
                position,
                expected: "a finite number".into(),
                found: features.values()[position].to_f64().to_string(),
            });
        }
        if let Labels::Single { classes, of } = &labels {
            let bad = of.iter().position(|&c| c as usize >= *classes && c != Labels::UNKNOWN);
            if let Some(position) = bad {
                return Err(Error::OutOfRange {
                    what: "label of a node",
                    position,
                    expected: format!("a class below {classes}"),
                    found: of[position].to_string(),
                });
            }
        }
        for list in &splits {
            for (position, &node) in list.iter().enumerate() {
                let known = match &labels {
                    Labels::Single { of, .. } => of.get(node as usize).is_some_and(|&c| c != Labels::UNKNOWN),
                    Labels::Multi { .. } => (node as usize) < nodes,
                };
                if !known {
                    return Err(Error::OutOfRange {
                        what: "node of a split",
                        position,
                        expected: format!("a labelled node below {nodes}"),
                        found: node.to_string(),
                    });
                }
            }
        }
        let [train, validation, test] = splits;
        Ok(Self { graph, features, labels, train, validation, test })
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        let labels = match &self.labels {
            Labels::Single { of, .. } => size_of_val(&of[..]),
            Labels::Multi { of, .. } => of.len(),
        };
        let lists = 4 * (self.train.len() + self.validation.len() + self.test.len());
        self.graph.bytes() + self.features.bytes() + (labels + lists) as u64
    }

    /// The same example in another precision.
    pub fn cast<U: Real>(&self) -> Example<U> {
        Example {
            graph: self.graph.clone(),
            features: self.features.cast(),
            labels: self.labels.clone(),
            train: self.train.clone(),
            validation: self.validation.clone(),
            test: self.test.clone(),
        }
    }
}
