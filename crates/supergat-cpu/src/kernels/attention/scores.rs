//! Scores of a block of edges in the forward pass.

use super::forward::BLOCK;
use super::input::leaky;
use crate::kernels::forms::FormKernel;
use crate::kernels::simd::{Arithmetic, Isa, Lanes, P, Pair, Registers, SimdReal, Stored, V, in_blocks};
use std::slice;
use supergat_core::HeadLayout;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch;

/// What the scores of the edges of a node are computed from, when edges have no weights or features and the form is not
/// GATv2.
pub(super) struct Scores<'a, T: SimdReal, S, I: Isa> {
    pub(super) layout: HeadLayout,
    /// Group of heads.
    pub(super) group: usize,
    /// The node's row, and its additive score as target.
    pub(super) own: &'a [S],
    pub(super) own_score: V<T, I>,
    /// Rows of the neighbours, and their additive scores as sources.
    pub(super) others: &'a [S],
    pub(super) source_score: &'a [[T; LANES]],
    /// Slope of LeakyReLU, and the factor of SD.
    pub(super) slope: V<T, I>,
    pub(super) scale: V<T, I>,
}

impl<T: SimdReal, S: Stored<T>, I: Isa> Scores<'_, T, S, I> {
    /// Writes the scores of a block of edges; returns the largest. The neighbours of the edges are processed two at a time,
    /// the last of an odd number twice, and what is read of the `next` nodes is prefetched.
    #[inline(always)]
    pub(super) fn of<F: FormKernel>(&self, [nodes, next]: [&[u32]; 2], scores: &mut [[T; LANES]; BLOCK]) -> V<T, I> {
        if F::DP {
            self.products([nodes, next], scores);
        }
        let own = P::<T, I>::both(self.own_score);
        let (slope, scale) = (P::<T, I>::both(self.slope), P::<T, I>::both(self.scale));
        let source = |j: u32| &self.source_score[j as usize * self.layout.groups + self.group];
        let mut largest = P::<T, I>::splat(T::NEG_INFINITY);
        for ((pair, next), score) in nodes.chunks(2).zip(next.chunks(2)).zip(scores.as_chunks_mut::<2>().0) {
            let (mut go, mut dp) = (P::<T, I>::zero(), P::<T, I>::zero());
            if F::GO {
                for &next in next {
                    prefetch(slice::from_ref(source(next)));
                    if !F::DP {
                        prefetch(&self.others[self.row(next)..][..self.layout.vectors]);
                    }
                }
                let [a, b] = [pair[0], pair[pair.len() - 1]];
                go = own.add(P::<T, I>::join(V::<T, I>::load(source(a)), V::<T, I>::load(source(b))));
            }
            if F::DP {
                dp = P::<T, I>::load(score);
            }
            let value = leaky(F::score(go, dp, scale), slope);
            largest = value.max(largest);
            *score = value.arrays();
        }
        let [even, odd] = largest.halves();
        even.max(odd)
    }

    /// Returns where the row of a neighbour begins.
    #[inline(always)]
    fn row(&self, node: u32) -> usize {
        (node as usize * self.layout.groups + self.group) * self.layout.vectors
    }

    /// Writes the dot products of the node's row with the rows of its neighbours.
    #[inline(always)]
    fn products(&self, [nodes, next]: [&[u32]; 2], products: &mut [[T; LANES]; BLOCK]) {
        let HeadLayout { vectors, lane_heads, .. } = self.layout;
        in_blocks!(I, vectors, |first, B| {
            let own = Registers::<T, I, B>::load(&self.own[first..]);
            let heads = if first + B == vectors { lane_heads } else { LANES };
            for ((pair, next), product) in nodes.chunks(2).zip(next.chunks(2)).zip(products.as_chunks_mut::<2>().0) {
                for &next in next {
                    prefetch(&self.others[self.row(next) + first..][..B]);
                }
                let (a, b) = (self.row(pair[0]) + first, self.row(pair[pair.len() - 1]) + first);
                let rows = [Registers::load(&self.others[a..]), Registers::load(&self.others[b..])];
                let earlier = if first > 0 { P::<T, I>::load(product) } else { P::<T, I>::zero() };
                *product = own.dot_each([&rows[0], &rows[1]]).add(earlier).fold(heads).arrays();
            }
        });
    }
}
