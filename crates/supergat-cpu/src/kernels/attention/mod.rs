//! Graph attention: `out_i = sum_j alpha_ij z_j` over the incoming edges `j -> i`, with `alpha_i =
//! softmax_j(LeakyReLU(e_ij))`, and its gradient together with that of the edge loss.
//!
//! Forward keeps two numbers per node and head for backward, none per edge: the largest score and the inverse
//! sum of the softmax. Backward computes the scores of an edge again from rows it must read anyway, which is
//! cheaper than reading stored scores. It visits every node once as target (over its incoming edges) and once
//! as source (over its outgoing edges), so each row of the gradient is written by one thread, in one order.

mod backward;
mod by_source;
mod edge;
mod edge_block;
mod forward;
mod input;
mod messages;
mod one_head;
mod pairs;
mod report;
mod scores;
mod symmetric;
mod v2;

pub use backward::{attention_backward, attention_backward_end};
pub use by_source::kept_numbers;
pub use forward::{attention_begin, attention_end, attention_forward, attention_scores};
pub use input::{
    Attention, EdgeLoss, EdgeTerms, Gradient, OtherGradients, Others, round_rows, score_sums, vector_sums,
};
pub(super) use input::{SCORE, SHARED, leaky};
pub use messages::{messages_backward, messages_end, messages_forward};
pub use report::{edge_values, pair_logits};
