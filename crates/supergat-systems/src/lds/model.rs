//! A network trained by LDS, with the graphs that it predicts on.

use super::gcn::{Gcn, Shape};
use super::sampled::SampledGraph;
use supergat_core::memory::Buffer;
use supergat_core::{Error, Features, Result};
use supergat_cpu::kernels::Primitives;

/// A network trained by LDS, with the graphs that it predicts on. See [`super::LdsTrainer`] for an example.
#[derive(Debug, Clone)]
pub struct LdsModel<T> {
    pub(super) hidden: usize,
    pub(super) classes: usize,
    /// Both matrices of weights, row after row, without padding.
    pub(super) weights: [Vec<T>; 2],
    pub(super) graphs: Vec<SampledGraph<T>>,
}

impl<T: Primitives> LdsModel<T> {
    /// Creates a model from its weights, row after row, and the links of its graphs. Fails if they do not fit together.
    pub fn new(
        [hidden, classes]: [usize; 2],
        weights: [Vec<T>; 2],
        nodes: usize,
        links: &[Vec<[u32; 2]>],
    ) -> Result<Self> {
        let fits = hidden > 0 && classes > 0 && !links.is_empty() && weights[0].len().is_multiple_of(hidden);
        if !fits || weights[1].len() != hidden * classes {
            return Err(Error::Checkpoint { reason: "its weights do not fit together".into() });
        }
        let graphs = links.iter().map(|links| SampledGraph::from_links(nodes, links)).collect::<Result<_>>()?;
        Ok(Self { hidden, classes, weights, graphs })
    }

    /// Returns the number of hidden features and of classes.
    pub fn widths(&self) -> [usize; 2] {
        [self.hidden, self.classes]
    }

    /// Returns both matrices of weights, row after row.
    pub fn weights(&self) -> &[Vec<T>; 2] {
        &self.weights
    }

    /// Returns the links of each graph.
    pub fn links(&self) -> Vec<Vec<[u32; 2]>> {
        self.graphs.iter().map(SampledGraph::links).collect()
    }

    /// Returns the logits of all nodes: logarithms of the mean probabilities over all graphs. Fails if the features are
    /// those of another number of nodes or columns.
    pub fn logits(&self, features: &Features<T>) -> Result<Vec<T>> {
        let nodes = self.graphs[0].scale.len();
        for (what, expected, found) in [
            ("nodes", nodes, features.rows()),
            ("features per node", self.weights[0].len() / self.hidden, features.columns()),
        ] {
            if expected != found {
                return Err(Error::Incompatible { what, expected, found });
            }
        }
        let mut gcn = Gcn::new(features, self.hidden, self.classes, 0.0, 0.0);
        let weights = padded(gcn.shape, &self.weights);
        let mut mean = Mean::new(gcn.shape);
        for graph in &self.graphs {
            gcn.forward(graph, &weights);
            mean.add(&gcn);
        }
        Ok(mean.logits())
    }
}

/// Returns weights with padding.
pub(super) fn padded<T: Primitives>(shape: Shape, weights: &[Vec<T>; 2]) -> [Buffer<T>; 2] {
    let (strides, widths) = (shape.strides(), [shape.hidden, shape.classes]);
    [0, 1].map(|k| {
        let mut padded = Buffer::zeros(shape.weights()[k]);
        for (to, from) in padded.chunks_exact_mut(strides[k]).zip(weights[k].chunks_exact(widths[k])) {
            to[..widths[k]].copy_from_slice(from);
        }
        padded
    })
}

/// Returns weights without padding.
pub(super) fn unpadded<T: Primitives>(shape: Shape, weights: &[Buffer<T>; 2]) -> [Vec<T>; 2] {
    let (strides, widths) = (shape.strides(), [shape.hidden, shape.classes]);
    let rows = [shape.columns, shape.hidden];
    [0, 1]
        .map(|k| weights[k].chunks_exact(strides[k]).take(rows[k]).flat_map(|row| row[..widths[k]].to_vec()).collect())
}

/// Sum of the probabilities over graphs.
#[derive(Debug)]
pub(super) struct Mean<T> {
    classes: usize,
    graphs: usize,
    sum: Vec<T>,
    row: Vec<T>,
}

impl<T: Primitives> Mean<T> {
    pub(super) fn new(shape: Shape) -> Self {
        let Shape { nodes, classes, .. } = shape;
        Self { classes, graphs: 0, sum: vec![T::ZERO; nodes * classes], row: vec![T::ZERO; classes] }
    }

    pub(super) fn clear(&mut self) {
        self.graphs = 0;
        self.sum.fill(T::ZERO);
    }

    /// Adds the probabilities of the last forward pass.
    pub(super) fn add(&mut self, gcn: &Gcn<'_, T>) {
        self.graphs += 1;
        let rows = gcn.logits.chunks_exact(gcn.shape.strides()[1]);
        for (sum, logits) in self.sum.chunks_exact_mut(self.classes).zip(rows) {
            super::super::gam::softmax(&logits[..self.classes], self.classes, &mut self.row);
            sum.iter_mut().zip(&self.row).for_each(|(sum, p)| *sum += *p);
        }
    }

    /// Returns the logarithms of the mean probabilities.
    pub(super) fn logits(&self) -> Vec<T> {
        let least = 1e-30;
        let share = 1.0 / self.graphs.max(1) as f64;
        self.sum.iter().map(|sum| T::from_f64((sum.to_f64() * share).max(least).ln())).collect()
    }
}
