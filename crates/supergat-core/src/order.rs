//! An order of the nodes that suits the caches, and its division into parts.
//!
//! Layers read the rows of all neighbours of a node. If neighbours have close numbers, those rows are still in the
//! cache from the node before. A [`NodeOrder`] renumbers the nodes of an example inside the engine: internal
//! node `i` is the outer node `outer[i]`. Everything that leaves the engine is mapped back, so callers see
//! outer numbers only.

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::memory::defaults;
use crate::random::Permutation;
use rayon::prelude::*;
use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Minimum number of values that a thread moves at once.
const CHUNK: usize = 1 << 14;

/// An order of the nodes of a graph, divided into parts of consecutive nodes.
///
/// ```
/// use supergat_core::NodeOrder;
/// // The internal nodes 0, 1 and 2 are the outer nodes 2, 0 and 1; the first two are one part.
/// let order = NodeOrder::new(vec![2, 0, 1], vec![0, 2, 3])?;
/// assert_eq!((order.to_outer(0), order.to_internal(2)), (2, 0));
/// assert_eq!((order.part(0), order.part(1)), (0..2, 2..3));
/// assert!(NodeOrder::new(vec![2, 0, 2], vec![0, 3]).is_err());
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct NodeOrder {
    outer: Vec<u32>,
    internal: Vec<u32>,
    /// Start of each part, and the number of nodes.
    bounds: Vec<u32>,
    identity: bool,
    renumbered: Renumbered,
}

impl NodeOrder {
    /// Creates an order from the outer number of every internal node, and the start of every part followed by
    /// the number of nodes. Fails unless the numbers are a permutation and the bounds ascend from 0 to the
    /// number of nodes. Parts may be empty.
    pub fn new(outer: Vec<u32>, bounds: Vec<u32>) -> Result<Self> {
        let nodes = outer.len();
        if nodes as u64 > Permutation::LONGEST {
            return Err(Error::TooManyNodes { nodes });
        }
        let wrong = |what, position: usize, expected: &str, found: Option<&u32>| Error::OutOfRange {
            what,
            position,
            expected: expected.into(),
            found: found.map_or_else(|| "nothing".into(), u32::to_string),
        };
        let mut internal = vec![u32::MAX; nodes];
        for (position, &node) in outer.iter().enumerate() {
            match internal.get_mut(node as usize) {
                Some(place) if *place == u32::MAX => *place = position as u32,
                _ => return Err(wrong("order of the nodes", position, "every node once", Some(&node))),
            }
        }
        let expected = "bounds that ascend from 0 to the number of nodes";
        if bounds.len() < 2 || bounds[0] != 0 {
            return Err(wrong("parts of the nodes", 0, expected, bounds.first()));
        }
        let descends = bounds.windows(2).position(|pair| pair[0] > pair[1]).map(|position| position + 1);
        let ends_elsewhere = || (bounds[bounds.len() - 1] as usize != nodes).then_some(bounds.len() - 1);
        if let Some(position) = descends.or_else(ends_elsewhere) {
            return Err(wrong("parts of the nodes", position, expected, bounds.get(position)));
        }
        let identity = outer.iter().zip(0..).all(|(&outer, internal)| outer == internal);
        Ok(Self { outer, internal, bounds, identity, renumbered: Renumbered::default() })
    }

    /// Creates the given order of a graph's nodes, as one part.
    pub fn identity(nodes: usize) -> Result<Self> {
        let nodes = u32::try_from(nodes).map_err(|_| Error::TooManyNodes { nodes })?;
        Self::new((0..nodes).collect(), vec![0, nodes])
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.outer.len()
    }

    /// Returns whether internal and outer numbers are the same.
    pub fn is_identity(&self) -> bool {
        self.identity
    }

    /// Returns the outer number of every internal node.
    pub fn outer(&self) -> &[u32] {
        &self.outer
    }

    /// Returns the internal number of every outer node.
    pub fn internal(&self) -> &[u32] {
        &self.internal
    }

    /// Returns the outer number of an internal node.
    #[inline]
    pub fn to_outer(&self, internal: u32) -> u32 {
        self.outer[internal as usize]
    }

    /// Returns the internal number of an outer node.
    #[inline]
    pub fn to_internal(&self, outer: u32) -> u32 {
        self.internal[outer as usize]
    }

