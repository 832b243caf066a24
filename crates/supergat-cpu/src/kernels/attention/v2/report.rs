//! Attention coefficients and edge logits of GATv2 as results.

use super::AttentionV2;
use crate::kernels::attention::input::{INVERSE, LARGEST};
use crate::kernels::simd::{Lanes, Plain, Portable, SimdReal, V, dot_leaky, vectors};
use supergat_core::device::STATE;
use supergat_core::heads::LANES;

/// Writes the coefficient and the edge logit of every edge and head: `coefficients[e * heads + h]`. `state`
/// must come from forward.
pub fn v2_edge_values<T: SimdReal>(input: AttentionV2<'_, T>, state: &[T], coefficients: &mut [T], logits: &mut [T]) {
    let (layout, state) = (input.layout, vectors(state));
    for i in 0..input.incoming.offsets.len() - 1 {
        for e in input.incoming.range(i) {
            let j = input.incoming.nodes[e] as usize;
            for g in 0..layout.groups {
                let per_head = |slot: usize| Plain::load(&state[(i * STATE + slot) * layout.groups + g]);
                let logit = score(input, i, j, g);
                let mut score = logit;
                if let Some(terms) = input.edges {
                    let [of_features, log_weight] =
                        [terms.score::<Portable>(e, g, layout.groups), terms.log_weight::<Portable>(e)];
                    score = score.add(Plain::load(&of_features.array())).add(Plain::load(&log_weight.array()));
                }
                let alpha = score.sub(per_head(LARGEST)).exp().mul(per_head(INVERSE)).array();
                for lane in 0..(layout.heads - g * LANES).min(LANES) {
                    coefficients[e * layout.heads + g * LANES + lane] = alpha[lane];
                    logits[e * layout.heads + g * LANES + lane] = logit.array()[lane];
                }
            }
        }
    }
}

/// Writes the mean over heads of the edge logit of pairs `[source, target]`. Its sigmoid is the probability
/// of an edge.
pub fn v2_pair_logits<T: SimdReal>(input: AttentionV2<'_, T>, pairs: &[[u32; 2]], out: &mut [T]) {
    let layout = input.layout;
    for (&[source, target], out) in pairs.iter().zip(out) {
        let mut sum = T::ZERO;
        for g in 0..layout.groups {
            let scores = score(input, target as usize, source as usize, g).array();
            sum += scores[..(layout.heads - g * LANES).min(LANES)].iter().copied().sum::<T>();
        }
        *out = sum * T::from_f64(1.0 / layout.heads as f64);
    }
}

/// Returns the score of the pair `j -> i` for a group of heads.
fn score<T: SimdReal>(input: AttentionV2<'_, T>, i: usize, j: usize, g: usize) -> Plain<T> {
    let layout = input.layout;
    let (row, at) = (layout.groups * layout.vectors, g * layout.vectors);
    let part = |start: usize, rows| &vectors(rows)[start + at..][..layout.vectors];
    let (a, target, source) = (part(0, input.vectors), part((2 * i + 1) * row, input.z), part(2 * j * row, input.z));
    let slope = V::<T, Portable>::splat(input.slope);
    Plain::load(&dot_leaky::<T, Portable>(a, target, source, slope).fold(layout.lane_heads).array())
}
