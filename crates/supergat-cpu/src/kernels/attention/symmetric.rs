//! Backward pass of the usual case: a graph in which every edge has its reverse, without weights or features of edges, and at
//! most eight heads.
//!
//! The edges of a node are processed a block at a time, in steps: products of rows, values of the neighbours, gradients of
//! scores by formulas on pairs of edges, and sums of rows. Each step is a short loop, in which edges do not wait for each
//! other as they do in [`Backward`](super::backward), where an edge goes through all formulas before the next.

use super::backward::through_scores;
use super::edge::is_positive;
use super::input::{Attention, Gradient, INVERSE, LARGEST, SCORE, SHARED, leaky, score_scale, steps_ahead};
use crate::kernels::dropout::Mask;
use crate::kernels::forms::FormKernel;
use crate::kernels::loss::SoftplusSum;
use crate::kernels::simd::{Arithmetic, Isa, Kernel, Lanes, P, Pair, Registers, SimdReal, V, in_blocks, vectors};
use std::marker::PhantomData;
use std::ops::Range;
use supergat_core::device::STATE;
use supergat_core::graph::Neighbours;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch_part;

/// Most edges of a block. Of wide rows there are fewer, so that they fit into the first cache.
const EDGES: usize = 32;
/// Largest number of edges between prefetching a neighbour's rows and using them.
const AHEAD: usize = 12;

/// Backward pass over a range of nodes.
pub(super) struct Symmetric<'a, T, F> {
    pub(super) input: Attention<'a, T>,
    pub(super) gradient: Gradient<'a, T>,
    pub(super) nodes: Range<usize>,
    pub(super) d_z: &'a mut [[T; LANES]],
    pub(super) d_vectors: &'a mut [[T; LANES]],
    pub(super) form: PhantomData<F>,
}

/// Returns whether [`Symmetric`] can compute the gradient, from lists that are whole.
pub(super) fn applies<T>(input: &Attention<'_, T>, gradient: &Gradient<'_, T>) -> bool {
    gradient.symmetric && input.layout.groups == 1 && input.edges.is_none() && input.chosen.is_none()
}

/// A vector per edge.
type Vectors<T> = [[T; LANES]; EDGES];

/// Values of the edges of a block.
struct Values<T> {
    /// Dot products of both nodes; then their gradients.
    dp: Vectors<T>,
    /// Products of the gradients of targets with the rows of sources, of edges from and to the neighbours.
    products: [Vectors<T>; 2],
    /// Additive scores of edges from and to the neighbours.
    go: [Vectors<T>; 2],
    /// State of the neighbours: largest score, inverse sum, and what all of their edges share.
    largest: Vectors<T>,
    inverse: Vectors<T>,
    shared: Vectors<T>,
    /// Dropout bits of edges from and to the neighbours.
    keep: [[u8; EDGES]; 2],
    /// 1 for edges from and to the neighbours in the sample of the edge loss, else 0.
    marked: [[T; EDGES]; 2],
    /// Mean edge logits of edges from and to the neighbours, a number per edge; then their gradients.
    logit: [Vectors<T>; 2],
    /// Coefficients of edges to the neighbours, after dropout.
    weight: Vectors<T>,
}

impl<T: SimdReal> Values<T> {
    const ZERO: Self = {
        let zero = [[T::ZERO; LANES]; EDGES];
        Self {
            dp: zero,
            products: [zero; 2],
            go: [zero; 2],
            largest: zero,
            inverse: zero,
            shared: zero,
            keep: [[u8::MAX; EDGES]; 2],
            marked: [[T::ZERO; EDGES]; 2],
            logit: [zero; 2],
            weight: zero,
        }
    };
}

/// Loads pair number `k`.
#[inline(always)]
fn pair<T: SimdReal, I: Isa>(values: &Vectors<T>, k: usize) -> P<T, I> {
    P::<T, I>::load(&values.as_chunks::<2>().0[k])
}

/// Stores pair number `k`.
#[inline(always)]
fn set_pair<T: SimdReal, I: Isa>(values: &mut Vectors<T>, k: usize, value: P<T, I>) {
    values.as_chunks_mut::<2>().0[k] = value.arrays();
}

