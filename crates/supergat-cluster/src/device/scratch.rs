//! Memory of backward passes.

use super::contrast::ContrastSamples;
use super::problem::ClusterProblem;
use super::samples::Samples;
use bytemuck::Pod;
use supergat_core::device::LayerWidth;
use supergat_core::memory::{Arena, Buffer};
use supergat_cpu::kernels::Primitives;

/// Memory that the backward passes of all layers share.
#[derive(Debug)]
pub struct ClusterScratch<T> {
    /// Whether a node's row of the gradient of the sums has a nonzero element: of own nodes, and of received rows.
    pub(super) active: Vec<bool>,
    pub(super) other_active: Vec<bool>,
    /// Sums and losses per division of the rows.
    pub(super) partial: Buffer<T>,
    pub(super) losses: Vec<f64>,
    /// Samples of the loss on attention of one layer.
    pub(super) samples: Samples,
    pub(super) contrast: ContrastSamples,
    /// Gradients of the scores of each node.
    pub(super) d_scores: Buffer<T>,
    /// Copies of a layer's weights for sums over rows.
    pub(super) copies: Buffer<T>,
    /// Gradients of a layer's weights, by part.
    pub(super) by_part: Buffer<T>,
    /// A layer's weights, transposed.
    pub(super) transposed: Buffer<T>,
    /// Sums over all rows.
    pub(super) sums: Buffer<T>,
}

impl<T: Primitives + Pod> ClusterScratch<T> {
    /// Allocates memory for the largest of the examples.
    pub(super) fn new(
        problems: &[ClusterProblem<T>],
        layers: &[LayerWidth],
        training: bool,
        arena: &mut Arena,
    ) -> Self {
        let (mut nodes, mut parts, mut copies, mut by_part) = (0, 0, [0, 0], 0);
        for problem in problems.iter().filter(|_| training) {
            nodes = nodes.max(problem.nodes());
            parts = parts.max(problem.edge_rows.len()).max(problem.rows.len());
            by_part = by_part.max(problem.inputs.len());
            for input in &problem.inputs {
                copies = [0, 1].map(|k| copies[k].max(input.copies(k == 0)));
            }
        }
        let widest = |f: &dyn Fn(&LayerWidth) -> usize| layers.iter().map(f).max().unwrap_or(0);
        let copies = layers.iter().enumerate().map(|(k, l)| copies[k.min(1)] * l.weight).max().unwrap_or(0);
        let weight = widest(&|l| l.weight);
        Self {
            active: arena.list(nodes),
            other_active: Vec::new(),
            partial: arena.numbers(parts * widest(&|l| l.sums)),
            losses: arena.list(parts),
            samples: Samples::default(),
            contrast: ContrastSamples::default(),
            d_scores: arena.numbers(nodes * widest(&|l| 2 * l.heads)),
            copies: arena.numbers(copies),
            by_part: arena.numbers(by_part * weight),
            transposed: arena.numbers(if training { weight } else { 0 }),
            sums: arena.numbers(if training { widest(&|l| l.sums) } else { 0 }),
        }
    }
}
