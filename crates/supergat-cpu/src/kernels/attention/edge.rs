//! Formulas of the gradient for one edge and for one sampled non-edge.

use super::input::{
    Attention, EdgeLoss, EdgeTerms, Gradient, INVERSE, LARGEST, SCORE, SHARED, add_features, if_chosen, kept, leaky,
    score_scale,
};
use crate::kernels::forms::FormKernel;
use crate::kernels::loss::SoftplusSum;
use crate::kernels::simd::{Arithmetic, Isa, Lanes, SimdReal, V, add_scaled, add_two_scaled, dot, vectors};
use std::marker::PhantomData;
use std::ops::Range;
use supergat_core::device::STATE;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch;

/// Rows of a node that the formulas read.
#[derive(Clone, Copy)]
pub(super) struct Node<'a, T> {
    pub(super) z: &'a [[T; LANES]],
    /// Gradient of the node's output.
    gradient: &'a [[T; LANES]],
    /// State of the node as target.
    state: &'a [[T; LANES]],
    /// `a_source . z`.
    source_score: &'a [[T; LANES]],
    /// Gradient of the node's weighted sums of edge features; empty if messages do not carry them.
    messages: &'a [[T; LANES]],
    /// Whether `gradient` is not all zero.
    active: bool,
}

/// Rows that [`Node`] is taken from.
struct Rows<'a, T> {
    z: &'a [[T; LANES]],
    gradient: &'a [[T; LANES]],
    state: &'a [[T; LANES]],
    source_score: &'a [[T; LANES]],
    messages: &'a [[T; LANES]],
    active: &'a [bool],
}

/// Gradients of the raw scores of an edge, and its coefficient after dropout.
#[derive(Clone, Copy)]
struct EdgeGradient<X> {
    go: X,
    dp: X,
    /// Gradient of the whole score, which the term of the edge's features is part of.
    score: X,
    weight: X,
}

/// Formulas of one edge. Per-head values are arrays of `G` vectors, one for each group of heads. `E` tells whether edges
/// have weights or features.
pub(super) struct Formulas<'a, T: SimdReal, F, I: Isa, const G: usize, const E: bool> {
    input: Attention<'a, T>,
    /// Rows of the nodes whose gradient is computed.
    nodes: Rows<'a, T>,
    /// Rows of their neighbours.
    others: Rows<'a, T>,
    slope: V<T, I>,
    scale: V<T, I>,
    /// 1 / heads, divided among the lanes that repeat a head.
    mean: V<T, I>,
    /// Weight of a pair in the objective, divided among the heads.
    pair_weight: V<T, I>,
    form: PhantomData<F>,
}

impl<'a, T: SimdReal, F: FormKernel, I: Isa, const G: usize, const E: bool> Formulas<'a, T, F, I, G, E> {
    #[inline(always)]
    pub(super) fn new(input: Attention<'a, T>, gradient: &Gradient<'a, T>) -> Self {
        let layout = input.layout;
        let weight = gradient.edge_loss.map_or(0.0, |loss| loss.weight / layout.heads as f64);
        let mean = layout.lane_heads as f64 / LANES as f64 / layout.heads as f64;
        Self {
            input,
            nodes: Rows {
                z: vectors(input.z),
                source_score: vectors(input.source_score),
                state: vectors(gradient.state),
                gradient: vectors(gradient.out),
                messages: vectors(gradient.messages),
                active: gradient.active,
            },
            others: Rows {
                z: vectors(input.others.z),
                source_score: vectors(input.others.source_score),
                state: vectors(gradient.others.state),
                gradient: vectors(gradient.others.out),
                messages: vectors(gradient.others.messages),
                active: gradient.others.active,
            },
            slope: V::<T, I>::splat(input.slope),
            scale: V::<T, I>::splat(score_scale(layout)),
            mean: V::<T, I>::splat(T::from_f64(mean)),
            pair_weight: V::<T, I>::splat(T::from_f64(weight)),
            form: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn groups(&self) -> usize {
        if G == 1 { 1 } else { self.input.layout.groups }
    }

    #[inline(always)]
    pub(super) fn row(&self) -> usize {
        self.groups() * self.input.layout.vectors
    }

    /// Returns the weights and features of edges, if there are any.
    #[inline(always)]
    fn terms(&self) -> Option<&EdgeTerms<'a, T>> {
        if E { self.input.edges.as_ref() } else { None }
    }

    /// Returns the number of features per edge.
    #[inline(always)]
    pub(super) fn edge_features(&self) -> usize {
        self.terms().map_or(0, |terms| terms.width)
    }

    /// Returns the range of a group's vectors in a row.
    #[inline(always)]
    pub(super) fn part(&self, group: usize) -> Range<usize> {
        let width = self.input.layout.vectors;
        group * width..(group + 1) * width
    }

    /// Returns a node whose gradient is computed.
    #[inline(always)]
    pub(super) fn node(&self, i: usize) -> Node<'a, T> {
        self.in_rows(&self.nodes, i)
    }

