//! Gradient of GATv2 attention, where the score of an edge is a two-layer network of both of its nodes.
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

pub(super) use backward::Backward;
