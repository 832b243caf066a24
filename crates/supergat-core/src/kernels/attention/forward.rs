//! Forward pass: scores, softmax, dropout and weighted sum, one node at a time.

use super::input::{Attention, INVERSE, LARGEST, SCORE, STATE, if_chosen, kept, leaky, score_scale, steps_ahead};
use crate::kernels::forms::{FormKernel, with_form};
use crate::kernels::heads::HeadLayout;
use crate::kernels::parts::{Parts, Rows};
use crate::kernels::simd::{
    Isa, Kernel, LANES, Lanes, Real, V, dispatch, dot, in_blocks, prefetch, vectors, vectors_mut,
};
use std::marker::PhantomData;
use std::ops::Range;

/// Writes `a_target . z_i` to the state and `a_source . z_i` to `source_score`. Each vector `a` is a row in
/// the layout of `z`.
pub fn attention_scores<T: Real>(
    parts: &Parts,
    layout: HeadLayout,
    z: &[T],
    a_target: &[T],
    a_source: &[T],
    state: &mut [T],
    source_score: &mut [T],
) {
    let (width, groups) = (layout.groups * layout.vectors, layout.groups);
    let outputs = (
        Rows { data: state, width: STATE * layout.head_stride() },
        Rows { data: source_score, width: layout.head_stride() },
    );
    parts.for_each(outputs, |nodes, (state, source)| {
        struct Scores<'a, T> {
            layout: HeadLayout,
            z: &'a [[T; LANES]],
            a: [&'a [[T; LANES]]; 2],
            state: &'a mut [[T; LANES]],
            source: &'a mut [[T; LANES]],
        }
        impl<T: Real> Kernel for Scores<'_, T> {
            type Number = T;
            type Output = ();
            #[inline(always)]
            fn run<I: Isa>(self) {
                let (groups, vectors) = (self.layout.groups, self.layout.vectors);
                let rows = self.z.chunks_exact(groups * vectors);
                let outputs = self.state.chunks_exact_mut(STATE * groups).zip(self.source.chunks_exact_mut(groups));
                for (z, (state, source)) in rows.zip(outputs) {
                    for g in 0..groups {
                        let part = g * vectors..(g + 1) * vectors;
                        let heads = self.layout.lane_heads;
                        state[SCORE * groups + g] =
                            dot::<T, I>(&z[part.clone()], &self.a[0][part.clone()]).fold(heads).array();
                        source[g] = dot::<T, I>(&z[part.clone()], &self.a[1][part]).fold(heads).array();
                    }
                }
            }
        }
        debug_assert_eq!(source.data.len(), nodes.len() * groups * LANES);
        dispatch(Scores {
            layout,
            z: &vectors(z)[nodes.start * width..nodes.end * width],
            a: [vectors(a_target), vectors(a_source)],
            state: vectors_mut(state.data),
            source: vectors_mut(source.data),
        });
    });
}

/// Computes `out` (before bias and activation) and completes the state of every node.
pub fn attention_forward<T: Real>(parts: &Parts, input: Attention<'_, T>, state: &mut [T], out: &mut [T]) {
    let outputs = (
        Rows { data: state, width: STATE * input.layout.head_stride() },
        Rows { data: out, width: input.layout.stride() },
    );
    parts.for_each(outputs, |nodes, (state, out)| {
        with_form!(input.form, F => {
            let form = PhantomData::<F>;
            dispatch(Forward { input, nodes, state: vectors_mut(state.data), out: vectors_mut(out.data), form })
        });
    });
}

struct Forward<'a, T, F> {
    input: Attention<'a, T>,
    nodes: Range<usize>,
    state: &'a mut [[T; LANES]],
    out: &'a mut [[T; LANES]],
    form: PhantomData<F>,
}

/// Edges of a node processed at once. A node with more edges is processed in blocks, and its sums are
/// rescaled when a larger score appears.
const BLOCK: usize = 256;
/// Largest number of edges between prefetching a neighbour's row and using it.
const AHEAD: usize = 8;

