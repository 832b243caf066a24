//! Arrays of a finished graph, for files: reading access, and validation of untrusted arrays.

use super::{Adjacency, Direction, Graph};
use crate::error::{Error, Result};
use crate::random::Permutation;
use rayon::prelude::*;
use std::hash::{BuildHasher, RandomState};

/// Arrays of a graph, as stored in files.
#[derive(Debug, Clone)]
pub struct GraphArrays {
    /// Sources by target, in ascending order, including one self-loop per node.
    pub incoming: Adjacency,
    /// Targets by source; `None` if the graph is symmetric.
    pub outgoing: Option<Adjacency>,
    /// Place of each outgoing edge `i -> t` in the incoming list of `t`.
    pub place_at_target: Vec<u32>,
    /// Position of each edge of the list that the graph was built from.
    pub input_positions: Vec<u64>,
    /// Whether that list was read as directed or undirected.
    pub direction: Direction,
}

/// Borrowed arrays of a graph; see [`GraphArrays`].
#[derive(Debug, Clone, Copy)]
pub struct GraphView<'a> {
    /// Sources by target.
    pub incoming: &'a Adjacency,
    /// Targets by source; `None` if the graph is symmetric.
    pub outgoing: Option<&'a Adjacency>,
    /// Place of each outgoing edge in the incoming list of its target.
    pub place_at_target: &'a [u32],
    /// Position of each edge of the given list.
    pub input_positions: &'a [u64],
    /// Whether that list was read as directed or undirected.
    pub direction: Direction,
}

/// Smallest number of nodes per task.
const NODES_AT_ONCE: usize = 1 << 12;

/// Returns a keyed hash of an edge and its place.
#[inline]
fn keyed_hash(keys: [u64; 2], source: u32, target: u32, place: u32) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let edge = u64::from(source) << 32 | u64::from(target);
    let once = fold(edge ^ keys[0], u64::from(place) ^ keys[1]);
    fold(once ^ keys[1], edge.wrapping_add(keys[0]) | 1)
}

fn out_of_range(what: &'static str, position: usize, expected: &str, found: &str) -> Error {
    Error::OutOfRange { what, position, expected: expected.into(), found: found.into() }
}

impl Adjacency {
    /// Checks that lists ascend, contain only nodes of the graph, and contain the node itself.
    fn check(&self, nodes: usize, what: &'static str) -> Result<()> {
        let edges = self.neighbours.len();
        if self.offsets.len() != nodes + 1 || self.offsets[0] != 0 || self.offsets[nodes] != edges as u64 {
            let found = self.offsets.last().map_or(0, |&last| last as usize);
            return Err(Error::SizeMismatch { what, expected: edges, found });
        }
        let is_valid = |node: usize| {
            let (start, end) = (self.offsets[node], self.offsets[node + 1]);
            let list = (start <= end).then(|| self.neighbours.get(start as usize..end as usize)).flatten();
            list.is_some_and(|list| {
                list.windows(2).all(|pair| pair[0] < pair[1])
                    && list.last().is_some_and(|&last| (last as usize) < nodes)
                    && list.binary_search(&(node as u32)).is_ok()
            })
        };
        match (0..nodes).into_par_iter().with_min_len(NODES_AT_ONCE).find_first(|&node| !is_valid(node)) {
            Some(node) => {
                Err(out_of_range(what, node, "ascending nodes of the graph, including the node itself", "other nodes"))
            }
            None => Ok(()),
        }
    }
}

impl Graph {
    /// Builds a graph from untrusted arrays as returned by [`Graph::arrays`]. Checks all invariants of the
    /// graph in parallel.
    pub fn from_arrays(arrays: GraphArrays) -> Result<Self> {
        let GraphArrays { incoming, outgoing, place_at_target, input_positions, direction } = arrays;
        let nodes = incoming.offsets.len().saturating_sub(1);
        if nodes as u64 > Permutation::LONGEST {
            return Err(Error::TooManyNodes { nodes });
        }
        incoming.check(nodes, "incoming edges")?;
        if let Some(outgoing) = &outgoing {
            outgoing.check(nodes, "outgoing edges")?;
            if *outgoing == incoming {
                return Err(out_of_range(
                    "outgoing edges",
                    0,
                    "none for a symmetric graph",
                    "a copy of the incoming edges",
                ));
            }
        }
        let edges = incoming.neighbours.len();
        let graph = Self {
            nodes,
            incoming,
            outgoing,
            place_at_target,
            input_positions,
            direction,
            duplicates: 0,
            self_loops: 0,
        };
        for (what, found) in [
            ("outgoing edges (as many as incoming)", graph.outgoing().neighbours.len()),
            ("places at the target (one per edge)", graph.place_at_target.len()),
        ] {
            if found != edges {
                return Err(Error::SizeMismatch { what, expected: edges, found });
            }
        }
        if !graph.has_consistent_directions() {
            let expected = "the place of each edge in the list of its target";
            return Err(out_of_range("places at the target", 0, expected, "other places"));
        }
        graph.with_counts()
    }

