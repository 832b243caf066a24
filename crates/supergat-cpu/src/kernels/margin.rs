//! Margin losses of attention scores: sampling the rivals of edges, and the gradient.
//!
//! A loss is a sum over triples (i, j, k): the edge `j -> i`, and a rival k whose score at i must be below
//! that of j by a margin. Every edge has the same number of slots for its rivals, so the graph's own lists
//! lead to the triples of a target and to those of an edge's source. Only the triples of a rival need a list
//! of their own.

use super::attention::{Attention, leaky};
use super::parts::{EdgeRows, Parts, PerPart, Rows};
use super::simd::{Arithmetic, Isa, Kernel, Lanes, V, add_scaled, add_two_scaled, dispatch, vectors, vectors_mut};
use crate::kernels::simd::SimdReal;
use std::ops::Range;
use supergat_core::HeadLayout;
use supergat_core::graph::Neighbours;
use supergat_core::heads::LANES;
use supergat_core::random::Stream;

/// Marks the slots of an edge without rivals. Either all slots of an edge have a rival or none has.
pub const NO_RIVAL: u32 = u32::MAX;

/// Nodes that the rivals of a target's edges are drawn from.
#[derive(Debug, Clone, Copy)]
pub enum Pool<'a> {
    /// All of this number of nodes that are outside the target's sorted list.
    Outside(Neighbours<'a>, usize),
    /// The target's list.
    Listed(Neighbours<'a>),
}

impl Pool<'_> {
    /// Returns the number of nodes in the pool of a target.
    fn len(&self, target: usize) -> usize {
        match self {
            Self::Outside(lists, nodes) => nodes - lists.range(target).len(),
            Self::Listed(lists) => lists.range(target).len(),
        }
    }

    /// Returns node number `rank` in the pool of a target.
    fn get(&self, target: usize, rank: usize) -> u32 {
        match self {
            Self::Listed(lists) => lists.nodes[lists.range(target)][rank],
            Self::Outside(lists, _) => {
                // t of the nodes below list[t] are in the list, so list[t] - t <= rank means that list[t] is
                // below the result.
                let list = &lists.nodes[lists.range(target)];
                let (mut first, mut last) = (0, list.len());
                while first < last {
                    let middle = (first + last) / 2;
                    if list[middle] as usize - middle <= rank { first = middle + 1 } else { last = middle }
                }
                (rank + first) as u32
            }
        }
    }
}

/// How rivals are drawn.
#[derive(Debug, Clone, Copy)]
pub struct RivalDraws {
    /// Random numbers.
    pub stream: Stream,
    /// Position of the first edge in the whole graph.
    pub first_edge: u64,
    /// Number of rivals of an edge.
    pub per_edge: usize,
}

/// Draws rivals for every edge, or every edge marked by the bits `among`, uniformly and independently from the pool of
/// its target.
pub fn draw_rivals(
    parts: &Parts,
    incoming: Neighbours<'_>,
    pool: Pool<'_>,
    among: Option<&[u8]>,
    RivalDraws { stream, first_edge, per_edge }: RivalDraws,
    rivals: &mut [u32],
) {
    let outputs = EdgeRows { data: rivals, offsets: incoming.offsets, width: per_edge };
    parts.for_each(outputs, |nodes, rivals| {
        let mut slots = rivals.data.chunks_exact_mut(per_edge);
        for i in nodes {
            let free = pool.len(i);
            for (e, slots) in incoming.range(i).zip(&mut slots) {
                if free == 0 || among.is_some_and(|bits| bits[e / 8] >> (e % 8) & 1 == 0) {
                    slots.fill(NO_RIVAL);
                    continue;
                }
                let first = (first_edge + e as u64) * per_edge as u64;
                for (number, slot) in (first..).zip(slots) {
                    *slot = pool.get(i, stream.below(number, free as u64) as usize);
                }
            }
        }
    });
}

