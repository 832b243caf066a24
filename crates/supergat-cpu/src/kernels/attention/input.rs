//! Inputs of attention and of its gradient, the layout of the state, and small formulas that all passes
//! share.

use crate::kernels::dropout::Mask;
use crate::kernels::parts::{Parts, Rows};
use crate::kernels::simd::{Arithmetic, Isa, Lanes, SimdReal, V, round, vectors};
use supergat_core::device::{self, Host};
use supergat_core::graph::Neighbours;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch;
use supergat_core::{Form, HeadLayout, Precision};

/// Inputs of attention.
///
/// A row of GATv2 in `z` is that of a node as source, followed by that of the node as target.
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
    /// The vectors `a`, as rows in the layout of the heads: `a_target` and `a_source` of GO and MX, one vector of GATv2.
    pub vectors: &'a [T],
    /// Projected features rounded to 16 bits; `z` is then empty, here and in `others`.
    pub half: Option<&'a [u16]>,
    /// Rows of the neighbours that lists of nodes refer to; not read by the gradient of GATv2.
    pub others: Others<'a, T>,
    /// Incoming edges. With lists of a block, passes continue the sums of earlier blocks.
    pub incoming: Neighbours<'a>,
    /// Dropout of the coefficients: a byte per edge and group of heads.
    pub keep: Option<Mask<'a, T>>,
    /// Edges that the softmax is taken over: a byte per edge and group of heads. `None` means all edges.
    pub chosen: Option<&'a [u8]>,
    /// Weights and features of the edges.
    pub edges: Option<EdgeTerms<'a, T>>,
}

impl<'a, T: SimdReal> Attention<'a, T> {
    /// Collects the inputs on `nodes` nodes, whose neighbours are among them.
    pub fn new<D: Host<Element = T>>(
        attention: device::Attention<'a, D>,
        nodes: usize,
        incoming: Neighbours<'a>,
        edges: Option<EdgeTerms<'a, T>>,
    ) -> Self {
        let device::Attention { form, layout, .. } = attention;
        let numbers = nodes * form.projections() * layout.stride();
        let (z, half) = match attention.precision {
            Precision::Bf16 => (&[][..], Some(&attention.z.halves()[..numbers])),
            Precision::F32 | Precision::Auto => (&attention.z[..numbers], None),
        };
        let scores = if form.has_vector() { nodes * layout.head_stride() } else { 0 };
        let source_score = &attention.source_score[..scores];
        Self {
            form,
            layout,
            slope: T::from_f64(attention.slope),
            z,
            source_score,
            vectors: attention.vectors.map_or(&[], |vectors| vectors),
            half,
            others: Others { z, source_score },
            incoming,
            keep: attention.keep.map(Mask::of),
            chosen: attention.chosen.map(Vec::as_slice),
            edges,
        }
    }

    /// Returns the inputs with rows of full precision, `z`, in place of those of 16 bits, if there are any.
    pub fn with_full_rows(self, z: &'a [T]) -> Self {
        if self.half.is_none() { self } else { Self { z, half: None, others: Others { z, ..self.others }, ..self } }
    }
}

/// Weights and features of edges. An edge with weight w and features f has the score `form(z_i, z_j) + u_h . f`, and
/// the softmax is taken over `LeakyReLU(score) + ln w`.
#[derive(Debug, Clone, Copy)]
pub struct EdgeTerms<'a, T> {
    /// ln w of each edge; empty if all weights are 1.
    pub log_weights: &'a [T],
    /// Number of features per edge.
    pub width: usize,
    /// Features, a row per edge; empty without features.
    pub features: &'a [T],
    /// The vectors `u_h`: a row of per-head values per feature; empty without features.
    pub vectors: &'a [T],
}

impl<'a, T: SimdReal> EdgeTerms<'a, T> {
    /// Returns the features of edge `e`.
    #[inline(always)]
    pub(super) fn features_of(&self, e: usize) -> &'a [T] {
        &self.features[e * self.width..(e + 1) * self.width]
    }

    /// Returns `u_h . f` of the heads of a group.
    #[inline(always)]
    pub(super) fn score<I: Isa>(&self, e: usize, g: usize, groups: usize) -> V<T, I> {
        let mut sum = V::<T, I>::zero();
        let rows = vectors(self.vectors).chunks_exact(groups);
        for (f, u) in self.features_of(e).iter().zip(rows) {
            sum = V::<T, I>::splat(*f).mul_add(V::<T, I>::load(&u[g]), sum);
        }
        sum
    }

    /// Prefetches the weight and the features of an edge.
    #[inline(always)]
    pub(super) fn prefetch(&self, e: usize) {
        prefetch(self.features_of(e));
        prefetch(self.log_weights.get(e..e + 1).unwrap_or(&[]));
    }

    /// Returns ln w.
    #[inline(always)]
    pub(super) fn log_weight<I: Isa>(&self, e: usize) -> V<T, I> {
        V::<T, I>::splat(self.log_weights.get(e).copied().unwrap_or(T::ZERO))
    }
}

/// Adds the features of an edge, times a factor per head, to a row of per-head values per feature.
#[inline(always)]
pub(super) fn add_features<T: SimdReal, I: Isa>(
    sums: &mut [[T; LANES]],
    factor: V<T, I>,
    features: &[T],
    g: usize,
    groups: usize,
) {
    for (f, sum) in features.iter().zip(sums.chunks_exact_mut(groups)) {
        sum[g] = factor.mul_add(V::<T, I>::splat(*f), V::<T, I>::load(&sum[g])).array();
    }
}

