//! Backward pass of the usual case: a graph in which every edge has its reverse, without weights or features of edges, and at
//! most eight heads.
//!
//! The edges of a node are processed a block at a time, in steps: products of rows, values of the neighbours, gradients of
//! scores by formulas on pairs of edges, and sums of rows. Each step is a short loop, in which edges do not wait for each
//! other as they do in [`Backward`](super::backward), where an edge goes through all formulas before the next.

use super::backward::through_scores;
use super::by_source;
use super::edge_block::{EDGES, EdgeBlock};
use super::input::{Attention, Gradient, INVERSE, LARGEST, SCORE, SHARED, score_scale, steps_ahead};
use crate::kernels::forms::FormKernel;
use crate::kernels::loss::SoftplusLanes;
use crate::kernels::simd::{
    Arithmetic, Isa, Kernel, Lanes, P, Pair, SimdReal, Stored, V, clear_row, prefetch_ahead, vectors,
};
use std::marker::PhantomData;
use std::ops::Range;
use supergat_core::device::STATE;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch_part;

/// Largest number of edges between prefetching a neighbour's rows and using them.
const AHEAD: usize = 12;
/// Edges of a graph whose dropout bits no longer stay in the cache of a core.
const MANY_EDGES: usize = 1 << 19;

/// Backward pass over a range of nodes.
pub(super) struct Symmetric<'a, T, S, F> {
    pub(super) input: Attention<'a, T>,
    pub(super) gradient: Gradient<'a, T>,
    /// Rows of all nodes, and the gradients of their outputs.
    pub(super) rows: [&'a [S]; 2],
    pub(super) nodes: Range<usize>,
    pub(super) d_z: &'a mut [[T; LANES]],
    pub(super) d_vectors: &'a mut [[T; LANES]],
    pub(super) form: PhantomData<F>,
}

/// Returns whether [`Symmetric`] can compute the gradient, from lists that are whole.
pub(super) fn applies<T>(input: &Attention<'_, T>, gradient: &Gradient<'_, T>) -> bool {
    gradient.symmetric && input.layout.groups == 1 && input.edges.is_none() && input.chosen.is_none()
}

/// What the formulas read of the softmaxes of a pair of targets.
#[derive(Clone, Copy)]
pub(super) struct Softmax<X> {
    pub(super) largest: X,
    pub(super) inverse: X,
    pub(super) shared: X,
}

/// A node whose gradient is computed.
pub(super) struct Node<'a, T: SimdReal, S, I: Isa> {
    pub(super) number: usize,
    pub(super) z: &'a [S],
    /// Gradient of the node's output.
    pub(super) out: &'a [S],
    /// `a_target . z` and `a_source . z`.
    pub(super) scores: [V<T, I>; 2],
    /// Its softmax, for both edges of a pair.
    pub(super) softmax: Softmax<P<T, I>>,
}

/// Constants of the pass, and the rows of all nodes.
pub(super) struct Pass<'a, T: SimdReal, S, F, I: Isa> {
    pub(super) input: Attention<'a, T>,
    pub(super) gradient: Gradient<'a, T>,
    pub(super) z: &'a [S],
    /// Gradients of the outputs.
    pub(super) out: &'a [S],
    pub(super) states: &'a [[[T; LANES]; STATE]],
    /// `a_source . z`.
    pub(super) sources: &'a [[T; LANES]],
    /// Vectors in a row.
    pub(super) width: usize,
    /// Edges between prefetching a neighbour's rows and using them.
    pub(super) ahead: usize,
    /// Edges of a block.
    pub(super) block: usize,
    pub(super) slope: P<T, I>,
    /// Factor of SD.
    pub(super) scale: P<T, I>,
    /// 1 / heads.
    pub(super) per_head: P<T, I>,
    /// 1 / heads, divided among the lanes that repeat a head.
    pub(super) mean: P<T, I>,
    /// Weight of a pair in the objective, divided among the heads.
    pub(super) pair_weight: P<T, I>,
    form: PhantomData<F>,
}

