//! Builds a graph from a list of edges.
//!
//! Edges arrive in any order, and the lists of a large graph do not fit into the cache. So pairs are first
//! distributed to ranges of nodes, and then the lists of each range are written by one thread.

use super::{Adjacency, Direction, Graph};
use crate::error::{Error, Result};
use crate::memory::defaults;
use crate::random::Permutation;
use rayon::prelude::*;
use std::ops::Range;

/// Minimum number of nodes in a range. Unit tests have small graphs, so they use small ranges and chunks.
const RANGE: usize = if cfg!(test) { 4 } else { 1 << 14 };
/// Maximum number of ranges.
const MAX_RANGES: usize = 256;
/// Number of pairs that one task distributes.
const CHUNK: usize = if cfg!(test) { 8 } else { 1 << 19 };
/// Number of chunks that are distributed before their pairs are written.
const CHUNKS_AT_ONCE: usize = 8;
/// Number of edges whose positions one task looks up.
const LOOKUPS: usize = if cfg!(test) { 16 } else { 1 << 21 };

impl Graph {
    /// Builds the graph in O(nodes + edges log(largest degree)).
    ///
    /// Duplicate edges are merged. Every node gets one self-loop, whether the list contains it or not.
    pub fn from_edges(nodes: usize, edges: &[(u32, u32)], direction: Direction) -> Result<Self> {
        if nodes as u64 > Permutation::LONGEST {
            return Err(Error::TooManyNodes { nodes });
        }
        let outside = |&(from, to): &(u32, u32)| from as usize >= nodes || to as usize >= nodes;
        if let Some(edge) = edges.par_iter().position_first(outside) {
            let (from, to) = edges[edge];
            return Err(Error::NodeOutOfRange { edge, from, to, nodes });
        }
        let given = Given { nodes, edges, both: direction == Direction::Undirected };
        let offsets = given.offsets();
        let mut incoming = Adjacency { neighbours: given.group(&offsets), offsets };
        let with_duplicates = incoming.neighbours.len();
        incoming.sort_and_merge();
        let duplicates = (with_duplicates - incoming.neighbours.len()) as u64;
        let outgoing = match direction {
            Direction::Undirected => None,
            Direction::Directed => {
                let reversed = Reversed { incoming: &incoming, value: |target, _| target };
                let offsets = reversed.offsets();
                let outgoing = Adjacency { neighbours: reversed.group(&offsets), offsets };
                (outgoing != incoming).then_some(outgoing)
            }
        };
        let places = Reversed { incoming: &incoming, value: |_, place| place };
        let place_at_target = places.group(&outgoing.as_ref().unwrap_or(&incoming).offsets);
        let self_loops = edges.iter().filter(|(from, to)| from == to).count() as u64;
        let input_positions = Vec::new();
        let graph =
            Self { nodes, incoming, outgoing, place_at_target, input_positions, direction, duplicates, self_loops };
        Ok(Self { input_positions: graph.positions(edges), ..graph })
    }

    /// Looks up the positions of edges.
    fn positions(&self, edges: &[(u32, u32)]) -> Vec<u64> {
        let mut positions = defaults(edges.len());
        edges.par_chunks(LOOKUPS).zip(positions.par_chunks_mut(LOOKUPS)).for_each(|(edges, positions)| {
            let targets = || (0..).zip(edges).map(|(edge, (_, target))| (*target, edge));
            let by_range = Distributed::new(range_length(self.nodes), self.nodes, |visit| {
                targets().for_each(|(target, edge)| visit(target, edge));
            });
            for &(target, edge) in &by_range.pairs {
                let position = self.position(edges[edge as usize].0, target);
                positions[edge as usize] = position.expect("every given edge was inserted") as u64;
            }
        });
        positions
    }
}