/// Groups triples by rival: `triples[offsets[k]..offsets[k + 1]]` are the `[i, j]` of rival k, in the order
/// of the edges.
pub fn group_by_rival(
    incoming: Neighbours<'_>,
    rivals: &[u32],
    per_edge: usize,
    offsets: &mut Vec<u64>,
    triples: &mut Vec<[u32; 2]>,
) {
    let nodes = incoming.offsets.len() - 1;
    offsets.clear();
    offsets.resize(nodes + 1, 0);
    for &k in rivals.iter().filter(|k| **k != NO_RIVAL) {
        offsets[k as usize] += 1;
    }
    let mut total = 0;
    for offset in offsets.iter_mut() {
        total += *offset;
        *offset = total;
    }
    triples.resize(total as usize, [0; 2]);
    // Each offset is now the end of its list; filling lists from the back moves it to the start.
    for i in (0..nodes).rev() {
        for e in incoming.range(i).rev() {
            for &k in rivals[e * per_edge..(e + 1) * per_edge].iter().rev().filter(|k| **k != NO_RIVAL) {
                let at = &mut offsets[k as usize];
                *at -= 1;
                triples[*at as usize] = [i as u32, incoming.nodes[e]];
            }
        }
    }
}

/// Groups triples `[k, i, j]` by rival k, whose number is below `rows`, as [`group_by_rival`] does.
pub fn group_triples(rows: usize, all: &[[u32; 3]], offsets: &mut Vec<u64>, triples: &mut Vec<[u32; 2]>) {
    offsets.clear();
    offsets.resize(rows + 1, 0);
    all.iter().for_each(|[k, ..]| offsets[*k as usize] += 1);
    let mut total = 0;
    for offset in offsets.iter_mut() {
        total += *offset;
        *offset = total;
    }
    triples.resize(all.len(), [0; 2]);
    for &[k, i, j] in all.iter().rev() {
        let at = &mut offsets[k as usize];
        *at -= 1;
        triples[*at as usize] = [i, j];
    }
}

/// The triples of a margin loss and its constants.
#[derive(Debug, Clone, Copy)]
pub struct Margin<'a> {
    /// Rivals of each edge, [`NO_RIVAL`] in all slots of edges without rivals.
    pub rivals: &'a [u32],
    /// Slots per edge.
    pub per_edge: usize,
    /// Start of each node's triples as rival.
    pub offsets: &'a [u64],
    /// `[i, j]` of each triple, grouped by rival.
    pub triples: &'a [[u32; 2]],
    /// Minimum margin between the scores of an edge and its rival.
    pub margin: f64,
    /// Factor of the term of a triple and head in the objective.
    pub weight: f64,
}

/// Gradients written by the backward pass of attention, to which those of the margin loss are added.
pub struct ScoreGradient<'a, T> {
    /// Gradient of `z`.
    pub z: &'a mut [T],
    /// Gradients of `a_target` and `a_source` per part.
    pub vectors: &'a mut [T],
    /// Unweighted sum of the terms of all triples and heads per part; overwritten.
    pub losses: &'a mut [f64],
}

/// Scores of all nodes of a graph as targets and as sources of edges.
#[derive(Debug, Clone, Copy)]
pub struct NodeScores<'a, T> {
    /// `a_target . z_i` of each node: the first row of per-head values of every `target_rows` rows.
    pub targets: &'a [T],
    /// Rows of per-head values per node in `targets`.
    pub target_rows: usize,
    /// `a_source . z_j` of each node.
    pub sources: &'a [T],
    /// Number of the node whose gradient is in the first row.
    pub first_node: usize,
}

/// Outgoing edges, and their positions among the incoming edges.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingEdges<'a> {
    /// Targets by source.
    pub lists: Neighbours<'a>,
    /// Place of each edge after the first edge of its target.
    pub places: &'a [u32],
    /// Position of the first incoming edge of each node; empty if places are positions.
    pub first_edges: &'a [u64],
}

/// Adds the gradient of `sum relu(s_ik + margin - s_ij)` over triples and heads, where `s` are the scores of
/// GO attention after LeakyReLU.
///
/// With e_ij = a_target . z_i + a_source . z_j and s = LeakyReLU(e), a triple with a positive term adds
/// `weight s'(e_ik)` to the gradient of e_ik and subtracts `weight s'(e_ij)` from that of e_ij. Node i sums
/// both as target, j the second as source, k the first as source. Then `d z_i = d_target a_target + d_source
/// a_source`, and the gradients of the vectors are `sum_i d_i z_i`.
pub fn margin_backward<T: SimdReal>(
    parts: &Parts,
    input: Attention<'_, T>,
    scores: NodeScores<'_, T>,
    margin: Margin<'_>,
    outgoing: OutgoingEdges<'_>,
    to: ScoreGradient<'_, T>,
) {
    let stride = input.layout.stride();
    let outputs = (
        Rows { data: to.z, width: stride },
        PerPart { data: to.vectors, width: 2 * stride },
        PerPart { data: to.losses, width: 1 },
    );
    parts.for_each(outputs, |nodes, (d_z, d_vectors, loss)| {
        loss.data[0] = dispatch(Backward {
            input,
            scores,
            targets: vectors(scores.targets),
            sources: vectors(scores.sources),
            margin,
            outgoing,
            a: vectors(input.vectors).split_at(stride / LANES).into(),
            nodes,
            d_z: vectors_mut(d_z.data),
            d_vectors: vectors_mut(d_vectors.data),
        });
    });
}