/// What the formulas read of the softmaxes of a pair of targets.
#[derive(Clone, Copy)]
struct Softmax<X> {
    largest: X,
    inverse: X,
    shared: X,
}

/// A node whose gradient is computed.
struct Node<'a, T: SimdReal, I: Isa> {
    number: usize,
    z: &'a [[T; LANES]],
    /// Gradient of the node's output.
    out: &'a [[T; LANES]],
    /// `a_target . z` and `a_source . z`.
    scores: [V<T, I>; 2],
    /// Its softmax, for both edges of a pair.
    softmax: Softmax<P<T, I>>,
}

/// Constants of the pass, and the rows of all nodes.
struct Pass<'a, T: SimdReal, F, I: Isa> {
    input: Attention<'a, T>,
    gradient: Gradient<'a, T>,
    z: &'a [[T; LANES]],
    /// Gradients of the outputs.
    out: &'a [[T; LANES]],
    states: &'a [[[T; LANES]; STATE]],
    /// `a_source . z`.
    sources: &'a [[T; LANES]],
    /// Vectors in a row.
    width: usize,
    /// Edges between prefetching a neighbour's rows and using them.
    ahead: usize,
    /// Edges of a block.
    block: usize,
    slope: P<T, I>,
    /// Factor of SD.
    scale: V<T, I>,
    scale_of_pair: P<T, I>,
    /// 1 / heads, divided among the lanes that repeat a head.
    mean: V<T, I>,
    /// Weight of a pair in the objective, divided among the heads.
    pair_weight: P<T, I>,
    form: PhantomData<F>,
}

impl<T: SimdReal, F: FormKernel> Kernel for Symmetric<'_, T, F> {
    type Number = T;
    type Output = f64;
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let Self { input, gradient, nodes, d_z, d_vectors, .. } = self;
        let pass = Pass::<T, F, I>::new(input, gradient);
        let width = pass.width;
        let (a_target, a_source) = vectors(input.vectors).split_at(if F::GO { width } else { 0 });
        let (mut values, mut losses) = (Values::<T>::ZERO, SoftplusSum::default());
        d_vectors.fill([T::ZERO; LANES]);
        let (d_target, rest) = d_vectors.split_at_mut(width);
        for (i, d_z) in nodes.zip(d_z.chunks_exact_mut(width)) {
            d_z.fill([T::ZERO; LANES]);
            let node = pass.node(i);
            let mut d_scores = pass.edges(&node, &mut values, &mut losses, d_z);
            if let Some(loss) = gradient.edge_loss {
                for (side, lists) in [loss.negatives_by_target, loss.negatives_by_source].iter().enumerate() {
                    let d = pass.non_edges(&node, side, lists, &mut values, &mut losses, d_z);
                    d_scores[side] = d_scores[side].add(d);
                }
            }
            if F::GO {
                let d_vectors = [&mut *d_target, &mut rest[..width]];
                through_scores::<T, I>(d_scores, node.z, [&a_target[..width], &a_source[..width]], d_z, d_vectors);
            }
        }
        losses.total()
    }
}

impl<'a, T: SimdReal, F: FormKernel, I: Isa> Pass<'a, T, F, I> {
    #[inline(always)]
    fn new(input: Attention<'a, T>, gradient: Gradient<'a, T>) -> Self {
        let layout = input.layout;
        let weight = gradient.edge_loss.map_or(0.0, |loss| loss.weight / layout.heads as f64);
        let mean = layout.lane_heads as f64 / LANES as f64 / layout.heads as f64;
        let scale: T = score_scale(layout);
        Self {
            input,
            gradient,
            z: vectors(input.z),
            out: vectors(gradient.out),
            states: vectors(gradient.state).as_chunks().0,
            sources: vectors(input.source_score),
            width: layout.vectors,
            ahead: steps_ahead::<T>(2 * layout.vectors, AHEAD),
            block: steps_ahead::<T>(2 * layout.vectors, EDGES),
            slope: P::<T, I>::splat(input.slope),
            scale: V::<T, I>::splat(scale),
            scale_of_pair: P::<T, I>::splat(scale),
            mean: V::<T, I>::splat(T::from_f64(mean)),
            pair_weight: P::<T, I>::splat(T::from_f64(weight)),
            form: PhantomData,
        }
    }

