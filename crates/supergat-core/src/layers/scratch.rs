//! Memory that the backward passes of all layers share, and the sizes that it is allocated for.

use super::contrast::ContrastSamples;
use super::input::Input;
use super::plan::{Plan, Supervision};
use crate::example::Example;
use crate::kernels::{Buffer, Primitives};
use crate::memory::Arena;
use crate::sampling::EdgeSamples;

/// Size of the largest graph that memory is allocated for.
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug, Clone, Copy, Default)]
pub struct Size {
    /// Whether backward passes will be run.
    pub(crate) training: bool,
    /// Number of nodes.
    pub(crate) nodes: usize,
    /// Number of edges, including self-loops.
    pub(crate) edges: usize,
    /// Kind and capacity of the samples of the loss on attention.
    samples: SampleSize,
    /// Largest number of parts in any plan.
    parts: usize,
    /// Number of copies of the weights that the weight gradients of the first and of later layers need.
    copies: [usize; 2],
    /// Bytes of the largest dropout mask of features.
    pub(crate) feature_mask: usize,
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
    /// Returns a capacity that also fits `capacity` samples of `supervision`.
    fn grown(self, supervision: &Supervision, capacity: [usize; 2]) -> Self {
        let old = match self {
            Self::None => [0, 0],
            Self::Edges(old) | Self::Margins(old) => old,
        };
        let larger = [0, 1].map(|k| old[k].max(capacity[k]));
        match supervision {
            Supervision::None => self,
            Supervision::Edges(..) => Self::Edges(larger),
            Supervision::Margins(_) => Self::Margins(larger),
        }
    }
}

impl Size {
    /// Returns the largest size over all examples. Without `training`, backward passes need no memory.
    pub(crate) fn of<T: Primitives>(examples: &[Example<T>], plans: &[Plan], training: bool) -> Self {
        let mut size = Self { training, ..Self::default() };
        for (example, plan) in examples.iter().zip(plans) {
            size.nodes = size.nodes.max(example.graph.nodes());
            size.edges = size.edges.max(example.graph.edges());
            size.parts = size.parts.max(plan.edges.len()).max(plan.input.rows.len());
            if training && !example.train.is_empty() {
                size.copies = [0, 1].map(|k| size.copies[k].max(plan.input.copies(k == 0)));
                size.feature_mask = size.feature_mask.max(Input::Features(&example.features).mask_bytes());
                size.samples = size.samples.grown(&plan.supervision, plan.supervision.capacity(&example.graph));
            }
        }
        size
    }
}

/// Samples of the loss on attention in one layer and step. The memory is reused in every step.
///
/// See [`crate::Session`] for an example of a step that draws them.
#[derive(Debug)]
pub enum Samples {
    /// No loss on attention.
    None,
    /// Edges and non-edges.
    Edges(EdgeSamples),
    /// Triples of the margin losses.
    Margins(ContrastSamples),
}

impl Samples {
    fn with_capacity(nodes: usize, size: SampleSize, arena: &mut Arena) -> Self {
        match size {
            SampleSize::None => Self::None,
            SampleSize::Edges([edges, negatives]) => {
                Self::Edges(EdgeSamples::with_capacity(nodes, edges, negatives, arena))
            }
            SampleSize::Margins(slots) => Self::Margins(ContrastSamples::with_capacity(nodes, slots, arena)),
        }
    }

    /// Returns the samples of the edge loss; `None` for models without it.
    pub fn edges_mut(&mut self) -> Option<&mut EdgeSamples> {
        if let Self::Edges(samples) = self { Some(samples) } else { None }
    }
}

/// Widths of a layer that shared memory depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerWidth {
    /// Length of a projected row, including padding.
    pub(crate) stride: usize,
    /// Length of the weight matrix, including padding.
    pub(crate) weight: usize,
}

/// Memory that the backward passes of all layers share.
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug)]
pub struct Scratch<T> {
    /// Gradient of a layer's output, which its backward pass replaces by the gradient of the weighted sums.
    pub gradient: Buffer<T>,
    /// Whether a node's row of `gradient` has a nonzero element.
    pub(crate) active: Vec<bool>,
    /// Gradient of the projected features.
    pub projected: Buffer<T>,
    /// Sums per part.
    pub(crate) partial: Buffer<T>,
    /// Losses per part.
    pub(crate) losses: Vec<f64>,
    /// Samples of the loss on attention of one layer.
    pub samples: Samples,
    /// Copies of a layer's weights for sums over rows.
    pub(crate) copies: Buffer<T>,
    /// A layer's weights, transposed.
    pub(crate) transposed: Buffer<T>,
}

impl<T: Primitives> Scratch<T> {
    /// Allocates memory for all layers.
    pub(crate) fn new(size: Size, layers: &[LayerWidth], arena: &mut Arena) -> Self {
        let widest = |f: &dyn Fn(&LayerWidth) -> usize| layers.iter().map(f).max().unwrap_or(0);
        let rows = if size.training { size.nodes * widest(&|l| l.stride) } else { 0 };
        let parts = if size.training { size.parts } else { 0 };
        let copies = layers.iter().enumerate().map(|(k, l)| size.copies[k.min(1)] * l.weight).max().unwrap_or(0);
        Self {
            gradient: arena.numbers(rows),
            active: arena.list(if size.training { size.nodes } else { 0 }),
            projected: arena.numbers(rows),
            partial: arena.numbers(parts * widest(&|l| 2 * l.stride)),
            losses: arena.list(parts),
            samples: Samples::with_capacity(size.nodes, size.samples, arena),
            copies: arena.numbers(if size.training { copies } else { 0 }),
            transposed: arena.numbers(if size.training { widest(&|l| l.weight) } else { 0 }),
        }
    }
}
