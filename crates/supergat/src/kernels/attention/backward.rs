//! Backward pass of attention and of the edge loss, one node at a time.

use super::{Attention, INVERSE, LARGEST, Neighbours, SCORE, SHARED, STATE, if_chosen, kept, leaky, score_scale};
use crate::kernels::forms::{FormKernel, with_form};
use crate::kernels::heads::{HeadLayout, MAX_GROUPS};
use crate::kernels::lanes::{
    Isa, Kernel, LANES, Lanes, V, add_scaled, add_two_scaled, dispatch, dot, prefetch, vectors, vectors_mut,
};
use crate::kernels::loss::SoftplusSum;
use crate::kernels::parts::{Parts, PerPart, Rows};
use crate::kernels::real::Real;
use std::marker::PhantomData;
use std::ops::Range;

/// The edge loss of a layer: mean binary cross-entropy of sigmoid(mean over heads of the edge logit) over sampled edges and non-edges.
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

/// What the gradient of attention is computed from, besides what forward used.
#[derive(Debug, Clone, Copy)]
pub struct Gradient<'a, T> {
    /// State of every node.
    pub state: &'a [T],
    /// Gradient of `out`, a row per node.
    pub out: &'a [T],
    /// Whether a node's row of it is not all zero.
    pub active: &'a [bool],
    /// `a_target` and `a_source` as rows in the layout of `z`; only read by GO and MX.
    pub vectors: [&'a [T]; 2],
    /// Outgoing edges.
    pub outgoing: Neighbours<'a>,
    /// For each of them, its place among the incoming edges of its target.
    pub place_at_target: &'a [u32],
    /// Whether every edge has its reverse: then outgoing and incoming lists are the same.
    pub symmetric: bool,
    /// Self-supervision.
    pub edge_loss: Option<EdgeLoss<'a>>,
}

/// Numbers that [`attention_backward`] needs per part for sums over nodes: two gradients of vectors.
pub fn vector_sums(layout: HeadLayout) -> usize {
    2 * layout.stride()
}

/// Writes the gradient of `z` to `d_z`; leaves in `d_vectors` per part the gradients of `a_target` and `a_source`, and in `losses`
/// per part the sum of the edge loss' terms (not weighted).
pub fn attention_backward<T: Real>(
    parts: &Parts,
    input: Attention<'_, T>,
    gradient: Gradient<'_, T>,
    d_z: &mut [T],
    d_vectors: &mut [T],
    losses: &mut [f64],
) {
    let outputs = (
        Rows { data: d_z, width: input.layout.stride() },
        PerPart { data: d_vectors, width: vector_sums(input.layout) },
        PerPart { data: losses, width: 1 },
    );
    parts.for_each(outputs, |nodes, (d_z, d_vectors, loss)| {
        let (d_z, d_vectors) = (vectors_mut(d_z.data), vectors_mut(d_vectors.data));
        with_form!(input.form, F => {
            let form = PhantomData::<F>;
            loss.data[0] = if input.layout.groups == 1 {
                dispatch(Backward::<T, F, 1> { input, gradient, nodes, d_z, d_vectors, form })
            } else {
                dispatch(Backward::<T, F, MAX_GROUPS> { input, gradient, nodes, d_z, d_vectors, form })
            };
        });
    });
}

/// `G` is the number of groups when that is one, else the largest there may be.
struct Backward<'a, T, F, const G: usize> {
    input: Attention<'a, T>,
    gradient: Gradient<'a, T>,
    nodes: Range<usize>,
    d_z: &'a mut [[T; LANES]],
    d_vectors: &'a mut [[T; LANES]],
    form: PhantomData<F>,
}

/// What the formulas need of a node.
#[derive(Clone, Copy)]
struct Node<'a, T> {
    z: &'a [[T; LANES]],
    /// Gradient of its output.
    gradient: &'a [[T; LANES]],
    /// Its state as target.
    state: &'a [[T; LANES]],
    /// `a_source . z`.
    source_score: &'a [[T; LANES]],
    active: bool,
}

