//! Gradient of GO from one row per edge.
//!
//! The score of an edge is the sum of a number of its target and one of its source, so the rows `z` of the neighbours are not
//! needed again. With `k_ij` the factor of dropout, and `s'_ij` = 1 for a score above zero, else the slope of LeakyReLU:
//!
//! ```text
//! d score_ij = s'_ij alpha_ij g_i . (k_ij z_j - out_i)
//! as target:   sum_j d score_ij = (1 - slope) g_i . q_i,   because the sum over all j of alpha_ij (k_ij z_j - out_i) is zero
//!              q_i = sum of alpha_ij (k_ij z_j - out_i) over the scores above zero
//! as source:   sum_i d score_ij,  and  d z_j = sum_i alpha_ij k_ij g_i
//! ```
//!
//! The forward pass keeps `q_i`. So the backward pass visits each edge once, from its source `j`, and reads `g_i`.

use super::edge_block::EDGES;
use super::forward::add_rows;
use super::input::{INVERSE, LARGEST, SCORE, SHARED, leaky};
use super::symmetric::{Node, Pass, following, gathered};
use crate::kernels::forms::FormKernel;
use crate::kernels::simd::{
    Arithmetic, Isa, Lanes, P, Pair, Registers, SimdReal, Stored, V, in_blocks, prefetch_ahead, vectors,
};
use std::ops::Range;
use supergat_core::HeadLayout;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch_part;

/// Returns the numbers of `q_i`, which the forward pass keeps of a node; none in layouts of several groups.
pub fn kept_numbers(layout: HeadLayout) -> usize {
    if layout.groups == 1 { layout.stride() } else { 0 }
}

/// Edges of a block that lead to targets with a gradient.
pub(super) struct Block<T> {
    targets: [u32; EDGES],
    /// Places of the edges in the dropout mask.
    edges: [usize; EDGES],
    /// `g_i . z_j`; then coefficients after dropout. In layouts of one head a number per edge, else a vector.
    values: [[T; LANES]; EDGES],
}

impl<T: SimdReal> Block<T> {
    pub(super) const EMPTY: Self = Self { targets: [0; EDGES], edges: [0; EDGES], values: [[T::ZERO; LANES]; EDGES] };
}

