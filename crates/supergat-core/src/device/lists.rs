//! Neighbour lists of attention: those of the graph, or a copy without self-loops.
//!
//! A graph has one self-loop per node, so the position of an edge j -> i among all edges follows from its position in the
//! copy: i self-loops are before the list of i, and one more before j if j > i.

use crate::graph::{Adjacency, Graph};

/// Neighbour lists without self-loops.
///
/// ```
/// use supergat_core::device::NoLoops;
/// use supergat_core::{Direction, Graph};
/// let graph = Graph::from_edges(3, &[(0, 1)], Direction::Undirected)?;
/// let lists = NoLoops::new(&graph);
/// assert_eq!((lists.lists().incoming.of(0), lists.lists().edges), (&[1][..], 2));
/// assert_eq!(lists.isolated(), [2]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct NoLoops {
    incoming: Adjacency,
    /// `None` if the graph is symmetric.
    outgoing: Option<Adjacency>,
    /// Place of each outgoing edge in the incoming list of its target.
    place_at_target: Vec<u32>,
    isolated: Vec<u32>,
}

/// Borrowed lists of attention.
///
/// See [`NoLoops`] for an example.
#[derive(Debug, Clone, Copy)]
pub struct Lists<'a> {
    /// Sources by target.
    pub incoming: &'a Adjacency,
    /// Targets by source.
    pub outgoing: &'a Adjacency,
    /// Place of each outgoing edge in the incoming list of its target.
    pub place_at_target: &'a [u32],
    /// Whether every edge has its reverse.
    pub symmetric: bool,
    /// Number of edges.
    pub edges: usize,
}

impl<'a> Lists<'a> {
    /// Returns the lists of a graph.
    pub fn of(graph: &'a Graph) -> Self {
        Self {
            incoming: graph.incoming(),
            outgoing: graph.outgoing(),
            place_at_target: graph.place_at_target(),
            symmetric: graph.is_symmetric(),
            edges: graph.edges(),
        }
    }
}

impl NoLoops {
    /// Copies the lists of a graph without self-loops.
    pub fn new(graph: &Graph) -> Self {
        let incoming = without_loops(graph.incoming(), 0);
        let outgoing = (!graph.is_symmetric()).then(|| without_loops(graph.outgoing(), 0));
        let place_at_target = places_without_loops(graph.outgoing(), graph.place_at_target(), 0);
        let isolated = isolated(&incoming);
        Self { incoming, outgoing, place_at_target, isolated }
    }

    /// Borrows the lists.
    pub fn lists(&self) -> Lists<'_> {
        Lists {
            incoming: &self.incoming,
            outgoing: self.outgoing.as_ref().unwrap_or(&self.incoming),
            place_at_target: &self.place_at_target,
            symmetric: self.outgoing.is_none(),
            edges: self.incoming.neighbours.len(),
        }
    }

    /// Returns the nodes without incoming edges.
    pub fn isolated(&self) -> &[u32] {
        &self.isolated
    }

    /// Returns the position of every edge among all edges of the graph.
    fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        positions_with_loops(&self.incoming, 0)
    }

    /// Returns values of edges, `width` per edge, without those of self-loops.
    pub fn gathered<T: Copy>(&self, values: &[T], width: usize) -> Vec<T> {
        let of_edge = |position: usize| values[position * width..(position + 1) * width].iter().copied();
        if values.is_empty() { Vec::new() } else { self.positions().flat_map(of_edge).collect() }
    }

    /// Returns values of edges, `width` per edge, with zeros for self-loops.
    pub fn scattered<T: Copy + Default>(&self, values: &[T], width: usize) -> Vec<T> {
        scattered(&self.incoming, 0, values, width)
    }

    /// Returns bits of edges with zeros for self-loops.
    pub fn scattered_bits(&self, bits: &[u8]) -> Vec<u8> {
        let nodes = self.incoming.offsets.len() - 1;
        let mut all = vec![0; (self.incoming.neighbours.len() + nodes).div_ceil(8)];
        for (edge, position) in self.positions().enumerate() {
            all[position / 8] |= (bits[edge / 8] >> (edge % 8) & 1) << (position % 8);
        }
        all
    }
}

/// Returns the position of every edge of lists without self-loops among all edges of their nodes, the first of which
/// is `first`.
pub fn positions_with_loops(lists: &Adjacency, first: usize) -> impl Iterator<Item = usize> {
    let of_row = move |row: usize| {
        let range = lists.range(row);
        range.map(move |at| at + row + usize::from(lists.neighbours[at] as usize > first + row))
    };
    (0..lists.offsets.len() - 1).flat_map(of_row)
}

