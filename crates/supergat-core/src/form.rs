//! The forms of attention.
//!
//! | form | unnormalised attention `e` | edge logit |
//! |---|---|---|
//! | GO | `a^T [W h_i ; W h_j]` | `e` |
//! | DP | `(W h_i)^T W h_j` | `e` |
//! | SD | `e_DP / sqrt(F)` | `e` |
//! | MX | `e_GO sigmoid(e_DP)` | `e_DP` |
//! | V2 | `a^T LeakyReLU(W_t h_i + W_s h_j)` | `e` |
//!
//! LeakyReLU of `e` comes before the softmax, except for V2, which has it inside.

use serde::{Deserialize, Serialize};

/// Form of attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Additive score of the original GAT: a single-layer network.
    Go,
    /// Dot product.
    Dp,
    /// Scaled dot product.
    Sd,
    /// GO gated by the dot product.
    Mx,
    /// Score of GATv2 (Brody et al. 2022): a two-layer network of both nodes, which have separate weights.
    V2,
}

impl Form {
    /// Returns whether the form has a dot product (DP, SD and MX).
    pub fn has_product(self) -> bool {
        matches!(self, Self::Dp | Self::Sd | Self::Mx)
    }

    /// Returns whether the form has the vector `a` with a half for each end of an edge (GO and MX).
    pub fn has_vector(self) -> bool {
        matches!(self, Self::Go | Self::Mx)
    }

    /// Returns the number of projections of a layer's input, which are side by side in a row of projected features: two
    /// in GATv2, for both ends of an edge.
    pub fn projections(self) -> usize {
        if self == Self::V2 { 2 } else { 1 }
    }

    /// Returns the lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::Dp => "dp",
            Self::Sd => "sd",
            Self::Mx => "mx",
            Self::V2 => "v2",
        }
    }
}
