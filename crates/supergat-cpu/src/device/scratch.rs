//! Memory of backward passes on the CPU: samples of the loss on attention, sums of parts, copies of weights.

use super::contrast::ContrastSamples;
use super::problem::{CpuProblem, Sampler};
use crate::kernels::Primitives;
use crate::sampling::EdgeSamples;
use supergat_core::Precision;
use supergat_core::device::LayerWidth;
use supergat_core::memory::{Arena, Buffer};

/// Memory that the backward passes of all layers share.
#[derive(Debug)]
pub struct CpuScratch<T> {
    /// Whether a node's row of the gradient of the sums has a nonzero element.
    pub(super) active: Vec<bool>,
    /// Sums per part.
    pub(super) partial: Buffer<T>,
    /// Losses per part.
    pub(super) losses: Vec<f64>,
    /// Samples of the loss on attention of one layer.
    pub(super) samples: Samples,
    /// Copies of a layer's weights for sums over rows.
    pub(super) copies: Buffer<T>,
    /// Gradients of the sums, rounded for being gathered over edges; empty if they are gathered as they are.
    pub(super) gathered: Buffer<T>,
    /// A layer's weights, transposed.
    pub(super) transposed: Buffer<T>,
}

/// Samples of the loss on attention in one layer and step. The memory is reused in every step.
#[derive(Debug)]
pub(super) enum Samples {
    /// No loss on attention.
    None,
    /// Edges and non-edges.
    Edges(EdgeSamples),
    /// Triples of the margin losses.
    Margins(ContrastSamples),
}

impl<T: Primitives> CpuScratch<T> {
    /// Allocates memory for the largest of the examples.
    pub(super) fn new(problems: &[CpuProblem<T>], layers: &[LayerWidth], training: bool, arena: &mut Arena) -> Self {
        let (mut nodes, mut parts, mut copies, mut slots) = (0, 0, [0, 0], [0, 0]);
        let mut sampler = &Sampler::None;
        for problem in problems.iter().filter(|_| training) {
            nodes = nodes.max(problem.nodes());
            parts = parts.max(problem.edges.len()).max(problem.input.rows.len());
            if !problem.example.train.is_empty() {
                copies = [0, 1].map(|k| copies[k].max(problem.input.copies(k == 0)));
                // All examples with training nodes have the same loss.
                sampler = &problem.supervision;
                let capacity = sampler.capacity(problem.graph());
                slots = [0, 1].map(|k| slots[k].max(capacity[k]));
            }
        }
        let widest = |f: &dyn Fn(&LayerWidth) -> usize| layers.iter().map(f).max().unwrap_or(0);
        let copies = layers.iter().enumerate().map(|(k, l)| copies[k.min(1)] * l.weight).max().unwrap_or(0);
        let gathered = |layer: &LayerWidth| match layer.precision {
            Precision::Bf16 => Precision::Bf16.stored(layer.stride),
            Precision::F32 | Precision::Auto => 0,
        };
        let samples = match sampler {
            Sampler::None => Samples::None,
            Sampler::Edges(..) => Samples::Edges(EdgeSamples::with_capacity(nodes, slots[0], slots[1], arena)),
            Sampler::Margins(_) => Samples::Margins(ContrastSamples::with_capacity(nodes, slots, arena)),
        };
        Self {
            active: arena.list(nodes),
            partial: arena.numbers(parts * widest(&|l| l.sums)),
            losses: arena.list(parts),
            samples,
            copies: arena.numbers(copies),
            gathered: arena.numbers(nodes * widest(&gathered)),
            transposed: arena.numbers(if training { widest(&|l| l.weight) } else { 0 }),
        }
    }
}