impl<T: SimdReal, S: Stored<T>, F: FormKernel, I: Isa> Pass<'_, T, S, F, I> {
    /// Adds the gradient of a node's row as source; returns those of its scores as target and as source. `H` is 1 for
    /// layouts of one head, else the number of lanes.
    #[inline(always)]
    pub(super) fn by_source<const H: usize>(
        &self,
        node: &Node<'_, T, S, I>,
        block: &mut Block<T>,
        d_z: &mut [[T; LANES]],
    ) -> [V<T, I>; 2] {
        let list = self.input.incoming.range(node.number);
        let mut d_source = P::<T, I>::zero();
        for start in list.clone().step_by(self.block) {
            let edges = self.collect_targets(start..(start + self.block).min(list.end), block);
            if edges == 0 {
                continue;
            }
            // Edges of a pair of vectors. The last one stands in for those that the last pair lacks.
            let per_pair = 2 * LANES / H;
            let pairs = edges.div_ceil(per_pair);
            let (last, places) = (edges - 1, edges..(per_pair * pairs).min(EDGES));
            let (target, edge) = (block.targets[last], block.edges[last]);
            block.targets[places.clone()].fill(target);
            block.edges[places].fill(edge);
            self.products_with_targets::<H>(edges, node, block);
            for k in 0..pairs {
                let used = (edges - k * per_pair).min(per_pair);
                let d = self.through_softmax::<H>(k, used, node, block);
                d_source = d_source.add(d);
            }
            let targets = &block.targets[..edges];
            add_rows::<T, S, I, H>(d_z, targets, block.values.as_flattened(), self.out, self.width, 0);
        }
        let mut d_source = d_source.sum();
        if H == 1 {
            d_source = d_source.fold(1);
        }
        [if self.gradient.active[node.number] { self.by_target(node) } else { V::<T, I>::zero() }, d_source]
    }

    /// Computes the gradient of a node's score as target.
    #[inline(always)]
    fn by_target(&self, node: &Node<'_, T, S, I>) -> V<T, I> {
        let kept = &vectors(self.gradient.kept)[node.number * self.width..];
        prefetch_ahead(kept, 0, self.width);
        let [slope, _] = self.slope.halves();
        let mut products = V::<T, I>::zero();
        in_blocks!(I, self.width, |first, B| {
            let gradient = Registers::<T, I, B>::load(&node.out[first..]);
            products = products.add(gradient.dot(&Registers::load(&kept[first..])));
        });
        let products = products.fold(self.input.layout.lane_heads);
        products.mul(V::<T, I>::splat(T::ONE).sub(slope))
    }

    /// Collects the edges at `places` whose targets have a gradient; returns their number.
    #[inline(always)]
    fn collect_targets(&self, places: Range<usize>, block: &mut Block<T>) -> usize {
        let (incoming, active) = (&self.input.incoming, self.gradient.active);
        self.prefetch_outgoing(places.start, places.len());
        let next = following(incoming.nodes, places.start + self.ahead, places.len());
        let mut edges = 0;
        for (&next, place) in next.iter().zip(places) {
            let next = next as usize;
            if active[next] {
                prefetch_part(self.states, next, 1);
                prefetch_part(self.out, next * self.width, self.width);
            }
            let i = incoming.nodes[place];
            // A block has at most `EDGES` places; the compiler sees that no index is out of bounds.
            let at = edges.min(EDGES - 1);
            block.targets[at] = i;
            block.edges[at] = incoming.offsets[i as usize] as usize + self.gradient.place_at_target[place] as usize;
            edges += usize::from(active[i as usize]);
        }
        edges
    }

    /// Computes the products of the gradients of targets with the row of their source.
    #[inline(always)]
    fn products_with_targets<const H: usize>(&self, edges: usize, node: &Node<'_, T, S, I>, block: &mut Block<T>) {
        let (width, lane_heads) = (self.width, self.input.layout.lane_heads);
        let Block { targets, values, .. } = block;
        let edges = edges.min(EDGES);
        in_blocks!(I, width, |first, B| {
            let own = Registers::<T, I, B>::load(&node.z[first..]);
            let row = |i: u32| &self.out[i as usize * width + first..];
            if H == 1 {
                for (&i, product) in targets[..edges].iter().zip(values.as_flattened_mut()) {
                    let sum = own.dot(&Registers::load(row(i))).fold(1).array()[0];
                    *product = if first > 0 { *product + sum } else { sum };
                }
            } else {
                let heads = if first + B == width { lane_heads } else { LANES };
                let pairs = &targets.as_chunks::<2>().0[..edges.div_ceil(2)];
                for (&[a, b], to) in pairs.iter().zip(values.as_chunks_mut::<2>().0) {
                    let products = own.dot_each([&Registers::load(row(a)), &Registers::load(row(b))]);
                    let earlier = if first > 0 { P::<T, I>::load(to) } else { P::<T, I>::zero() };
                    *to = products.add(earlier).fold(heads).arrays();
                }
            }
        });
    }

    /// Computes the coefficients of pair number `k` of vectors of values, of which the first `used` edges count; returns
    /// the gradients of the scores.
    #[inline(always)]
    fn through_softmax<const H: usize>(
        &self,
        k: usize,
        used: usize,
        node: &Node<'_, T, S, I>,
        block: &mut Block<T>,
    ) -> P<T, I> {
        let states = |slot: usize| gathered::<T, I, H>(&block.targets, k, |i| &self.states[i][slot]);
        let score = states(SCORE).add(P::<T, I>::both(node.scores[1]));
        let alpha = leaky(score, self.slope).sub(states(LARGEST)).exp().mul(states(INVERSE));
        let lanes = (1u32 << (used * H)) - 1;
        let alpha = alpha.mul(P::<T, I>::from_bits((lanes as u16).to_le_bytes(), T::ONE));
        let shared = states(SHARED);
        let values = &mut block.values.as_chunks_mut::<2>().0[k];
        let products = P::<T, I>::load(values);
        let keep = match self.input.keep {
            None => P::<T, I>::splat(T::ONE),
            Some(mask) => P::<T, I>::from_bits(kept_bits::<H>(mask.keep, &block.edges, k), mask.scale),
        };
        *values = alpha.mul(keep).arrays();
        let d_leaky = alpha.mul(products.mul(keep).sub(shared));
        score.if_positive(d_leaky, d_leaky.mul(self.slope))
    }
}

/// Returns the dropout bits of pair number `k` of vectors of values.
#[inline(always)]
fn kept_bits<const H: usize>(keep: &[u8], edges: &[usize; EDGES], k: usize) -> [u8; 2] {
    if H == 1 {
        let mut bits = 0;
        for (lane, &edge) in edges.as_chunks::<{ 2 * LANES }>().0[k].iter().enumerate() {
            bits |= u16::from(keep[edge] & 1) << lane;
        }
        return bits.to_le_bytes();
    }
    let [a, b] = edges.as_chunks::<2>().0[k];
    [keep[a], keep[b]]
}
