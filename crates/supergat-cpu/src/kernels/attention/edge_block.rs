//! Gradient from the edges of a node, a block at a time.

use super::edge::is_positive;
use super::forward::in_lanes;
use super::input::{INVERSE, LARGEST, SCORE, SHARED, leaky};
use super::one_head::low_bits;
use super::symmetric::{Node, Pass, Softmax, following, gathered};
use crate::kernels::forms::FormKernel;
use crate::kernels::loss::SoftplusLanes;
use crate::kernels::simd::{Arithmetic, Isa, Lanes, P, Pair, Registers, SimdReal, Stored, V, in_blocks};
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch_part;

/// Most edges of a block. Of wide rows there are fewer, so that they fit into the first cache.
pub(super) const EDGES: usize = 32;

/// A vector per edge.
pub(super) type Vectors<T> = [[T; LANES]; EDGES];
/// A number per edge.
pub(super) type Numbers<T> = [[T; LANES]; EDGES / LANES];

/// Values of the edges of a block. Steps write pairs of vectors where the next one reads pairs: a load that spans two earlier
/// stores waits for both.
///
/// Dot products, products and coefficients are vectors, in layouts of one head numbers at the start of their memory.
pub(super) struct EdgeBlock<T> {
    /// Neighbours. Behind the last one, the first one is repeated, so that all vectors are full.
    pub(super) others: [u32; EDGES],
    /// Bytes of the dropout mask, of edges from and to the neighbours.
    keep: [[u8; EDGES]; 2],
    /// Edges from and to the neighbours in the sample of the edge loss, as bits.
    marked: [u32; 2],
    /// Dot products of both nodes; then their gradients.
    pub(super) dp: Vectors<T>,
    /// Products of the gradients of targets with the rows of sources, of edges from and to the neighbours.
    products: [Vectors<T>; 2],
    /// Gradients of the mean edge logits of edges from and to the neighbours.
    pub(super) d_logit: [Numbers<T>; 2],
    /// Coefficients of edges to the neighbours, after dropout.
    pub(super) weight: Vectors<T>,
}

impl<T: SimdReal> EdgeBlock<T> {
    pub(super) const ZERO: Self = {
        let zero = [[T::ZERO; LANES]; EDGES];
        Self {
            others: [0; EDGES],
            keep: [[0; EDGES]; 2],
            marked: [0; 2],
            dp: zero,
            products: [zero; 2],
            d_logit: [[[T::ZERO; LANES]; EDGES / LANES]; 2],
            weight: zero,
        }
    };
}

/// Loads pair number `k`.
#[inline(always)]
pub(super) fn pair<T: SimdReal, I: Isa>(values: &[[T; LANES]], k: usize) -> P<T, I> {
    P::<T, I>::load(&values.as_chunks::<2>().0[k])
}

/// Stores pair number `k`.
#[inline(always)]
pub(super) fn set_pair<T: SimdReal, I: Isa>(values: &mut [[T; LANES]], k: usize, value: P<T, I>) {
    values.as_chunks_mut::<2>().0[k] = value.arrays();
}

/// Returns the bits of the edges of pair number `k` of vectors with an edge per lane.
#[inline(always)]
pub(super) fn bits_of(edges: u32, k: usize) -> [u8; 2] {
    ((edges >> (k * 2 * LANES)) as u16).to_le_bytes()
}

/// Writes the sums of the lanes of the first `edges` vectors to the start of their memory.
#[inline(always)]
pub(super) fn reduce<T: SimdReal, I: Isa>(vectors: &mut Vectors<T>, edges: usize) {
    for k in 0..edges.div_ceil(2 * LANES) {
        let sums = P::<T, I>::sums(&vectors.as_chunks::<{ 2 * LANES }>().0[k]);
        set_pair::<T, I>(vectors, k, sums);
    }
}

