//! Predictions of a classifier.

use crate::error::Result;
use supergat_core::Architecture;
use supergat_core::kernels::argmax;

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
    /// Probabilities of all nodes, a row of classes per node.
    probabilities: Vec<f32>,
    /// Class with the largest logit of every node.
    classes: Vec<usize>,
}

impl Predictions {
    pub(crate) fn new(architecture: &Architecture, class_names: Vec<String>, logits: Vec<Vec<f32>>) -> Result<Self> {
        let mut probabilities = Vec::with_capacity(logits.iter().map(Vec::len).sum());
        for logits in &logits {
            probabilities.extend(architecture.probabilities(logits)?);
        }
        let rows = logits.iter().flat_map(|logits| logits.chunks_exact(architecture.classes));
        let classes = rows.map(argmax).collect();
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

    /// Most probable class of every node.
    pub fn classes(&self) -> &[usize] {
        &self.classes
    }

    /// Name of the most probable class of a node. Panics if there is no such node.
    pub fn class_name(&self, node: usize) -> &str {
        &self.class_names[self.classes[node]]
    }

    /// Returns the classes of a node where a node may have several: those with a probability above one half. Otherwise the most
    /// probable one. Panics if there is no such node.
    pub fn labels(&self, node: usize) -> Vec<usize> {
        if !self.multi_label {
            return vec![self.classes[node]];
        }
        let row = self.probabilities_of(node).iter().enumerate();
        row.filter(|(_, p)| **p > 0.5).map(|(class, _)| class).collect()
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