impl<T: SimdReal, S: Stored<T>, F: FormKernel> Kernel for Symmetric<'_, T, S, F> {
    type Number = T;
    type Output = f64;
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let Self { input, gradient, rows, nodes, d_z, d_vectors, .. } = self;
        let pass = Pass::<T, S, F, I>::new(input, gradient, rows);
        let width = pass.width;
        let (a_target, a_source) = vectors(input.vectors).split_at(if F::GO { width } else { 0 });
        let mut losses = SoftplusLanes::new();
        let (mut block, mut by_source) = (EdgeBlock::<T>::ZERO, by_source::Block::<T>::EMPTY);
        d_vectors.fill([T::ZERO; LANES]);
        let (d_target, rest) = d_vectors.split_at_mut(width);
        for (i, d_z) in nodes.zip(d_z.chunks_exact_mut(width)) {
            prefetch_ahead(d_z, 0, width);
            clear_row::<T, I>(d_z);
            let node = pass.node(i);
            let learns = pass.learns(i);
            let mut d_scores = match input.layout.heads {
                1 => pass.attention::<1>(&node, learns, &mut block, &mut by_source, &mut losses, d_z),
                _ => pass.attention::<LANES>(&node, learns, &mut block, &mut by_source, &mut losses, d_z),
            };
            if let Some(loss) = gradient.edge_loss {
                let lists = [loss.negatives_by_target, loss.negatives_by_source];
                if F::SYMMETRIC_LOGIT {
                    pass.pairs_by_products(&node, !learns, lists, &mut block, &mut losses, d_z);
                } else {
                    for (side, lists) in lists.iter().enumerate() {
                        let d = pass.pairs_by_scores(&node, side, lists, &mut block, &mut losses);
                        d_scores[side] = d_scores[side].add(d);
                    }
                }
            }
            if F::GO {
                let d_vectors = [&mut *d_target, &mut rest[..width]];
                through_scores::<T, S, I>(d_scores, node.z, [&a_target[..width], &a_source[..width]], d_z, d_vectors);
            }
        }
        losses.total()
    }
}

