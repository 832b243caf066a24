//! Graph attention: `out_i = sum_j alpha_ij z_j` over the incoming edges `j -> i`, with `alpha_i = softmax_j(LeakyReLU(e_ij))`, and its
//! gradient together with that of the edge loss.
//!
//! What forward keeps for backward is per node, not per edge: the largest score and the inverse sum of the softmax. Backward computes
//! the scores of an edge again from the rows it must read anyway, which is cheaper than reading stored ones. It visits every node once as target (over its
//! incoming edges) and once as source (over its outgoing ones), so that each row of the gradient is written by one thread, in one order.

mod backward;
mod edge;
mod forward;
mod report;

pub use backward::{EdgeLoss, Gradient, attention_backward, vector_sums};
pub use forward::{attention_forward, attention_scores};
pub use report::{edge_values, pair_logits};

use super::dropout::Mask;
use super::forms::Form;
use super::heads::HeadLayout;
use super::lanes::{Isa, LANES, Lanes, V};
use super::real::Real;
use std::ops::Range;

/// Neighbour lists, borrowed: those of node `i` are `nodes[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, Copy)]
pub struct Neighbours<'a> {
    /// One more than there are nodes.
    pub offsets: &'a [u64],
    /// All lists, one after another.
    pub nodes: &'a [u32],
}

impl Neighbours<'_> {
    #[inline(always)]
    pub(super) fn range(&self, i: usize) -> Range<usize> {
        self.offsets[i] as usize..self.offsets[i + 1] as usize
    }
}

/// What attention is computed from.
#[derive(Debug, Clone, Copy)]
pub struct Attention<'a, T> {
    /// Form of the scores.
    pub form: Form,
    /// Layout of the rows.
    pub layout: HeadLayout,
    /// Negative slope of LeakyReLU.
    pub slope: T,
    /// Projected features, a row per node.
    pub z: &'a [T],
    /// `a_source . z_j` of each node, a row of per-head values; only read by GO and MX.
    pub source_score: &'a [T],
    /// Incoming edges.
    pub incoming: Neighbours<'a>,
    /// Dropout of the coefficients: a byte per edge and group of heads.
    pub keep: Option<Mask<'a, T>>,
    /// The edges that the softmax is taken over, all without: a byte per edge and group of heads.
    pub chosen: Option<&'a [u8]>,
}

/// Per-head values kept for a node as target, in this order: `a_target . z_i`, the largest score, the inverse of the sum of
/// exponentials, and `g_i . out_i` (the term of the softmax's gradient that all edges of the node share).
pub const STATE: usize = 4;
pub(super) const SCORE: usize = 0;
const LARGEST: usize = 1;
const INVERSE: usize = 2;
pub(super) const SHARED: usize = 3;

/// 1 / sqrt(F), which SD multiplies with.
fn score_scale<T: Real>(layout: HeadLayout) -> T {
    T::from_f64(1.0 / (layout.features as f64).sqrt())
}

/// How many edges ahead a neighbour's rows, of so many vectors, are asked for: far enough for a memory access, near enough that the cache still has them when
/// they are used.
#[inline(always)]
fn steps_ahead<T>(vectors: usize, most: usize) -> usize {
    const IN_CACHE: usize = 12 << 10;
    (IN_CACHE / (vectors * size_of::<[T; LANES]>())).clamp(1, most)
}

#[inline(always)]
pub(super) fn leaky<X: Lanes>(v: X, slope: X) -> X {
    v.if_positive(v, v.mul(slope))
}

#[inline(always)]
fn kept<T: Real, I: Isa>(keep: Option<Mask<'_, T>>, byte: usize) -> V<T, I> {
    match keep {
        Some(mask) => V::<T, I>::from_bits(mask.keep[byte], mask.scale),
        None => V::<T, I>::splat(T::ONE),
    }
}

/// `value` in the lanes of heads that chose the edge, else zero.
#[inline(always)]
fn if_chosen<T: Real, I: Isa>(chosen: Option<&[u8]>, byte: usize, value: V<T, I>) -> V<T, I> {
    match chosen {
        Some(bytes) => value.mul(V::<T, I>::from_bits(bytes[byte], T::ONE)),
        None => value,
    }
}
