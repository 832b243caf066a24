//! Links of a graph without direction and self-loops, and their normalised matrix.

use supergat_core::Graph;
use supergat_core::graph::Adjacency;
use supergat_cpu::kernels::{Compressed, Parts, Products};

/// Links in both directions, without the self-loops that a graph adds, and the values of
/// `S = D^-1/2 A D^-1/2`.
///
/// `S` is symmetric, and `P = D^-1 A`, the matrix of a random walk, has the same eigenvalues and the same
/// diagonal of every power. Rows of nodes without links are zero.
pub(crate) struct Links {
    lists: Adjacency,
    values: Vec<f64>,
    parts: Parts,
}

impl Links {
    /// Creates links whose matrix `A` has the weights of edges, given in the order of the incoming lists; without weights,
    /// all are 1. A link has the larger weight of its two directions.
    pub fn new(graph: &Graph, weights: &[f32]) -> Self {
        let (incoming, outgoing) = (graph.incoming(), graph.outgoing());
        let weight = |edge: usize| weights.get(edge).map_or(1.0, |weight| f64::from(*weight));
        // In a symmetric graph, only weights may differ between the directions.
        let one_is_enough = graph.is_symmetric() && weights.is_empty();
        let mut lists = Adjacency { offsets: vec![0], neighbours: Vec::with_capacity(graph.edges()) };
        let (mut values, mut roots) = (Vec::with_capacity(graph.edges()), Vec::with_capacity(graph.nodes()));
        let mut row: Vec<(u32, f64)> = Vec::new();
        for node in 0..graph.nodes() {
            row.extend(incoming.of(node).iter().copied().zip(incoming.range(node).map(weight)));
            if !one_is_enough {
                let places = &graph.place_at_target()[outgoing.range(node)];
                row.extend(
                    outgoing.of(node).iter().zip(places).map(|(&target, &place)| {
                        (target, weight(incoming.range(target as usize).start + place as usize))
                    }),
                );
                row.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
                row.dedup_by_key(|(other, _)| *other);
            }
            row.retain(|(other, _)| *other as usize != node);
            roots.push(row.iter().map(|(_, weight)| weight).sum::<f64>().sqrt());
            lists.neighbours.extend(row.iter().map(|(other, _)| other));
            values.extend(row.drain(..).map(|(_, weight)| weight));
            lists.offsets.push(lists.neighbours.len() as u64);
        }
        for node in 0..graph.nodes() {
            for edge in lists.range(node) {
                values[edge] /= roots[node] * roots[lists.neighbours[edge] as usize];
            }
        }
        Self { parts: Parts::by_offsets(&lists.offsets), values, lists }
    }

    pub fn nodes(&self) -> usize {
        self.lists.offsets.len() - 1
    }

    /// Returns the neighbours of a node in ascending order.
    pub fn of(&self, node: usize) -> &[u32] {
        self.lists.of(node)
    }

    pub fn degree(&self, node: usize) -> usize {
        self.lists.range(node).len()
    }

    /// Computes `S` times a block of `width` vectors, in row-major order; `width` is a multiple of eight.
    pub fn times(&self, block: &[f64], width: usize, out: &mut [f64]) {
        let s = Compressed { offsets: &self.lists.offsets, index: &self.lists.neighbours, values: &self.values };
        f64::sparse_product(&self.parts, s, None, block, width, out);
    }

    /// Returns the connected component of each node, numbered by its first node, and their number.
    pub fn components(&self) -> (Vec<u32>, usize) {
        let mut component = vec![u32::MAX; self.nodes()];
        let (mut count, mut open) = (0, Vec::new());
        for start in 0..self.nodes() {
            if component[start] != u32::MAX {
                continue;
            }
            component[start] = count;
            open.push(start as u32);
            while let Some(node) = open.pop() {
                for &other in self.of(node as usize) {
                    if component[other as usize] == u32::MAX {
                        component[other as usize] = count;
                        open.push(other);
                    }
                }
            }
            count += 1;
        }
        (component, count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;

    #[test]
    fn links_have_no_direction_and_no_self_loops() {
        let pairs = [(0, 1), (1, 0), (2, 1), (2, 2), (3, 3), (2, 0), (5, 4)];
        for direction in [Direction::Directed, Direction::Undirected] {
            let links = Links::new(&Graph::from_edges(6, &pairs, direction).unwrap(), &[]);
            let lists: Vec<&[u32]> = (0..6).map(|node| links.of(node)).collect();
            assert_eq!(lists, [&[1, 2][..], &[0, 2], &[0, 1], &[], &[5], &[4]]);
            assert_eq!(links.components(), (vec![0, 0, 0, 1, 2, 2], 3));
            let half: Vec<f64> = links.values.iter().map(|value| (2.0 * value).round()).collect();
            assert_eq!(half, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0]);
        }
    }

    #[test]
    fn weighted_links_have_the_larger_weight_of_both_directions() {
        // 0 -> 1 (3), 1 -> 0 (1), 1 -> 2 (5): degrees 3, 8 and 5.
        let graph = Graph::from_edges(3, &[(0, 1), (1, 0), (1, 2)], Direction::Directed).unwrap();
        let mut weights = vec![1.0f32; graph.edges()];
        weights[graph.position(0, 1).unwrap()] = 3.0;
        weights[graph.position(1, 2).unwrap()] = 5.0;
        let links = Links::new(&graph, &weights);
        assert_eq!([0, 1, 2].map(|node| links.of(node)), [&[1][..], &[0, 2], &[1]]);
        let expected = [3.0 / 24f64.sqrt(), 3.0 / 24f64.sqrt(), 5.0 / 40f64.sqrt(), 5.0 / 40f64.sqrt()];
        assert!(links.values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-15));
        let equal = Links::new(&graph, &vec![2.0; graph.edges()]);
        let plain = Links::new(&graph, &[]);
        assert!(equal.values.iter().zip(&plain.values).all(|(a, b)| (a - b).abs() < 1e-15));
    }
}