impl<T: Real, F: FormKernel> Kernel for Forward<'_, T, F> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Attention { layout, slope, incoming, keep, chosen, .. } = self.input;
        let (groups, width) = (layout.groups, layout.vectors);
        let row = groups * width;
        let z = vectors(self.input.z);
        let source_score = vectors(self.input.source_score);
        let scale = V::<T, I>::splat(score_scale(layout));
        let slope = V::<T, I>::splat(slope);
        let steps = steps_ahead::<T>(width, AHEAD);
        let mut weight = [[T::ZERO; LANES]; BLOCK];
        let rows = self.state.chunks_exact_mut(STATE * groups).zip(self.out.chunks_exact_mut(row));
        for (i, (state, out)) in self.nodes.zip(rows) {
            for g in 0..groups {
                let at = g * width;
                let own = &z[i * row + at..][..width];
                let own_score = V::<T, I>::load(&state[SCORE * groups + g]);
                let out = &mut out[at..at + width];
                out.fill([T::ZERO; LANES]);
                let (mut largest, mut sum) = (V::<T, I>::splat(T::NEG_INFINITY), V::<T, I>::zero());
                let edges = incoming.range(i);
                for start in edges.clone().step_by(BLOCK) {
                    let block = start..(start + BLOCK).min(edges.end);
                    let sources = &incoming.nodes[block.clone()];
                    let before = largest;
                    for (k, (&j, weight)) in sources.iter().zip(&mut weight).enumerate() {
                        if let Some(&ahead) = incoming.nodes.get(start + k + steps) {
                            let ahead = ahead as usize;
                            prefetch(&z[ahead * row + at..][..width]);
                            if F::GO {
                                prefetch(&source_score[ahead * groups + g..][..1]);
                            }
                        }
                        let j = j as usize;
                        let (mut go, mut dp) = (V::<T, I>::zero(), V::<T, I>::zero());
                        if F::DP {
                            dp = dot::<T, I>(own, &z[j * row + at..][..width]).fold(layout.lane_heads);
                        }
                        if F::GO {
                            go = own_score.add(V::<T, I>::load(&source_score[j * groups + g]));
                        }
                        let score = leaky(F::score(go, dp, scale), slope);
                        largest = score.max(largest);
                        *weight = score.array();
                    }
                    if start > edges.start {
                        let shrink = before.sub(largest).exp();
                        sum = sum.mul(shrink);
                        for o in out.iter_mut() {
                            *o = V::<T, I>::load(o).mul(shrink).array();
                        }
                    }
                    for (e, weight) in block.zip(&mut weight) {
                        let p = V::<T, I>::load(weight).sub(largest).exp();
                        let p = if_chosen::<T, I>(chosen, e * groups + g, p);
                        sum = sum.add(p);
                        *weight = p.mul(kept::<T, I>(keep, e * groups + g)).array();
                    }
                    add_neighbours::<T, I>(out, sources, &weight, z, row, at);
                }
                let inverse = V::<T, I>::splat(T::ONE).div(sum);
                for o in out.iter_mut() {
                    *o = V::<T, I>::load(o).mul(inverse).array();
                }
                state[LARGEST * groups + g] = largest.array();
                state[INVERSE * groups + g] = inverse.array();
            }
        }
    }
}

/// Computes `out += sum_k weight[k] * z[nodes[k]]`, up to eight vectors at a time in registers.
#[inline(always)]
fn add_neighbours<T: Real, I: Isa>(
    out: &mut [[T; LANES]],
    nodes: &[u32],
    weight: &[[T; LANES]],
    z: &[[T; LANES]],
    row: usize,
    offset: usize,
) {
    in_blocks!(I, out.len(), |first, B| {
        add_block::<T, I, B>(&mut out[first..first + B], nodes, weight, z, row, offset + first);
    });
}

#[inline(always)]
fn add_block<T: Real, I: Isa, const B: usize>(
    out: &mut [[T; LANES]],
    nodes: &[u32],
    weight: &[[T; LANES]],
    z: &[[T; LANES]],
    row: usize,
    at: usize,
) {
    let out: &mut [[T; LANES]; B] = out.try_into().expect("B vectors");
    let mut sum = [V::<T, I>::zero(); B];
    for b in 0..B {
        sum[b] = V::<T, I>::load(&out[b]);
    }
    for (&j, weight) in nodes.iter().zip(weight) {
        let start = j as usize * row + at;
        let z: &[[T; LANES]; B] = z[start..start + B].try_into().expect("B vectors");
        let weight = V::<T, I>::load(weight);
        for b in 0..B {
            sum[b] = weight.mul_add(V::<T, I>::load(&z[b]), sum[b]);
        }
    }
    for b in 0..B {
        out[b] = sum[b].array();
    }
}
