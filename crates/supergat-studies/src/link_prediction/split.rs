//! Held-out edges, and pairs without an edge to compare them with.

use supergat_core::random::{Purpose, Stream};
use supergat_core::{Direction, Error, Graph, Result};

/// Share of the edges held out for testing.
const TEST: f64 = 0.1;
/// Share of the edges held out for validation.
const VALIDATION: f64 = 0.05;

/// Split of the edges of a graph. Directed links are treated as undirected. Self-loops are in no part; every
/// node of the training graph has one.
#[derive(Debug, Clone)]
pub struct EdgeSplit {
    /// Graph of the remaining edges.
    pub training: Graph,
    /// Edges held out for validation, each once with the smaller node first.
    pub validation: Vec<[u32; 2]>,
    /// Edges held out for testing.
    pub test: Vec<[u32; 2]>,
    /// Pairs that are not edges of the original graph, as many as test edges.
    pub non_edges: Vec<[u32; 2]>,
}

impl EdgeSplit {
    /// Splits a graph at random; `number` is its index in the dataset, so that graphs get different splits.
    pub fn new(graph: &Graph, seed: u64, number: u16) -> Result<Self> {
        let stream = |step| Stream::new(seed, step, number, Purpose::HeldOutEdges);
        let mut edges = edges(graph);
        stream(0).shuffle(&mut edges);
        let count = |share: f64| (share * edges.len() as f64) as usize;
        let (test, rest) = edges.split_at(count(TEST));
        let (validation, rest) = rest.split_at(count(VALIDATION));
        let remaining: Vec<(u32, u32)> = rest.iter().map(|&[a, b]| (a, b)).collect();
        Ok(Self {
            training: Graph::from_edges(graph.nodes(), &remaining, Direction::Undirected)?,
            validation: validation.to_vec(),
            test: test.to_vec(),
            non_edges: non_edges(graph, test.len(), stream(1))?,
        })
    }
}

/// Returns every edge once, with the smaller node first.
fn edges(graph: &Graph) -> Vec<[u32; 2]> {
    let incoming = graph.incoming();
    let with = |i: u32| incoming.of(i as usize).iter().filter(move |&&j| j != i).map(move |&j| [i.min(j), i.max(j)]);
    let mut edges: Vec<[u32; 2]> = (0..graph.nodes() as u32).flat_map(with).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Draws `count` different pairs without an edge in either direction, uniformly, with the smaller node first.
fn non_edges(graph: &Graph, count: usize, stream: Stream) -> Result<Vec<[u32; 2]>> {
    let nodes = graph.nodes() as u64;
    let permutation = stream.permutation(nodes * nodes);
    let pair = |k: u64| {
        let cell = permutation.apply(k);
        [(cell / nodes) as u32, (cell % nodes) as u32]
    };
    let is_non_edge = |&[a, b]: &[u32; 2]| a < b && graph.position(a, b).is_none() && graph.position(b, a).is_none();
    let pairs: Vec<[u32; 2]> = (0..nodes * nodes).map(pair).filter(is_non_edge).take(count).collect();
    if pairs.len() < count {
        let (edges, nodes) = (graph.edges() as u64, graph.nodes());
        return Err(Error::TooFewNonEdges { wanted: count as u64, available: pairs.len() as u64, edges, nodes });
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use supergat_core::sampling::SampleSizes;
    use supergat_cpu::sampling::NegativeSampler;

    /// Returns a ring of 100 nodes with chords: 200 edges.
    fn ring() -> Graph {
        let edges: Vec<(u32, u32)> = (0..100).flat_map(|i| [(i, (i + 1) % 100), (i, (i + 7) % 100)]).collect();
        Graph::from_edges(100, &edges, Direction::Undirected).unwrap()
    }

    fn is_edge(graph: &Graph, [a, b]: [u32; 2]) -> bool {
        graph.position(a, b).is_some() || graph.position(b, a).is_some()
    }

    #[test]
    fn puts_each_edge_in_one_part() {
        let graph = ring();
        let split = EdgeSplit::new(&graph, 3, 0).unwrap();
        assert_eq!((split.test.len(), split.validation.len(), split.non_edges.len()), (20, 10, 20));
        let parts = [edges(&split.training), split.validation.clone(), split.test.clone()].concat();
        assert_eq!(parts.len(), 200);
        assert_eq!(parts.into_iter().collect::<BTreeSet<_>>(), edges(&graph).into_iter().collect());
        assert!(split.training.is_symmetric() && split.training.edges() == 2 * 170 + 100);
        assert!(split.test.iter().chain(&split.validation).all(|&pair| !is_edge(&split.training, pair)));
        assert!(split.non_edges.iter().all(|&pair| !is_edge(&graph, pair)));
        assert_eq!(split.non_edges.iter().collect::<BTreeSet<_>>().len(), 20);
    }

    #[test]
    fn splits_differ_by_seed_and_graph() {
        let split = |seed, number| {
            let split = EdgeSplit::new(&ring(), seed, number).unwrap();
            (split.test, split.non_edges)
        };
        assert_eq!(split(3, 0), split(3, 0));
        assert!(split(3, 0).0 != split(4, 0).0 && split(3, 0).1 != split(4, 0).1 && split(3, 0).0 != split(3, 1).0);
    }

    /// Training draws negatives from the non-edges of the training graph. If it never drew held-out edges, it
    /// would reveal them.
    #[test]
    fn samples_held_out_edges_as_negatives_like_other_pairs() {
        let split = EdgeSplit::new(&ring(), 3, 0).unwrap();
        let graph = &split.training;
        let (sampler, sizes) = (NegativeSampler::new(graph), SampleSizes::new(graph, 1.0, 1.0).unwrap());
        assert_eq!((sizes.positives, sizes.negatives), (graph.edges(), graph.edges()));
        let held_out: BTreeSet<[u32; 2]> = split.test.iter().copied().collect();
        let others: BTreeSet<[u32; 2]> = split.non_edges.iter().copied().collect();
        let mut drawn = [0, 0];
        for step in 0..2000 {
            let mut pairs = vec![[0; 2]; sizes.negatives];
            sampler.sample(graph, Stream::new(1, step, 0, Purpose::NegativePairs), &mut pairs);
            for [a, b] in pairs {
                assert!(!is_edge(graph, [a, b]));
                let pair = [a.min(b), a.max(b)];
                drawn[0] += usize::from(held_out.contains(&pair));
                drawn[1] += usize::from(others.contains(&pair));
            }
        }
        // 40 of 9560 pairs, 440 draws, 2000 steps: 3682 expected of each, with a standard deviation of about
        // 60.
        assert!(drawn.iter().all(|&count| (3382..3982).contains(&count)), "{drawn:?}");
    }

    #[test]
    fn rejects_graphs_with_too_few_non_edges() {
        let all: Vec<(u32, u32)> = (0..20).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        let complete = Graph::from_edges(20, &all, Direction::Undirected).unwrap();
        assert!(matches!(EdgeSplit::new(&complete, 0, 0), Err(Error::TooFewNonEdges { wanted: 19, .. })));
        let empty = Graph::from_edges(3, &[], Direction::Undirected).unwrap();
        assert!(EdgeSplit::new(&empty, 0, 0).unwrap().test.is_empty());
    }
}
