//! Drawing of the samples of the edge loss; see [`supergat_core::sampling`].

use crate::kernels::{REJECTED, mark_sample, offer_pairs};
use rayon::prelude::*;
use supergat_core::graph::{Adjacency, Graph};
use supergat_core::memory::Arena;
use supergat_core::random::{Permutation, Stream};
use supergat_core::sampling::{SampleSizes, group_pairs, non_edges};
use supergat_core::stopwatch::timed;

/// Marks exactly `count` of the graph's `edges` edges: bit `e % 8` of byte `e / 8`.
pub fn sample_edges(stream: Stream, edges: usize, count: usize, marks: &mut [u8]) {
    debug_assert!(marks.len() == edges.div_ceil(8) && count <= edges);
    mark_sample(&stream.permutation(edges as u64), 0, edges, count, marks);
}

/// A sampler of non-edges of a graph.
///
/// On a sparse graph it draws candidates and rejects edges: it needs at most two candidates per pair on
/// average. On a graph with more edges than non-edges, or with very few nodes, it lists the non-edges once
/// and draws from the list. Either way k non-edges cost O(k).
#[derive(Debug)]
pub struct NegativeSampler {
    /// All non-edges `[source, target]`, if the sampler draws from a list.
    listed: Option<Vec<[u32; 2]>>,
}

impl NegativeSampler {
    /// Prepares sampling from a graph.
    pub fn new(graph: &Graph) -> Self {
        let listed = Self::lists(graph.nodes(), graph.edges() as u64).then(|| non_edges(graph.incoming()));
        Self { listed }
    }

    /// Returns whether samples of a graph are drawn from a list of its non-edges.
    pub fn lists(nodes: usize, edges: u64) -> bool {
        (nodes as u64).pow(2) - edges < edges || (nodes as u64) < Permutation::SHORTEST
    }

    /// Fills `pairs` with distinct non-edges `[source, target]` of `graph`. Panics if it has too few.
    pub fn sample(&self, graph: &Graph, stream: Stream, pairs: &mut [[u32; 2]]) {
        assert!(pairs.len() as u64 <= graph.non_edges(), "more non-edges requested than the graph has");
        if let Some(listed) = &self.listed {
            let permutation = stream.permutation(listed.len() as u64);
            pairs.par_iter_mut().enumerate().for_each(|(k, pair)| *pair = listed[permutation.apply(k as u64) as usize]);
            return;
        }
        let permutation = stream.permutation_of_pairs(graph.nodes());
        // Each round proposes one candidate per missing pair; accepted ones move to the front in order.
        let mut filled = 0;
        let mut next = 0u64;
        while filled < pairs.len() {
            let wanted = &mut pairs[filled..];
            offer_pairs(&permutation, next, graph.incoming().lists(), wanted);
            next += wanted.len() as u64;
            let mut accepted = 0;
            for k in 0..wanted.len() {
                if wanted[k] != REJECTED {
                    wanted[accepted] = wanted[k];
                    accepted += 1;
                }
            }
            filled += accepted;
        }
    }
}

/// Samples of one layer and step, reused from step to step.
#[derive(Debug, Default)]
pub struct EdgeSamples {
    /// Sampled edges: bit `e % 8` of byte `e / 8`; see [`sample_edges`].
    pub positives: Vec<u8>,
    /// Number of sampled edges.
    pub positive_count: usize,
    /// Sampled non-edges `[source, target]`.
    pub negatives: Vec<[u32; 2]>,
    /// Sources of the non-edges by target.
    pub by_target: Adjacency,
    /// Targets of the non-edges by source.
    pub by_source: Adjacency,
}

impl EdgeSamples {
    /// Allocates samples for graphs of at most `nodes` nodes and `edges` edges, with at most `negatives`
    /// non-edges.
    pub fn with_capacity(nodes: usize, edges: usize, negatives: usize, arena: &mut Arena) -> Self {
        let offsets = if negatives == 0 { 0 } else { nodes + 1 };
        let mut lists = || Adjacency { offsets: arena.empty(offsets), neighbours: arena.empty(negatives) };
        let (by_target, by_source) = (lists(), lists());
        Self {
            positives: arena.empty(edges.div_ceil(8)),
            positive_count: 0,
            negatives: arena.empty(negatives),
            by_target,
            by_source,
        }
    }

    /// Draws both samples of a step: of `edges` edges, which need not be all edges of the graph, and of its non-edges.
    pub fn draw(
        &mut self,
        edges: usize,
        graph: &Graph,
        sampler: &NegativeSampler,
        sizes: SampleSizes,
        streams: [Stream; 2],
    ) {
        self.positives.resize(edges.div_ceil(8), 0);
        self.positive_count = sizes.positives;
        timed("sample_edges", || sample_edges(streams[0], edges, sizes.positives, &mut self.positives));
        self.negatives.resize(sizes.negatives, [0; 2]);
        timed("sample_negatives", || sampler.sample(graph, streams[1], &mut self.negatives));
        timed("group_negatives", || self.group(graph.nodes()));
    }

