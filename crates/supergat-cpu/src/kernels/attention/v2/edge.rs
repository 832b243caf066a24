//! Formulas of the gradient for one edge and for one sampled non-edge.

use crate::kernels::attention::edge::{Visit, is_positive};
use crate::kernels::attention::input::{
    Attention, EdgeLoss, EdgeTerms, Gradient, INVERSE, LARGEST, SHARED, add_features, kept,
};
use crate::kernels::loss::SoftplusSum;
use crate::kernels::simd::{Arithmetic, Isa, Lanes, SimdReal, V, add_by_sign, add_scaled, dot, dot_leaky, vectors};
use std::ops::Range;
use supergat_core::device::STATE;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch;

/// Rows of a node that the formulas read.
#[derive(Clone, Copy)]
pub(super) struct Node<'a, T> {
    /// `W_source x`.
    pub(super) source: &'a [[T; LANES]],
    /// `W_target x`.
    pub(super) target: &'a [[T; LANES]],
    /// Gradient of the node's output.
    gradient: &'a [[T; LANES]],
    /// State of the node as target.
    state: &'a [[T; LANES]],
    /// Gradient of the node's weighted sums of edge features; empty if messages do not carry them.
    messages: &'a [[T; LANES]],
    /// Whether `gradient` is not all zero.
    active: bool,
}

/// Sums of a node over its edges; see the formulas of the module.
pub(super) struct Gathered<'a, T> {
    /// Gradient of the node as source through messages, `sum_i alpha_ij g_i`.
    pub(super) messages: &'a mut [[T; LANES]],
    /// The sums `p` over incoming edges.
    pub(super) incoming: &'a mut [[T; LANES]],
    /// The sums `q` over outgoing edges.
    pub(super) outgoing: &'a mut [[T; LANES]],
    /// Gradients of the vectors of edge features, which all nodes of a part share.
    pub(super) d_edge_vectors: &'a mut [[T; LANES]],
}

/// Formulas of one edge. Per-head values are arrays of `G` vectors, one for each group of heads. `E` tells whether edges
/// have weights or features.
pub(super) struct Formulas<'a, T: SimdReal, I: Isa, const G: usize, const E: bool> {
    input: Attention<'a, T>,
    z: &'a [[T; LANES]],
    a: &'a [[T; LANES]],
    gradient: &'a [[T; LANES]],
    state: &'a [[T; LANES]],
    messages: &'a [[T; LANES]],
    active: &'a [bool],
    edge_loss: Option<EdgeLoss<'a>>,
    slope: V<T, I>,
    /// 1 / heads, divided among the lanes that repeat a head.
    mean: V<T, I>,
    /// Weight of a pair in the objective, divided among the heads.
    pair_weight: V<T, I>,
}