/// Rows of neighbours. They are the rows of the nodes themselves, unless the neighbours belong to another process.
#[derive(Debug, Clone, Copy)]
pub struct Others<'a, T> {
    /// Projected features.
    pub z: &'a [T],
    /// `a_source . z_j`, a row of per-head values; only read by GO and MX.
    pub source_score: &'a [T],
}

/// Rows of neighbours that the gradient of attention needs in addition.
#[derive(Debug, Clone, Copy)]
pub struct OtherGradients<'a, T> {
    /// State.
    pub state: &'a [T],
    /// Gradient of `out`.
    pub out: &'a [T],
    /// Whether the row of `out` is not all zero.
    pub active: &'a [bool],
    /// Gradient of the weighted sums of edge features; empty if messages do not carry features.
    pub messages: &'a [T],
}

/// The edge loss of a layer: mean binary cross-entropy of sigmoid(mean over heads of the edge logit) over
/// sampled edges and non-edges.
#[derive(Debug, Clone, Copy)]
pub struct EdgeLoss<'a> {
    /// Sampled edges: bit `e % 8` of byte `e / 8`.
    pub positives: &'a [u8],
    /// Sampled non-edges: sources by target.
    pub negatives_by_target: Neighbours<'a>,
    /// Sampled non-edges: targets by source.
    pub negatives_by_source: Neighbours<'a>,
    /// Factor of each pair's term in the objective: lambda_E / number of pairs.
    pub weight: f64,
}

/// Inputs of the gradient of attention, in addition to those of forward.
#[derive(Debug, Clone, Copy)]
pub struct Gradient<'a, T> {
    /// State of every node.
    pub state: &'a [T],
    /// Gradient of `out`, a row per node.
    pub out: &'a [T],
    /// `out` rounded to 16 bits, if [`Attention::half`] is given.
    pub half: Option<&'a [u16]>,
    /// What the forward pass of GO kept of every node, [`kept_numbers`](super::kept_numbers) each, or empty.
    pub kept: &'a [T],
    /// Whether a node's row of `out` is not all zero.
    pub active: &'a [bool],
    /// Rows of the neighbours; not read by GATv2.
    pub others: OtherGradients<'a, T>,
    /// Outgoing edges.
    pub outgoing: Neighbours<'a>,
    /// Place of each outgoing edge among the incoming edges of its target. For a block, the position of each
    /// outgoing edge.
    pub place_at_target: &'a [u32],
    /// Whether every edge has its reverse, so that outgoing and incoming lists are equal.
    pub symmetric: bool,
    /// Self-supervision.
    pub edge_loss: Option<EdgeLoss<'a>>,
    /// Gradient of the weighted sums of edge features, a row of per-head values per feature; empty if messages do not
    /// carry features.
    pub messages: &'a [T],
}

/// Returns how many numbers `attention_backward` needs per part for sums over nodes: the gradients of two
/// vectors (in GATv2 of one, and a row of no meaning), and of the vectors of `edge_features` features.
pub fn vector_sums(layout: HeadLayout, edge_features: usize) -> usize {
    2 * layout.stride() + edge_features * layout.head_stride()
}

/// Returns how many numbers `attention_backward` by blocks stores per node: the gradients of its scores as target
/// and as source.
pub fn score_sums(layout: HeadLayout) -> usize {
    2 * layout.head_stride()
}

/// Slot of `a_target . z_i` in the state.
pub const SCORE: usize = 0;
/// Slot of the largest score in the state.
pub(super) const LARGEST: usize = 1;
/// Slot of the inverse of the sum of exponentials in the state.
pub(super) const INVERSE: usize = 2;
/// Slot of `g_i . out_i` in the state.
pub const SHARED: usize = 3;

/// Returns 1 / sqrt(F), the factor of SD.
pub(super) fn score_scale<T: SimdReal>(layout: HeadLayout) -> T {
    T::from_f64(1.0 / (layout.features as f64).sqrt())
}

/// Returns how many edges ahead a neighbour's rows, of `vectors` vectors of type `S` in total, are prefetched: far enough
/// to hide the latency of memory, near enough that the rows are still in the cache when they are used.
#[inline(always)]
pub(super) fn steps_ahead<S>(vectors: usize, most: usize) -> usize {
    const IN_CACHE: usize = 12 << 10;
    (IN_CACHE / (vectors * size_of::<S>())).clamp(1, most)
}

/// Computes LeakyReLU; the slope is at most 1.
#[inline(always)]
pub fn leaky<X: Arithmetic>(v: X, slope: X) -> X {
    v.mul(slope).max(v)
}

/// Returns the dropout factor of each head: 0 or the scale of the mask.
#[inline(always)]
pub(super) fn kept<T: SimdReal, I: Isa>(keep: Option<Mask<'_, T>>, byte: usize) -> V<T, I> {
    match keep {
        Some(mask) => V::<T, I>::from_bits(mask.keep[byte], mask.scale),
        None => V::<T, I>::splat(T::ONE),
    }
}

/// Returns `value` in the lanes of heads that chose the edge, and zero in the others.
#[inline(always)]
pub(super) fn if_chosen<T: SimdReal, I: Isa>(chosen: Option<&[u8]>, byte: usize, value: V<T, I>) -> V<T, I> {
    match chosen {
        Some(bytes) => value.mul(V::<T, I>::from_bits(bytes[byte], T::ONE)),
        None => value,
    }
}

/// Rounds rows of `stride` numbers to 16 bits.
pub fn round_rows<T: SimdReal>(parts: &Parts, stride: usize, rows: &[T], out: &mut [u16]) {
    parts.for_each(Rows { data: out, width: stride }, |nodes, out| {
        round(&rows[nodes.start * stride..nodes.end * stride], out.data);
    });
}
