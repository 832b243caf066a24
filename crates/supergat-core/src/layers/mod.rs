//! Layers: parameters, forward passes and hand-derived backward passes. All loops over edges are in the
//! kernels.

mod attention;
mod block;
pub(crate) mod context;
mod contrast;
mod convolution;
mod ego;
mod layer;
mod output;
mod parameter;
pub(crate) mod scratch;

pub use attention::{Attended, AttentionMixing, EdgeInput};
pub use block::Block;
pub use context::{AttentionLoss, Context, Draw};
pub use contrast::{Boundary, Contrast};
pub use ego::Ego;
pub(crate) use layer::Site;
pub use layer::{Cache, Layer, Mixing, Shape};
pub use output::{Join, Output};
pub use parameter::Parameter;

pub use scratch::{Scratch, Size};