impl<'a, T: SimdReal, S: Stored<T>, F: FormKernel, I: Isa> Pass<'a, T, S, F, I> {
    #[inline(always)]
    fn new(input: Attention<'a, T>, gradient: Gradient<'a, T>, [z, out]: [&'a [S]; 2]) -> Self {
        let layout = input.layout;
        let weight = gradient.edge_loss.map_or(0.0, |loss| loss.weight / layout.heads as f64);
        let mean = layout.lane_heads as f64 / LANES as f64 / layout.heads as f64;
        Self {
            input,
            gradient,
            z,
            out,
            states: vectors(gradient.state).as_chunks().0,
            sources: vectors(input.source_score),
            width: layout.vectors,
            ahead: steps_ahead::<S>(2 * layout.vectors, AHEAD),
            block: steps_ahead::<S>(2 * layout.vectors, EDGES),
            slope: P::<T, I>::splat(input.slope),
            scale: P::<T, I>::splat(score_scale(layout)),
            per_head: P::<T, I>::splat(T::from_f64(1.0 / layout.heads as f64)),
            mean: P::<T, I>::splat(T::from_f64(mean)),
            pair_weight: P::<T, I>::splat(T::from_f64(weight)),
            form: PhantomData,
        }
    }

    /// Returns whether any edge of a node is part of a softmax with a gradient.
    #[inline(always)]
    fn learns(&self, i: usize) -> bool {
        let active = self.gradient.active;
        let incoming = &self.input.incoming;
        active[i] || incoming.nodes[incoming.range(i)].iter().any(|&j| active[j as usize])
    }

    /// Adds the gradients of attention from the edges of a node, and of the edge loss unless that is left to
    /// [`Self::pairs_by_products`]; returns those of its scores as target and as source. `H` is 1 for layouts of one head,
    /// else the number of lanes.
    #[inline(always)]
    fn attention<const H: usize>(
        &self,
        node: &Node<'_, T, S, I>,
        learns: bool,
        block: &mut EdgeBlock<T>,
        by_source: &mut by_source::Block<T>,
        losses: &mut SoftplusLanes<P<T, I>>,
        d_z: &mut [[T; LANES]],
    ) -> [V<T, I>; 2] {
        let mut d_scores = [V::<T, I>::zero(); 2];
        let one_row = const { F::GO && !F::DP } && !self.gradient.kept.is_empty();
        if one_row && learns {
            d_scores = self.by_source::<H>(node, by_source, d_z);
        }
        let learns = learns && !one_row;
        if learns || (!F::SYMMETRIC_LOGIT && self.gradient.edge_loss.is_some()) {
            let d = self.edges::<H>(node, learns, block, losses, d_z);
            d_scores = [d_scores[0].add(d[0]), d_scores[1].add(d[1])];
        }
        d_scores
    }

    /// Prefetches the dropout bits of edges to the neighbours that follow `count` edges from place `start` on, in large graphs.
    /// Where these bits are depends on the neighbour, so that its first edge is prefetched still earlier.
    #[inline(always)]
    pub(super) fn prefetch_outgoing(&self, start: usize, count: usize) {
        let (incoming, places) = (&self.input.incoming, self.gradient.place_at_target);
        if incoming.nodes.len() < MANY_EDGES {
            return;
        }
        let [next, far] = [1, 2].map(|k| following(incoming.nodes, start + k * self.ahead, count));
        for ((&next, &far), &place) in next.iter().zip(far).zip(following(places, start + self.ahead, count)) {
            prefetch_part(incoming.offsets, far as usize, 1);
            if let Some(mask) = self.input.keep {
                prefetch_part(mask.keep, incoming.offsets[next as usize] as usize + place as usize, 1);
            }
        }
    }

    #[inline(always)]
    fn node(&self, i: usize) -> Node<'a, T, S, I> {
        let state = &self.states[i];
        let source = if F::GO { V::<T, I>::load(&self.sources[i]) } else { V::<T, I>::zero() };
        Node {
            number: i,
            z: &self.z[i * self.width..][..self.width],
            out: &self.out[i * self.width..][..self.width],
            scores: [V::<T, I>::load(&state[SCORE]), source],
            softmax: Softmax {
                largest: P::<T, I>::both(V::<T, I>::load(&state[LARGEST])),
                inverse: P::<T, I>::both(V::<T, I>::load(&state[INVERSE])),
                shared: P::<T, I>::both(V::<T, I>::load(&state[SHARED])),
            },
        }
    }
}

/// Returns rows of `nodes` for pair number `k` of vectors: the first number of the row of a node per lane in layouts of one
/// head, else the rows of two nodes.
#[inline(always)]
pub(super) fn gathered<'a, T: SimdReal, I: Isa, const H: usize>(
    nodes: &[u32; EDGES],
    k: usize,
    row: impl Fn(usize) -> &'a [T; LANES],
) -> P<T, I> {
    if H == 1 {
        let mut lanes = [[T::ZERO; LANES]; 2];
        for (i, lane) in nodes.as_chunks::<{ 2 * LANES }>().0[k].iter().zip(lanes.as_flattened_mut()) {
            *lane = row(*i as usize)[0];
        }
        return P::<T, I>::load(&lanes);
    }
    let [a, b] = nodes.as_chunks::<2>().0[k];
    P::<T, I>::join(V::<T, I>::load(row(a as usize)), V::<T, I>::load(row(b as usize)))
}

/// Returns `count` nodes of a list from place `at` on, or its last ones.
#[inline(always)]
pub(super) fn following(nodes: &[u32], at: usize, count: usize) -> &[u32] {
    &nodes[at.min(nodes.len() - count)..][..count]
}
