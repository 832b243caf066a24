//! Forward pass of GO with one head: formulas on sixteen edges at a time.

use super::forward::{BLOCK, add_rows, add_to_both, centre};
use super::input::{Attention, INVERSE, LARGEST, SCORE, leaky};
use crate::kernels::simd::{Arithmetic, Isa, Lanes, P, Pair, SimdReal, Stored, V, vectors};
use std::ops::Range;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch_part;

/// Numbers of a node that the pass writes.
pub(super) struct Output<'a, T> {
    pub(super) state: &'a mut [[T; LANES]],
    pub(super) out: &'a mut [[T; LANES]],
    /// `q` of [`by_source`](super::by_source); empty if it is not kept.
    pub(super) above: &'a mut [[T; LANES]],
}

/// Numbers of the edges of a block.
pub(super) struct Weights<T> {
    all: [[T; LANES]; BLOCK / LANES],
    above: [[T; LANES]; BLOCK / LANES],
}

impl<T: SimdReal> Weights<T> {
    pub(super) const ZERO: Self =
        Self { all: [[T::ZERO; LANES]; BLOCK / LANES], above: [[T::ZERO; LANES]; BLOCK / LANES] };
}

/// Computes the output and the state of a node from its `edges`, whose rows in `z` are prefetched `ahead`.
#[inline(always)]
pub(super) fn forward<T: SimdReal, S: Stored<T>, I: Isa>(
    input: &Attention<'_, T>,
    z: &[S],
    edges: Range<usize>,
    ahead: usize,
    weights: &mut Weights<T>,
    to: Output<'_, T>,
) {
    let (sources, width) = (vectors(input.others.source_score), input.layout.vectors);
    let Output { state, out, above } = to;
    let own = state[SCORE][0];
    let (slope, lowest) = (P::<T, I>::splat(input.slope), [[T::NEG_INFINITY; LANES]; 2]);
    let (mut sum, mut sum_above) = (P::<T, I>::zero(), P::<T, I>::zero());
    let mut largest = T::NEG_INFINITY;
    out.fill([T::ZERO; LANES]);
    above.fill([T::ZERO; LANES]);
    for start in edges.clone().step_by(BLOCK) {
        let others = &input.incoming.nodes[start..(start + BLOCK).min(edges.end)];
        let mut largest_of_block = P::<T, I>::load(&lowest);
        for (others, score) in others.chunks(2 * LANES).zip(weights.all.as_chunks_mut::<2>().0) {
            // Lanes without an edge have the weight exp(-infinity) = 0.
            let mut lanes = lowest;
            for (&j, lane) in others.iter().zip(lanes.as_flattened_mut()) {
                *lane = sources[j as usize][0] + own;
            }
            let value = leaky(P::<T, I>::load(&lanes), slope);
            largest_of_block = value.max(largest_of_block);
            *score = value.arrays();
        }
        let before = largest;
        for &value in largest_of_block.arrays().as_flattened() {
            largest = largest.max(value);
        }
        if start > edges.start {
            let shrink = V::<T, I>::splat(before).sub(V::<T, I>::splat(largest)).exp();
            sum = sum.mul(P::<T, I>::both(shrink));
            sum_above = sum_above.mul(P::<T, I>::both(shrink));
            scale::<T, I>(out, shrink);
            scale::<T, I>(above, shrink);
        }
        let largest = P::<T, I>::splat(largest);
        let pairs = weights.all.as_chunks_mut::<2>().0.iter_mut().zip(weights.above.as_chunks_mut::<2>().0);
        for (k, (weight, above)) in pairs.enumerate().take(others.len().div_ceil(2 * LANES)) {
            let score = P::<T, I>::load(weight);
            let p = score.sub(largest).exp();
            sum = sum.add(p);
            sum_above = sum_above.add(score.if_positive(p, P::<T, I>::zero()));
            let mut kept = p;
            if let Some(mask) = input.keep {
                let first = start + k * 2 * LANES;
                let mut bits = 0;
                for (lane, byte) in mask.keep[first..].iter().take(2 * LANES).enumerate() {
                    bits |= u16::from(byte & 1) << lane;
                }
                kept = p.mul(P::<T, I>::from_bits(bits.to_le_bytes(), mask.scale));
            }
            *weight = kept.arrays();
            *above = score.if_positive(kept, P::<T, I>::zero()).arrays();
        }
        for &next in input.incoming.nodes.iter().skip(start + ahead).take(others.len()) {
            prefetch_part(z, next as usize * width, width);
            prefetch_part(sources, next as usize, 1);
        }
        if above.is_empty() {
            add_rows::<T, S, I, 1>(out, others, weights.all.as_flattened(), z, width, 0);
        } else {
            let weights = [weights.all.as_flattened(), weights.above.as_flattened()];
            add_to_both::<T, S, I, 1>([&mut *out, &mut *above], others, weights, z);
        }
    }
    let inverse = V::<T, I>::splat(T::ONE).div(sum.sum().fold(1));
    scale::<T, I>(out, inverse);
    centre::<T, I>(above, out, inverse, sum_above.sum().fold(1));
    state[LARGEST] = [largest; LANES];
    state[INVERSE] = inverse.array();
}

/// Multiplies a row by a number.
#[inline(always)]
fn scale<T: SimdReal, I: Isa>(row: &mut [[T; LANES]], factor: V<T, I>) {
    for vector in row {
        *vector = V::<T, I>::load(vector).mul(factor).array();
    }
}
