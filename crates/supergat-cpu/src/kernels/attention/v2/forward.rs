//! Forward pass: scores, softmax, dropout and weighted sum, one node at a time.

use super::AttentionV2;
use crate::kernels::attention::forward::{AHEAD, BLOCK, add_neighbours, divide, scale_group};
use crate::kernels::attention::input::{INVERSE, LARGEST, add_features, kept, steps_ahead};
use crate::kernels::parts::{Parts, Rows};
use crate::kernels::simd::{Isa, Kernel, Lanes, SimdReal, V, dispatch, dot_leaky, vectors, vectors_mut};
use std::ops::Range;
use supergat_core::device::STATE;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch;

/// Computes `out` (before bias and activation), and the largest score and the inverse sum in the state of every node.
///
/// Also computes the weighted sums of the features of edges, a row of per-head values per feature, unless
/// `feature_sums` is empty.
pub fn attention_v2_forward<T: SimdReal>(
    parts: &Parts,
    input: AttentionV2<'_, T>,
    state: &mut [T],
    out: &mut [T],
    feature_sums: &mut [T],
) {
    let per_node = match input.edges {
        Some(edges) if !feature_sums.is_empty() => edges.vectors.len(),
        _ => 0,
    };
    let outputs = (
        Rows { data: state, width: STATE * input.layout.head_stride() },
        Rows { data: out, width: input.layout.stride() },
        Rows { data: feature_sums, width: per_node },
    );
    parts.for_each(outputs, |nodes, (state, out, feature_sums)| {
        let (state, out, feature_sums) =
            (vectors_mut(state.data), vectors_mut(out.data), vectors_mut(feature_sums.data));
        match input.edges {
            None => dispatch(Forward::<T, false> { input, nodes, state, out, feature_sums }),
            Some(_) => dispatch(Forward::<T, true> { input, nodes, state, out, feature_sums }),
        }
    });
}

/// Forward pass over a range of nodes. `E` tells whether edges have weights or features.
struct Forward<'a, T, const E: bool> {
    input: AttentionV2<'a, T>,
    nodes: Range<usize>,
    state: &'a mut [[T; LANES]],
    out: &'a mut [[T; LANES]],
    feature_sums: &'a mut [[T; LANES]],
}

impl<T: SimdReal, const E: bool> Kernel for Forward<'_, T, E> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let AttentionV2 { layout, slope, incoming, keep, edges, .. } = self.input;
        let terms = if E { edges } else { None };
        let (groups, width) = (layout.groups, layout.vectors);
        let row = groups * width;
        let (z, a) = (vectors(self.input.z), vectors(self.input.vectors));
        let slope = V::<T, I>::splat(slope);
        let steps = steps_ahead::<T>(width, AHEAD);
        let mut weight = [[T::ZERO; LANES]; BLOCK];
        let features = terms.filter(|_| !self.feature_sums.is_empty()).map_or(0, |terms| terms.width);
        for (k, i) in self.nodes.enumerate() {
            let state = &mut self.state[k * STATE * groups..][..STATE * groups];
            let out = &mut self.out[k * row..][..row];
            let feature_sums =
                if E { &mut self.feature_sums[k * features * groups..][..features * groups] } else { &mut [][..] };
            feature_sums.fill([T::ZERO; LANES]);
            let edges = incoming.range(i);
            for g in 0..groups {
                let at = g * width;
                let (own, a) = (&z[(2 * i + 1) * row + at..][..width], &a[at..at + width]);
                let out = &mut out[at..at + width];
                out.fill([T::ZERO; LANES]);
                let (mut largest, mut sum) = (V::<T, I>::splat(T::NEG_INFINITY), V::<T, I>::zero());
                for start in edges.clone().step_by(BLOCK) {
                    let block = start..(start + BLOCK).min(edges.end);
                    let sources = &incoming.nodes[block.clone()];
                    let before = largest;
                    for (e, (&j, weight)) in block.clone().zip(sources.iter().zip(&mut weight)) {
                        if let Some(&ahead) = incoming.nodes.get(e + steps) {
                            prefetch(&z[2 * ahead as usize * row + at..][..width]);
                        }
                        let source = &z[2 * j as usize * row + at..][..width];
                        let mut score = dot_leaky::<T, I>(a, own, source, slope).fold(layout.lane_heads);
                        if let Some(terms) = terms {
                            score = score.add(terms.score::<I>(e, g, groups)).add(terms.log_weight::<I>(e));
                        }
                        largest = score.max(largest);
                        *weight = score.array();
                    }
                    if start > edges.start {
                        let shrink = before.sub(largest).exp();
                        sum = sum.mul(shrink);
                        for o in out.iter_mut() {
                            *o = V::<T, I>::load(o).mul(shrink).array();
                        }
                        scale_group::<T, I>(feature_sums, shrink, g, groups);
                    }
                    for (e, weight) in block.clone().zip(&mut weight) {
                        let p = V::<T, I>::load(weight).sub(largest).exp();
                        sum = sum.add(p);
                        *weight = p.mul(kept::<T, I>(keep, e * groups + g)).array();
                    }
                    add_neighbours::<T, I>(out, sources, &weight, z, 2 * row, at);
                    if let (Some(terms), true) = (terms, features > 0) {
                        for (e, weight) in block.zip(&weight) {
                            let of_edge = terms.features_of(e);
                            add_features::<T, I>(feature_sums, V::<T, I>::load(weight), of_edge, g, groups);
                        }
                    }
                }
                let inverse = divide::<T, I>(out, sum);
                state[LARGEST * groups + g] = largest.array();
                state[INVERSE * groups + g] = inverse.array();
                scale_group::<T, I>(feature_sums, inverse, g, groups);
            }
        }
    }
}
