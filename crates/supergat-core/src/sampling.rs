//! Samples of the edge loss: a fixed number of edges and a fixed number of non-edges.
//!
//! Both use a keyed permutation (see [`crate::random::Permutation`]): an edge is in the sample if its image
//! is below k, and candidate pairs are the images of 0, 1, 2, ... So both samples have exact sizes, contain
//! no duplicates, and do not depend on the number of threads. Devices draw them; all draw the same ones.

use crate::error::{Error, Result};
use crate::graph::{Adjacency, Graph};

/// Sizes of the samples of one step: floor(p_e |E|) edges and floor(p_n p_e |E|) non-edges, where |E|
/// includes self-loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleSizes {
    /// Number of edges.
    pub positives: usize,
    /// Number of non-edges.
    pub negatives: usize,
}

impl SampleSizes {
    /// Computes the sizes; fails if the graph has too few non-edges.
    pub fn new(graph: &Graph, p_e: f64, p_n: f64) -> Result<Self> {
        Self::of(graph.nodes(), graph.edges(), p_e, p_n)
    }

    /// Like [`SampleSizes::new`], for a graph with these numbers of nodes and of edges.
    pub fn of(nodes: usize, edges: usize, p_e: f64, p_n: f64) -> Result<Self> {
        let negatives = (p_n * (p_e * edges as f64)).floor();
        let available = (nodes as u64).pow(2) - edges as u64;
        if negatives > available as f64 {
            return Err(Error::TooFewNonEdges { wanted: negatives as u64, available, edges: edges as u64, nodes });
        }
        Ok(Self { positives: ((p_e * edges as f64).floor() as usize).min(edges), negatives: negatives as usize })
    }
}

/// Lists all non-edges `[source, target]` of a graph.
pub fn non_edges(incoming: &Adjacency) -> Vec<[u32; 2]> {
    let nodes = incoming.offsets.len() - 1;
    let of_target = |target: usize| {
        let mut edges = incoming.of(target).iter().copied().peekable();
        (0..nodes as u32)
            .filter(move |source| edges.next_if_eq(source).is_none())
            .map(move |source| [source, target as u32])
    };
    (0..nodes).flat_map(of_target).collect()
}

/// Groups pairs by source (`end` 0) or target (`end` 1) with a counting sort; pairs of a group keep their
/// order.
pub fn group_pairs(nodes: usize, pairs: &[[u32; 2]], end: usize, offsets: &mut Vec<u64>, others: &mut Vec<u32>) {
    offsets.clear();
    offsets.resize(nodes + 1, 0);
    others.resize(pairs.len(), 0);
    for pair in pairs {
        offsets[pair[end] as usize] += 1;
    }
    let mut total = 0;
    for offset in offsets.iter_mut() {
        total += *offset;
        *offset = total;
    }
    // Each offset is now the end of its list; filling lists from the back moves it to the start.
    for pair in pairs.iter().rev() {
        let at = &mut offsets[pair[end] as usize];
        *at -= 1;
        others[*at as usize] = pair[1 - end];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Direction;

    #[test]
    fn lists_non_edges_by_target() {
        let graph = Graph::from_edges(3, &[(0, 1), (2, 1)], Direction::Directed).unwrap();
        assert_eq!(non_edges(graph.incoming()), [[1, 0], [2, 0], [0, 2], [1, 2]]);
    }

    #[test]
    fn sizes_follow_the_paper() {
        let edges: Vec<_> = (0..10).flat_map(|a| (a + 1..10).map(move |b| (a, b))).collect();
        // 45 edges and 10 self-loops.
        let graph = Graph::from_edges(10, &edges, Direction::Directed).unwrap();
        let sizes = SampleSizes::new(&graph, 0.8, 0.5).unwrap();
        assert_eq!(sizes, SampleSizes { positives: 44, negatives: 22 });
    }
}
