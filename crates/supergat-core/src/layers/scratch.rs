//! Memory that the backward passes of all layers share, and the sizes that memory is allocated for.

use crate::device::{Device, LayerWidth};
use crate::error::Result;
use crate::example::Example;
use crate::kernels::Real;
use crate::memory::Arena;

/// Size of the largest example that memory is allocated for.
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
    /// Bytes of the largest dropout mask of features.
    pub(crate) feature_mask: usize,
}

impl Size {
    /// Returns the largest size over all examples. Without `training`, backward passes need no memory.
    pub(crate) fn of<T: Real>(examples: &[Example<T>], training: bool) -> Self {
        let mut size = Self { training, ..Self::default() };
        for example in examples {
            size.nodes = size.nodes.max(example.graph.nodes());
            size.edges = size.edges.max(example.graph.edges());
            if training && !example.train.is_empty() {
                size.feature_mask = size.feature_mask.max(example.features.mask_bytes());
            }
        }
        size
    }
}

/// Memory that the backward passes of all layers share.
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug)]
pub struct Scratch<D: Device> {
    /// Gradient of a layer's output, which its backward pass replaces by the gradient of the weighted sums.
    pub gradient: D::Numbers,
    /// Gradient of the projected features.
    pub projected: D::Numbers,
    /// Memory of the device, with the samples of the loss on attention.
    pub own: D::Scratch,
}

impl<D: Device> Scratch<D> {
    /// Allocates memory for all layers.
    pub(crate) fn new(
        device: &D,
        problems: &[D::Problem],
        size: Size,
        layers: &[LayerWidth],
        arena: &mut Arena,
    ) -> Result<Self> {
        let widest = layers.iter().map(|layer| layer.stride).max().unwrap_or(0);
        let rows = if size.training { size.nodes * widest } else { 0 };
        Ok(Self {
            gradient: device.numbers(rows, arena)?,
            projected: device.numbers(rows, arena)?,
            own: device.scratch(problems, layers, size.training, arena)?,
        })
    }
}