    #[inline(always)]
    fn node(&self, i: usize) -> Node<'a, T, I> {
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

    /// Adds the gradients from the edges of a node; returns those of its scores as target and as source.
    #[inline(always)]
    fn edges(
        &self,
        node: &Node<'_, T, I>,
        values: &mut Values<T>,
        losses: &mut SoftplusSum,
        d_z: &mut [[T; LANES]],
    ) -> [V<T, I>; 2] {
        let (active, incoming) = (self.gradient.active, &self.input.incoming);
        let (mut sums, mut last) = ([P::<T, I>::zero(); 2], [V::<T, I>::zero(); 2]);
        let list = incoming.range(node.number);
        for start in list.clone().step_by(self.block) {
            let others = &incoming.nodes[start..(start + self.block).min(list.end)];
            let next = following(incoming.nodes, start + self.ahead, others.len());
            // Whether any edge is part of a softmax with a gradient.
            let learns = active[node.number] || others.iter().any(|&j| active[j as usize]);
            if !learns && self.gradient.edge_loss.is_none() {
                continue;
            }
            self.products([others, next], node, learns, values);
            self.collect([others, next], start, node, learns, values);
            if self.gradient.edge_loss.is_some() {
                self.edge_losses(others.len(), values, losses);
            }
            for k in 0..others.len() / 2 {
                let d = self.through_pair(k, learns, &node.softmax, values);
                sums = [sums[0].add(d[0]), sums[1].add(d[1])];
            }
            if others.len() % 2 == 1 {
                let d = self.through_pair(others.len() / 2, learns, &node.softmax, values);
                last = [last[0].add(d[0].halves()[0]), last[1].add(d[1].halves()[0])];
            }
            self.add_rows([others, next], learns, values, d_z);
        }
        [sums[0].sum().add(last[0]), sums[1].sum().add(last[1])]
    }

    /// Computes the products of the rows of a node with those of its neighbours, and prefetches rows `z` of the `next` nodes.
    #[inline(always)]
    fn products(&self, [others, next]: [&[u32]; 2], node: &Node<'_, T, I>, learns: bool, values: &mut Values<T>) {
        let (width, lane_heads) = (self.width, self.input.layout.lane_heads);
        if !learns {
            if F::DP {
                for (dp, (&j, &next)) in values.dp.iter_mut().zip(others.iter().zip(next)) {
                    prefetch_part(self.z, next as usize * width, width);
                    *dp = row_dot::<T, I>(node.z, &self.z[j as usize * width..]).fold(lane_heads).array();
                }
            }
            return;
        }
        in_blocks!(I, width, |first, B| {
            let own_z = Registers::<T, I, B>::load(&node.z[first..]);
            let own_out = Registers::<T, I, B>::load(&node.out[first..]);
            let [to_in, to_out] = &mut values.products;
            let to = values.dp.iter_mut().zip(to_in.iter_mut().zip(to_out.iter_mut()));
            for ((&j, &next), (dp, (product_in, product_out))) in others.iter().zip(next).zip(to) {
                prefetch_part(self.z, next as usize * width + first, B);
                let at = j as usize * width + first;
                let other_z = Registers::<T, I, B>::load(&self.z[at..]);
                let other_out = Registers::<T, I, B>::load(&self.out[at..]);
                // Sums over the features of earlier blocks of the row.
                let mut sums = [V::<T, I>::zero(); 3];
                if first > 0 {
                    sums = [V::<T, I>::load(dp), V::<T, I>::load(product_in), V::<T, I>::load(product_out)];
                }
                let heads = if first + B == width { lane_heads } else { LANES };
                if F::DP {
                    *dp = own_z.dot(&other_z).add(sums[0]).fold(heads).array();
                }
                *product_in = own_out.dot(&other_z).add(sums[1]).fold(heads).array();
                *product_out = own_z.dot(&other_out).add(sums[2]).fold(heads).array();
            }
        });
    }

