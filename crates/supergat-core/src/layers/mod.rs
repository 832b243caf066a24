//! Layers: parameters, forward passes and hand-derived backward passes. All loops over edges are in the
//! devices.

mod attention;
mod block;
pub(crate) mod context;
mod convolution;
mod ego;
mod layer;
mod output;
mod parameter;
pub(crate) mod scratch;
mod shape;

pub use attention::{Attended, AttentionMixing};
pub use block::Block;
pub use context::Context;
pub use ego::Ego;
pub(crate) use layer::Site;
pub use layer::{Cache, Layer, Mixing};
pub use output::Output;
pub use parameter::Parameter;
pub use scratch::{Scratch, Size};
pub use shape::{EdgeInput, Shape};