impl Adjacency {
    /// Sorts every list and removes duplicates.
    fn sort_and_merge(&mut self) {
        let nodes = self.offsets.len() - 1;
        let mut lengths = vec![0u32; nodes];
        let mut lists = Vec::new();
        let (mut rest, mut lengths_left) = (&mut self.neighbours[..], &mut lengths[..]);
        for nodes in chunks(nodes, |node| self.offsets[node]) {
            let (part, after) = rest.split_at_mut((self.offsets[nodes.end] - self.offsets[nodes.start]) as usize);
            let (part_lengths, lengths_after) = lengths_left.split_at_mut(nodes.len());
            lists.push((&self.offsets[nodes.start..=nodes.end], part, part_lengths));
            (rest, lengths_left) = (after, lengths_after);
        }
        lists.into_par_iter().for_each(|(offsets, part, lengths)| {
            for (ends, length) in offsets.windows(2).zip(lengths) {
                let list = &mut part[(ends[0] - offsets[0]) as usize..(ends[1] - offsets[0]) as usize];
                list.sort_unstable();
                *length = merge(list) as u32;
            }
        });
        let (mut start, mut end) = (0, 0);
        for (node, length) in lengths.into_iter().enumerate() {
            let length = length as usize;
            if start != end {
                self.neighbours.copy_within(start..start + length, end);
            }
            start = self.offsets[node + 1] as usize;
            end += length;
            self.offsets[node + 1] = end as u64;
        }
        self.neighbours.truncate(end);
        self.neighbours.shrink_to_fit();
    }
}

/// Moves the distinct values of a sorted list to its front; returns their number.
fn merge(list: &mut [u32]) -> usize {
    let mut kept = 0;
    for at in 0..list.len() {
        if at == 0 || list[at] != list[kept - 1] {
            list[kept] = list[at];
            kept += 1;
        }
    }
    kept
}

/// Divides items into chunks of at most about [`CHUNK`] pairs; `pairs` counts those of the items before one.
pub(super) fn chunks(items: usize, pairs: impl Fn(usize) -> u64) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < items {
        let first = pairs(start);
        let mut end = (start + CHUNK).min(items);
        if pairs(end) - first > CHUNK as u64 {
            let (mut low, mut high) = (start, end);
            while low + 1 < high {
                let middle = low.midpoint(high);
                if pairs(middle) - first <= CHUNK as u64 { low = middle } else { high = middle }
            }
            end = low.max(start + 1);
        }
        chunks.push(start..end);
        start = end;
    }
    chunks
}

/// Pairs (node, value), to be grouped by node.
pub(super) trait Pairs: Sync {
    fn nodes(&self) -> usize;

    /// Divides the pairs among tasks.
    fn chunks(&self) -> Vec<Range<usize>>;

    /// Calls `visit` with every pair of a chunk.
    fn for_each(&self, chunk: Range<usize>, visit: impl FnMut(u32, u32));

    /// Returns the number of values that a list contains before its pairs: the node itself, or nothing.
    fn own(&self) -> usize {
        0
    }

    /// Counts the values of every node; returns where each list starts.
    fn offsets(&self) -> Vec<u64> {
        let mut offsets = vec![self.own() as u64; self.nodes() + 1];
        offsets[0] = 0;
        for chunk in self.chunks() {
            self.for_each(chunk, |node, _| offsets[node as usize + 1] += 1);
        }
        for node in 0..self.nodes() {
            offsets[node + 1] += offsets[node];
        }
        offsets
    }

