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
//! In the last form, W and W_r are the two halves of one matrix, and z and r the two halves of one row.

use crate::graph::Graph;
use crate::model_kind::Convolution;

impl Convolution {
    /// Returns the number of matrices that are stored side by side in the weights.
    pub fn halves(self) -> usize {
        if self == Self::SageRoot { 2 } else { 1 }
    }

    /// Returns the weights of the sums, `s_i = outer_i * sum_j inner_j z_j`: `outer` and `inner` of every node.
    pub fn factors(self, graph: &Graph) -> [Vec<f64>; 2] {
        let inverse = |n: usize| if n == 0 { 0.0 } else { 1.0 / n as f64 };
        let factors = |i: usize| match self {
            Self::Gcn => [inverse(graph.outgoing().range(i).len()).sqrt(); 2],
            Self::GcnIncoming => [inverse(graph.incoming().range(i).len()).sqrt(); 2],
            Self::Sage => [inverse(graph.incoming().range(i).len()), 1.0],
            Self::SageRoot => [inverse(graph.degree(i)), 1.0],
        };
        [0, 1].map(|side| (0..graph.nodes()).map(|i| factors(i)[side]).collect())
    }
}
