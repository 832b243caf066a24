//! Shape of a layer.

use crate::device::Join;
use crate::heads::HeadLayout;

/// Shape of a layer.
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Layout of an input row. The first layer reads features, which have no padding.
    pub input: HeadLayout,
    /// Number of heads; 1 for layers without attention.
    pub heads: usize,
    /// Number of features per head.
    pub features: usize,
    /// Combination of the heads.
    pub join: Join,
    /// Dropout probability of the input and of attention coefficients.
    pub dropout: f64,
    /// Features of edges that attention reads.
    pub edges: EdgeInput,
}

/// Features of edges that attention reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct EdgeInput {
    /// Number of features per edge.
    pub features: usize,
    /// Whether messages carry them.
    pub messages: bool,
}