    /// Returns a neighbour.
    #[inline(always)]
    pub(super) fn other(&self, j: usize) -> Node<'a, T> {
        self.in_rows(&self.others, j)
    }

    #[inline(always)]
    fn in_rows(&self, rows: &Rows<'a, T>, i: usize) -> Node<'a, T> {
        let (row, groups) = (self.row(), self.groups());
        let features = if rows.messages.is_empty() { 0 } else { self.edge_features() * groups };
        Node {
            messages: if E { &rows.messages[i * features..(i + 1) * features] } else { &[] },
            z: &rows.z[i * row..(i + 1) * row],
            gradient: &rows.gradient[i * row..(i + 1) * row],
            state: &rows.state[i * STATE * groups..(i + 1) * STATE * groups],
            source_score: if F::GO { &rows.source_score[i * groups..(i + 1) * groups] } else { &[] },
            active: rows.active[i],
        }
    }

    /// Returns a neighbour of a sampled non-edge, whose rows are read without its gradient.
    #[inline(always)]
    pub(super) fn other_of_pair(&self, j: usize) -> Node<'a, T> {
        let (row, groups) = (self.row(), self.groups());
        let rows = &self.others;
        Node {
            z: if F::DP { &rows.z[j * row..(j + 1) * row] } else { &[] },
            gradient: &[],
            messages: &[],
            state: if F::GO { &rows.state[j * STATE * groups..(j + 1) * STATE * groups] } else { &[] },
            source_score: if F::GO { &rows.source_score[j * groups..(j + 1) * groups] } else { &[] },
            active: false,
        }
    }

    /// Returns the dot products of two nodes, which are equal in both directions.
    #[inline(always)]
    fn dots(&self, a: &Node<'_, T>, b: &Node<'_, T>) -> [V<T, I>; G] {
        let mut dp = [V::<T, I>::zero(); G];
        if F::DP {
            for (g, dp) in dp.iter_mut().enumerate().take(self.groups()) {
                let part = self.part(g);
                *dp = dot::<T, I>(&a.z[part.clone()], &b.z[part]).fold(self.input.layout.lane_heads);
            }
        }
        dp
    }

    /// Returns the additive score of an edge: `a_target . z_i + a_source . z_j`.
    #[inline(always)]
    fn additive(&self, target: &Node<'_, T>, source: &Node<'_, T>) -> [V<T, I>; G] {
        let mut go = [V::<T, I>::zero(); G];
        if F::GO {
            let groups = self.groups();
            for (g, go) in go.iter_mut().enumerate().take(groups) {
                let target = V::<T, I>::load(&target.state[SCORE * groups + g]);
                *go = target.add(V::<T, I>::load(&source.source_score[g]));
            }
        }
        go
    }

    /// Computes the gradients of the raw scores of edge `e` (group `g`) from that of the target's output.
    #[inline(always)]
    fn through_softmax(
        &self,
        target: &Node<'_, T>,
        source: &Node<'_, T>,
        (go, dp): (V<T, I>, V<T, I>),
        e: usize,
        g: usize,
    ) -> EdgeGradient<V<T, I>> {
        let groups = self.groups();
        let largest = V::<T, I>::load(&target.state[LARGEST * groups + g]);
        let inverse = V::<T, I>::load(&target.state[INVERSE * groups + g]);
        let shared = V::<T, I>::load(&target.state[SHARED * groups + g]);
        let mut score = F::score(go, dp, self.scale);
        if let Some(terms) = self.terms() {
            score = score.add(terms.score::<I>(e, g, groups));
        }
        let mut logit = leaky(score, self.slope);
        if let Some(terms) = self.terms() {
            logit = logit.add(terms.log_weight::<I>(e));
        }
        let alpha = logit.sub(largest).exp().mul(inverse);
        let alpha = if_chosen::<T, I>(self.input.chosen, e * groups + g, alpha);
        let keep = kept::<T, I>(self.input.keep, e * groups + g);
        let part = self.part(g);
        let products = dot::<T, I>(&target.gradient[part.clone()], &source.z[part]);
        let mut d_weight = products.fold(self.input.layout.lane_heads);
        if let (Some(terms), false) = (self.terms(), target.messages.is_empty()) {
            for (f, d) in terms.features_of(e).iter().zip(target.messages.chunks_exact(groups)) {
                d_weight = V::<T, I>::splat(*f).mul_add(V::<T, I>::load(&d[g]), d_weight);
            }
        }
        let d_alpha = d_weight.mul(keep);
        let d_leaky = alpha.mul(d_alpha.sub(shared));
        let d_score = score.if_positive(d_leaky, d_leaky.mul(self.slope));
        let (go, dp) = F::score_backward(d_score, go, dp, self.scale);
        EdgeGradient { go, dp, score: d_score, weight: alpha.mul(keep) }
    }

    /// Returns the mean over heads of the edge logit, in every lane.
    #[inline(always)]
    fn mean_logit(&self, go: &[V<T, I>; G], dp: &[V<T, I>; G]) -> V<T, I> {
        let mut sum = V::<T, I>::zero();
        for g in 0..self.groups() {
            sum = sum.add(F::logit(go[g], dp[g], self.scale));
        }
        sum.fold(1).mul(self.mean)
    }

    /// Returns the gradient of every head's logit for a sampled edge, (sigmoid(x) - 1) weight, and exp(-|x|).
    #[inline(always)]
    fn edge_gradient(&self, x: V<T, I>) -> (V<T, I>, V<T, I>) {
        let one = V::<T, I>::splat(T::ONE);
        let small = x.exp_of_minus_abs();
        // sigmoid(x) - 1 = -sigmoid(-x) = -(e or 1) / (1 + e) for positive or other x.
        let miss = x.if_positive(small, one).div(one.add(small));
        (V::<T, I>::zero().sub(miss).mul(self.pair_weight), small)
    }

    /// Prefetches the rows of [`Formulas::other`].
    #[inline(always)]
    pub(super) fn prefetch(&self, j: usize) {
        let node = self.other(j);
        prefetch(node.z);
        prefetch(node.gradient);
        prefetch(node.state);
        prefetch(node.source_score);
    }

    /// Prefetches the dropout bits of an edge, its membership in the sample, its weight and its features.
    #[inline(always)]
    pub(super) fn prefetch_edge(&self, edge_loss: &Option<EdgeLoss<'_>>, e: usize) {
        if let Some(mask) = self.input.keep {
            prefetch(&mask.keep[e * self.groups()..][..1]);
        }
        if let Some(loss) = edge_loss {
            prefetch(&loss.positives[e / 8..][..1]);
        }
        if let Some(terms) = self.terms() {
            terms.prefetch(e);
        }
    }

    /// Prefetches the rows that a sampled non-edge needs of a node.
    #[inline(always)]
    pub(super) fn prefetch_pair(&self, j: usize) {
        let node = self.other_of_pair(j);
        if F::DP {
            prefetch(node.z);
        } else {
            prefetch(node.source_score);
            prefetch(node.state);
        }
    }
}

