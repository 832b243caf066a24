//! Gradient from pairs of nodes that count in the edge loss only: sampled non-edges, and the edges of nodes whose attention
//! has no gradient.

use super::edge::is_positive;
use super::edge_block::{EDGES, EdgeBlock, bits_of, pair, set_pair};
use super::forward::add_rows;
use super::symmetric::{Node, Pass, following};
use crate::kernels::forms::FormKernel;
use crate::kernels::loss::SoftplusLanes;
use crate::kernels::simd::{Arithmetic, Isa, Lanes, P, Pair, Registers, SimdReal, Stored, V, in_blocks};
use std::ops::Range;
use supergat_core::graph::Neighbours;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch_part;

/// Returns a number with ones at the given bits.
#[inline(always)]
fn ones(bits: Range<usize>) -> u32 {
    ((1u64 << bits.end) - (1u64 << bits.start)) as u32
}

/// Pairs of a block, as bits.
struct Bits {
    /// Edges; the others are non-edges.
    edges: u32,
    /// Pairs that count with the node as target, and as source.
    counts: [u32; 2],
}

impl<T: SimdReal, S: Stored<T>, F: FormKernel, I: Isa> Pass<'_, T, S, F, I> {
    /// Adds the gradients from pairs of a node whose logits depend on dot products only: its sampled edges if `with_edges`,
    /// and its sampled non-edges, listed by target and by source. All heads have the same gradient.
    #[inline(always)]
    pub(super) fn pairs_by_products(
        &self,
        node: &Node<'_, T, S, I>,
        with_edges: bool,
        lists: [Neighbours<'_>; 2],
        block: &mut EdgeBlock<T>,
        losses: &mut SoftplusLanes<P<T, I>>,
        d_z: &mut [[T; LANES]],
    ) {
        let edges = if with_edges { self.input.incoming.range(node.number) } else { 0..0 };
        let ranges = lists.map(|lists| lists.range(node.number));
        let all = edges.len() + ranges[0].len() + ranges[1].len();
        for start in (0..all).step_by(EDGES) {
            let count = (all - start).min(EDGES);
            // Behind the last pair, the node itself makes full vectors.
            block.others = [node.number as u32; EDGES];
            let mut bits = Bits { edges: 0, counts: [0; 2] };
            let of_block = (edges.start + start).min(edges.end)..(edges.start + start + count).min(edges.end);
            let first = of_block.len();
            self.collect_edges(of_block, &mut block.others, &mut bits);
            self.collect_non_edges(first..count, [start, edges.len()], lists, &ranges, block, &mut bits);
            self.dots(count, node, block);
            for k in 0..count.div_ceil(2 * LANES) {
                self.pair_losses(k, &bits, block, losses);
            }
            let d_dp = block.d_logit[0].as_flattened();
            add_rows::<T, S, I, 1>(d_z, &block.others[..count], d_dp, self.z, self.width, 0);
        }
    }

    /// Collects edges at `places`, and prefetches rows of following ones.
    #[inline(always)]
    fn collect_edges(&self, places: Range<usize>, others: &mut [u32; EDGES], bits: &mut Bits) {
        let (loss, incoming) = (&self.gradient.edge_loss, &self.input.incoming);
        let next = following(incoming.nodes, places.start + self.ahead, places.len());
        bits.edges = ones(0..places.len());
        for (k, (at, (&next, other))) in places.zip(next.iter().zip(others)).enumerate() {
            self.prefetch_row(next);
            prefetch_part(incoming.offsets, next as usize, 1);
            let j = incoming.nodes[at];
            // The edge to the neighbour, among the neighbour's incoming edges.
            let outgoing = incoming.offsets[j as usize] as usize + self.gradient.place_at_target[at] as usize;
            *other = j;
            bits.counts[0] |= u32::from(is_positive(loss, at)) << k;
            bits.counts[1] |= u32::from(is_positive(loss, outgoing)) << k;
        }
    }

    /// Collects non-edges as pairs number `pairs` of the block, and prefetches rows of following ones. The block starts with
    /// pair number `start` of the node, whose first `edges` pairs are edges.
    #[inline(always)]
    fn collect_non_edges(
        &self,
        pairs: Range<usize>,
        [start, edges]: [usize; 2],
        lists: [Neighbours<'_>; 2],
        ranges: &[Range<usize>; 2],
        block: &mut EdgeBlock<T>,
        bits: &mut Bits,
    ) {
        let as_target = ranges[0].len();
        let others = &mut block.others[pairs.clone()];
        let middle = (edges + as_target).saturating_sub(start).clamp(pairs.start, pairs.end);
        bits.counts[0] |= ones(pairs.start..middle);
        bits.counts[1] |= ones(middle..pairs.end);
        for (k, other) in pairs.zip(others) {
            let number = start + k - edges;
            let side = usize::from(number >= as_target);
            let at = ranges[side].start + number - side * as_target;
            *other = lists[side].nodes[at];
            if let Some(&next) = lists[side].nodes.get(at + self.ahead) {
                self.prefetch_row(next);
            }
        }
    }

    /// Prefetches the row of a node, in parts of known width.
    #[inline(always)]
    fn prefetch_row(&self, node: u32) {
        in_blocks!(I, self.width, |first, B| prefetch_part(self.z, node as usize * self.width + first, B));
    }

    /// Computes the products of a node's row with those of the others, lane by lane.
    #[inline(always)]
    fn dots(&self, count: usize, node: &Node<'_, T, S, I>, block: &mut EdgeBlock<T>) {
        let EdgeBlock { others, dp, .. } = block;
        in_blocks!(I, self.width, |first, B| {
            let own = Registers::<T, I, B>::load(&node.z[first..]);
            let pairs = &others.as_chunks::<2>().0[..count.div_ceil(2)];
            for (&[a, b], dp) in pairs.iter().zip(dp.as_chunks_mut::<2>().0) {
                let row = |j: u32| &self.z[j as usize * self.width + first..];
                let products = own.dot_each([&Registers::load(row(a)), &Registers::load(row(b))]);
                let earlier = if first > 0 { P::<T, I>::load(dp) } else { P::<T, I>::zero() };
                *dp = products.add(earlier).arrays();
            }
        });
    }

    /// Computes the gradients of the dot products of pairs in vectors number `k`, and adds their losses.
    #[inline(always)]
    fn pair_losses(&self, k: usize, bits: &Bits, block: &mut EdgeBlock<T>, losses: &mut SoftplusLanes<P<T, I>>) {
        let (zero, one) = (P::<T, I>::zero(), P::<T, I>::splat(T::ONE));
        let is_edge = P::<T, I>::from_bits(bits_of(bits.edges, k), T::ONE);
        let counts = bits.counts.map(|bits| bits_of(bits, k));
        let sums = P::<T, I>::sums(&block.dp.as_chunks::<{ 2 * LANES }>().0[k]);
        let x = F::logit(zero, sums, self.scale).mul(self.per_head);
        // The loss of an edge is softplus(-x).
        let x = is_edge.if_positive(zero.sub(x), x);
        let small = x.exp_of_minus_abs();
        losses.add(counts[0], x, small);
        let count = P::<T, I>::from_bits(counts[0], T::ONE).add(P::<T, I>::from_bits(counts[1], T::ONE));
        let d = x.if_positive(one, small).div(one.add(small)).mul(self.pair_weight).mul(count);
        let (_, d_dp) = F::logit_backward(is_edge.if_positive(zero.sub(d), d), self.scale);
        set_pair::<T, I>(&mut block.d_logit[0], k, d_dp);
    }

    /// Returns the gradient of the score of a node from its sampled non-edges as target (`side` 0) or source (1), whose
    /// logits are sums of scores. All heads have the same gradient.
    #[inline(always)]
    pub(super) fn pairs_by_scores(
        &self,
        node: &Node<'_, T, S, I>,
        side: usize,
        lists: &Neighbours<'_>,
        block: &mut EdgeBlock<T>,
        losses: &mut SoftplusLanes<P<T, I>>,
    ) -> V<T, I> {
        let (zero, one) = (P::<T, I>::zero(), P::<T, I>::splat(T::ONE));
        let mut d_score = zero;
        let list = lists.range(node.number);
        for start in list.clone().step_by(EDGES) {
            let others = &lists.nodes[start..(start + EDGES).min(list.end)];
            for &next in following(lists.nodes, start + self.ahead, others.len()) {
                prefetch_part(self.states, next as usize, 1);
                prefetch_part(self.sources, next as usize, 1);
            }
            self.logits_by_scores(others, side, node, &mut block.weight);
            let all = ones(0..others.len());
            for k in 0..others.len().div_ceil(2 * LANES) {
                let x = pair::<T, I>(&block.weight, k);
                let small = x.exp_of_minus_abs();
                let sigmoid = x.if_positive(one, small).div(one.add(small));
                let is_pair = P::<T, I>::from_bits(bits_of(all, k), T::ONE);
                d_score = d_score.add(is_pair.if_positive(sigmoid.mul(self.pair_weight), zero));
                losses.add(if side == 0 { bits_of(all, k) } else { [0; 2] }, x, small);
            }
        }
        let [scale, _] = self.scale.halves();
        F::logit_backward(d_score.sum().fold(1), scale).0
    }
}