struct Backward<'a, T> {
    input: Attention<'a, T>,
    scores: NodeScores<'a, T>,
    targets: &'a [[T; LANES]],
    sources: &'a [[T; LANES]],
    margin: Margin<'a>,
    outgoing: OutgoingEdges<'a>,
    a: [&'a [[T; LANES]]; 2],
    nodes: Range<usize>,
    d_z: &'a mut [[T; LANES]],
    d_vectors: &'a mut [[T; LANES]],
}

/// Score of a pair after LeakyReLU, and its derivative.
#[derive(Clone, Copy)]
struct Scored<X> {
    value: X,
    slope: X,
}

impl<T: SimdReal> Backward<'_, T> {
    /// Returns the score of `source` at `target` for a group of heads.
    #[inline(always)]
    fn score<I: Isa>(&self, target: usize, source: u32, g: usize) -> Scored<V<T, I>> {
        let groups = self.input.layout.groups;
        let e = V::<T, I>::load(&self.targets[target * self.scores.target_rows * groups + g])
            .add(V::<T, I>::load(&self.sources[source as usize * groups + g]));
        let slope = V::<T, I>::splat(self.input.slope);
        Scored { value: leaky(e, slope), slope: e.if_positive(V::<T, I>::splat(T::ONE), slope) }
    }

    /// Returns the rivals of an edge.
    #[inline(always)]
    fn rivals(&self, e: usize) -> &[u32] {
        let slots = &self.margin.rivals[e * self.margin.per_edge..(e + 1) * self.margin.per_edge];
        if slots[0] == NO_RIVAL { &[] } else { slots }
    }
}