/// Edges between a node and one of its neighbours.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    /// Position of the edge from the neighbour, if `is_in`.
    pub(super) incoming: usize,
    /// Position of the edge to the neighbour, if `is_out`.
    pub(super) outgoing: usize,
    pub(super) is_in: bool,
    pub(super) is_out: bool,
}

/// Gradients that a node sums over its edges.
pub(super) struct Gathered<'a, T: SimdReal, I: Isa, const G: usize> {
    pub(super) d_z: &'a mut [[T; LANES]],
    pub(super) d_target_score: [V<T, I>; G],
    pub(super) d_source_score: [V<T, I>; G],
    /// Gradients of the vectors of edge features, which all nodes of a part share.
    pub(super) d_edge_vectors: &'a mut [[T; LANES]],
}

impl<T: SimdReal, F: FormKernel, I: Isa, const G: usize, const E: bool> Formulas<'_, T, F, I, G, E> {
    /// Adds the gradients of node `own` from its neighbour `other`: as target of the edge `incoming` (`other`
    /// -> `own`), as source of the edge `outgoing` (`own` -> `other`), or both. Work that both directions
    /// share is done once.
    #[inline(always)]
    pub(super) fn visit(
        &self,
        own: &Node<'_, T>,
        other: &Node<'_, T>,
        Visit { incoming, outgoing, is_in, is_out }: Visit,
        edge_loss: &Option<EdgeLoss<'_>>,
        gathered: &mut Gathered<'_, T, I, G>,
        losses: &mut SoftplusSum,
    ) {
        let marked_in = is_in && is_positive(edge_loss, incoming);
        let marked_out = is_out && is_positive(edge_loss, outgoing);
        let (learns_in, learns_out) = (is_in && own.active, is_out && other.active);
        if !(marked_in || marked_out || learns_in || learns_out) {
            return;
        }
        let dp = self.dots(own, other);
        let zero = V::<T, I>::zero();
        let (go_in, go_out) = (self.additive(own, other), self.additive(other, own));

        let (mut logit_in, mut logit_out) = (zero, zero);
        if edge_loss.is_some() {
            let x = self.mean_logit(&go_in, &dp);
            let (d, small) = self.edge_gradient(x);
            losses.add_if(marked_in, T::ZERO - x.array()[0], small.array()[0]);
            let reverse = if F::SYMMETRIC_LOGIT { d } else { self.edge_gradient(self.mean_logit(&go_out, &dp)).0 };
            logit_in = if marked_in { d } else { zero };
            logit_out = if marked_out { reverse } else { zero };
        }
        let (d_go_in, d_dp_in) = F::logit_backward(logit_in, self.scale);
        let (d_go_out, d_dp_out) = F::logit_backward(logit_out, self.scale);

        for g in 0..self.groups() {
            let mut d_dp = d_dp_in.add(d_dp_out);
            let (mut d_target, mut d_source) = (d_go_in, d_go_out);
            if learns_in {
                let d = self.through_softmax(own, other, (go_in[g], dp[g]), incoming, g);
                d_dp = d_dp.add(d.dp);
                d_target = d_target.add(d.go);
                if let Some(terms) = self.terms() {
                    let features = terms.features_of(incoming);
                    add_features::<T, I>(gathered.d_edge_vectors, d.score, features, g, self.groups());
                }
            }
            let part = self.part(g);
            let (d_z, z) = (&mut gathered.d_z[part.clone()], &other.z[part.clone()]);
            if learns_out {
                let d = self.through_softmax(other, own, (go_out[g], dp[g]), outgoing, g);
                d_dp = d_dp.add(d.dp);
                d_source = d_source.add(d.go);
                if F::DP {
                    add_two_scaled::<T, I>(d_z, d.weight, &other.gradient[part], d_dp, z);
                } else {
                    add_scaled::<T, I>(d_z, d.weight, &other.gradient[part]);
                }
            } else if F::DP {
                add_scaled::<T, I>(d_z, d_dp, z);
            }
            if F::GO {
                gathered.d_target_score[g] = gathered.d_target_score[g].add(d_target);
                gathered.d_source_score[g] = gathered.d_source_score[g].add(d_source);
            }
        }
    }

    /// Adds the gradients of a node from a sampled non-edge; returns the mean logit x and exp(-|x|). All
    /// heads have the same gradient.
    #[inline(always)]
    pub(super) fn visit_negative(
        &self,
        target: &Node<'_, T>,
        source: &Node<'_, T>,
        other_z: &[[T; LANES]],
        d_z: &mut [[T; LANES]],
        d_score: &mut [V<T, I>; G],
    ) -> (V<T, I>, V<T, I>) {
        let x = self.mean_logit(&self.additive(target, source), &self.dots(target, source));
        let (one, small) = (V::<T, I>::splat(T::ONE), x.exp_of_minus_abs());
        let sigmoid = x.if_positive(one, small).div(one.add(small));
        let (d_go, d_dp) = F::logit_backward(sigmoid.mul(self.pair_weight), self.scale);
        if F::DP {
            add_scaled::<T, I>(d_z, d_dp, other_z);
        }
        if F::GO {
            for d in d_score {
                *d = d.add(d_go);
            }
        }
        (x, small)
    }
}

/// Returns whether an edge is in the sample of the edge loss.
#[inline(always)]
pub(super) fn is_positive(loss: &Option<EdgeLoss<'_>>, e: usize) -> bool {
    match loss {
        Some(loss) => loss.positives[e / 8] >> (e % 8) & 1 == 1,
        None => false,
    }
}