    /// Collects what the formulas read of the neighbours and of the edges, the first of which is at position `start`.
    #[inline(always)]
    fn collect(
        &self,
        [others, next]: [&[u32]; 2],
        start: usize,
        node: &Node<'_, T, I>,
        learns: bool,
        values: &mut Values<T>,
    ) {
        let Self { states, sources, .. } = self;
        let (loss, incoming) = (&self.gradient.edge_loss, &self.input.incoming);
        if learns {
            for (k, (&j, &next)) in others.iter().zip(next).enumerate() {
                prefetch_part(states, next as usize, 1);
                let state = &states[j as usize];
                values.largest[k] = state[LARGEST];
                values.inverse[k] = state[INVERSE];
                values.shared[k] = state[SHARED];
            }
        }
        if F::GO && (learns || !F::SYMMETRIC_LOGIT) {
            for (k, (&j, &next)) in others.iter().zip(next).enumerate() {
                prefetch_part(sources, next as usize, 1);
                let (source, target) = (&sources[j as usize], &states[j as usize][SCORE]);
                values.go[0][k] = node.scores[0].add(V::<T, I>::load(source)).array();
                values.go[1][k] = V::<T, I>::load(target).add(node.scores[1]).array();
            }
        }
        if (learns && self.input.keep.is_some()) || loss.is_some() {
            for (k, (&j, &next)) in others.iter().zip(next).enumerate() {
                prefetch_part(incoming.offsets, next as usize, 1);
                // The edge to the neighbour, among the neighbour's incoming edges.
                let first = incoming.offsets[j as usize] as usize;
                let edges = [start + k, first + self.gradient.place_at_target[start + k] as usize];
                for (side, edge) in edges.into_iter().enumerate() {
                    if let Some(Mask { keep, .. }) = self.input.keep {
                        values.keep[side][k] = keep[edge];
                    }
                    if loss.is_some() {
                        values.marked[side][k] = if is_positive(loss, edge) { T::ONE } else { T::ZERO };
                    }
                }
            }
        }
    }

    /// Computes the gradients of the edge logits of a block, and adds the terms of the edge loss.
    #[inline(always)]
    fn edge_losses(&self, edges: usize, values: &mut Values<T>, losses: &mut SoftplusSum) {
        // Coefficients are computed later, so their place is free for exp(-|x|).
        let Values { dp, go, marked, logit, weight: small, .. } = values;
        let (one, sides) = (P::<T, I>::splat(T::ONE), if F::SYMMETRIC_LOGIT { 1 } else { 2 });
        for side in 0..sides {
            for k in 0..edges {
                let (go, dp) = (V::<T, I>::load(&go[side][k]), V::<T, I>::load(&dp[k]));
                let x = F::logit(go, dp, self.scale).fold(1).mul(self.mean);
                logit[side].as_flattened_mut()[k] = x.array()[0];
            }
            for k in 0..edges.div_ceil(2 * LANES) {
                set_pair::<T, I>(small, k, pair::<T, I>(&logit[side], k).exp_of_minus_abs());
            }
            if side == 0 {
                let (x, small) = (logit[0].as_flattened(), small.as_flattened());
                for ((x, small), marked) in x.iter().zip(small).zip(&marked[0][..edges]) {
                    losses.add_if(*marked == T::ONE, T::ZERO - *x, *small);
                }
            }
            for k in 0..edges.div_ceil(2 * LANES) {
                let (x, e) = (pair::<T, I>(&logit[side], k), pair::<T, I>(small, k));
                // sigmoid(x) - 1 = -sigmoid(-x) = -(e or 1) / (1 + e) for positive or other x.
                let miss = x.if_positive(e, one).div(one.add(e));
                set_pair::<T, I>(&mut logit[side], k, P::<T, I>::zero().sub(miss).mul(self.pair_weight));
            }
        }
        let [of_in, of_out] = logit;
        let (of_in, of_out) = (of_in.as_flattened_mut(), of_out.as_flattened_mut());
        for k in 0..edges {
            if F::SYMMETRIC_LOGIT {
                of_in[k] *= marked[0][k] + marked[1][k];
            } else {
                of_in[k] *= marked[0][k];
                of_out[k] *= marked[1][k];
            }
        }
    }