impl<'a, T: SimdReal, I: Isa, const G: usize, const E: bool> Formulas<'a, T, I, G, E> {
    #[inline(always)]
    pub(super) fn new(input: Attention<'a, T>, gradient: &Gradient<'a, T>) -> Self {
        let layout = input.layout;
        let weight = gradient.edge_loss.map_or(0.0, |loss| loss.weight / layout.heads as f64);
        let mean = layout.lane_heads as f64 / LANES as f64 / layout.heads as f64;
        Self {
            input,
            z: vectors(input.z),
            a: vectors(input.vectors),
            gradient: vectors(gradient.out),
            state: vectors(gradient.state),
            messages: vectors(gradient.messages),
            active: gradient.active,
            edge_loss: gradient.edge_loss,
            slope: V::<T, I>::splat(input.slope),
            mean: V::<T, I>::splat(T::from_f64(mean)),
            pair_weight: V::<T, I>::splat(T::from_f64(weight)),
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

    /// Returns the range of a group's vectors in a row.
    #[inline(always)]
    fn part(&self, group: usize) -> Range<usize> {
        let width = self.input.layout.vectors;
        group * width..(group + 1) * width
    }

    #[inline(always)]
    pub(super) fn node(&self, i: usize) -> Node<'a, T> {
        let (row, groups) = (self.row(), self.groups());
        let (source, target) = self.z[2 * i * row..][..2 * row].split_at(row);
        let features = match self.terms() {
            Some(terms) if !self.messages.is_empty() => terms.width * groups,
            _ => 0,
        };
        Node {
            source,
            target,
            gradient: &self.gradient[i * row..(i + 1) * row],
            state: &self.state[i * STATE * groups..(i + 1) * STATE * groups],
            messages: if E { &self.messages[i * features..(i + 1) * features] } else { &[] },
            active: self.active[i],
        }
    }

    /// Prefetches the rows of [`Formulas::node`].
    #[inline(always)]
    pub(super) fn prefetch(&self, i: usize) {
        let node = self.node(i);
        prefetch(node.source);
        prefetch(node.target);
        prefetch(node.gradient);
        prefetch(node.state);
    }

    /// Prefetches the row that a sampled non-edge needs of a node: as source if the other end is the target.
    #[inline(always)]
    pub(super) fn prefetch_pair(&self, i: usize, is_source: bool) {
        let node = self.node(i);
        prefetch(if is_source { node.source } else { node.target });
    }

    /// Prefetches the dropout bits of an edge, its membership in the sample, its weight and its features.
    #[inline(always)]
    pub(super) fn prefetch_edge(&self, e: usize) {
        if let Some(mask) = self.input.keep {
            prefetch(&mask.keep[e * self.groups()..][..1]);
        }
        if let Some(loss) = &self.edge_loss {
            prefetch(&loss.positives[e / 8..][..1]);
        }
        if let Some(terms) = self.terms() {
            terms.prefetch(e);
        }
    }

    /// Returns `e_ij` of the heads.
    #[inline(always)]
    fn scores(&self, target: &Node<'_, T>, source: &Node<'_, T>) -> [V<T, I>; G] {
        let mut scores = [V::<T, I>::zero(); G];
        for (g, score) in scores.iter_mut().enumerate().take(self.groups()) {
            let part = self.part(g);
            let (a, t, s) = (&self.a[part.clone()], &target.target[part.clone()], &source.source[part]);
            *score = dot_leaky::<T, I>(a, t, s, self.slope).fold(self.input.layout.lane_heads);
        }
        scores
    }

    /// Returns the mean of the scores over heads, in every lane.
    #[inline(always)]
    fn mean_score(&self, scores: &[V<T, I>; G]) -> V<T, I> {
        let mut sum = V::<T, I>::zero();
        for score in scores.iter().take(self.groups()) {
            sum = sum.add(*score);
        }
        sum.fold(1).mul(self.mean)
    }

    /// Computes the gradient of the score of edge `e` (group `g`) from that of the target's output. Returns it with the
    /// coefficient after dropout.
    #[inline(always)]
    fn through_softmax(
        &self,
        target: &Node<'_, T>,
        source: &Node<'_, T>,
        mut score: V<T, I>,
        e: usize,
        g: usize,
    ) -> (V<T, I>, V<T, I>) {
        let groups = self.groups();
        let [largest, inverse, shared] =
            [LARGEST, INVERSE, SHARED].map(|slot| V::<T, I>::load(&target.state[slot * groups + g]));
        if let Some(terms) = self.terms() {
            score = score.add(terms.score::<I>(e, g, groups)).add(terms.log_weight::<I>(e));
        }
        let alpha = score.sub(largest).exp().mul(inverse);
        let keep = kept::<T, I>(self.input.keep, e * groups + g);
        let part = self.part(g);
        let products = dot::<T, I>(&target.gradient[part.clone()], &source.source[part]);
        let mut d_weight = products.fold(self.input.layout.lane_heads);
        if let (Some(terms), false) = (self.terms(), target.messages.is_empty()) {
            for (f, d) in terms.features_of(e).iter().zip(target.messages.chunks_exact(groups)) {
                d_weight = V::<T, I>::splat(*f).mul_add(V::<T, I>::load(&d[g]), d_weight);
            }
        }
        (alpha.mul(d_weight.mul(keep).sub(shared)), alpha.mul(keep))
    }

    /// Returns the gradient of every head's score for a sampled edge, (sigmoid(x) - 1) weight, and exp(-|x|).
    #[inline(always)]
    fn edge_gradient(&self, x: V<T, I>) -> (V<T, I>, V<T, I>) {
        let one = V::<T, I>::splat(T::ONE);
        let small = x.exp_of_minus_abs();
        // sigmoid(x) - 1 = -sigmoid(-x) = -(e or 1) / (1 + e) for positive or other x.
        let miss = x.if_positive(small, one).div(one.add(small));
        (V::<T, I>::zero().sub(miss).mul(self.pair_weight), small)
    }

    /// Adds the gradients of node `own` from its neighbour `other`: as target of the edge `incoming` (`other`
    /// -> `own`), as source of the edge `outgoing` (`own` -> `other`), or both.
    #[inline(always)]
    pub(super) fn visit(
        &self,
        own: &Node<'_, T>,
        other: &Node<'_, T>,
        Visit { incoming, outgoing, is_in, is_out }: Visit,
        gathered: &mut Gathered<'_, T>,
        losses: &mut SoftplusSum,
    ) {
        let (marked, learns) = (is_in && is_positive(&self.edge_loss, incoming), is_in && own.active);
        if marked || learns {
            let scores = self.scores(own, other);
            let mut of_loss = V::<T, I>::zero();
            if marked {
                let x = self.mean_score(&scores);
                let (d, small) = self.edge_gradient(x);
                losses.add_if(true, T::ZERO - x.array()[0], small.array()[0]);
                of_loss = d;
            }
            for (g, score) in scores.iter().enumerate().take(self.groups()) {
                let mut d_score = of_loss;
                if learns {
                    let (d, _) = self.through_softmax(own, other, *score, incoming, g);
                    d_score = d_score.add(d);
                    if let Some(terms) = self.terms() {
                        let features = terms.features_of(incoming);
                        add_features::<T, I>(gathered.d_edge_vectors, d, features, g, self.groups());
                    }
                }
                let part = self.part(g);
                let (t, s) = (&own.target[part.clone()], &other.source[part.clone()]);
                add_by_sign::<T, I>(&mut gathered.incoming[part], t, s, d_score, d_score.mul(self.slope));
            }
        }
        let (marked, learns) = (is_out && is_positive(&self.edge_loss, outgoing), is_out && other.active);
        if marked || learns {
            let scores = self.scores(other, own);
            let of_loss = if marked { self.edge_gradient(self.mean_score(&scores)).0 } else { V::<T, I>::zero() };
            for (g, score) in scores.iter().enumerate().take(self.groups()) {
                let (mut d_score, part) = (of_loss, self.part(g));
                if learns {
                    let (d, weight) = self.through_softmax(other, own, *score, outgoing, g);
                    d_score = d_score.add(d);
                    add_scaled::<T, I>(&mut gathered.messages[part.clone()], weight, &other.gradient[part.clone()]);
                }
                let (t, s) = (&other.target[part.clone()], &own.source[part.clone()]);
                add_by_sign::<T, I>(&mut gathered.outgoing[part], t, s, d_score, d_score.mul(self.slope));
            }
        }
    }

    /// Adds the gradient of one end of a sampled non-edge to `sums`, its sums over incoming edges if it is the target and
    /// over outgoing edges if it is the source. Returns the mean score x and exp(-|x|).
    #[inline(always)]
    pub(super) fn visit_negative(
        &self,
        target: &Node<'_, T>,
        source: &Node<'_, T>,
        sums: &mut [[T; LANES]],
    ) -> (V<T, I>, V<T, I>) {
        let x = self.mean_score(&self.scores(target, source));
        let (one, small) = (V::<T, I>::splat(T::ONE), x.exp_of_minus_abs());
        let sigmoid = x.if_positive(one, small).div(one.add(small));
        let d = sigmoid.mul(self.pair_weight);
        add_by_sign::<T, I>(sums, target.target, source.source, d, d.mul(self.slope));
        (x, small)
    }

    /// Completes the gradients of a node from its sums: replaces `p` by the gradient of the node as target, adds that of
    /// the scores to the one as source, and adds to the gradient of the vectors.
    #[inline(always)]
    pub(super) fn finish(&self, own: &Node<'_, T>, gathered: Gathered<'_, T>, d_vectors: &mut [[T; LANES]]) {
        let Gathered { messages, incoming, outgoing, .. } = gathered;
        let sums = messages.iter_mut().zip(incoming).zip(outgoing.iter());
        for (k, (((d_source, d_target), q), d_a)) in sums.zip(d_vectors).enumerate() {
            let [a, s, t, p, q] = [&self.a[k], &own.source[k], &own.target[k], &*d_target, q].map(V::<T, I>::load);
            *d_a = p.mul_add(t, q.mul_add(s, V::<T, I>::load(d_a))).array();
            *d_target = a.mul(p).array();
            *d_source = a.mul_add(q, V::<T, I>::load(d_source)).array();
        }
    }
}