/// Gradients of the raw scores of an edge, and its dropped-out coefficient.
#[derive(Clone, Copy)]
struct EdgeGradient<X> {
    go: X,
    dp: X,
    weight: X,
}

/// The formulas of one edge. Per-head values are arrays of `G` vectors, one for each group of heads.
struct Formulas<'a, T: Real, F, I: Isa, const G: usize> {
    input: Attention<'a, T>,
    z: &'a [[T; LANES]],
    source_score: &'a [[T; LANES]],
    state: &'a [[T; LANES]],
    d_out: &'a [[T; LANES]],
    active: &'a [bool],
    slope: V<T, I>,
    scale: V<T, I>,
    /// 1 / heads, divided among the lanes that repeat a head.
    mean: V<T, I>,
    /// Weight of a pair in the objective, divided among the heads.
    pair_weight: V<T, I>,
    form: PhantomData<F>,
}

impl<'a, T: Real, F: FormKernel, I: Isa, const G: usize> Formulas<'a, T, F, I, G> {
    #[inline(always)]
    fn new(input: Attention<'a, T>, gradient: &Gradient<'a, T>) -> Self {
        let layout = input.layout;
        let weight = gradient.edge_loss.map_or(0.0, |loss| loss.weight / layout.heads as f64);
        let mean = layout.lane_heads as f64 / LANES as f64 / layout.heads as f64;
        Self {
            input,
            z: vectors(input.z),
            source_score: vectors(input.source_score),
            state: vectors(gradient.state),
            d_out: vectors(gradient.out),
            active: gradient.active,
            slope: V::<T, I>::splat(input.slope),
            scale: V::<T, I>::splat(score_scale(layout)),
            mean: V::<T, I>::splat(T::from_f64(mean)),
            pair_weight: V::<T, I>::splat(T::from_f64(weight)),
            form: PhantomData,
        }
    }

    #[inline(always)]
    fn groups(&self) -> usize {
        if G == 1 { 1 } else { self.input.layout.groups }
    }

    #[inline(always)]
    fn row(&self) -> usize {
        self.groups() * self.input.layout.vectors
    }

    /// The vectors of a group of heads in a row.
    #[inline(always)]
    fn part(&self, group: usize) -> Range<usize> {
        let width = self.input.layout.vectors;
        group * width..(group + 1) * width
    }