    /// Returns the number of parts, at least one.
    pub fn parts(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Returns the internal nodes of a part.
    pub fn part(&self, part: usize) -> Range<usize> {
        self.bounds[part] as usize..self.bounds[part + 1] as usize
    }

    /// Returns the first internal node of each part, followed by the number of nodes.
    pub fn bounds(&self) -> &[u32] {
        &self.bounds
    }

    /// Returns the order that maps back: its internal nodes are the outer nodes of this one. It is one part.
    pub fn inverse(&self) -> Self {
        let (outer, internal) = (self.internal.clone(), self.outer.clone());
        let bounds = vec![0, self.outer.len() as u32];
        Self { outer, internal, bounds, identity: self.identity, renumbered: Renumbered::default() }
    }

    /// Returns the given order of the renumbered nodes, with the same parts.
    pub fn of_internal(&self) -> Self {
        let numbers: Vec<u32> = (0..self.outer.len() as u32).collect();
        let (outer, internal, bounds) = (numbers.clone(), numbers, self.bounds.clone());
        Self { outer, internal, bounds, identity: true, renumbered: Renumbered::default() }
    }

    /// Returns the memory use in bytes.
    pub fn bytes(&self) -> u64 {
        4 * (self.outer.len() + self.internal.len() + self.bounds.len()) as u64
    }

    /// Fails unless the order is one of `nodes` nodes.
    pub(crate) fn check(&self, nodes: usize) -> Result<()> {
        if self.nodes() == nodes {
            return Ok(());
        }
        Err(Error::SizeMismatch { what: "nodes of the order", expected: nodes, found: self.nodes() })
    }

    /// Copies rows of `width` values from the order of the outer nodes to that of the internal ones.
    pub fn rows_to_internal<V: Clone + Default + Send + Sync>(&self, rows: &[V], width: usize) -> Vec<V> {
        gathered(rows, width, &self.outer)
    }

    /// Copies rows of `width` values from the order of the internal nodes to that of the outer ones.
    pub fn rows_to_outer<V: Clone + Default + Send + Sync>(&self, rows: &[V], width: usize) -> Vec<V> {
        gathered(rows, width, &self.internal)
    }

    /// Returns the internal numbers of a list of outer nodes, in ascending order.
    pub fn list_to_internal(&self, list: &[u32]) -> Vec<u32> {
        let mut list: Vec<u32> = list.iter().map(|&node| self.to_internal(node)).collect();
        list.par_sort_unstable();
        list
    }

    /// Copies `width` values per edge to the order of the incoming lists of `graph`, whose nodes have outer
    /// numbers, from that of the renumbered graph.
    pub fn edges_to_outer<V: Clone + Default + Send + Sync>(
        &self,
        graph: &Graph,
        values: &[V],
        width: usize,
    ) -> Vec<V> {
        self.map_edges(graph, width, |edge, to| to.clone_from_slice(&values[edge * width..][..width]))
    }

    /// Returns the position that every edge of `graph`, whose nodes have outer numbers, has in the renumbered
    /// graph.
    pub(crate) fn edge_positions(&self, graph: &Graph) -> Vec<u64> {
        self.map_edges(graph, 1, |edge, to| to[0] = edge as u64)
    }

    /// Calls `write` for every edge of `graph`, with its position in the renumbered graph and its `width` values of
    /// the result.
    fn map_edges<V: Clone + Default + Send>(
        &self,
        graph: &Graph,
        width: usize,
        write: impl Fn(usize, &mut [V]) + Sync,
    ) -> Vec<V> {
        let mut out: Vec<V> = defaults(graph.edges() * width);
        let starts = self.list_starts(graph);
        let lists = graph.incoming();
        let nodes = graph.nodes();
        let mut rest = &mut out[..];
        let mut tasks = Vec::with_capacity(nodes.div_ceil(CHUNK));
        for first in (0..nodes).step_by(CHUNK) {
            let end = (first + CHUNK).min(nodes);
            let (chunk, after) = rest.split_at_mut((lists.offsets[end] - lists.offsets[first]) as usize * width);
            tasks.push((first..end, chunk));
            rest = after;
        }
        tasks.into_par_iter().for_each(|(nodes, mut chunk)| {
            let mut places = Vec::new();
            for node in nodes {
                self.sort_places(lists.of(node), &mut places);
                let from = starts[self.internal[node] as usize] as usize;
                let (list, after) = chunk.split_at_mut(places.len() * width);
                for (internal, &(_, outer)) in places.iter().enumerate() {
                    write(from + internal, &mut list[outer as usize * width..][..width]);
                }
                chunk = after;
            }
        });
        out
    }

    /// Returns where the incoming list of every internal node starts in the renumbered graph, and the end of the
    /// last. The nodes of `graph` have outer numbers.
    fn list_starts(&self, graph: &Graph) -> Vec<u64> {
        let mut starts = Vec::with_capacity(self.outer.len() + 1);
        starts.push(0);
        let mut end = 0;
        for &node in &self.outer {
            end += graph.incoming().range(node as usize).len() as u64;
            starts.push(end);
        }
        starts
    }

    /// Writes the internal number and the place of each neighbour of a list, in ascending order of the internal
    /// numbers.
    fn sort_places(&self, list: &[u32], places: &mut Vec<(u32, u32)>) {
        places.clear();
        places.extend(list.iter().zip(0..).map(|(&node, place)| (self.to_internal(node), place)));
        places.sort_unstable();
    }

    /// Returns the renumbered copy of `original` that another example in memory uses, or makes one.
    pub(crate) fn share<V: Any + Send + Sync>(&self, original: &Arc<V>, make: impl FnOnce() -> V) -> Arc<V> {
        self.renumbered.share(original, make)
    }
}

/// Copies row `from[k]` to row k.
fn gathered<V: Clone + Default + Send + Sync>(rows: &[V], width: usize, from: &[u32]) -> Vec<V> {
    let mut out: Vec<V> = defaults(rows.len());
    if width > 0 {
        let nodes = CHUNK.div_ceil(width);
        out.par_chunks_mut(nodes * width).zip(from.par_chunks(nodes)).for_each(|(out, from)| {
            for (to, &node) in out.chunks_mut(width).zip(from) {
                to.clone_from_slice(&rows[node as usize * width..][..width]);
            }
        });
    }
    out
}

type Shared = Weak<dyn Any + Send + Sync>;

/// Renumbered graphs and features that are in use, with their originals. Runs with other seeds or splits of the
/// same graph share them.
#[derive(Debug, Default)]
struct Renumbered(Mutex<Vec<[Shared; 2]>>);

impl Renumbered {
    fn share<V: Any + Send + Sync>(&self, original: &Arc<V>, make: impl FnOnce() -> V) -> Arc<V> {
        if let Some(found) = self.find(original) {
            return found;
        }
        // Not under the lock: `make` runs tasks of the thread pool, and those may ask for a copy as well.
        let made = Arc::new(make());
        if let Some(found) = self.find(original) {
            return found;
        }
        let from: Arc<dyn Any + Send + Sync> = Arc::clone(original) as _;
        let to: Arc<dyn Any + Send + Sync> = Arc::clone(&made) as _;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push([Arc::downgrade(&from), Arc::downgrade(&to)]);
        made
    }