impl<T: SimdReal, S: Stored<T>, F: FormKernel, I: Isa> Pass<'_, T, S, F, I> {
    /// Adds the gradients from the edges of a node, those of the edge loss only unless it `learns`; returns those of its
    /// scores as target and as source. `H` is 1 for layouts of one head, else the number of lanes.
    #[inline(always)]
    pub(super) fn edges<const H: usize>(
        &self,
        node: &Node<'_, T, S, I>,
        learns: bool,
        block: &mut EdgeBlock<T>,
        losses: &mut SoftplusLanes<P<T, I>>,
        d_z: &mut [[T; LANES]],
    ) -> [V<T, I>; 2] {
        let incoming = &self.input.incoming;
        let mut sums = [P::<T, I>::zero(); 2];
        let list = incoming.range(node.number);
        for start in list.clone().step_by(self.block) {
            let others = &incoming.nodes[start..(start + self.block).min(list.end)];
            let next = following(incoming.nodes, start + self.ahead, others.len());
            self.prefetch_outgoing(start, others.len());
            self.collect([others, next], start, block);
            if learns {
                self.products::<H>([others, next], node, block);
            }
            if self.gradient.edge_loss.is_some() {
                self.edge_losses::<H>(others.len(), node, block, losses);
            }
            // Edges of a pair of vectors.
            let per_pair = 2 * LANES / H;
            for k in 0..others.len().div_ceil(per_pair) {
                let d = self.through_scores::<H>(k, learns, node, block);
                let used = (1u32 << ((others.len() - k * per_pair).min(per_pair) * H)) - 1;
                let used = P::<T, I>::from_bits((used as u16).to_le_bytes(), T::ONE);
                for (sum, d) in sums.iter_mut().zip(d) {
                    *sum = sum.add(used.if_positive(d, P::<T, I>::zero()));
                }
            }
            if learns {
                self.add_neighbours::<H>([others, next], block, d_z);
            }
        }
        let mut sums = [sums[0].sum(), sums[1].sum()];
        if H == 1 {
            sums = [sums[0].fold(1), sums[1].fold(1)];
        }
        sums
    }

    /// Collects the neighbours and the bits of their edges, the first of which is at position `start`. Prefetches what the
    /// formulas read of the `next` nodes.
    #[inline(always)]
    fn collect(&self, [others, next]: [&[u32]; 2], start: usize, block: &mut EdgeBlock<T>) {
        let (loss, incoming) = (&self.gradient.edge_loss, &self.input.incoming);
        let EdgeBlock { others: padded, keep: [keep_in, keep_out], marked, .. } = block;
        let places = &self.gradient.place_at_target[start..][..others.len()];
        *padded = [others[0]; EDGES];
        *marked = [0; 2];
        let to = padded.iter_mut().zip(keep_in.iter_mut().zip(keep_out));
        for (k, ((&j, &next), (&place, (to, (keep_in, keep_out))))) in
            others.iter().zip(next).zip(places.iter().zip(to)).enumerate()
        {
            prefetch_part(self.states, next as usize, 1);
            if F::GO {
                prefetch_part(self.sources, next as usize, 1);
            }
            *to = j;
            // The edge to the neighbour, among the neighbour's incoming edges.
            let outgoing = incoming.offsets[j as usize] as usize + place as usize;
            if let Some(mask) = self.input.keep {
                (*keep_in, *keep_out) = (mask.keep[start + k], mask.keep[outgoing]);
            }
            if loss.is_some() {
                marked[0] |= u32::from(is_positive(loss, start + k)) << k;
                marked[1] |= u32::from(is_positive(loss, outgoing)) << k;
            }
        }
    }

    /// Computes the products of the rows of a node with those of its neighbours, and prefetches rows `z` of the `next` nodes.
    #[inline(always)]
    fn products<const H: usize>(
        &self,
        [others, next]: [&[u32]; 2],
        node: &Node<'_, T, S, I>,
        block: &mut EdgeBlock<T>,
    ) {
        let width = self.width;
        let EdgeBlock { others: padded, dp, products: [to_in, to_out], .. } = block;
        let pairs = padded.as_chunks::<2>().0[..others.len().div_ceil(2)].iter();
        in_blocks!(I, width, |first, B| {
            let own_z = Registers::<T, I, B>::load(&node.z[first..]);
            let own_out = Registers::<T, I, B>::load(&node.out[first..]);
            // The lanes of one head are added later, those of several edges at once.
            let heads = if H > 1 && first + B == width { self.input.layout.lane_heads } else { LANES };
            let to = dp.as_chunks_mut::<2>().0.iter_mut();
            let to_products = to_in.as_chunks_mut::<2>().0.iter_mut().zip(to_out.as_chunks_mut::<2>().0);
            let ahead = next.chunks(2);
            for ((pair, ahead), (dp, (product_in, product_out))) in pairs.clone().zip(ahead).zip(to.zip(to_products)) {
                for &next in ahead {
                    prefetch_part(self.z, next as usize * width + first, B);
                }
                let at = [pair[0] as usize * width + first, pair[1] as usize * width + first];
                let z = [Registers::<T, I, B>::load(&self.z[at[0]..]), Registers::load(&self.z[at[1]..])];
                let out = [Registers::<T, I, B>::load(&self.out[at[0]..]), Registers::load(&self.out[at[1]..])];
                // Sums over the features of earlier blocks of the row.
                let mut sums = [P::<T, I>::zero(); 3];
                if first > 0 {
                    sums = [P::<T, I>::load(dp), P::<T, I>::load(product_in), P::<T, I>::load(product_out)];
                }
                if F::DP {
                    *dp = own_z.dot_each([&z[0], &z[1]]).add(sums[0]).fold(heads).arrays();
                }
                *product_in = own_out.dot_each([&z[0], &z[1]]).add(sums[1]).fold(heads).arrays();
                *product_out = own_z.dot_each([&out[0], &out[1]]).add(sums[2]).fold(heads).arrays();
            }
        });
        if H == 1 {
            if F::DP {
                reduce::<T, I>(dp, others.len());
            }
            reduce::<T, I>(to_in, others.len());
            reduce::<T, I>(to_out, others.len());
        }
    }

    /// Computes the gradients of the edge logits of a block, and adds the terms of the edge loss.
    #[inline(always)]
    fn edge_losses<const H: usize>(
        &self,
        edges: usize,
        node: &Node<'_, T, S, I>,
        block: &mut EdgeBlock<T>,
        losses: &mut SoftplusLanes<P<T, I>>,
    ) {
        // Coefficients are computed later, so their place is free for logits.
        let EdgeBlock { others, dp, marked, d_logit, weight: logits, .. } = block;
        let (zero, one) = (P::<T, I>::zero(), P::<T, I>::splat(T::ONE));
        let sides = if F::SYMMETRIC_LOGIT { 1 } else { 2 };
        for (side, d_logit) in d_logit.iter_mut().enumerate().take(sides) {
            if !F::SYMMETRIC_LOGIT {
                self.logits_by_scores(&others[..edges], side, node, logits);
            }
            for k in 0..edges.div_ceil(2 * LANES) {
                let x = if !F::SYMMETRIC_LOGIT {
                    pair::<T, I>(logits, k)
                } else if H == 1 {
                    F::logit(zero, pair::<T, I>(dp, k), self.scale)
                } else {
                    let sums = P::<T, I>::sums(&dp.as_chunks::<{ 2 * LANES }>().0[k]);
                    F::logit(zero, sums, self.scale).mul(self.mean)
                };
                let small = x.exp_of_minus_abs();
                // sigmoid(x) - 1 = -sigmoid(-x) = -(e or 1) / (1 + e) for positive or other x.
                let miss = x.if_positive(small, one).div(one.add(small));
                let d = zero.sub(miss).mul(self.pair_weight);
                let [mut count, reverse] = marked.map(|marked| P::<T, I>::from_bits(bits_of(marked, k), T::ONE));
                if side == 0 {
                    losses.add(bits_of(marked[0], k), zero.sub(x), small);
                }
                if F::SYMMETRIC_LOGIT {
                    count = count.add(reverse);
                } else if side == 1 {
                    count = reverse;
                }
                set_pair::<T, I>(d_logit, k, d.mul(count));
            }
        }
    }

    /// Writes the mean edge logits of edges between a node as target (`side` 0) or source (1) and `others`, for forms with
    /// logits that are sums of scores.
    #[inline(always)]
    pub(super) fn logits_by_scores(
        &self,
        others: &[u32],
        side: usize,
        node: &Node<'_, T, S, I>,
        logits: &mut Vectors<T>,
    ) {
        let [scale, _] = self.scale.halves();
        for (&j, logit) in others.iter().zip(logits.iter_mut()) {
            let score = if side == 0 { &self.sources[j as usize] } else { &self.states[j as usize][SCORE] };
            let go = node.scores[side].add(V::<T, I>::load(score));
            *logit = F::logit(go, V::<T, I>::zero(), scale).array();
        }
        for k in 0..others.len().div_ceil(2 * LANES) {
            let sums = P::<T, I>::sums(&logits.as_chunks::<{ 2 * LANES }>().0[k]);
            set_pair::<T, I>(logits, k, sums.mul(self.mean));
        }
    }

    /// Computes the gradients of the scores of pair number `k` of vectors; returns those of the additive scores of edges from
    /// and to the neighbours.
    #[inline(always)]
    fn through_scores<const H: usize>(
        &self,
        k: usize,
        learns: bool,
        node: &Node<'_, T, S, I>,
        block: &mut EdgeBlock<T>,
    ) -> [P<T, I>; 2] {
        let (zero, scale) = (P::<T, I>::zero(), self.scale);
        let dp = if F::DP { pair::<T, I>(&block.dp, k) } else { zero };
        let (mut d_go, mut d_dp) = ([zero; 2], zero);
        if self.gradient.edge_loss.is_some() {
            (d_go[0], d_dp) = F::logit_backward(of_edges::<T, I, H>(&block.d_logit[0], k), scale);
            if !F::SYMMETRIC_LOGIT {
                (d_go[1], _) = F::logit_backward(of_edges::<T, I, H>(&block.d_logit[1], k), scale);
            }
        }
        if learns {
            let of_others = |slot: usize| gathered::<T, I, H>(&block.others, k, |j| &self.states[j][slot]);
            let other = Softmax { largest: of_others(LARGEST), inverse: of_others(INVERSE), shared: of_others(SHARED) };
            for (side, target) in [&node.softmax, &other].into_iter().enumerate() {
                let mut go = zero;
                if F::GO {
                    let of_others = match side {
                        0 => gathered::<T, I, H>(&block.others, k, |j| &self.sources[j]),
                        _ => of_others(SCORE),
                    };
                    go = of_others.add(P::<T, I>::both(node.scores[side]));
                }
                let score = F::score(go, dp, scale);
                let alpha = leaky(score, self.slope).sub(target.largest).exp().mul(target.inverse);
                let keep = self.kept::<H>(&block.keep[side], k);
                let d_alpha = pair::<T, I>(&block.products[side], k).mul(keep);
                let d_leaky = alpha.mul(d_alpha.sub(target.shared));
                let d_score = score.if_positive(d_leaky, d_leaky.mul(self.slope));
                let (d, d_of_dp) = F::score_backward(d_score, go, dp, scale);
                (d_go[side], d_dp) = (d_go[side].add(d), d_dp.add(d_of_dp));
                if side == 1 {
                    set_pair::<T, I>(&mut block.weight, k, alpha.mul(keep));
                }
            }
        }
        set_pair::<T, I>(&mut block.dp, k, d_dp);
        d_go
    }

    /// Returns the dropout factors of pair number `k` of vectors.
    #[inline(always)]
    fn kept<const H: usize>(&self, keep: &[u8; EDGES], k: usize) -> P<T, I> {
        let Some(mask) = self.input.keep else { return P::<T, I>::splat(T::ONE) };
        let bits = if H == 1 { low_bits(&keep[k * 2 * LANES..]) } else { keep.as_chunks::<2>().0[k] };
        P::<T, I>::from_bits(bits, mask.scale)
    }

    /// Adds the rows of the neighbours to that of a node: the gradients of their outputs, weighted by the coefficients, and
    /// their `z`, weighted by the gradients of the dot products. Prefetches the gradients of the `next` nodes.
    #[inline(always)]
    fn add_neighbours<const H: usize>(
        &self,
        [others, next]: [&[u32]; 2],
        block: &EdgeBlock<T>,
        d_z: &mut [[T; LANES]],
    ) {
        let weights = block.weight.as_flattened().as_chunks::<H>().0;
        let d_dp = block.dp.as_flattened().as_chunks::<H>().0;
        in_blocks!(I, self.width, |first, B| {
            let mut sum = Registers::<T, I, B>::load(&d_z[first..]);
            for ((&j, &next), (weight, d_dp)) in others.iter().zip(next).zip(weights.iter().zip(d_dp)) {
                if self.gradient.active[next as usize] {
                    prefetch_part(self.out, next as usize * self.width + first, B);
                }
                let at = j as usize * self.width + first;
                sum.add_scaled(in_lanes::<T, I, H>(weight), &Registers::load(&self.out[at..]));
                if F::DP {
                    sum.add_scaled(in_lanes::<T, I, H>(d_dp), &Registers::load(&self.z[at..]));
                }
            }
            sum.store(&mut d_z[first..]);
        });
    }
}

/// Returns the numbers of the edges of pair number `k` of vectors, in all lanes of an edge.
#[inline(always)]
fn of_edges<T: SimdReal, I: Isa, const H: usize>(numbers: &Numbers<T>, k: usize) -> P<T, I> {
    if H == 1 {
        return pair::<T, I>(numbers, k);
    }
    let [a, b] = numbers.as_flattened().as_chunks::<2>().0[k];
    P::<T, I>::join(V::<T, I>::splat(a), V::<T, I>::splat(b))
}
