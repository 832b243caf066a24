//! A training example: graph, features, labels and splits.

use crate::error::{Error, Result};
use crate::features::Features;
use crate::graph::Graph;
use crate::kernels::Real;
use crate::labels::Labels;
use std::sync::Arc;

/// One graph with features, labels and the split into training, validation and test nodes.
///
/// A transductive dataset is one example whose nodes are in different splits. An inductive dataset has many
/// examples, and all nodes of an example are in the same split.
///
/// ```
/// use supergat_core::{Direction, Example, Features, Graph, Labels};
/// let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Undirected)?;
/// let features = Features::dense(3, 1, vec![0.1f32, 0.2, 0.3])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1, 1] };
/// let example = Example::new(graph.clone(), features, labels.clone(), [vec![0], vec![1], vec![2]])?;
/// assert_eq!(example.test, [2]);
/// let too_few = Features::dense(2, 1, vec![0.1f32, 0.2])?;
/// let error = Example::new(graph, too_few, labels, [vec![0], vec![1], vec![2]]).unwrap_err();
/// assert_eq!(error.to_string(), "rows of features (one per node): expected 3, found 2");
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Example<T> {
    /// Graph; shared, so that another split of the same graph needs no copy.
    pub graph: Arc<Graph>,
    /// Features of the nodes; shared like the graph.
    pub features: Arc<Features<T>>,
    /// Labels of the nodes.
    pub labels: Labels,
    /// Training nodes.
    pub train: Vec<u32>,
    /// Validation nodes, which select the best epoch.
    pub validation: Vec<u32>,
    /// Test nodes, which are only used for reported scores.
    pub test: Vec<u32>,
}

impl<T: Real> Example<T> {
    /// Validates that all parts have one row per node, that features are finite and that every node of a
    /// split has a label.
    pub fn new(
        graph: impl Into<Arc<Graph>>,
        features: impl Into<Arc<Features<T>>>,
        labels: Labels,
        splits: [Vec<u32>; 3],
    ) -> Result<Self> {
        let (graph, features) = (graph.into(), features.into());
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

    /// Returns the number of bytes in memory.
    pub fn bytes(&self) -> u64 {
        let labels = match &self.labels {
            Labels::Single { of, .. } => size_of_val(&of[..]),
            Labels::Multi { of, .. } => of.len(),
        };
        let lists = 4 * (self.train.len() + self.validation.len() + self.test.len());
        self.graph.bytes() + self.features.bytes() + (labels + lists) as u64
    }

    /// Converts the features to another precision.
    pub fn cast<U: Real>(&self) -> Example<U> {
        Example {
            graph: Arc::clone(&self.graph),
            features: Arc::new(self.features.cast()),
            labels: self.labels.clone(),
            train: self.train.clone(),
            validation: self.validation.clone(),
            test: self.test.clone(),
        }
    }
}