    #[inline(always)]
    fn node(&self, i: usize) -> Node<'a, T> {
        let (row, groups) = (self.row(), self.groups());
        Node {
            z: &self.z[i * row..(i + 1) * row],
            gradient: &self.d_out[i * row..(i + 1) * row],
            state: &self.state[i * STATE * groups..(i + 1) * STATE * groups],
            source_score: if F::GO { &self.source_score[i * groups..(i + 1) * groups] } else { &[] },
            active: self.active[i],
        }
    }

    /// Dot products of two nodes, the same in both directions.
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

    /// The additive score of an edge.
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

    /// Gradients of the raw scores of edge `e` (group `g`) from that of the target's output.
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
        let score = F::score(go, dp, self.scale);
        let alpha = leaky(score, self.slope).sub(largest).exp().mul(inverse);
        let alpha = if_chosen::<T, I>(self.input.chosen, e * groups + g, alpha);
        let keep = kept::<T, I>(self.input.keep, e * groups + g);
        let part = self.part(g);
        let products = dot::<T, I>(&target.gradient[part.clone()], &source.z[part]);
        let d_alpha = products.fold(self.input.layout.lane_heads).mul(keep);
        let d_leaky = alpha.mul(d_alpha.sub(shared));
        let d_score = score.if_positive(d_leaky, d_leaky.mul(self.slope));
        let (go, dp) = F::score_backward(d_score, go, dp, self.scale);
        EdgeGradient { go, dp, weight: alpha.mul(keep) }
    }

    /// Mean over heads of the edge logit, in every lane.
    #[inline(always)]
    fn mean_logit(&self, go: &[V<T, I>; G], dp: &[V<T, I>; G]) -> V<T, I> {
        let mut sum = V::<T, I>::zero();
        for g in 0..self.groups() {
            sum = sum.add(F::logit(go[g], dp[g], self.scale));
        }
        sum.fold(1).mul(self.mean)
    }

    /// Gradient of every head's logit for a pair that is an edge, (sigmoid(x) - 1) weight; and exp(-|x|).
    #[inline(always)]
    fn edge_gradient(&self, x: V<T, I>) -> (V<T, I>, V<T, I>) {
        let one = V::<T, I>::splat(T::ONE);
        let small = x.exp_of_minus_abs();
        // sigmoid(x) - 1 = -sigmoid(-x) = -(e or 1) / (1 + e) for positive or other x.
        let miss = x.if_positive(small, one).div(one.add(small));
        (V::<T, I>::zero().sub(miss).mul(self.pair_weight), small)
    }

    /// Asks for what [`Formulas::node`] will read.
    #[inline(always)]
    fn prefetch(&self, i: usize) {
        let node = self.node(i);
        prefetch(node.z);
        prefetch(node.gradient);
        prefetch(node.state);
        prefetch(node.source_score);
    }

    /// Asks for what an edge has of its own: dropout and membership in the sample.
    #[inline(always)]
    fn prefetch_edge(&self, edge_loss: &Option<EdgeLoss<'_>>, e: usize) {
        if let Some(mask) = self.input.keep {
            prefetch(&mask.keep[e * self.groups()..][..1]);
        }
        if let Some(loss) = edge_loss {
            prefetch(&loss.positives[e / 8..][..1]);
        }
    }

    /// The same for a sampled pair.
    #[inline(always)]
    fn prefetch_pair(&self, i: usize) {
        let node = self.node(i);
        if F::DP {
            prefetch(node.z);
        } else {
            prefetch(node.source_score);
            prefetch(node.state);
        }
    }
}

/// The edges between a node and one of its neighbours.
#[derive(Clone, Copy)]
struct Visit {
    /// Position of the edge from the neighbour, if `is_in`.
    incoming: usize,
    /// Position of the edge to the neighbour, if `is_out`.
    outgoing: usize,
    is_in: bool,
    is_out: bool,
}

/// Gradients that a node gathers from its edges.
struct Gathered<'a, T: Real, I: Isa, const G: usize> {
    d_z: &'a mut [[T; LANES]],
    d_target_score: [V<T, I>; G],
    d_source_score: [V<T, I>; G],
}

