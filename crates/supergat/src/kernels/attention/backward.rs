//! Backward pass of attention and of the edge loss, one node at a time.

use super::{Attention, INVERSE, LARGEST, Neighbours, SCORE, SHARED, STATE, kept, leaky, score_scale};
use crate::kernels::forms::{FormKernel, with_form};
use crate::kernels::heads::{HeadLayout, MAX_GROUPS};
use crate::kernels::lanes::{Isa, Kernel, LANES, Lanes, V, add_scaled, dispatch, dot, vectors, vectors_mut};
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

/// Rows and per-head values of a node in one of the two roles of an edge.
#[derive(Clone, Copy)]
struct Role<'a, T> {
    z: &'a [[T; LANES]],
    score: &'a [[T; LANES]],
}

/// The same for a node as target, with the gradient of its output and what its softmax left.
#[derive(Clone, Copy)]
struct Target<'a, T> {
    role: Role<'a, T>,
    gradient: &'a [[T; LANES]],
    state: &'a [[T; LANES]],
    active: bool,
}

/// The raw scores of a pair, for each group of heads.
struct Raw<X, const G: usize> {
    go: [X; G],
    dp: [X; G],
}

/// The formulas of one edge.
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
        Self {
            input,
            z: vectors(input.z),
            source_score: vectors(input.source_score),
            state: vectors(gradient.state),
            d_out: vectors(gradient.out),
            active: gradient.active,
            slope: V::<T, I>::splat(input.slope),
            scale: V::<T, I>::splat(score_scale(layout)),
            mean: V::<T, I>::splat(T::from_f64(layout.lane_heads as f64 / LANES as f64 / layout.heads as f64)),
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
    fn source(&self, i: usize) -> Role<'a, T> {
        let (row, groups) = (self.row(), self.groups());
        let score = if F::GO { &self.source_score[i * groups..(i + 1) * groups] } else { &[] };
        Role { z: &self.z[i * row..(i + 1) * row], score }
    }

    #[inline(always)]
    fn target(&self, i: usize) -> Target<'a, T> {
        let (row, groups) = (self.row(), self.groups());
        let state = &self.state[i * STATE * groups..(i + 1) * STATE * groups];
        let score = &state[SCORE * groups..(SCORE + 1) * groups];
        Target {
            role: Role { z: &self.z[i * row..(i + 1) * row], score },
            gradient: &self.d_out[i * row..(i + 1) * row],
            state,
            active: self.active[i],
        }
    }

    #[inline(always)]
    fn raw(&self, target: Role<'_, T>, source: Role<'_, T>) -> Raw<V<T, I>, G> {
        let layout = self.input.layout;
        let mut raw = Raw { go: [V::<T, I>::zero(); G], dp: [V::<T, I>::zero(); G] };
        for g in 0..self.groups() {
            if F::DP {
                let part = self.part(g);
                raw.dp[g] = dot::<T, I>(&target.z[part.clone()], &source.z[part]).fold(layout.lane_heads);
            }
            if F::GO {
                raw.go[g] = V::<T, I>::load(&target.score[g]).add(V::<T, I>::load(&source.score[g]));
            }
        }
        raw
    }

    /// Gradients of the raw scores of edge `e` (group `g`) from that of the target's output; and the dropped-out coefficient.
    #[inline(always)]
    fn through_softmax(
        &self,
        target: &Target<'_, T>,
        z_source: &[[T; LANES]],
        raw: &Raw<V<T, I>, G>,
        e: usize,
        g: usize,
    ) -> ((V<T, I>, V<T, I>), V<T, I>) {
        let Attention { layout, keep, .. } = self.input;
        let groups = self.groups();
        let largest = V::<T, I>::load(&target.state[LARGEST * groups + g]);
        let inverse = V::<T, I>::load(&target.state[INVERSE * groups + g]);
        let shared = V::<T, I>::load(&target.state[SHARED * groups + g]);
        let score = F::score(raw.go[g], raw.dp[g], self.scale);
        let alpha = leaky(score, self.slope).sub(largest).exp().mul(inverse);
        let keep = kept::<T, I>(keep, e * groups + g);
        let part = self.part(g);
        let d_alpha = dot::<T, I>(&target.gradient[part.clone()], &z_source[part]).fold(layout.lane_heads).mul(keep);
        let d_leaky = alpha.mul(d_alpha.sub(shared));
        let d_score = score.if_positive(d_leaky, d_leaky.mul(self.slope));
        (F::score_backward(d_score, raw.go[g], raw.dp[g], self.scale), alpha.mul(keep))
    }

    /// Mean over heads of the edge logit, in every lane.
    #[inline(always)]
    fn mean_logit(&self, raw: &Raw<V<T, I>, G>) -> V<T, I> {
        let mut sum = V::<T, I>::zero();
        for g in 0..self.groups() {
            sum = sum.add(F::logit(raw.go[g], raw.dp[g], self.scale));
        }
        sum.fold(1).mul(self.mean)
    }
}

