//! A network trained by LDS, with the graphs that it predicts on.

use super::gcn::{Gcn, Shape};
use super::sampled::SampledGraph;
use crate::SystemModel;
use supergat_core::checkpoint::Weights;
use supergat_core::hash::Fnv;
use supergat_core::memory::Buffer;
use supergat_core::{Architecture, Error, Example, Graph, Result};
use supergat_cpu::kernels::Primitives;

/// Names of both matrices of weights.
const NAMES: [&str; 2] = ["layer1.w", "layer2.w"];

/// Graphs that a model predicts on, sampled from a learned distribution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearnedGraphs {
    /// Hash of the graph that the model was trained on.
    pub hash: u64,
    /// Number of nodes.
    pub nodes: usize,
    /// Links `[i, j]` with i < j of each graph, in ascending order.
    pub links: Vec<Vec<[u32; 2]>>,
}

impl LearnedGraphs {
    /// Stores the links of sampled graphs, for a model that was trained on `graph`.
    pub(super) fn new<T: Primitives>(graph: &Graph, sampled: &[SampledGraph<T>]) -> Self {
        let links = sampled.iter().map(SampledGraph::links).collect();
        Self { hash: graph_hash(graph), nodes: graph.nodes(), links }
    }
}

/// Returns a hash of the links of a graph.
fn graph_hash(graph: &Graph) -> u64 {
    let mut hash = Fnv::default();
    hash.add_numbers(&graph.incoming().offsets);
    hash.add_numbers(&graph.incoming().neighbours);
    hash.value()
}

/// Returns the logits of all nodes: logarithms of the mean probabilities over all sampled graphs. Fails for another
/// graph than that of the training.
pub fn predict(model: &SystemModel, example: &Example<f32>) -> Result<Vec<f32>> {
    let refuse = |reason: &str| Error::Checkpoint { reason: reason.into() };
    model.architecture.accepts_features(example)?;
    let graphs = model.graphs.as_ref().filter(|graphs| !graphs.links.is_empty());
    let graphs = graphs.ok_or_else(|| refuse("it has no graphs"))?;
    if graphs.nodes != example.graph.nodes() || graphs.hash != graph_hash(&example.graph) {
        return Err(refuse(
            "lds predicts the graph that it was trained on, and this is another one: train a model on it",
        ));
    }
    let matrix = |name: &str, shape: [usize; 2]| {
        let found = model.weights.iter().find(|saved| saved.name == name && saved.shape == shape);
        found.map(|saved| &saved.elements[..]).ok_or_else(|| refuse("its weights are missing"))
    };
    let Architecture { input_features, classes, network, .. } = model.architecture;
    let hidden = network.hidden;
    let weights = [matrix(NAMES[0], [input_features, hidden])?, matrix(NAMES[1], [hidden, classes])?];
    let mut gcn = Gcn::new(&example.features, hidden, classes, 0.0, 0.0);
    let weights = padded(gcn.shape, weights);
    let mut mean = Mean::new(gcn.shape);
    for links in &graphs.links {
        gcn.forward(&SampledGraph::from_links(graphs.nodes, links)?, &weights);
        mean.add(&gcn);
    }
    Ok(mean.logits())
}

/// Returns weights with padding.
pub(super) fn padded<T: Primitives>(shape: Shape, weights: [&[T]; 2]) -> [Buffer<T>; 2] {
    let (strides, widths) = (shape.strides(), [shape.hidden, shape.classes]);
    [0, 1].map(|k| {
        let mut padded = Buffer::zeros(shape.weights()[k]);
        for (to, from) in padded.chunks_exact_mut(strides[k]).zip(weights[k].chunks_exact(widths[k])) {
            to[..widths[k]].copy_from_slice(from);
        }
        padded
    })
}

/// Returns weights without padding, as they are saved.
pub(super) fn saved(shape: Shape, weights: &[Buffer<f32>; 2]) -> Vec<Weights<f32>> {
    let (strides, widths) = (shape.strides(), [shape.hidden, shape.classes]);
    let matrix = |(k, rows): (usize, usize)| {
        let elements = weights[k].chunks_exact(strides[k]).take(rows).flat_map(|row| row[..widths[k]].to_vec());
        Weights { name: NAMES[k].into(), shape: [rows, widths[k]], elements: elements.collect() }
    };
    [shape.columns, shape.hidden].into_iter().enumerate().map(matrix).collect()
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
            crate::gam::softmax(&logits[..self.classes], self.classes, &mut self.row);
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