    /// Computes the gradients of the scores of pair number `k` of a block; returns those of the additive scores of edges
    /// from and to the neighbours.
    #[inline(always)]
    fn through_pair(&self, k: usize, learns: bool, own: &Softmax<P<T, I>>, values: &mut Values<T>) -> [P<T, I>; 2] {
        let (zero, scale) = (P::<T, I>::zero(), self.scale_of_pair);
        let dp = if F::DP { pair::<T, I>(&values.dp, k) } else { zero };
        let (mut d_go, mut d_dp) = ([zero; 2], zero);
        if self.gradient.edge_loss.is_some() {
            let d = values.logit.each_ref().map(|d| d.as_flattened().as_chunks::<2>().0[k]);
            let d_in = P::<T, I>::join(V::<T, I>::splat(d[0][0]), V::<T, I>::splat(d[0][1]));
            (d_go[0], d_dp) = F::logit_backward(d_in, scale);
            if !F::SYMMETRIC_LOGIT {
                let d_out = P::<T, I>::join(V::<T, I>::splat(d[1][0]), V::<T, I>::splat(d[1][1]));
                (d_go[1], _) = F::logit_backward(d_out, scale);
            }
        }
        if learns {
            let other = Softmax::<P<T, I>> {
                largest: pair::<T, I>(&values.largest, k),
                inverse: pair::<T, I>(&values.inverse, k),
                shared: pair::<T, I>(&values.shared, k),
            };
            let kept = self.input.keep.map_or(T::ONE, |mask| mask.scale);
            for (side, target) in [own, &other].into_iter().enumerate() {
                let go = if F::GO { pair::<T, I>(&values.go[side], k) } else { zero };
                let score = F::score(go, dp, scale);
                let alpha = leaky(score, self.slope).sub(target.largest).exp().mul(target.inverse);
                let keep = P::<T, I>::from_bits(values.keep[side].as_chunks::<2>().0[k], kept);
                let d_alpha = pair::<T, I>(&values.products[side], k).mul(keep);
                let d_leaky = alpha.mul(d_alpha.sub(target.shared));
                let d_score = score.if_positive(d_leaky, d_leaky.mul(self.slope));
                let (d, d_of_dp) = F::score_backward(d_score, go, dp, scale);
                (d_go[side], d_dp) = (d_go[side].add(d), d_dp.add(d_of_dp));
                if side == 1 {
                    set_pair::<T, I>(&mut values.weight, k, alpha.mul(keep));
                }
            }
        }
        set_pair::<T, I>(&mut values.dp, k, d_dp);
        d_go
    }

    /// Adds the rows of the neighbours to that of a node: the gradients of their outputs, weighted by the coefficients, and
    /// their `z`, weighted by the gradients of the dot products. Prefetches the gradients of the `next` nodes.
    #[inline(always)]
    fn add_rows(&self, [others, next]: [&[u32]; 2], learns: bool, values: &Values<T>, d_z: &mut [[T; LANES]]) {
        if !learns {
            return self.add_z(others, values, d_z);
        }
        in_blocks!(I, self.width, |first, B| {
            let mut sum = Registers::<T, I, B>::load(&d_z[first..]);
            let factors = values.weight.iter().zip(&values.dp);
            for ((&j, &next), (weight, d_dp)) in others.iter().zip(next).zip(factors) {
                if self.gradient.active[next as usize] {
                    prefetch_part(self.out, next as usize * self.width + first, B);
                }
                let at = j as usize * self.width + first;
                sum.add_scaled(V::<T, I>::load(weight), &Registers::load(&self.out[at..]));
                if F::DP {
                    sum.add_scaled(V::<T, I>::load(d_dp), &Registers::load(&self.z[at..]));
                }
            }
            sum.store(&mut d_z[first..]);
        });
    }