impl<T: SimdReal> Kernel for Backward<'_, T> {
    type Number = T;
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(mut self) -> f64 {
        let HeadLayout { heads, groups, vectors: width, .. } = self.input.layout;
        let row = groups * width;
        let incoming = self.input.incoming;
        let zero = V::<T, I>::zero();
        let margin = V::<T, I>::splat(T::from_f64(self.margin.margin));
        let weight = V::<T, I>::splat(T::from_f64(self.margin.weight));
        let z = vectors(self.input.z);
        let (d_z, d_vectors) = (std::mem::take(&mut self.d_z), std::mem::take(&mut self.d_vectors));
        let (d_target_vector, d_source_vector) = d_vectors.split_at_mut(row);
        let gap = |rival: Scored<V<T, I>>, edge: Scored<V<T, I>>| rival.value.add(margin).sub(edge.value);
        let mut loss = 0.0;
        let OutgoingEdges { lists: outgoing, places, first_edges } = self.outgoing;
        for (i, d_z) in self.nodes.clone().zip(d_z.chunks_exact_mut(row)) {
            let node = self.scores.first_node + i;
            for g in 0..groups {
                let (mut d_target, mut d_source, mut terms) = (zero, zero, zero);
                for e in incoming.range(i) {
                    let rivals = self.rivals(e);
                    if rivals.is_empty() {
                        continue;
                    }
                    let edge = self.score::<I>(node, incoming.nodes[e], g);
                    for &k in rivals {
                        let rival = self.score::<I>(node, k, g);
                        let gap = gap(rival, edge);
                        terms = terms.add(gap.max(zero));
                        d_target = d_target.add(gap.if_positive(rival.slope.sub(edge.slope), zero));
                    }
                }
                for at in outgoing.range(i) {
                    let target = outgoing.nodes[at] as usize;
                    let first = first_edges.get(target).map_or(0, |&first| first as usize);
                    let rivals = self.rivals(first + places[at] as usize);
                    if rivals.is_empty() {
                        continue;
                    }
                    let edge = self.score::<I>(target, node as u32, g);
                    for &k in rivals {
                        let gap = gap(self.score::<I>(target, k, g), edge);
                        d_source = d_source.sub(gap.if_positive(edge.slope, zero));
                    }
                }
                let as_rival = self.margin.offsets[i] as usize..self.margin.offsets[i + 1] as usize;
                for &[target, source] in &self.margin.triples[as_rival] {
                    let rival = self.score::<I>(target as usize, node as u32, g);
                    let gap = gap(rival, self.score::<I>(target as usize, source, g));
                    d_source = d_source.add(gap.if_positive(rival.slope, zero));
                }
                let real_heads = (heads - g * LANES).min(LANES);
                loss += terms.array()[..real_heads].iter().map(|term| term.to_f64()).sum::<f64>();
                let (d_target, d_source) = (d_target.mul(weight), d_source.mul(weight));
                let part = g * width..(g + 1) * width;
                let own = &z[i * row..(i + 1) * row][part.clone()];
                let [a_target, a_source] = self.a.map(|a| &a[part.clone()]);
                add_two_scaled::<T, I>(&mut d_z[part.clone()], d_target, a_target, d_source, a_source);
                add_scaled::<T, I>(&mut d_target_vector[part.clone()], d_target, own);
                add_scaled::<T, I>(&mut d_source_vector[part], d_source, own);
            }
        }
        loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::random::Purpose;

    const OFFSETS: [u64; 5] = [0, 3, 4, 8, 8];
    const NODES: [u32; 8] = [0, 1, 3, 1, 0, 1, 2, 3];

    fn incoming() -> Neighbours<'static> {
        Neighbours::new(&OFFSETS, &NODES)
    }

    #[test]
    fn pools_contain_unlisted_or_listed_nodes() {
        let all = |pool: Pool<'_>, target| (0..pool.len(target)).map(|k| pool.get(target, k)).collect::<Vec<_>>();
        let outside = Pool::Outside(incoming(), 4);
        assert_eq!([0, 1, 2, 3].map(|i| all(outside, i)), [vec![2], vec![0, 2, 3], vec![], vec![0, 1, 2, 3]]);
        assert_eq!(all(Pool::Listed(incoming()), 0), [0, 1, 3]);
    }

    #[test]
    fn draws_rivals_uniformly_for_marked_edges() {
        let parts = Parts::by_offsets(&OFFSETS);
        let mut counts = [0; 4];
        for step in 0..3000 {
            let stream = Stream::new(1, step, 0, Purpose::ContrastRivals);
            let draws = RivalDraws { stream, first_edge: 0, per_edge: 2 };
            let mut rivals = [7; 16];
            // All edges but edge 1 are marked.
            draw_rivals(&parts, incoming(), Pool::Outside(incoming(), 4), Some(&[0xFD]), draws, &mut rivals);
            // Node 2 has edges from all nodes, so its pool is empty.
            assert_eq!(rivals[..6], [2, 2, NO_RIVAL, NO_RIVAL, 2, 2]);
            assert_eq!(rivals[8..], [NO_RIVAL; 8]);
            rivals[6..8].iter().for_each(|&k| counts[k as usize] += 1);

            let (mut offsets, mut triples) = (vec![], vec![]);
            group_by_rival(incoming(), &rivals, 2, &mut offsets, &mut triples);
            assert_eq!(triples.len(), 6);
            let of = |k: usize| &triples[offsets[k] as usize..offsets[k + 1] as usize];
            assert_eq!(of(2)[..4], [[0, 0], [0, 0], [0, 3], [0, 3]]);
            assert!((0..4).all(|k| k == 2 || of(k).iter().all(|triple| *triple == [1, 1])));
            // The same triples as one list in the order of edges, with one source for each edge.
            let slots = rivals.chunks_exact(2).zip([[0, 0], [0, 1], [0, 3], [1, 1], [2, 0], [2, 1], [2, 2], [2, 3]]);
            let all = slots.flat_map(|(ks, [i, j])| ks.iter().map(move |k| [*k, i, j])).filter(|t| t[0] != NO_RIVAL);
            let (mut other_offsets, mut other_triples) = (vec![], vec![]);
            group_triples(4, &all.collect::<Vec<_>>(), &mut other_offsets, &mut other_triples);
            assert_eq!((other_offsets, other_triples), (offsets, triples));
        }
        assert_eq!(counts[1], 0);
        // 6000 draws from three nodes: five standard deviations are 183.
        assert!([0, 2, 3].iter().all(|&k| (counts[k] - 2000i32).abs() < 183), "{counts:?}");
    }
}