    /// Sets the samples to all edges of a graph with these numbers of edges and nodes, and the given non-edges.
    pub fn set(&mut self, edges: usize, nodes: usize, negatives: &[[u32; 2]]) {
        self.positives.clear();
        self.positives.resize(edges.div_ceil(8), 0xFF);
        self.positive_count = edges;
        self.negatives.clear();
        self.negatives.extend_from_slice(negatives);
        self.group(nodes);
    }

    fn group(&mut self, nodes: usize) {
        let pairs = &self.negatives;
        let [by_target, by_source] = [&mut self.by_target, &mut self.by_source];
        rayon::join(
            || group_pairs(nodes, pairs, 1, &mut by_target.offsets, &mut by_target.neighbours),
            || group_pairs(nodes, pairs, 0, &mut by_source.offsets, &mut by_source.neighbours),
        );
    }

    /// Returns the number of pairs in the mean of the loss.
    pub fn count(&self) -> usize {
        self.positive_count + self.negatives.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use supergat_core::graph::Direction;
    use supergat_core::random::Purpose;

    fn stream(step: u32) -> Stream {
        Stream::new(5, step, 0, Purpose::NegativePairs)
    }

    fn graph(nodes: usize, keep: impl Fn(u32, u32) -> bool) -> Graph {
        let n = nodes as u32;
        let edges: Vec<_> =
            (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|&(a, b)| a != b && keep(a, b)).collect();
        Graph::from_edges(nodes, &edges, Direction::Directed).unwrap()
    }

    fn draw(graph: &Graph, k: usize, step: u32) -> Vec<[u32; 2]> {
        let mut pairs = vec![[0; 2]; k];
        NegativeSampler::new(graph).sample(graph, stream(step), &mut pairs);
        pairs
    }

    proptest! {
        #[test]
        fn draws_exactly_k_distinct_non_edges(nodes in 2usize..14, density in 0u64..=100, share in 0.0f64..=1.0, seed: u64) {
            let dice = Stream::new(seed, 0, 0, Purpose::SyntheticEdges);
            let graph = graph(nodes, |a, b| dice.below(u64::from(a) << 32 | u64::from(b), 100) < density);
            let k = (graph.non_edges() as f64 * share) as usize;
            let pairs = draw(&graph, k, seed as u32);
            prop_assert!(pairs.iter().all(|p| graph.position(p[0], p[1]).is_none()));
            prop_assert_eq!(pairs.iter().collect::<BTreeSet<_>>().len(), k);

            let count = (graph.edges() as f64 * share) as usize;
            let mut marks = vec![0; graph.edges().div_ceil(8)];
            sample_edges(stream(1), graph.edges(), count, &mut marks);
            prop_assert_eq!(marks.iter().map(|b| b.count_ones() as usize).sum::<usize>(), count);
        }
    }

    #[test]
    fn finds_the_only_non_edge() {
        let graph = graph(300, |a, b| (a, b) != (17, 230));
        assert_eq!(draw(&graph, 1, 0), [[17, 230]]);
        assert!(SampleSizes::new(&graph, 1.0, 1.0).is_err());
    }

    /// Every non-edge of a sparse and of a dense graph is equally likely: chi-square is below its 99.9 %
    /// quantile.
    #[test]
    fn negatives_are_uniform() {
        for modulus in [10, 2] {
            let graph = graph(12, |a, b| (a * 12 + b) % modulus == 1 || (modulus == 2 && (a + b) % 3 != 0));
            let mut counts = std::collections::BTreeMap::new();
            let rounds = 20_000;
            for step in 0..rounds {
                for pair in draw(&graph, 5, step) {
                    *counts.entry(pair).or_insert(0u32) += 1;
                }
            }
            let free = graph.non_edges() as f64;
            assert_eq!(counts.len() as f64, free);
            let expected = f64::from(rounds) * 5.0 / free;
            let chi2: f64 = counts.values().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
            // The 99.9 % quantile of chi-square, by the approximation of Wilson and Hilferty.
            let df = free - 1.0;
            let limit = df * (1.0 - 2.0 / (9.0 * df) + 3.09 * (2.0 / (9.0 * df)).sqrt()).powi(3);
            assert!(chi2 < limit, "chi-square {chi2} of {free} pairs, limit {limit}");
        }
    }

    #[test]
    fn groups_pairs_by_source_and_by_target() {
        let mut samples = EdgeSamples::default();
        let graph = Graph::from_edges(4, &[(0, 1)], Direction::Directed).unwrap();
        samples.set(graph.edges(), graph.nodes(), &[[3, 1], [0, 2], [2, 1], [3, 0]]);
        assert_eq!((samples.by_target.of(1), samples.by_target.of(3)), (&[3, 2][..], &[][..]));
        assert_eq!((samples.by_source.of(3), samples.by_source.of(0)), (&[1, 0][..], &[2][..]));
        assert_eq!(samples.count(), 9);
    }
}
