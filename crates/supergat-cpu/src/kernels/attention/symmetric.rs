//! Backward pass of the usual case: a graph in which every edge has its reverse, without weights or features of edges, and at
//! most eight heads.
//!
//! The edges of a node are processed a block at a time, in steps: products of rows, values of the neighbours, gradients of
//! scores by formulas on pairs of edges, and sums of rows. Each step is a short loop, in which edges do not wait for each
//! other as they do in [`Backward`](super::backward), where an edge goes through all formulas before the next.

use super::backward::through_scores;
use super::by_source;
use super::edge::is_positive;
use super::forward::add_rows;
use super::input::{Attention, Gradient, INVERSE, LARGEST, SCORE, SHARED, leaky, score_scale, steps_ahead};
use crate::kernels::dropout::Mask;
use crate::kernels::forms::FormKernel;
use crate::kernels::loss::SoftplusSum;
use crate::kernels::simd::{
    Arithmetic, Isa, Kernel, Lanes, P, Pair, Registers, SimdReal, Stored, V, clear_row, in_blocks, prefetch_ahead,
    vectors,
};
use std::marker::PhantomData;
use std::ops::Range;
use supergat_core::device::STATE;
use supergat_core::graph::Neighbours;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch_part;

/// Most edges of a block. Of wide rows there are fewer, so that they fit into the first cache.
pub(super) const EDGES: usize = 32;
/// Largest number of edges between prefetching a neighbour's rows and using them.
const AHEAD: usize = 12;

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

/// A vector per edge.
type Vectors<T> = [[T; LANES]; EDGES];

