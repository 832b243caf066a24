//! Graphs for attention: incoming edges by target, outgoing edges by source, and one self-loop per node.

mod arrays;
mod build;
mod neighbours;
mod renumber;

pub use arrays::{GraphArrays, GraphView};
pub use neighbours::{BlockRows, Neighbours};

/// Meaning of the pairs of an edge list.
///
/// ```
/// use supergat_core::{Direction, Graph};
/// let directed = Graph::from_edges(2, &[(0, 1)], Direction::Directed)?;
/// let undirected = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
/// // Both counts include one self-loop per node.
/// assert_eq!((directed.edges(), undirected.edges()), (3, 4));
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `(source, target)` is one edge.
    Directed,
    /// Every pair is two edges, one in each direction.
    Undirected,
}

/// Neighbour lists in compressed form: those of node `i` are `neighbours[offsets[i]..offsets[i + 1]]`, in
/// ascending order.
///
/// ```
/// use supergat_core::graph::Adjacency;
/// let lists = Adjacency { offsets: vec![0, 2, 3], neighbours: vec![0, 1, 1] };
/// assert_eq!((lists.of(0), lists.of(1)), (&[0, 1][..], &[1][..]));
/// assert_eq!(lists.range(1), 2..3);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Adjacency {
    /// Start of each list, and the end of the last: one more than there are nodes.
    pub offsets: Vec<u64>,
    /// All lists, one after another.
    pub neighbours: Vec<u32>,
}

impl Adjacency {
    /// Returns the positions of node `i`'s list.
    #[inline(always)]
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.offsets[i] as usize..self.offsets[i + 1] as usize
    }

    /// Borrows the lists.
    pub fn lists(&self) -> Neighbours<'_> {
        Neighbours::new(&self.offsets, &self.neighbours)
    }

    /// Returns node `i`'s list.
    #[inline(always)]
    pub fn of(&self, i: usize) -> &[u32] {
        &self.neighbours[self.range(i)]
    }
}

/// A graph with exactly one self-loop per node and no duplicate edges.
///
/// Edges are directed `j -> i`. The *position* of an edge is its index in `incoming`. Per-edge results such
/// as attention are in that order, and [`Graph::position_of_input`] maps the edges of the given list to it.
///
/// ```
/// use supergat_core::{Direction, Graph};
/// let graph = Graph::from_edges(3, &[(0, 1), (2, 1), (0, 1)], Direction::Directed)?;
/// assert_eq!((graph.nodes(), graph.edges(), graph.duplicates()), (3, 5, 1));
/// assert_eq!(graph.incoming().of(1), [0, 1, 2]);
/// assert_eq!(graph.outgoing().of(0), [0, 1]);
/// assert_eq!((graph.position(2, 1), graph.position(1, 2)), (Some(3), None));
/// assert_eq!(graph.position_of_input(), [1, 3, 1]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Graph {
    nodes: usize,
    incoming: Adjacency,
    /// `None` if the graph is symmetric, where it would equal `incoming`.
    outgoing: Option<Adjacency>,
    /// Place of each outgoing edge `i -> t` in the incoming list of `t`.
    place_at_target: Vec<u32>,
    /// Position of each edge of the given list; for undirected lists, of the direction as given.
    input_positions: Vec<u64>,
    direction: Direction,
    duplicates: u64,
    self_loops: u64,
}

impl Graph {
    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the number of directed edges, including one self-loop per node.
    pub fn edges(&self) -> usize {
        self.incoming.neighbours.len()
    }

    /// Returns the number of pairs (source, target) that are not edges.
    pub fn non_edges(&self) -> u64 {
        (self.nodes as u64).pow(2) - self.edges() as u64
    }

    /// Returns the sources by target. All per-edge results are in the order of this list.
    pub fn incoming(&self) -> &Adjacency {
        &self.incoming
    }

    /// Returns the targets by source.
    pub fn outgoing(&self) -> &Adjacency {
        self.outgoing.as_ref().unwrap_or(&self.incoming)
    }

    /// Returns the place of each outgoing edge `i -> t` in the incoming list of `t`.
    pub fn place_at_target(&self) -> &[u32] {
        &self.place_at_target
    }

    /// Returns whether every edge has its reverse.
    pub fn is_symmetric(&self) -> bool {
        self.outgoing.is_none()
    }