    fn find<V: Any + Send + Sync>(&self, original: &Arc<V>) -> Option<Arc<V>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|pair| pair.iter().all(|shared| shared.strong_count() > 0));
        let same = |from: &Shared| std::ptr::addr_eq(from.as_ptr(), Arc::as_ptr(original));
        let [_, found] = known.iter().find(|[from, _]| same(from))?;
        found.upgrade()?.downcast().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Direction;
    use proptest::prelude::*;

    #[test]
    fn rejects_orders_that_are_no_permutations() {
        for (outer, bounds) in [
            (vec![0, 0], vec![0, 2]),
            (vec![0, 2], vec![0, 2]),
            (vec![0, u32::MAX], vec![0, 2]),
            (vec![1, 0], vec![]),
            (vec![1, 0], vec![0]),
            (vec![1, 0], vec![1, 2]),
            (vec![1, 0], vec![0, 1]),
            (vec![1, 0], vec![0, 3]),
            (vec![1, 0], vec![0, 2, 1, 2]),
        ] {
            assert!(NodeOrder::new(outer.clone(), bounds.clone()).is_err(), "{outer:?} {bounds:?}");
        }
        let order = NodeOrder::new(vec![1, 0], vec![0, 0, 2, 2]).unwrap();
        assert_eq!((order.parts(), order.part(1), order.is_identity()), (3, 0..2, false));
        assert!(NodeOrder::identity(3).unwrap().is_identity());
        assert_eq!(NodeOrder::identity(0).unwrap().part(0), 0..0);
    }

    #[test]
    fn copies_are_shared_while_they_are_in_use() {
        let order = NodeOrder::new(vec![1, 0], vec![0, 2]).unwrap();
        let (first, second) = (Arc::new(1u8), Arc::new(1u8));
        let copy = order.share(&first, || 7);
        assert!(Arc::ptr_eq(&copy, &order.share(&first, || panic!("a copy exists"))));
        assert_eq!((*order.share(&second, || 8), *copy), (8, 7));
        drop(copy);
        assert_eq!(*order.share(&first, || 9), 9);
    }

    proptest! {
        #[test]
        fn values_of_edges_follow_the_edges(
            raw in proptest::collection::vec((0u32..9, 0u32..9), 0..40),
            outer in Just((0..9).collect::<Vec<u32>>()).prop_shuffle(),
            undirected: bool,
        ) {
            let direction = if undirected { Direction::Undirected } else { Direction::Directed };
            let graph = Graph::from_edges(9, &raw, direction).unwrap();
            let order = NodeOrder::new(outer, vec![0, 9]).unwrap();
            let renumbered = graph.renumbered(&order);
            let named = |graph: &Graph, name: &dyn Fn(u32) -> u32| -> Vec<u32> {
                let edges = (0..9).flat_map(|i| graph.incoming().of(i as usize).iter().map(move |&j| [j, i]));
                edges.flatten().map(name).collect()
            };
            let internal = named(&renumbered, &|node| order.to_outer(node));
            prop_assert_eq!(order.edges_to_outer(&graph, &internal, 2), named(&graph, &|node| node));
            let rows: Vec<u32> = (0..18).collect();
            prop_assert_eq!(order.rows_to_outer(&order.rows_to_internal(&rows, 2), 2), rows);
        }
    }
}
