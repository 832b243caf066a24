//! Measures of an order and of a division into parts.

use rayon::prelude::*;
use serde::Serialize;
use supergat_core::{Graph, NodeOrder};

/// Smallest number of nodes per task.
const NODES_AT_ONCE: usize = 1 << 12;

/// Quality of a division of a graph into parts. Edges are those between different nodes, in both directions.
///
/// ```
/// use supergat_core::{Direction, Graph, NodeOrder};
/// use supergat_numerics::locality::PartitionQuality;
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let quality = PartitionQuality::new(&graph, &NodeOrder::new(vec![0, 1, 2, 3], vec![0, 2, 4])?);
/// assert!((quality.edge_cut - 1.0 / 3.0).abs() < 1e-12);
/// assert_eq!((quality.halos, quality.node_balance), (vec![1, 1], 1.0));
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartitionQuality {
    /// Share of the edges between nodes of different parts.
    pub edge_cut: f64,
    /// Number of nodes of each part.
    pub nodes: Vec<u64>,
    /// Number of incoming edges of the nodes of each part, with self-loops.
    pub edges: Vec<u64>,
    /// Number of nodes of other parts with an edge from or to a node of each part.
    pub halos: Vec<u64>,
    /// Largest number of nodes of a part, divided by the mean.
    pub node_balance: f64,
    /// Largest number of edges of a part, divided by the mean.
    pub edge_balance: f64,
}

impl PartitionQuality {
    /// Measures the parts of an order, which must be one of the graph's nodes.
    pub fn new(graph: &Graph, order: &NodeOrder) -> Self {
        let mut part_of = vec![0u32; graph.nodes()];
        for part in 0..order.parts() {
            order.part(part).for_each(|node| part_of[order.outer()[node] as usize] = part as u32);
        }
        let of_part = |part: usize| {
            let nodes = &order.outer()[order.part(part)];
            let lists = |node: u32| [graph.incoming().of(node as usize), graph.outgoing().of(node as usize)];
            let elsewhere = |list: &[u32]| list.iter().filter(|&&n| part_of[n as usize] != part as u32).count() as u64;
            let edges: u64 = nodes.iter().map(|&node| lists(node)[0].len() as u64).sum();
            let cut: u64 = nodes.iter().map(|&node| elsewhere(lists(node)[0])).sum();
            let remote = nodes.iter().flat_map(|&node| lists(node)).flatten();
            let mut halo: Vec<u32> = remote.copied().filter(|&n| part_of[n as usize] != part as u32).collect();
            halo.sort_unstable();
            halo.dedup();
            [nodes.len() as u64, edges, cut, halo.len() as u64]
        };
        let counts: Vec<[u64; 4]> = (0..order.parts()).into_par_iter().map(of_part).collect();
        let column = |k: usize| counts.iter().map(|counts| counts[k]).collect::<Vec<u64>>();
        let between = (graph.edges() - graph.nodes()).max(1) as f64;
        let (nodes, edges) = (column(0), column(1));
        Self {
            edge_cut: column(2).iter().sum::<u64>() as f64 / between,
            node_balance: balance(&nodes),
            edge_balance: balance(&edges),
            nodes,
            edges,
            halos: column(3),
        }
    }

    /// Returns the largest number of nodes in the halo of a part.
    pub fn largest_halo(&self) -> u64 {
        self.halos.iter().copied().max().unwrap_or(0)
    }
}

/// Returns the largest number divided by the mean; 1 if all are zero.
fn balance(numbers: &[u64]) -> f64 {
    let (largest, sum) = (numbers.iter().copied().max().unwrap_or(0), numbers.iter().sum::<u64>());
    if sum == 0 { 1.0 } else { largest as f64 * numbers.len() as f64 / sum as f64 }
}

/// Returns the share of edges, without self-loops, whose ends are in the same block of internal numbers.
pub(super) fn share_within_blocks(graph: &Graph, order: &NodeOrder, block: u32) -> f64 {
    let within = |target: usize| {
        let own = order.internal()[target] / block;
        let list = graph.incoming().of(target).iter();
        list.filter(|&&source| order.to_internal(source) / block == own).count() as u64 - 1
    };
    let within: u64 = (0..graph.nodes()).into_par_iter().with_min_len(NODES_AT_ONCE).map(within).sum();
    within as f64 / (graph.edges() - graph.nodes()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;

    #[test]
    fn counts_cut_edges_and_halos() {
        // Parts {0, 3}, {1}, {2}: the edges 0 -> 3 and the self-loops are inside.
        let edges = [(0, 3), (0, 1), (3, 1), (2, 0), (1, 2)];
        let graph = Graph::from_edges(4, &edges, Direction::Directed).unwrap();
        let quality = PartitionQuality::new(&graph, &NodeOrder::new(vec![3, 0, 1, 2], vec![0, 2, 3, 4]).unwrap());
        assert_eq!((quality.edge_cut, &quality.nodes[..], &quality.edges[..]), (0.8, &[2, 1, 1][..], &[4, 3, 2][..]));
        assert_eq!((&quality.halos[..], quality.largest_halo()), (&[2, 3, 2][..], 3));
        assert_eq!((quality.node_balance, quality.edge_balance), (1.5, 4.0 / 3.0));
    }
}
