//! Graph convolutions: sums over neighbours whose weights depend on the graph only. The baselines GCN and
//! GraphSAGE.
//!
//! ```text
//! GCN        s_i = sum_j z_j / sqrt(d_i d_j)    j over neighbours and i; d counts the self-loop and the
//!                                               outgoing (as published) or incoming (the usual form) edges
//! SAGE       s_i = mean of z_j                  j over neighbours and i, as published
//! SAGE-root  s_i = mean of z_j + r_i            j over neighbours only, r = W_r^T drop(h): the usual form
//! ```
//!
//! In the last form, W and W_r are the two halves of one matrix, and z and r the two halves of one row. Where edges
//! have weights, z_j is multiplied by that of its edge, a degree is the sum of weights, and a mean is the weighted one.
//! A self-loop has weight 1.

use crate::model_kind::Convolution;

impl Convolution {
    /// Returns the number of matrices that are stored side by side in the weights.
    pub fn halves(self) -> usize {
        if self == Self::SageRoot { 2 } else { 1 }
    }

    /// Returns the factors of the sums, `s_i = outer_i * sum_j w_ij inner_j z_j`: `outer` and `inner` of every node.
    /// `degrees` returns the sums of the weights of a node's incoming and outgoing edges, self-loop included.
    pub fn factors(self, nodes: usize, degrees: impl Fn(usize) -> [f64; 2]) -> [Vec<f64>; 2] {
        [0, 1].map(|side| (0..nodes).map(|i| self.factors_of(degrees(i))[side]).collect())
    }

    /// Returns `outer` and `inner` of a node with these sums of the weights of incoming and outgoing edges, self-loop
    /// included.
    fn factors_of(self, [incoming, outgoing]: [f64; 2]) -> [f64; 2] {
        let inverse = |degree: f64| if degree > 0.0 { 1.0 / degree } else { 0.0 };
        match self {
            Self::Gcn => [inverse(outgoing).sqrt(); 2],
            Self::GcnIncoming => [inverse(incoming).sqrt(); 2],
            Self::Sage => [inverse(incoming), 1.0],
            Self::SageRoot => [inverse(incoming - 1.0), 1.0],
        }
    }
}
