//! Layers: parameters, forward passes and hand-derived backward passes. All loops over edges are in the
//! kernels.

mod attention;
mod contrast;
mod convolution;
mod input;
mod layer;
mod output;
mod parameter;
pub(crate) mod plan;
pub(crate) mod scratch;

pub use attention::Attended;
pub use contrast::{Boundary, Contrast};
pub use input::Input;
pub use layer::{Cache, Layer, Shape};
pub use output::{FromAbove, Join, Output};
pub use parameter::Parameter;
pub use plan::{AttentionLoss, Context, Draw};
pub use scratch::{Samples, Scratch, Size};