    /// Adds the rows `z` of the neighbours, weighted by the gradients of the dot products, if the form has any.
    #[inline(always)]
    fn add_z(&self, others: &[u32], values: &Values<T>, d_z: &mut [[T; LANES]]) {
        if !F::DP {
            return;
        }
        in_blocks!(I, self.width, |first, B| {
            let mut sum = Registers::<T, I, B>::load(&d_z[first..]);
            for (&j, d_dp) in others.iter().zip(&values.dp) {
                let row = Registers::load(&self.z[j as usize * self.width + first..]);
                sum.add_scaled(V::<T, I>::load(d_dp), &row);
            }
            sum.store(&mut d_z[first..]);
        });
    }

    /// Adds the gradients from the sampled non-edges of a node as target (`side` 0) or source (1); returns that of its score.
    /// All heads have the same gradient.
    #[inline(always)]
    fn non_edges(
        &self,
        node: &Node<'_, T, I>,
        side: usize,
        lists: &Neighbours<'_>,
        values: &mut Values<T>,
        losses: &mut SoftplusSum,
        d_z: &mut [[T; LANES]],
    ) -> V<T, I> {
        let (width, lane_heads) = (self.width, self.input.layout.lane_heads);
        let mut d_score = V::<T, I>::zero();
        let list = lists.range(node.number);
        for start in list.clone().step_by(EDGES) {
            let others = &lists.nodes[start..(start + EDGES).min(list.end)];
            let next = following(lists.nodes, start + self.ahead, others.len());
            for (k, (&j, &next)) in others.iter().zip(next).enumerate() {
                let (mut go, mut dp) = (V::<T, I>::zero(), V::<T, I>::zero());
                if F::DP {
                    prefetch_part(self.z, next as usize * width, width);
                    dp = row_dot::<T, I>(node.z, &self.z[j as usize * width..]).fold(lane_heads);
                } else {
                    prefetch_part(self.states, next as usize, 1);
                    prefetch_part(self.sources, next as usize, 1);
                    let (source, target) = (&self.sources[j as usize], &self.states[j as usize][SCORE]);
                    go = node.scores[side].add(V::<T, I>::load(if side == 0 { source } else { target }));
                }
                let x = F::logit(go, dp, self.scale).fold(1).mul(self.mean);
                values.logit[0].as_flattened_mut()[k] = x.array()[0];
            }
            for k in 0..others.len().div_ceil(2 * LANES) {
                let (one, x) = (P::<T, I>::splat(T::ONE), pair::<T, I>(&values.logit[0], k));
                let small = x.exp_of_minus_abs();
                let sigmoid = x.if_positive(one, small).div(one.add(small));
                set_pair::<T, I>(&mut values.logit[1], k, sigmoid.mul(self.pair_weight));
                set_pair::<T, I>(&mut values.weight, k, small);
            }
            let [x, d_logit] = values.logit.each_ref().map(|values| &values.as_flattened()[..others.len()]);
            for ((x, small), (d, to)) in
                x.iter().zip(values.weight.as_flattened()).zip(d_logit.iter().zip(&mut values.dp))
            {
                losses.add_if(side == 0, *x, *small);
                let (d_go, d_dp) = F::logit_backward(V::<T, I>::splat(*d), self.scale);
                d_score = d_score.add(d_go);
                *to = d_dp.array();
            }
            self.add_z(others, values, d_z);
        }
        d_score
    }
}

/// Returns `count` nodes of a list from place `at` on, or its last ones.
#[inline(always)]
fn following(nodes: &[u32], at: usize, count: usize) -> &[u32] {
    &nodes[at.min(nodes.len() - count)..][..count]
}

/// Returns the lane-wise sum of products of two rows.
#[inline(always)]
fn row_dot<T: SimdReal, I: Isa>(own: &[[T; LANES]], other: &[[T; LANES]]) -> V<T, I> {
    let mut sum = V::<T, I>::zero();
    in_blocks!(I, own.len(), |first, B| {
        let row = Registers::<T, I, B>::load(&own[first..]);
        sum = sum.add(row.dot(&Registers::load(&other[first..])));
    });
    sum
}
