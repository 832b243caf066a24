//! Backward pass of attention and of the edge loss, one node at a time.

use super::{Attention, INVERSE, LARGEST, Neighbours, SCORE, SHARED, STATE, kept, leaky, score_scale};
use crate::kernels::forms::{FormKernel, with_form};
use crate::kernels::heads::{HeadLayout, MAX_GROUPS};
use crate::kernels::lanes::{Isa, Kernel, LANES, V, add_scaled, dispatch, dot, vectors, vectors_mut};
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
        with_form!(input.form, F => {
            let form = PhantomData::<F>;
            let (d_z, d_vectors) = (vectors_mut(d_z.data), vectors_mut(d_vectors.data));
            loss.data[0] = dispatch(Backward { input, gradient, nodes, d_z, d_vectors, form });
        });
    });
}

struct Backward<'a, T, F> {
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
struct Raw<T> {
    go: [V<T>; MAX_GROUPS],
    dp: [V<T>; MAX_GROUPS],
}

impl<T: Real, F: FormKernel> Kernel for Backward<'_, T, F> {
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        let Self { input, gradient, nodes, d_z, d_vectors, .. } = self;
        let layout = input.layout;
        let (groups, width) = (layout.groups, layout.vectors);
        let row = groups * width;
        let (z, source_score) = (vectors(input.z), vectors(input.source_score));
        let (state, d_out) = (vectors(gradient.state), vectors(gradient.out));
        let vector = gradient.vectors.map(vectors);
        let scale = V::splat(score_scale(layout));
        let node_z = |i: usize| &z[i * row..(i + 1) * row];
        let source = |i: usize| Role {
            z: node_z(i),
            score: if F::GO { &source_score[i * groups..(i + 1) * groups] } else { &[] },
        };
        let target = |i: usize| {
            let state = &state[i * STATE * groups..(i + 1) * STATE * groups];
            Target {
                role: Role { z: node_z(i), score: &state[SCORE * groups..(SCORE + 1) * groups] },
                gradient: &d_out[i * row..(i + 1) * row],
                state,
                active: gradient.active[i],
            }
        };
        let raw = |target: Role<'_, T>, source: Role<'_, T>| {
            let mut raw = Raw { go: [V::ZERO; MAX_GROUPS], dp: [V::ZERO; MAX_GROUPS] };
            for g in 0..groups {
                if F::DP {
                    let part = g * width..(g + 1) * width;
                    raw.dp[g] = dot::<T, I>(&target.z[part.clone()], &source.z[part]).fold(layout.lane_heads);
                }
                if F::GO {
                    raw.go[g] = V(target.score[g]).add(V(source.score[g]));
                }
            }
            raw
        };
        // Gradients of the raw scores of edge e (group g) from that of the target's output; and the dropped-out coefficient.
        let through_softmax = |target: &Target<'_, T>, z_source: &[[T; LANES]], raw: &Raw<T>, e: usize, g: usize| {
            let per_head = |slot: usize| V(target.state[slot * groups + g]);
            let score = F::score(raw.go[g], raw.dp[g], scale);
            let largest = per_head(LARGEST);
            let alpha = leaky(score, input.slope).sub(largest).exp().mul(per_head(INVERSE));
            let keep = kept(input.keep, e * groups + g);
            let part = g * width..(g + 1) * width;
            let d_alpha =
                dot::<T, I>(&target.gradient[part.clone()], &z_source[part]).fold(layout.lane_heads).mul(keep);
            let d_leaky = alpha.mul(d_alpha.sub(per_head(SHARED)));
            let d_score = d_leaky.zip(score, |d, s| if s > T::ZERO { d } else { d * input.slope });
            (F::score_backward(d_score, raw.go[g], raw.dp[g], scale), alpha.mul(keep))
        };

        let mean = T::from_f64(layout.lane_heads as f64 / LANES as f64 / layout.heads as f64);
        // Mean over heads of the edge logit, in every lane.
        let mean_logit = |raw: &Raw<T>| {
            let sum = (0..groups).fold(V::ZERO, |sum, g| sum.add(F::logit(raw.go[g], raw.dp[g], scale)));
            sum.fold(1).map(|x| x * mean)
        };
        let pair_weight =
            V::splat(T::from_f64(gradient.edge_loss.map_or(0.0, |loss| loss.weight / layout.heads as f64)));
        let positive = |e: usize| match &gradient.edge_loss {
            Some(loss) => loss.positives[e / 8] >> (e % 8) & 1 == 1,
            None => false,
        };

        let mut losses = SoftplusSum::default();
        d_vectors.fill([T::ZERO; LANES]);
        let (d_target_vector, d_source_vector) = d_vectors.split_at_mut(row);
        for (i, d_z) in nodes.zip(d_z.chunks_exact_mut(row)) {
            d_z.fill([T::ZERO; LANES]);
            let mut d_target_score = [V::<T>::ZERO; MAX_GROUPS];
            let mut d_source_score = [V::<T>::ZERO; MAX_GROUPS];
            let (as_target, as_source) = (target(i), source(i));

            // The node as target of its incoming edges.
            for e in input.incoming.range(i) {
                let marked = positive(e);
                if !as_target.active && !marked {
                    continue;
                }
                let other = source(input.incoming.nodes[e] as usize);
                let raw = raw(as_target.role, other);
                let d_logit = if marked {
                    let x = mean_logit(&raw);
                    losses.add(-x.0[0]);
                    x.sigmoid().map(|p| p - T::ONE).mul(pair_weight)
                } else {
                    V::ZERO
                };
                for g in 0..groups {
                    let (mut d_go, mut d_dp) = F::logit_backward(d_logit, scale);
                    if as_target.active {
                        let ((go, dp), _) = through_softmax(&as_target, other.z, &raw, e, g);
                        (d_go, d_dp) = (d_go.add(go), d_dp.add(dp));
                    }
                    if F::DP {
                        let part = g * width..(g + 1) * width;
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
                let marked = positive(e);
                if !gradient.active[t] && !marked {
                    continue;
                }
                let other = target(t);
                let raw = raw(other.role, as_source);
                let d_logit = if marked {
                    mean_logit(&raw).sigmoid().map(|p| p - T::ONE).mul(pair_weight)
                } else {
                    V::ZERO
                };
                for g in 0..groups {
                    let part = g * width..(g + 1) * width;
                    let (mut d_go, mut d_dp) = F::logit_backward(d_logit, scale);
                    if other.active {
                        let ((go, dp), weight) = through_softmax(&other, as_source.z, &raw, e, g);
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
                    let other = source(loss.negatives_by_target.nodes[at] as usize);
                    let x = mean_logit(&raw(as_target.role, other));
                    losses.add(x.0[0]);
                    let (d_go, d_dp) = F::logit_backward(x.sigmoid().mul(pair_weight), scale);
                    for g in 0..groups {
                        if F::DP {
                            let part = g * width..(g + 1) * width;
                            add_scaled::<T, I>(&mut d_z[part.clone()], d_dp, &other.z[part]);
                        }
                        if F::GO {
                            d_target_score[g] = d_target_score[g].add(d_go);
                        }
                    }
                }
                for at in loss.negatives_by_source.range(i) {
                    let other = target(loss.negatives_by_source.nodes[at] as usize).role;
                    let x = mean_logit(&raw(other, as_source));
                    let (d_go, d_dp) = F::logit_backward(x.sigmoid().mul(pair_weight), scale);
                    for g in 0..groups {
                        if F::DP {
                            let part = g * width..(g + 1) * width;
                            add_scaled::<T, I>(&mut d_z[part.clone()], d_dp, &other.z[part]);
                        }
                        if F::GO {
                            d_source_score[g] = d_source_score[g].add(d_go);
                        }
                    }
                }
            }

            if F::GO {
                for g in 0..groups {
                    let part = g * width..(g + 1) * width;
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