impl<T: Real, F: FormKernel, I: Isa, const G: usize> Formulas<'_, T, F, I, G> {
    /// What node `own` gathers from its neighbour `other`: as target of the edge `incoming` (`other` -> `own`), as source of the edge
    /// `outgoing` (`own` -> `other`), or both at once, when the work that both directions share is done once.
    #[inline(always)]
    fn visit(
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

    /// What a node gathers from a sampled non-edge; returns the mean logit x and exp(-|x|). The gradient is the same for all heads.
    #[inline(always)]
    fn visit_negative(
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

impl<T: Real, F: FormKernel, const G: usize> Kernel for Backward<'_, T, F, G> {
    type Number = T;
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let Self { input, gradient, nodes, d_z, d_vectors, .. } = self;
        let formulas = Formulas::<T, F, I, G>::new(input, &gradient);
        let (row, groups) = (formulas.row(), formulas.groups());
        let vector = [vectors(gradient.vectors[0]), vectors(gradient.vectors[1])];
        let loss = &gradient.edge_loss;
        // The position, in its target's list, of the edge that leads to `target` and stands at `at` among the outgoing ones.
        let position_at_target = |at: usize, target: u32| {
            input.incoming.offsets[target as usize] as usize + gradient.place_at_target[at] as usize
        };
        let mut losses = SoftplusSum::default();
        d_vectors.fill([T::ZERO; LANES]);
        let (d_target_vector, d_source_vector) = d_vectors.split_at_mut(row);
        for (i, d_z) in nodes.zip(d_z.chunks_exact_mut(row)) {
            d_z.fill([T::ZERO; LANES]);
            let zero = [V::<T, I>::zero(); G];
            let mut gathered = Gathered { d_z, d_target_score: zero, d_source_score: zero };
            let own = formulas.node(i);
            // On a symmetric graph one walk over the neighbours sees both directions; else there is a second walk.
            let walk = input.incoming.range(i);
            let second = if gradient.symmetric { 0..0 } else { gradient.outgoing.range(i) };
            for step in 0..walk.len() + second.len() {
                let first = step < walk.len();
                let (lists, at) = if first {
                    (input.incoming.nodes, walk.start + step)
                } else {
                    (gradient.outgoing.nodes, second.start + step - walk.len())
                };
                let is_out = gradient.symmetric || !first;
                if let Some(&ahead) = lists.get(at + AHEAD) {
                    formulas.prefetch(ahead as usize);
                    if is_out {
                        formulas.prefetch_edge(loss, position_at_target(at + AHEAD, ahead));
                    }
                }
                if is_out && let Some(&far) = lists.get(at + 2 * AHEAD) {
                    prefetch(&input.incoming.offsets[far as usize..][..1]);
                }
                let node = lists[at] as usize;
                let outgoing = if is_out { position_at_target(at, lists[at]) } else { 0 };
                let visit = Visit { incoming: if first { at } else { 0 }, outgoing, is_in: first, is_out };
                formulas.visit(&own, &formulas.node(node), visit, loss, &mut gathered, &mut losses);
            }
            let Gathered { d_z, mut d_target_score, mut d_source_score } = gathered;
            if let Some(loss) = loss {
                let as_target = loss.negatives_by_target.range(i);
                let as_source = loss.negatives_by_source.range(i);
                for step in 0..as_target.len() + as_source.len() {
                    let is_target = step < as_target.len();
                    let (lists, at) = if is_target {
                        (loss.negatives_by_target.nodes, as_target.start + step)
                    } else {
                        (loss.negatives_by_source.nodes, as_source.start + step - as_target.len())
                    };
                    if let Some(&ahead) = lists.get(at + AHEAD) {
                        formulas.prefetch_pair(ahead as usize);
                    }
                    let other = formulas.node(lists[at] as usize);
                    let (target, source) = if is_target { (&own, &other) } else { (&other, &own) };
                    let d_score = if is_target { &mut d_target_score } else { &mut d_source_score };
                    let (x, small) = formulas.visit_negative(target, source, other.z, d_z, d_score);
                    losses.add_if(is_target, x.array()[0], small.array()[0]);
                }
            }
            if F::GO {
                for g in 0..groups {
                    let part = formulas.part(g);
                    let (target, source) = (d_target_score[g], d_source_score[g]);
                    let (a_target, a_source) = (&vector[0][part.clone()], &vector[1][part.clone()]);
                    add_two_scaled::<T, I>(&mut d_z[part.clone()], target, a_target, source, a_source);
                    add_scaled::<T, I>(&mut d_target_vector[part.clone()], target, &own.z[part.clone()]);
                    add_scaled::<T, I>(&mut d_source_vector[part.clone()], source, &own.z[part]);
                }
            }
        }
        losses.total()
    }
}

/// Edges between asking for a neighbour's rows and using them: far enough for a memory access, near enough to stay in the cache.
const AHEAD: usize = 6;

/// Whether an edge is in the sample of the edge loss.
#[inline(always)]
fn is_positive(loss: &Option<EdgeLoss<'_>>, e: usize) -> bool {
    match loss {
        Some(loss) => loss.positives[e / 8] >> (e % 8) & 1 == 1,
        None => false,
    }
}