impl<T: Real, F: FormKernel, const G: usize> Kernel for Backward<'_, T, F, G> {
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let Self { input, gradient, nodes, d_z, d_vectors, .. } = self;
        let formulas = Formulas::<T, F, I, G>::new(input, &gradient);
        let (row, groups) = (formulas.row(), formulas.groups());
        let vector = [vectors(gradient.vectors[0]), vectors(gradient.vectors[1])];
        let scale = formulas.scale;
        let one = V::<T, I>::splat(T::ONE);
        let mut losses = SoftplusSum::default();
        d_vectors.fill([T::ZERO; LANES]);
        let (d_target_vector, d_source_vector) = d_vectors.split_at_mut(row);
        for (i, d_z) in nodes.zip(d_z.chunks_exact_mut(row)) {
            d_z.fill([T::ZERO; LANES]);
            let mut d_target_score = [V::<T, I>::zero(); G];
            let mut d_source_score = [V::<T, I>::zero(); G];
            let (as_target, as_source) = (formulas.target(i), formulas.source(i));

            // The node as target of its incoming edges.
            for e in input.incoming.range(i) {
                let marked = is_positive(&gradient.edge_loss, e);
                if !as_target.active && !marked {
                    continue;
                }
                let other = formulas.source(input.incoming.nodes[e] as usize);
                let raw = formulas.raw(as_target.role, other);
                let mut d_logit = V::<T, I>::zero();
                if marked {
                    let x = formulas.mean_logit(&raw);
                    losses.add(-x.array()[0]);
                    d_logit = x.sigmoid().sub(one).mul(formulas.pair_weight);
                }
                for g in 0..groups {
                    let (mut d_go, mut d_dp) = F::logit_backward(d_logit, scale);
                    if as_target.active {
                        let ((go, dp), _) = formulas.through_softmax(&as_target, other.z, &raw, e, g);
                        (d_go, d_dp) = (d_go.add(go), d_dp.add(dp));
                    }
                    if F::DP {
                        let part = formulas.part(g);
                        add_scaled::<T, I>(&mut d_z[part.clone()], d_dp, &other.z[part]);
                    }
                    if F::GO {
                        d_target_score[g] = d_target_score[g].add(d_go);
                    }
                }
            }

            // The node as source of its outgoing edges.
            for at in gradient.outgoing.range(i) {
                let t = gradient.outgoing.nodes[at] as usize;
                let e = input.incoming.offsets[t] as usize + gradient.place_at_target[at] as usize;
                let marked = is_positive(&gradient.edge_loss, e);
                if !gradient.active[t] && !marked {
                    continue;
                }
                let other = formulas.target(t);
                let raw = formulas.raw(other.role, as_source);
                let mut d_logit = V::<T, I>::zero();
                if marked {
                    d_logit = formulas.mean_logit(&raw).sigmoid().sub(one).mul(formulas.pair_weight);
                }
                for g in 0..groups {
                    let part = formulas.part(g);
                    let (mut d_go, mut d_dp) = F::logit_backward(d_logit, scale);
                    if other.active {
                        let ((go, dp), weight) = formulas.through_softmax(&other, as_source.z, &raw, e, g);
                        (d_go, d_dp) = (d_go.add(go), d_dp.add(dp));
                        add_scaled::<T, I>(&mut d_z[part.clone()], weight, &other.gradient[part.clone()]);
                    }
                    if F::DP {
                        add_scaled::<T, I>(&mut d_z[part.clone()], d_dp, &other.role.z[part]);
                    }
                    if F::GO {
                        d_source_score[g] = d_source_score[g].add(d_go);
                    }
                }
            }

            if let Some(loss) = &gradient.edge_loss {
                for at in loss.negatives_by_target.range(i) {
                    let other = formulas.source(loss.negatives_by_target.nodes[at] as usize);
                    let x = formulas.mean_logit(&formulas.raw(as_target.role, other));
                    losses.add(x.array()[0]);
                    let (d_go, d_dp) = F::logit_backward(x.sigmoid().mul(formulas.pair_weight), scale);
                    add_pair::<T, F, I>(d_z, d_dp, other.z, &mut d_target_score[..groups], d_go);
                }
                for at in loss.negatives_by_source.range(i) {
                    let other = formulas.target(loss.negatives_by_source.nodes[at] as usize).role;
                    let x = formulas.mean_logit(&formulas.raw(other, as_source));
                    let (d_go, d_dp) = F::logit_backward(x.sigmoid().mul(formulas.pair_weight), scale);
                    add_pair::<T, F, I>(d_z, d_dp, other.z, &mut d_source_score[..groups], d_go);
                }
            }

            if F::GO {
                for g in 0..groups {
                    let part = formulas.part(g);
                    add_scaled::<T, I>(&mut d_z[part.clone()], d_target_score[g], &vector[0][part.clone()]);
                    add_scaled::<T, I>(&mut d_z[part.clone()], d_source_score[g], &vector[1][part.clone()]);
                    let z = &as_source.z[part.clone()];
                    add_scaled::<T, I>(&mut d_target_vector[part.clone()], d_target_score[g], z);
                    add_scaled::<T, I>(&mut d_source_vector[part], d_source_score[g], z);
                }
            }
        }
        losses.total()
    }
}

/// Whether an edge is in the sample of the edge loss.
#[inline(always)]
fn is_positive(loss: &Option<EdgeLoss<'_>>, e: usize) -> bool {
    match loss {
        Some(loss) => loss.positives[e / 8] >> (e % 8) & 1 == 1,
        None => false,
    }
}

/// What a sampled non-edge adds to the gradients of one of its ends; it is the same for all heads.
#[inline(always)]
fn add_pair<T: Real, F: FormKernel, I: Isa>(
    d_z: &mut [[T; LANES]],
    d_dp: V<T, I>,
    other: &[[T; LANES]],
    d_score: &mut [V<T, I>],
    d_go: V<T, I>,
) {
    if F::DP {
        add_scaled::<T, I>(d_z, d_dp, other);
    }
    if F::GO {
        for d in d_score {
            *d = d.add(d_go);
        }
    }
}
