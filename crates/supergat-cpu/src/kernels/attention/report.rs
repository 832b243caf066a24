//! Attention coefficients and edge logits as results.

use super::input::{Attention, INVERSE, LARGEST, SCORE, leaky, score_scale};
use crate::kernels::forms::{FormKernel, with_form};
use crate::kernels::simd::{Arithmetic, Lanes, Plain, Portable, SimdReal, V, dot, dot_leaky, vectors};
use supergat_core::device::STATE;
use supergat_core::heads::LANES;

/// Writes the coefficient and the edge logit of every edge and head: `coefficients[e * heads + h]`. `state`
/// must come from forward.
pub fn edge_values<T: SimdReal>(input: Attention<'_, T>, state: &[T], coefficients: &mut [T], logits: &mut [T]) {
    with_form!(input.form, F => edge_values_of::<T, F>(input, state, coefficients, logits));
}

fn edge_values_of<T: SimdReal, F: FormKernel>(
    input: Attention<'_, T>,
    state: &[T],
    coefficients: &mut [T],
    logits: &mut [T],
) {
    let layout = input.layout;
    let per_head = |i: usize, slot: usize, g: usize| per_head(state, layout.groups, i, slot, g);
    for list in 0..input.incoming.offsets.len() - 1 {
        let i = input.incoming.row(list);
        for at in input.incoming.range(list) {
            let (e, j) = (input.incoming.edge(list, at), input.incoming.nodes[at] as usize);
            for g in 0..layout.groups {
                let (go, dp, scale) = raw::<T, F>(input, state, i, j, g);
                let mut score = F::score(go, dp, scale);
                let mut log_weight = Plain::zero();
                if let Some(terms) = input.edges {
                    let term = terms.score::<Portable>(e, g, layout.groups).array();
                    score = score.add(Plain::load(&term));
                    log_weight = Plain::load(&terms.log_weight::<Portable>(e).array());
                }
                if !F::V2 {
                    score = leaky(score, Plain::splat(input.slope));
                }
                let alpha = score.add(log_weight).sub(per_head(i, LARGEST, g)).exp().mul(per_head(i, INVERSE, g));
                let (alpha, logit) = (alpha.array(), F::logit(go, dp, scale).array());
                for lane in 0..(layout.heads - g * LANES).min(LANES) {
                    coefficients[e * layout.heads + g * LANES + lane] = alpha[lane];
                    logits[e * layout.heads + g * LANES + lane] = logit[lane];
                }
            }
        }
    }
}

/// Writes the mean over heads of the edge logit of pairs `[source, target]`. Its sigmoid is the probability
/// of an edge.
pub fn pair_logits<T: SimdReal>(input: Attention<'_, T>, state: &[T], pairs: &[[u32; 2]], out: &mut [T]) {
    with_form!(input.form, F => {
        let layout = input.layout;
        for (&[source, target], out) in pairs.iter().zip(out) {
            let mut sum = T::ZERO;
            for g in 0..layout.groups {
                let (go, dp, scale) = raw::<T, F>(input, state, target as usize, source as usize, g);
                let logit = F::logit(go, dp, scale);
                sum += logit.array()[..(layout.heads - g * LANES).min(LANES)].iter().copied().sum::<T>();
            }
            *out = sum * T::from_f64(1.0 / layout.heads as f64);
        }
    });
}

fn per_head<T: SimdReal>(state: &[T], groups: usize, node: usize, slot: usize, g: usize) -> Plain<T> {
    Plain::load(&vectors(state)[(node * STATE + slot) * groups + g])
}

/// Returns the raw scores of the pair `j -> i` for a group of heads, and 1 / sqrt(F).
fn raw<T: SimdReal, F: FormKernel>(
    input: Attention<'_, T>,
    state: &[T],
    i: usize,
    j: usize,
    g: usize,
) -> (Plain<T>, Plain<T>, Plain<T>) {
    let layout = input.layout;
    let row = layout.groups * layout.vectors;
    let part = |z, node: usize| &vectors(z)[node * row + g * layout.vectors..][..layout.vectors];
    let mut dp = Plain::zero();
    if F::DP {
        let products = dot::<T, Portable>(part(input.z, i), part(input.others.z, j));
        dp = Plain::load(&products.fold(layout.lane_heads).array());
    }
    let mut go = Plain::zero();
    if F::GO {
        let source = Plain::load(&vectors(input.others.source_score)[j * layout.groups + g]);
        go = per_head(state, layout.groups, i, SCORE, g).add(source);
    }
    if F::V2 {
        let (at, row) = (g * layout.vectors, layout.groups * layout.vectors);
        let part = |start: usize, rows| &vectors(rows)[start + at..][..layout.vectors];
        let (target, source) = (part((2 * i + 1) * row, input.z), part(2 * j * row, input.z));
        let score =
            dot_leaky::<T, Portable>(part(0, input.vectors), target, source, V::<T, Portable>::splat(input.slope));
        go = Plain::load(&score.fold(layout.lane_heads).array());
    }
    (go, dp, Plain::splat(score_scale(layout)))
}
