//! Devices: memory for numbers, and the primitives that layers are made of.
//!
//! Layers, models and training are written once, over a [`Device`]. Each device is a crate of its own with one type
//! that implements a trait for each group of primitives: where numbers are stored, how work is divided and which copies
//! it needs are its own affair.
//!
//! All devices use the same layouts: rows of heads ([`HeadLayout`](crate::HeadLayout)), dropout masks and samples. So
//! weights and masks can be compared number by number, and the random numbers of all devices are the same bits. Only
//! the order of the values in the state of attention ([`STATE`]) differs.

mod arguments;
pub mod lists;
mod memory;
mod primitives;

pub use arguments::{
    Adam, Attention, AttentionGradient, AttentionLoss, Block, BlockGradient, BlockGradients, BlockInput, BlockOutput,
    Draw, FromAbove, Input, Join, LabelInput, LabelLoss, LayerWidth, Mask, MessageGradient, NormInput, Output,
    OutputGradient, ParameterMemory, Place, ProjectedGradient, Random, Readings, Shortcut, SumsGradient, Supervision,
};
pub use lists::{Lists, NoLoops};
pub use memory::{Host, Memory};
pub use primitives::{
    AttentionPasses, Convolutions, HiddenBlocks, LabelInputs, LabelLosses, Masks, Optimiser, Outputs, Problems,
    Products, Sampling,
};

use crate::error::Error;
use crate::example::Example;

/// Traits whose methods a caller needs that knows the type of a device; [`Device`] is enough for others.
pub mod prelude {
    pub use super::{
        AttentionPasses, Convolutions, HiddenBlocks, LabelInputs, LabelLosses, Masks, Memory, Optimiser, Outputs,
        Problems, Products, Sampling,
    };
}

/// Number of per-head values in the state of a node: `a_target . z_i`, the largest score, the inverse of the sum of
/// exponentials, and `g_i . out_i` (the term of the softmax's gradient that all edges of the node share). Their order
/// differs between devices; this one is that of CPUs.
pub const STATE: usize = 4;

/// A device that runs layers: one with all groups of primitives.
pub trait Device:
    Masks
    + Products
    + AttentionPasses
    + Sampling
    + Convolutions
    + Outputs
    + HiddenBlocks
    + LabelInputs
    + LabelLosses
    + Optimiser
{
}

impl<
    D: Masks
        + Products
        + AttentionPasses
        + Sampling
        + Convolutions
        + Outputs
        + HiddenBlocks
        + LabelInputs
        + LabelLosses
        + Optimiser,
> Device for D
{
}

/// A device of one process, which is given whole examples.
pub trait SingleDevice: Device<Example = Example<<Self as Memory>::Number>> {}

impl<D: Device<Example = Example<<D as Memory>::Number>>> SingleDevice for D {}

/// Returns the error of a device that gathers rows of 32 bits only.
pub fn no_half_precision() -> Error {
    let message = "precision = bf16 needs one process, and a graph that is not divided into parts: train in one process on \
                   the whole graph, or set precision to f32";
    Error::Device { message: message.into() }
}

/// Returns the error of a device without labels as input.
pub fn no_label_input() -> Error {
    let message = "label_input needs one process, and a graph that is not divided into parts: train in one process on \
                   the whole graph, or set label_input to 0";
    Error::Device { message: message.into() }
}