/// Values of the edges of a block. Steps write pairs of vectors where the next one reads pairs: a load that spans two earlier
/// stores waits for both.
struct Values<T> {
    /// Neighbours. The last one is repeated, so that all edges are in pairs.
    others: [u32; EDGES],
    /// Positions of the edges from and to the neighbours.
    edges: [[usize; EDGES]; 2],
    /// Dot products of both nodes; then their gradients.
    dp: Vectors<T>,
    /// Products of the gradients of targets with the rows of sources, of edges from and to the neighbours.
    products: [Vectors<T>; 2],
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
            others: [0; EDGES],
            edges: [[0; EDGES]; 2],
            dp: zero,
            products: [zero; 2],
            marked: [[T::ZERO; EDGES]; 2],
            logit: [zero; 2],
            weight: zero,
        }
    };

    /// Returns the neighbours of pair number `k`.
    #[inline(always)]
    fn pair_of_nodes(&self, k: usize) -> [usize; 2] {
        let [a, b] = self.others.as_chunks::<2>().0[k];
        [a as usize, b as usize]
    }
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
pub(super) struct Softmax<X> {
    largest: X,
    inverse: X,
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
    z: &'a [S],
    /// Gradients of the outputs.
    pub(super) out: &'a [S],
    pub(super) states: &'a [[[T; LANES]; STATE]],
    /// `a_source . z`.
    sources: &'a [[T; LANES]],
    /// Vectors in a row.
    pub(super) width: usize,
    /// Edges between prefetching a neighbour's rows and using them.
    pub(super) ahead: usize,
    /// Edges of a block.
    pub(super) block: usize,
    pub(super) slope: P<T, I>,
    /// Factor of SD.
    scale: V<T, I>,
    scale_of_pair: P<T, I>,
    /// 1 / heads, divided among the lanes that repeat a head.
    mean: V<T, I>,
    /// Weight of a pair in the objective, divided among the heads.
    pair_weight: P<T, I>,
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
        let (mut values, mut losses) = (Values::<T>::ZERO, SoftplusSum::default());
        let mut by_source = by_source::Block::<T>::EMPTY;
        let one_row = const { F::GO && !F::DP } && !gradient.kept.is_empty();
        d_vectors.fill([T::ZERO; LANES]);
        let (d_target, rest) = d_vectors.split_at_mut(width);
        for (i, d_z) in nodes.zip(d_z.chunks_exact_mut(width)) {
            prefetch_ahead(d_z, 0, width);
            clear_row::<T, I>(d_z);
            let node = pass.node(i);
            let mut d_scores = [V::<T, I>::zero(); 2];
            if one_row {
                d_scores = match input.layout.heads {
                    1 => pass.by_source::<1>(&node, &mut by_source, d_z),
                    _ => pass.by_source::<LANES>(&node, &mut by_source, d_z),
                };
            }
            if !one_row || gradient.edge_loss.is_some() {
                let d = pass.edges(&node, !one_row, &mut values, &mut losses, d_z);
                d_scores = [d_scores[0].add(d[0]), d_scores[1].add(d[1])];
            }
            if let Some(loss) = gradient.edge_loss {
                let lists = [loss.negatives_by_target, loss.negatives_by_source];
                if F::SYMMETRIC_LOGIT {
                    pass.non_edges_of_both(&node, lists, &mut values, &mut losses, d_z);
                } else {
                    for (side, lists) in lists.iter().enumerate() {
                        let d = pass.non_edges(&node, side, lists, &mut values, &mut losses);
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
        let scale: T = score_scale(layout);
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
            scale: V::<T, I>::splat(scale),
            scale_of_pair: P::<T, I>::splat(scale),
            mean: V::<T, I>::splat(T::from_f64(mean)),
            pair_weight: P::<T, I>::splat(T::from_f64(weight)),
            form: PhantomData,
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

    /// Adds the gradients from the edges of a node, those of the edge loss only unless it `attends`; returns those of its
    /// scores as target and as source.
    #[inline(always)]
    fn edges(
        &self,
        node: &Node<'_, T, S, I>,
        attends: bool,
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
            let learns = attends && (active[node.number] || others.iter().any(|&j| active[j as usize]));
            if !learns && self.gradient.edge_loss.is_none() {
                continue;
            }
            self.collect([others, next], start, learns, values);
            self.products([others, next], node, learns, values);
            if self.gradient.edge_loss.is_some() {
                self.edge_losses(others.len(), node, values, losses);
            }
            for k in 0..others.len() / 2 {
                let d = self.through_pair(k, learns, node, values);
                sums = [sums[0].add(d[0]), sums[1].add(d[1])];
            }
            if others.len() % 2 == 1 {
                let d = self.through_pair(others.len() / 2, learns, node, values);
                last = [last[0].add(d[0].halves()[0]), last[1].add(d[1].halves()[0])];
            }
            self.add_rows([others, next], learns, values, d_z);
        }
        [sums[0].sum().add(last[0]), sums[1].sum().add(last[1])]
    }

    /// Computes the products of the rows of a node with those of its neighbours, and prefetches rows `z` of the `next` nodes.
    #[inline(always)]
    fn products(&self, [others, next]: [&[u32]; 2], node: &Node<'_, T, S, I>, learns: bool, values: &mut Values<T>) {
        let (width, lane_heads) = (self.width, self.input.layout.lane_heads);
        if !learns {
            if F::DP {
                for (dp, (&j, &next)) in values.dp.iter_mut().zip(others.iter().zip(next)) {
                    prefetch_part(self.z, next as usize * width, width);
                    *dp = S::dot::<I>(node.z, &self.z[j as usize * width..][..width]).fold(lane_heads).array();
                }
            }
            return;
        }
        let Values { others: padded, dp, products: [to_in, to_out], .. } = values;
        let pairs = padded.as_chunks::<2>().0[..others.len().div_ceil(2)].iter();
        in_blocks!(I, width, |first, B| {
            let own_z = Registers::<T, I, B>::load(&node.z[first..]);
            let own_out = Registers::<T, I, B>::load(&node.out[first..]);
            let heads = if first + B == width { lane_heads } else { LANES };
            let to = dp.as_chunks_mut::<2>().0.iter_mut();
            let to_products = to_in.as_chunks_mut::<2>().0.iter_mut().zip(to_out.as_chunks_mut::<2>().0);
            let ahead = next.chunks(2);
            for ((pair, ahead), (dp, (product_in, product_out))) in pairs.clone().zip(ahead).zip(to.zip(to_products)) {
                for &next in ahead {
                    prefetch_part(self.z, next as usize * width + first, B);
                }
                let at = [pair[0] as usize * width + first, pair[1] as usize * width + first];
                let z = [Registers::<T, I, B>::load(&self.z[at[0]..]), Registers::load(&self.z[at[1]..])];
                let out = [Registers::<T, I, B>::load(&self.out[at[0]..]), Registers::load(&self.out[at[1]..])];
                // Sums over the features of earlier blocks of the row.
                let mut sums = [P::<T, I>::zero(); 3];
                if first > 0 {
                    sums = [P::<T, I>::load(dp), P::<T, I>::load(product_in), P::<T, I>::load(product_out)];
                }
                if F::DP {
                    *dp = folded::<T, I>([own_z.dot(&z[0]), own_z.dot(&z[1])], sums[0], heads).arrays();
                }
                *product_in = folded::<T, I>([own_out.dot(&z[0]), own_out.dot(&z[1])], sums[1], heads).arrays();
                *product_out = folded::<T, I>([own_z.dot(&out[0]), own_z.dot(&out[1])], sums[2], heads).arrays();
            }
        });
    }

    /// Collects the neighbours and their edges, the first of which is at position `start`. Prefetches what the formulas read
    /// of the `next` nodes.
    #[inline(always)]
    fn collect(&self, [others, next]: [&[u32]; 2], start: usize, learns: bool, values: &mut Values<T>) {
        let (loss, incoming) = (&self.gradient.edge_loss, &self.input.incoming);
        let Values { others: padded, edges: [of_in, of_out], marked, .. } = values;
        if learns || !F::SYMMETRIC_LOGIT {
            for &next in next {
                prefetch_part(self.states, next as usize, 1);
                if F::GO {
                    prefetch_part(self.sources, next as usize, 1);
                }
            }
        }
        if (learns && self.input.keep.is_some()) || loss.is_some() {
            let places = &self.gradient.place_at_target[start..];
            for (k, ((&j, &next), &place)) in others.iter().zip(next).zip(places).enumerate() {
                prefetch_part(incoming.offsets, next as usize, 1);
                of_in[k] = start + k;
                // The edge to the neighbour, among the neighbour's incoming edges.
                of_out[k] = incoming.offsets[j as usize] as usize + place as usize;
            }
        }
        padded[..others.len()].copy_from_slice(others);
        if others.len() % 2 == 1 {
            let last = others.len() - 1;
            padded[last + 1] = padded[last];
            (of_in[last + 1], of_out[last + 1]) = (of_in[last], of_out[last]);
        }
        if loss.is_some() {
            for (marked, edges) in marked.iter_mut().zip([of_in, of_out]) {
                for (marked, &edge) in marked.iter_mut().zip(&edges[..others.len()]) {
                    *marked = if is_positive(loss, edge) { T::ONE } else { T::ZERO };
                }
            }
        }
    }

    /// Returns the additive scores of pair number `k` of edges from (`side` 0) or to (1) the neighbours.
    #[inline(always)]
    fn additive(&self, k: usize, side: usize, node: &Node<'_, T, S, I>, values: &Values<T>) -> P<T, I> {
        let others = if side == 0 {
            let [a, b] = values.pair_of_nodes(k);
            P::<T, I>::join(V::<T, I>::load(&self.sources[a]), V::<T, I>::load(&self.sources[b]))
        } else {
            self.of_states(k, SCORE, values)
        };
        others.add(P::<T, I>::both(node.scores[side]))
    }

    /// Returns a slot of the states of the neighbours of pair number `k`.
    #[inline(always)]
    fn of_states(&self, k: usize, slot: usize, values: &Values<T>) -> P<T, I> {
        let [a, b] = values.pair_of_nodes(k);
        P::<T, I>::join(V::<T, I>::load(&self.states[a][slot]), V::<T, I>::load(&self.states[b][slot]))
    }

    /// Computes the gradients of the edge logits of a block, and adds the terms of the edge loss.
    #[inline(always)]
    fn edge_losses(&self, edges: usize, node: &Node<'_, T, S, I>, values: &mut Values<T>, losses: &mut SoftplusSum) {
        // Coefficients are computed later, so their place is free for exp(-|x|).
        let Values { others, dp, marked, logit, weight: small, .. } = values;
        let (one, sides) = (P::<T, I>::splat(T::ONE), if F::SYMMETRIC_LOGIT { 1 } else { 2 });
        for side in 0..sides {
            for k in 0..edges {
                let dp = V::<T, I>::load(&dp[k]);
                let mut go = V::<T, I>::zero();
                if !F::SYMMETRIC_LOGIT {
                    let other = others[k] as usize;
                    let score = if side == 0 { &self.sources[other] } else { &self.states[other][SCORE] };
                    go = node.scores[side].add(V::<T, I>::load(score));
                }
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
    fn through_pair(&self, k: usize, learns: bool, node: &Node<'_, T, S, I>, values: &mut Values<T>) -> [P<T, I>; 2] {
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
                largest: self.of_states(k, LARGEST, values),
                inverse: self.of_states(k, INVERSE, values),
                shared: self.of_states(k, SHARED, values),
            };
            for (side, target) in [&node.softmax, &other].into_iter().enumerate() {
                let go = if F::GO { self.additive(k, side, node, values) } else { zero };
                let score = F::score(go, dp, scale);
                let alpha = leaky(score, self.slope).sub(target.largest).exp().mul(target.inverse);
                let keep = match self.input.keep {
                    None => P::<T, I>::splat(T::ONE),
                    Some(Mask { keep, scale }) => {
                        let [a, b] = values.edges[side].as_chunks::<2>().0[k];
                        P::<T, I>::from_bits([keep[a], keep[b]], scale)
                    }
                };
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
        add_rows::<T, S, I, LANES>(d_z, others, values.dp.as_flattened(), self.z, self.width, 0);
    }

    /// Adds the gradients from the sampled non-edges of a node as target and as source, whose logits depend on dot products
    /// only. All heads have the same gradient.
    #[inline(always)]
    fn non_edges_of_both(
        &self,
        node: &Node<'_, T, S, I>,
        lists: [Neighbours<'_>; 2],
        values: &mut Values<T>,
        losses: &mut SoftplusSum,
        d_z: &mut [[T; LANES]],
    ) {
        let (width, heads) = (self.width, P::<T, I>::splat(T::from_f64(1.0 / self.input.layout.heads as f64)));
        let ranges = lists.map(|lists| lists.range(node.number));
        let (as_target, all) = (ranges[0].len(), ranges[0].len() + ranges[1].len());
        for start in (0..all).step_by(EDGES) {
            let count = (all - start).min(EDGES);
            for (k, other) in values.others[..count].iter_mut().enumerate() {
                let side = usize::from(start + k >= as_target);
                let at = ranges[side].start + start + k - side * as_target;
                *other = lists[side].nodes[at];
                if let Some(&next) = lists[side].nodes.get(at + self.ahead) {
                    in_blocks!(I, width, |first, B| prefetch_part(self.z, next as usize * width + first, B));
                }
            }
            let Values { others, logit: [logit, d_logit], weight: small, .. } = values;
            let others = &others[..count];
            for (&j, sum) in others.iter().zip(logit.as_flattened_mut()) {
                *sum = S::dot::<I>(node.z, &self.z[j as usize * width..][..width]).fold(1).array()[0];
            }
            for k in 0..count.div_ceil(2 * LANES) {
                let (zero, one) = (P::<T, I>::zero(), P::<T, I>::splat(T::ONE));
                let x = F::logit(zero, pair::<T, I>(logit, k), self.scale_of_pair).mul(heads);
                let e = x.exp_of_minus_abs();
                let sigmoid = x.if_positive(one, e).div(one.add(e));
                let (_, d_dp) = F::logit_backward(sigmoid.mul(self.pair_weight), self.scale_of_pair);
                set_pair::<T, I>(logit, k, x);
                set_pair::<T, I>(small, k, e);
                set_pair::<T, I>(d_logit, k, d_dp);
            }
            let terms = logit.as_flattened().iter().zip(small.as_flattened());
            for (x, small) in terms.take(count.min(as_target.saturating_sub(start))) {
                losses.add_if(true, *x, *small);
            }
            add_rows::<T, S, I, 1>(d_z, others, d_logit.as_flattened(), self.z, width, 0);
        }
    }

    /// Returns the gradient of the score of a node from its sampled non-edges as target (`side` 0) or source (1), whose
    /// logits are sums of scores. All heads have the same gradient.
    #[inline(always)]
    fn non_edges(
        &self,
        node: &Node<'_, T, S, I>,
        side: usize,
        lists: &Neighbours<'_>,
        values: &mut Values<T>,
        losses: &mut SoftplusSum,
    ) -> V<T, I> {
        let mut d_score = T::ZERO;
        let list = lists.range(node.number);
        for start in list.clone().step_by(EDGES) {
            let others = &lists.nodes[start..(start + EDGES).min(list.end)];
            let next = following(lists.nodes, start + self.ahead, others.len());
            for (k, (&j, &next)) in others.iter().zip(next).enumerate() {
                prefetch_part(self.states, next as usize, 1);
                prefetch_part(self.sources, next as usize, 1);
                let (source, target) = (&self.sources[j as usize], &self.states[j as usize][SCORE]);
                let go = node.scores[side].add(V::<T, I>::load(if side == 0 { source } else { target }));
                let x = F::logit(go, V::<T, I>::zero(), self.scale).fold(1).mul(self.mean);
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
            for ((x, small), d) in x.iter().zip(values.weight.as_flattened()).zip(d_logit) {
                losses.add_if(side == 0, *x, *small);
                d_score += *d;
            }
        }
        F::logit_backward(V::<T, I>::splat(d_score), self.scale).0
    }
}

/// Returns the sums of two vectors for each head, and of a pair of vectors added to them.
#[inline(always)]
pub(super) fn folded<T: SimdReal, I: Isa>([a, b]: [V<T, I>; 2], earlier: P<T, I>, heads: usize) -> P<T, I> {
    let sums = P::<T, I>::join(a, b).add(earlier);
    if heads == LANES {
        return sums;
    }
    let [a, b] = sums.halves();
    P::<T, I>::join(a.fold(heads), b.fold(heads))
}

/// Returns `count` nodes of a list from place `at` on, or its last ones.
#[inline(always)]
pub(super) fn following(nodes: &[u32], at: usize, count: usize) -> &[u32] {
    &nodes[at.min(nodes.len() - count)..][..count]
}
