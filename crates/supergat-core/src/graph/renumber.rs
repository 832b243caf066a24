//! Gives the nodes of a graph other numbers.

use super::build::{Pairs, Reversed, chunks};
use super::{Adjacency, Graph};
use crate::memory::defaults;
use crate::order::NodeOrder;
use rayon::prelude::*;

/// Smallest number of edges per task.
const EDGES_AT_ONCE: usize = 1 << 14;

impl Graph {
    /// Returns the graph with the internal numbers of an order, which must be one of as many nodes.
    ///
    /// The list that the graph was built from keeps its order: [`Graph::position_of_input`] of the result has the
    /// positions of the same edges.
    ///
    /// ```
    /// use supergat_core::NodeOrder;
    /// use supergat_core::{Direction, Graph};
    /// let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Directed)?;
    /// let renumbered = graph.renumbered(&NodeOrder::new(vec![2, 1, 0], vec![0, 3])?);
    /// assert_eq!(renumbered.incoming().of(0), [0, 1]);
    /// assert_eq!(renumbered.position(2, 1), Some(renumbered.position_of_input()[0] as usize));
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn renumbered(&self, order: &NodeOrder) -> Self {
        let internal = self.renumbered_lists(order);
        let positions = order.edge_positions(self);
        let input = self.input_positions.par_iter().with_min_len(EDGES_AT_ONCE);
        let input_positions = input.map(|&position| positions[position as usize]).collect();
        Self { input_positions, ..internal }
    }

    /// Returns the graph with the internal numbers of an order, without the positions of the edges that it was
    /// built from.
    pub(crate) fn renumbered_lists(&self, order: &NodeOrder) -> Self {
        let incoming = self.incoming.renumbered(order);
        let outgoing = self.outgoing.as_ref().map(|outgoing| outgoing.renumbered(order));
        let places = Reversed { incoming: &incoming, value: |_, place| place };
        let place_at_target = places.group(&outgoing.as_ref().unwrap_or(&incoming).offsets);
        Self {
            nodes: self.nodes,
            incoming,
            outgoing,
            place_at_target,
            input_positions: Vec::new(),
            direction: self.direction,
            duplicates: self.duplicates,
            self_loops: self.self_loops,
        }
    }
}

impl Adjacency {
    fn renumbered(&self, order: &NodeOrder) -> Self {
        let mut offsets = Vec::with_capacity(self.offsets.len());
        offsets.push(0);
        let mut end = 0;
        for &node in order.outer() {
            end += self.range(node as usize).len() as u64;
            offsets.push(end);
        }
        let mut neighbours = defaults::<u32>(self.neighbours.len());
        let mut tasks = Vec::new();
        let mut rest = &mut neighbours[..];
        for nodes in chunks(order.nodes(), |node| offsets[node]) {
            let (lists, after) = rest.split_at_mut((offsets[nodes.end] - offsets[nodes.start]) as usize);
            tasks.push((&order.outer()[nodes], lists));
            rest = after;
        }
        tasks.into_par_iter().for_each(|(nodes, mut lists)| {
            for &node in nodes {
                let given = self.of(node as usize);
                let (list, after) = lists.split_at_mut(given.len());
                list.iter_mut().zip(given).for_each(|(to, &from)| *to = order.to_internal(from));
                list.sort_unstable();
                lists = after;
            }
        });
        Self { offsets, neighbours }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Direction;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_graph_of_renumbered_edges(
            raw in proptest::collection::vec((0u32..9, 0u32..9), 0..40),
            outer in Just((0..9).collect::<Vec<u32>>()).prop_shuffle(),
            undirected: bool,
        ) {
            let direction = if undirected { Direction::Undirected } else { Direction::Directed };
            let order = NodeOrder::new(outer, vec![0, 9]).unwrap();
            let graph = Graph::from_edges(9, &raw, direction).unwrap();
            let named: Vec<(u32, u32)> =
                raw.iter().map(|&(a, b)| (order.to_internal(a), order.to_internal(b))).collect();
            let expected = Graph::from_edges(9, &named, direction).unwrap();
            for (found, expected) in [
                (graph.renumbered(&order), &expected),
                (expected.renumbered(&order.inverse()), &graph),
            ] {
                prop_assert_eq!(found.incoming(), expected.incoming());
                prop_assert_eq!(found.outgoing(), expected.outgoing());
                prop_assert_eq!(found.is_symmetric(), expected.is_symmetric());
                prop_assert_eq!(found.place_at_target(), expected.place_at_target());
                prop_assert_eq!(found.position_of_input(), expected.position_of_input());
                prop_assert_eq!((found.duplicates(), found.self_loops()), (expected.duplicates(), expected.self_loops()));
                prop_assert_eq!(found.direction(), expected.direction());
            }
        }
    }
}
