//! Layers: parameters, forward, hand-derived backward. Layers contain no loop over edges; kernels do.

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
