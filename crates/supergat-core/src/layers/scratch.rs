//! Memory that the backward passes of all layers share, and the sizes that memory is allocated for.

use crate::device::{Device, LayerWidth};
use crate::error::Result;
use crate::example::ExampleShape;
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
    pub(crate) fn of(examples: &[impl ExampleShape], training: bool) -> Self {
        let mut size = Self { training, ..Self::default() };
        for example in examples {
            size.nodes = size.nodes.max(example.nodes());
            size.edges = size.edges.max(example.edges());
            if training && example.split_sizes()[0] > 0 {
                size.feature_mask = size.feature_mask.max(example.feature_mask_bytes());
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
    /// Gradient of a hidden block's shortcut; empty if no layer has one.
    pub(crate) shortcut: D::Numbers,
    /// Memory of the device, with the samples of the loss on attention.
    pub own: D::Scratch,
}

impl<D: Device> Scratch<D> {
    /// Allocates memory for all layers; `has_shortcut` tells whether one of them has a shortcut.
    pub(crate) fn new(
        device: &D,
        problems: &[D::Problem],
        size: Size,
        layers: &[LayerWidth],
        has_shortcut: bool,
        arena: &mut Arena,
    ) -> Result<Self> {
        let widest = layers.iter().map(|layer| layer.stride).max().unwrap_or(0);
        let rows = if size.training { size.nodes * widest } else { 0 };
        let shortcut = if has_shortcut { rows } else { 0 };
        Ok(Self {
            shortcut: device.numbers(shortcut, arena)?,
            gradient: device.numbers(rows, arena)?,
            projected: device.numbers(rows, arena)?,
            own: device.scratch(problems, layers, size.training, arena)?,
        })
    }
}