/// Returns values of edges of lists without self-loops, `width` per edge, with zeros for self-loops.
pub fn scattered<T: Copy + Default>(lists: &Adjacency, first: usize, values: &[T], width: usize) -> Vec<T> {
    let nodes = lists.offsets.len() - 1;
    let mut all = vec![T::default(); values.len() + nodes * width];
    for (values, position) in values.chunks_exact(width.max(1)).zip(positions_with_loops(lists, first)) {
        all[position * width..(position + 1) * width].copy_from_slice(values);
    }
    all
}

/// Returns the nodes without neighbours.
pub fn isolated(lists: &Adjacency) -> Vec<u32> {
    (0..lists.offsets.len() as u32 - 1).filter(|node| lists.range(*node as usize).is_empty()).collect()
}

/// Returns the places of outgoing edges at their targets without self-loops, from those with them. The first list is
/// that of node `first`.
pub fn places_without_loops(outgoing: &Adjacency, places: &[u32], first: u32) -> Vec<u32> {
    let of_source = |row: usize| {
        let source = first + row as u32;
        let edges = outgoing.range(row).map(|at| (outgoing.neighbours[at], places[at]));
        edges.filter_map(move |(target, place)| (target != source).then_some(place - u32::from(source > target)))
    };
    (0..outgoing.offsets.len() - 1).flat_map(of_source).collect()
}

/// Returns lists without the entries of their own nodes, of which each has one. The first list is that of node `first`.
pub fn without_loops(lists: &Adjacency, first: usize) -> Adjacency {
    let nodes = lists.offsets.len() - 1;
    let others = |row: usize| lists.of(row).iter().copied().filter(move |other| *other as usize != first + row);
    let mut neighbours = Vec::with_capacity(lists.neighbours.len() - nodes);
    neighbours.extend((0..nodes).flat_map(others));
    let offsets = lists.offsets.iter().enumerate().map(|(node, offset)| offset - node as u64).collect();
    Adjacency { offsets, neighbours }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Direction;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_are_those_of_other_nodes(
            nodes in 1usize..9,
            raw in proptest::collection::vec((0u32..9, 0u32..9), 0..40),
            undirected: bool,
        ) {
            let edges: Vec<(u32, u32)> = raw.into_iter().map(|(a, b)| (a % nodes as u32, b % nodes as u32)).collect();
            let direction = if undirected { Direction::Undirected } else { Direction::Directed };
            let graph = Graph::from_edges(nodes, &edges, direction).unwrap();
            let without = NoLoops::new(&graph);
            let lists = without.lists();
            prop_assert_eq!(lists.edges, graph.edges() - nodes);
            let outgoing = without.outgoing.as_ref().unwrap_or(&without.incoming);
            for node in 0..nodes {
                let others = |list: &[u32]| list.iter().copied().filter(|o| *o as usize != node).collect::<Vec<_>>();
                prop_assert_eq!(without.incoming.of(node), others(graph.incoming().of(node)));
                prop_assert_eq!(outgoing.of(node), others(graph.outgoing().of(node)));
                prop_assert_eq!(without.isolated.contains(&(node as u32)), without.incoming.of(node).is_empty());
                for at in outgoing.range(node) {
                    let (target, place) = (outgoing.neighbours[at] as usize, lists.place_at_target[at] as usize);
                    prop_assert_eq!(without.incoming.of(target)[place] as usize, node);
                }
            }
            let targets = (0..nodes).flat_map(|i| std::iter::repeat_n(i as u32, without.incoming.of(i).len()));
            let expected: Vec<usize> = without
                .incoming
                .neighbours
                .iter()
                .zip(targets)
                .map(|(&source, target)| graph.position(source, target).unwrap())
                .collect();
            prop_assert_eq!(without.positions().collect::<Vec<_>>(), expected.clone());
            let all: Vec<usize> = (1..=2 * graph.edges()).collect();
            let kept = without.gathered(&all, 2);
            let back = without.scattered(&kept, 2);
            for (edge, pair) in back.chunks(2).enumerate() {
                let is_kept = expected.contains(&edge);
                prop_assert_eq!(pair, if is_kept { [2 * edge + 1, 2 * edge + 2] } else { [0, 0] });
            }
            let bits = without.scattered_bits(&vec![0xFF; lists.edges.div_ceil(8)]);
            prop_assert!((0..graph.edges()).all(|e| (bits[e / 8] >> (e % 8) & 1 == 1) == expected.contains(&e)));
        }
    }
}