    /// Returns whether incoming and outgoing lists contain the same edges, and every outgoing edge has the
    /// right place at its target.
    ///
    /// Looking up each edge would read memory in random order. Instead both lists are read in order, and
    /// their sums of keyed hashes of (source, target, place) are compared. The keys are random, so a file
    /// cannot be made to fit them. Lists contain no edge twice, so the sums of different edges are equal with
    /// probability 2^-64.
    fn has_consistent_directions(&self) -> bool {
        let secret = RandomState::new();
        let keys = [secret.hash_one(0u8), secret.hash_one(1u8)];
        let sum = |of_node: &(dyn Fn(usize) -> u64 + Sync)| {
            (0..self.nodes).into_par_iter().with_min_len(NODES_AT_ONCE).map(of_node).reduce(|| 0, u64::wrapping_add)
        };
        let outgoing = sum(&|source| {
            let range = self.outgoing().range(source);
            let edges = self.outgoing().neighbours[range.clone()].iter().zip(&self.place_at_target[range]);
            edges
                .fold(0, |sum: u64, (&target, &place)| sum.wrapping_add(keyed_hash(keys, source as u32, target, place)))
        });
        let incoming = sum(&|target| {
            let edges = self.incoming.of(target).iter().zip(0..);
            edges.fold(0, |sum: u64, (&source, place)| sum.wrapping_add(keyed_hash(keys, source, target as u32, place)))
        });
        outgoing == incoming
    }

    /// Checks the positions of the given list and counts its self-loops and duplicates.
    fn with_counts(mut self) -> Result<Self> {
        if self.direction == Direction::Undirected && !self.is_symmetric() {
            return Err(out_of_range(
                "direction of links",
                0,
                "both directions of every edge",
                "edges without their reverse",
            ));
        }
        let edges = self.edges() as u64;
        if let Some(at) = self.input_positions.iter().position(|&position| position >= edges) {
            return Err(out_of_range("positions of links", at, &format!("a position below {edges}"), "a larger one"));
        }
        // Bits rather than bytes, to fit into the cache.
        let mut is_loop = vec![0u64; self.edges().div_ceil(64)];
        let own = |node| self.position(node, node).expect("every list was checked to contain its node");
        let loops: Vec<usize> = (0..self.nodes as u32).into_par_iter().with_min_len(NODES_AT_ONCE).map(own).collect();
        for position in loops {
            is_loop[position / 64] |= 1 << (position % 64);
        }
        let bit = |position: u64| is_loop[position as usize / 64] >> (position % 64) & 1;
        self.self_loops =
            self.input_positions.par_iter().with_min_len(NODES_AT_ONCE).map(|&position| bit(position)).sum();
        let directions = if self.direction == Direction::Undirected { 2 } else { 1 };
        let given = (self.input_positions.len() as u64 - self.self_loops) * directions;
        let distinct = edges - self.nodes as u64;
        self.duplicates = given.checked_sub(distinct).ok_or_else(|| {
            out_of_range("links", given as usize, &format!("at least {distinct} directed edges"), "fewer")
        })?;
        Ok(self)
    }

    /// Returns the arrays of the graph.
    pub fn arrays(&self) -> GraphView<'_> {
        GraphView {
            incoming: &self.incoming,
            outgoing: self.outgoing.as_ref(),
            place_at_target: &self.place_at_target,
            input_positions: &self.input_positions,
            direction: self.direction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Copies the arrays of a graph.
    fn arrays(graph: &Graph) -> GraphArrays {
        let view = graph.arrays();
        GraphArrays {
            incoming: view.incoming.clone(),
            outgoing: view.outgoing.cloned(),
            place_at_target: view.place_at_target.to_vec(),
            input_positions: view.input_positions.to_vec(),
            direction: view.direction,
        }
    }

    #[test]
    fn rejects_damaged_arrays() {
        let edges = [(0, 1), (2, 2), (2, 1), (0, 1)];
        for direction in [Direction::Directed, Direction::Undirected] {
            let graph = Graph::from_edges(3, &edges, direction).unwrap();
            let damages: [fn(&mut GraphArrays); 12] = [
                |p| p.incoming.offsets.clear(),
                |p| p.incoming.offsets[1] = u64::MAX,
                |p| p.incoming.offsets[3] = 1,
                |p| p.incoming.neighbours[1] = 7,
                |p| p.incoming.neighbours.swap(1, 2),
                |p| p.incoming.neighbours[0] = 1,
                |p| p.place_at_target[0] = 9,
                |p| p.place_at_target[1] ^= 1,
                |p| p.place_at_target.truncate(1),
                |p| p.input_positions[0] = 99,
                |p| p.input_positions.clear(),
                |p| p.outgoing = Some(p.incoming.clone()),
            ];
            for (k, damage) in damages.iter().enumerate() {
                let mut arrays = arrays(&graph);
                damage(&mut arrays);
                assert!(Graph::from_arrays(arrays).is_err(), "{direction:?} {k}");
            }
        }
        let mut one_way = arrays(&Graph::from_edges(3, &edges, Direction::Directed).unwrap());
        one_way.direction = Direction::Undirected;
        assert!(Graph::from_arrays(one_way).is_err());
    }

    proptest! {
        #[test]
        fn arrays_rebuild_the_same_graph(
            raw in proptest::collection::vec((0u32..9, 0u32..9), 0..40),
            undirected: bool,
        ) {
            let direction = if undirected { Direction::Undirected } else { Direction::Directed };
            let graph = Graph::from_edges(9, &raw, direction).unwrap();
            let again = Graph::from_arrays(arrays(&graph)).unwrap();
            prop_assert_eq!(again.incoming(), graph.incoming());
            prop_assert_eq!(again.outgoing(), graph.outgoing());
            prop_assert_eq!(again.place_at_target(), graph.place_at_target());
            prop_assert_eq!((again.duplicates(), again.self_loops()), (graph.duplicates(), graph.self_loops()));
            prop_assert_eq!((again.is_symmetric(), again.direction()), (graph.is_symmetric(), graph.direction()));
            prop_assert_eq!(again.position_of_input(), graph.position_of_input());
        }
    }
}