    /// Returns whether the edge list was read as directed or undirected.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the number of directed edges of the list that repeat an earlier one.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Returns the number of self-loops in the given list.
    pub fn self_loops(&self) -> u64 {
        self.self_loops
    }

    /// Returns the position of an edge, or `None` if there is no such edge.
    #[inline]
    pub fn position(&self, source: u32, target: u32) -> Option<usize> {
        let range = self.incoming.range(target as usize);
        self.incoming.neighbours[range.clone()].binary_search(&source).ok().map(|place| range.start + place)
    }

    /// Returns the position of each edge of the list that the graph was built from, in the order of that
    /// list.
    pub fn position_of_input(&self) -> &[u64] {
        &self.input_positions
    }

    /// Returns the memory use in bytes.
    pub fn bytes(&self) -> u64 {
        let lists = [Some(&self.incoming), self.outgoing.as_ref()].into_iter().flatten();
        let lists: usize = lists.map(|list| 8 * list.offsets.len() + 4 * list.neighbours.len()).sum();
        (lists + 4 * self.place_at_target.len() + 8 * self.input_positions.len()) as u64
    }

    /// Returns the number of incoming edges of a node, without its self-loop.
    pub fn degree(&self, node: usize) -> usize {
        self.incoming.range(node).len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn builds_sorted_lists_without_duplicates() {
        // 0 -> 1 twice, a self-loop on 2, 2 -> 1.
        let graph = Graph::from_edges(3, &[(0, 1), (2, 2), (2, 1), (0, 1)], Direction::Directed).unwrap();
        assert_eq!(graph.incoming().of(0), [0]);
        assert_eq!(graph.incoming().of(1), [0, 1, 2]);
        assert_eq!(graph.incoming().of(2), [2]);
        assert_eq!(graph.outgoing().of(2), [1, 2]);
        assert_eq!(graph.position_of_input(), [1, 4, 3, 1]);
        assert_eq!((graph.duplicates(), graph.self_loops(), graph.non_edges()), (1, 1, 4));
        assert!(!graph.is_symmetric());
    }

    #[test]
    fn error_names_the_edge_with_an_unknown_node() {
        let error = Graph::from_edges(2, &[(0, 1), (1, 2)], Direction::Directed).unwrap_err();
        assert_eq!(error, Error::NodeOutOfRange { edge: 1, from: 1, to: 2, nodes: 2 });
    }

    #[test]
    fn builds_graphs_without_nodes_or_edges() {
        assert_eq!(Graph::from_edges(0, &[], Direction::Directed).unwrap().edges(), 0);
        let lonely = Graph::from_edges(3, &[], Direction::Undirected).unwrap();
        assert_eq!((lonely.edges(), lonely.non_edges(), lonely.degree(1)), (3, 6, 0));
    }

    proptest! {
        #[test]
        fn matches_a_set_of_edges(
            nodes in 1usize..12,
            raw in proptest::collection::vec((0u32..12, 0u32..12), 0..60),
            undirected: bool,
        ) {
            let edges: Vec<(u32, u32)> = raw.into_iter().map(|(a, b)| (a % nodes as u32, b % nodes as u32)).collect();
            let direction = if undirected { Direction::Undirected } else { Direction::Directed };
            let graph = Graph::from_edges(nodes, &edges, direction).unwrap();
            let mut expected: BTreeSet<(u32, u32)> = (0..nodes as u32).map(|i| (i, i)).collect();
            for &(from, to) in &edges {
                expected.insert((to, from));
                if undirected { expected.insert((from, to)); }
            }
            let found: Vec<(u32, u32)> = (0..nodes)
                .flat_map(|i| graph.incoming().of(i).iter().map(move |&j| (i as u32, j)).collect::<Vec<_>>())
                .collect();
            prop_assert_eq!(found, expected.iter().copied().collect::<Vec<_>>());
            let symmetric = expected.iter().all(|&(a, b)| expected.contains(&(b, a)));
            prop_assert_eq!(graph.is_symmetric(), symmetric);
            for (k, &(from, to)) in edges.iter().enumerate() {
                prop_assert_eq!(graph.position(from, to), Some(graph.position_of_input()[k] as usize));
            }
            for source in 0..nodes {
                for at in graph.outgoing().range(source) {
                    let target = graph.outgoing().neighbours[at] as usize;
                    let place = graph.place_at_target()[at] as usize;
                    prop_assert_eq!(graph.incoming().of(target)[place] as usize, source);
                }
            }
        }
    }
}
