//! Memory of backward passes on the CPU: samples of the loss on attention, sums of parts, copies of weights.

use super::contrast::ContrastSamples;
use super::problem::{CpuProblem, Sampler};
use crate::kernels::Primitives;
use crate::sampling::EdgeSamples;
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

/// Capacity of the samples of one step.
#[derive(Debug, Clone, Copy, Default)]
enum SampleSize {
    #[default]
    None,
    Edges([usize; 2]),
    Margins([usize; 2]),
}

impl SampleSize {
    /// Returns a capacity that also fits `capacity` samples of `sampler`.
    fn grown(self, sampler: &Sampler, capacity: [usize; 2]) -> Self {
        let old = match self {
            Self::None => [0, 0],
            Self::Edges(old) | Self::Margins(old) => old,
        };
        let larger = [0, 1].map(|k| old[k].max(capacity[k]));
        match sampler {
            Sampler::None => self,
            Sampler::Edges(..) => Self::Edges(larger),
            Sampler::Margins(_) => Self::Margins(larger),
        }
    }
}

impl<T: Primitives> CpuScratch<T> {
    /// Allocates memory for the largest of the examples.
    pub(super) fn new(problems: &[CpuProblem<T>], layers: &[LayerWidth], training: bool, arena: &mut Arena) -> Self {
        let (mut nodes, mut parts, mut copies, mut samples) = (0, 0, [0, 0], SampleSize::None);
        for problem in problems.iter().filter(|_| training) {
            nodes = nodes.max(problem.nodes());
            parts = parts.max(problem.edges.len()).max(problem.input.rows.len());
            if !problem.example.train.is_empty() {
                copies = [0, 1].map(|k| copies[k].max(problem.input.copies(k == 0)));
                samples = samples.grown(&problem.supervision, problem.supervision.capacity(problem.graph()));
            }
        }
        let widest = |f: &dyn Fn(&LayerWidth) -> usize| layers.iter().map(f).max().unwrap_or(0);
        let copies = layers.iter().enumerate().map(|(k, l)| copies[k.min(1)] * l.weight).max().unwrap_or(0);
        let samples = match samples {
            SampleSize::None => Samples::None,
            SampleSize::Edges([edges, negatives]) => {
                Samples::Edges(EdgeSamples::with_capacity(nodes, edges, negatives, arena))
            }
            SampleSize::Margins(slots) => Samples::Margins(ContrastSamples::with_capacity(nodes, slots, arena)),
        };
        Self {
            active: arena.list(nodes),
            partial: arena.numbers(parts * widest(&|l| l.sums)),
            losses: arena.list(parts),
            samples,
            copies: arena.numbers(copies),
            transposed: arena.numbers(if training { widest(&|l| l.weight) } else { 0 }),
        }
    }
}