    /// Writes the values of every node, in the order of the pairs.
    fn group(&self, offsets: &[u64]) -> Vec<u32> {
        let (nodes, length) = (self.nodes(), range_length(self.nodes()));
        let mut values = defaults::<u32>(offsets[nodes] as usize);
        let mut rest = &mut values[..];
        let mut ranges = Vec::new();
        for first in (0..nodes).step_by(length) {
            let end = (first + length).min(nodes);
            let (lists, after) = rest.split_at_mut((offsets[end] - offsets[first]) as usize);
            let mut cursor: Vec<u64> = offsets[first..end].iter().map(|offset| offset - offsets[first]).collect();
            if self.own() > 0 {
                for (node, at) in (first as u32..).zip(&mut cursor) {
                    lists[*at as usize] = node;
                    *at += 1;
                }
            }
            ranges.push((first, cursor, lists));
            rest = after;
        }
        for chunks in self.chunks().chunks(CHUNKS_AT_ONCE) {
            let distribute =
                |chunk: &Range<usize>| Distributed::new(length, nodes, |visit| self.for_each(chunk.clone(), visit));
            let distributed: Vec<Distributed> = chunks.par_iter().map(distribute).collect();
            ranges.par_iter_mut().enumerate().for_each(|(range, (first, cursor, lists))| {
                for &(node, value) in distributed.iter().flat_map(|chunk| chunk.of(range)) {
                    let at = &mut cursor[node as usize - *first];
                    lists[*at as usize] = value;
                    *at += 1;
                }
            });
        }
        values
    }
}

/// Sources of the given edges, by target.
struct Given<'a> {
    nodes: usize,
    edges: &'a [(u32, u32)],
    /// Whether every pair is an edge in both directions.
    both: bool,
}

impl Pairs for Given<'_> {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn chunks(&self) -> Vec<Range<usize>> {
        chunks(self.edges.len(), |edge| edge as u64 * if self.both { 2 } else { 1 })
    }

    fn for_each(&self, chunk: Range<usize>, mut visit: impl FnMut(u32, u32)) {
        for &(from, to) in self.edges[chunk].iter().filter(|(from, to)| from != to) {
            visit(to, from);
            if self.both {
                visit(from, to);
            }
        }
    }

    fn own(&self) -> usize {
        1
    }
}

/// Values of the edges `j -> i`, by source; `value` is computed from the target and the place in its list.
pub(super) struct Reversed<'a, F> {
    pub(super) incoming: &'a Adjacency,
    pub(super) value: F,
}

impl<F: Fn(u32, u32) -> u32 + Sync> Pairs for Reversed<'_, F> {
    fn nodes(&self) -> usize {
        self.incoming.offsets.len() - 1
    }

    fn chunks(&self) -> Vec<Range<usize>> {
        chunks(self.nodes(), |node| self.incoming.offsets[node])
    }

    fn for_each(&self, chunk: Range<usize>, mut visit: impl FnMut(u32, u32)) {
        for target in chunk {
            for (place, &source) in (0..).zip(self.incoming.of(target)) {
                visit(source, (self.value)(target as u32, place));
            }
        }
    }
}

/// Returns the number of nodes in a range, a power of two.
fn range_length(nodes: usize) -> usize {
    RANGE.max(nodes.div_ceil(MAX_RANGES)).next_power_of_two()
}

/// Pairs (node, value), sorted by ranges of nodes. Pairs of a range keep their order.
struct Distributed {
    /// Start of each range, and the end of the last.
    starts: Vec<usize>,
    pairs: Vec<(u32, u32)>,
}

impl Distributed {
    /// Sorts the pairs that `for_each` visits, in ranges of `length` nodes.
    fn new(length: usize, nodes: usize, for_each: impl Fn(&mut dyn FnMut(u32, u32))) -> Self {
        let shift = length.trailing_zeros();
        let mut starts = vec![0; nodes.div_ceil(length) + 1];
        for_each(&mut |node, _| starts[(node >> shift) as usize + 1] += 1);
        for range in 1..starts.len() {
            starts[range] += starts[range - 1];
        }
        let (mut pairs, mut ends) = (vec![(0, 0); starts[starts.len() - 1]], starts.clone());
        for_each(&mut |node, value| {
            let end = &mut ends[(node >> shift) as usize];
            pairs[*end] = (node, value);
            *end += 1;
        });
        Self { starts, pairs }
    }

    /// Returns the pairs of a range.
    fn of(&self, range: usize) -> &[(u32, u32)] {
        &self.pairs[self.starts[range]..self.starts[range + 1]]
    }
}
