//! Forward pass of GO with one head: formulas on sixteen edges at a time.

use super::forward::{BLOCK, add_rows, add_to_both, centre};
use super::input::{Attention, INVERSE, LARGEST, SCORE, leaky};
use crate::kernels::simd::{
    Arithmetic, Isa, Lanes, P, Pair, SimdReal, Stored, V, clear_row, largest_lane, scale_row, vectors,
};
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
    let own = P::<T, I>::splat(state[SCORE][0]);
    let (slope, lowest) = (P::<T, I>::splat(input.slope), P::<T, I>::splat(T::NEG_INFINITY));
    let (mut sum, mut sum_above) = (P::<T, I>::zero(), P::<T, I>::zero());
    let mut largest = T::NEG_INFINITY;
    clear_row::<T, I>(out);
    clear_row::<T, I>(above);
    for start in edges.clone().step_by(BLOCK) {
        let others = &input.incoming.nodes[start..(start + BLOCK).min(edges.end)];
        let mut largest_of_block = lowest;
        for (others, score) in others.chunks(2 * LANES).zip(weights.all.as_chunks_mut::<2>().0) {
            let (count, mut lanes) = (others.len(), [[T::ZERO; LANES]; 2]);
            // All lanes are filled, so that they need not be stored before they are loaded together.
            for (k, lane) in lanes.as_flattened_mut().iter_mut().enumerate() {
                *lane = sources[others[k.min(count - 1)] as usize][0];
            }
            let value = leaky(P::<T, I>::load(&lanes).add(own), slope);
            // Lanes without an edge have the weight exp(-infinity) = 0.
            let has_edge = P::<T, I>::from_bits((((1u32 << count) - 1) as u16).to_le_bytes(), T::ONE);
            let value = has_edge.if_positive(value, lowest);
            largest_of_block = value.max(largest_of_block);
            *score = value.arrays();
        }
        let before = largest;
        largest = largest.max(largest_lane::<T, I>(largest_of_block));
        if start > edges.start {
            let shrink = V::<T, I>::splat(before).sub(V::<T, I>::splat(largest)).exp();
            sum = sum.mul(P::<T, I>::both(shrink));
            sum_above = sum_above.mul(P::<T, I>::both(shrink));
            scale_row::<T, I>(out, shrink);
            scale_row::<T, I>(above, shrink);
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
                let bits = low_bits(&mask.keep[start + k * 2 * LANES..]);
                kept = p.mul(P::<T, I>::from_bits(bits, mask.scale));
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
    scale_row::<T, I>(out, inverse);
    centre::<T, I>(above, out, inverse, sum_above.sum().fold(1));
    state[LARGEST] = [largest; LANES];
    state[INVERSE] = inverse.array();
}

/// Returns the lowest bits of the first sixteen bytes, and zeros for those that are missing.
#[inline(always)]
pub(super) fn low_bits(bytes: &[u8]) -> [u8; 2] {
    let mut padded = [0; 2 * LANES];
    let bytes = match bytes.first_chunk() {
        Some(bytes) => bytes,
        None => {
            padded[..bytes.len()].copy_from_slice(bytes);
            &padded
        }
    };
    let mut bits = [0; 2];
    for (bits, bytes) in bits.iter_mut().zip(bytes.as_chunks().0) {
        // The product moves the bit of byte k to bit 56 + k.
        let low = u64::from_le_bytes(*bytes) & 0x0101_0101_0101_0101;
        *bits = (low.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_bits_are_those_of_each_byte() {
        let bytes: Vec<u8> = (0..40u8).map(|k| k.wrapping_mul(37) ^ (k >> 2)).collect();
        for (first, count) in [(0, 40), (3, 16), (9, 20), (30, 10), (39, 1), (40, 0)] {
            let bytes = &bytes[first..first + count];
            let expected = bytes.iter().take(16).enumerate().map(|(k, byte)| u16::from(byte & 1) << k).sum::<u16>();
            assert_eq!(u16::from_le_bytes(low_bits(bytes)), expected);
        }
    }
}
