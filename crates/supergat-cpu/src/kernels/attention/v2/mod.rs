//! GATv2 attention: the score of an edge is a two-layer network of both of its nodes.
//!
//! ```text
//! e_ij  = a . LeakyReLU(t_i + s_j)           s = W_source x, t = W_target x; a row of z is s, then t
//! alpha = softmax over j of e_ij + u . f_ij + ln w_ij
//! out_i = sum_j alpha_ij s_j
//! ```
//!
//! With `m_ij` = 1 where `t_i + s_j` is above zero and the slope elsewhere, and `d_ij` the gradient of `e_ij`:
//!
//! ```text
//! p_i   = sum_j d_ij m_ij                    over incoming edges
//! q_j   = sum_i d_ij m_ij                    over outgoing edges
//! d t_i = a p_i
//! d s_j = a q_j + sum_i alpha_ij g_i
//! d a   = sum_i p_i t_i + q_i s_i            because LeakyReLU(x) = m x
//! ```
//!
//! So an edge adds to two rows only, and the gradient of `a` is computed from nodes. As in the other forms, nothing is
//! stored per edge, and each node sums over its own edges.

mod backward;
mod edge;
mod forward;
mod report;

pub use backward::attention_v2_backward;
pub use forward::attention_v2_forward;
pub use report::{v2_edge_values, v2_pair_logits};

use super::input::{EdgeLoss, EdgeTerms};
use crate::kernels::dropout::Mask;
use supergat_core::HeadLayout;
use supergat_core::graph::Neighbours;

/// Inputs of GATv2 attention.
#[derive(Debug, Clone, Copy)]
pub struct AttentionV2<'a, T> {
    /// Layout of the rows.
    pub layout: HeadLayout,
    /// Negative slope of LeakyReLU, from 0 to 1.
    pub slope: T,
    /// Projected features: a row per node as source, followed by its row as target.
    pub z: &'a [T],
    /// The vectors `a`, as a row in the layout of the heads.
    pub vectors: &'a [T],
    /// Incoming edges, a list per node.
    pub incoming: Neighbours<'a>,
    /// Dropout of the coefficients: a byte per edge and group of heads.
    pub keep: Option<Mask<'a, T>>,
    /// Weights and features of the edges.
    pub edges: Option<EdgeTerms<'a, T>>,
}

/// Inputs of the gradient of GATv2 attention, in addition to those of forward.
#[derive(Debug, Clone, Copy)]
pub struct GradientV2<'a, T> {
    /// State of every node.
    pub state: &'a [T],
    /// Gradient of `out`, a row per node.
    pub out: &'a [T],
    /// Whether a node's row of `out` is not all zero.
    pub active: &'a [bool],
    /// Outgoing edges, a list per node.
    pub outgoing: Neighbours<'a>,
    /// Place of each outgoing edge among the incoming edges of its target.
    pub place_at_target: &'a [u32],
    /// Whether every edge has its reverse, so that outgoing and incoming lists are equal.
    pub symmetric: bool,
    /// Self-supervision.
    pub edge_loss: Option<EdgeLoss<'a>>,
    /// Gradient of the weighted sums of edge features, a row of per-head values per feature; empty if messages do not
    /// carry features.
    pub messages: &'a [T],
}
