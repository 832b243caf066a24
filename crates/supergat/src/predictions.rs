//! Predictions of a classifier.

use crate::error::Result;
use supergat_core::{Architecture, argmax};
use supergat_train::Decision;

/// Classes and probabilities of all nodes of a dataset, as [`crate::Classifier::predict`] returns them.
///
/// Nodes are numbered as in the dataset; those of several graphs follow one another.
///
/// ```
/// use supergat::{Classifier, Dataset};
/// let dataset = Dataset::builder(4)
///     .edges(&[(0, 1), (2, 3)])
///     .dense_features(&[1.0, 0.9, -0.9, -1.0], 1)
///     .labels(&[Some(0), Some(0), Some(1), Some(1)])
///     .class_names(["cat", "dog"])
///     .split(&[0, 3], &[1, 2], &[])
///     .build()?;
/// let model = Classifier::builder().model("gat-go").dropout(0.0).fit(&dataset)?;
/// let predictions = model.predict(&dataset)?;
/// assert_eq!(predictions.classes(), [0, 0, 1, 1]);
/// assert_eq!(predictions.class_name(3), "dog");
/// let row = predictions.probabilities_of(3);
/// assert!(row[1] > 0.5 && (row[0] + row[1] - 1.0).abs() < 1e-6);
/// # Ok::<(), supergat::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    class_names: Vec<String>,
    multi_label: bool,
    /// Logits of every graph, a row of classes per node.
    logits: Vec<Vec<f32>>,
    /// Probabilities of all nodes, calibrated where the model is; a row of classes per node.
    probabilities: Vec<f32>,
    /// Class of every node: the one with the largest logit, unless the model has a threshold.
    classes: Vec<usize>,
}

impl Predictions {
    pub(crate) fn new(
        architecture: &Architecture,
        class_names: Vec<String>,
        logits: Vec<Vec<f32>>,
        decision: &Decision,
    ) -> Result<Self> {
        let mut probabilities = Vec::with_capacity(logits.iter().map(Vec::len).sum());
        for logits in &logits {
            probabilities.extend(decision.probabilities(architecture, logits)?);
        }
        let rows = logits.iter().flat_map(|logits| logits.chunks_exact(architecture.classes));
        let classes = if architecture.multi_label {
            rows.map(argmax).collect()
        } else {
            let rows = rows.zip(probabilities.chunks_exact(architecture.classes));
            rows.map(|(logits, probabilities)| decision.class(logits, probabilities)).collect()
        };
        Ok(Self { class_names, multi_label: architecture.multi_label, logits, probabilities, classes })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.classes.len()
    }

    /// Names of the classes, in the order of the probabilities.
    pub fn class_names(&self) -> &[String] {
        &self.class_names
    }

    /// Class of every node: the most probable one, or with a threshold, the positive class if its probability reaches it.
    pub fn classes(&self) -> &[usize] {
        &self.classes
    }

    /// Name of the class of a node. Panics if there is no such node.
    pub fn class_name(&self, node: usize) -> &str {
        &self.class_names[self.classes[node]]
    }

    /// Returns the classes of a node where a node may have several: those with a probability above one half. Otherwise its class.
    /// Panics if there is no such node.
    pub fn labels(&self, node: usize) -> Vec<usize> {
        if !self.multi_label {
            return vec![self.classes[node]];
        }
        self.logits_of(node).iter().enumerate().filter(|(_, z)| **z > 0.0).map(|(class, _)| class).collect()
    }

    /// Logits of a node.
    fn logits_of(&self, node: usize) -> &[f32] {
        let (classes, mut row) = (self.class_names.len(), node * self.class_names.len());
        for logits in &self.logits {
            if row < logits.len() {
                return &logits[row..row + classes];
            }
            row -= logits.len();
        }
        panic!("there is no node {node}")
    }

    /// Probabilities of all nodes, a row of classes per node.
    pub fn probabilities(&self) -> &[f32] {
        &self.probabilities
    }

    /// Probabilities of the classes of a node. Panics if there is no such node.
    pub fn probabilities_of(&self, node: usize) -> &[f32] {
        let classes = self.class_names.len();
        &self.probabilities[node * classes..(node + 1) * classes]
    }

    /// Logits of every graph, a row of classes per node.
    pub fn logits(&self) -> &[Vec<f32>] {
        &self.logits
    }
}
