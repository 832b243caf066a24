//! Layers: parameters, forward passes and hand-derived backward passes. All loops over edges are in the
//! kernels.

mod attention;
pub(crate) mod context;
mod contrast;
mod convolution;
mod layer;
mod output;
mod parameter;
pub(crate) mod scratch;

pub use attention::Attended;
pub use context::{AttentionLoss, Context, Draw};
pub use contrast::{Boundary, Contrast};
pub use layer::{Cache, Layer, Shape};
pub use output::{Join, Output};
pub use parameter::Parameter;

pub use scratch::{Scratch, Size};
