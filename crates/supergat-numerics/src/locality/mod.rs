//! Orders of nodes that keep neighbours close, and divisions of graphs into parts with few edges between them.
//!
//! Two steps find the order:
//!
//! 1. Label propagation merges nodes into clusters of bounded size, and these into larger ones (`clusters.rs`).
//! 2. METIS bisects the graph of the largest clusters recursively (`bisection.rs`).
//!
//! The clusters are numbered in the order of the bisection, the clusters and nodes within them alike. So consecutive
//! nodes are close at every scale, from a few rows in the fastest cache to a part of the graph.
//!
//! Label propagation reads each edge a few times, in parallel, and reduces a graph of 100 million edges to one that
//! METIS divides within seconds. METIS alone takes several times as long; the order is hardly better (see
//! docs/studies/performance.md).

mod bisection;
mod clusters;
mod quality;
mod weighted;

pub use bisection::{HAS_METIS, PartitionError};
pub use quality::PartitionQuality;

use bisection::{Balance, bisect};
use clusters::Hierarchy;
use supergat_core::{Graph, NodeOrder};
use weighted::Weighted;

/// Most directed edges of a graph that METIS divides into parts without clusters.
const DIRECT: usize = 8_000_000;
/// Number of clusters up to which METIS bisects them.
const CLUSTERS: usize = 1 << 14;
/// Most blocks that METIS divides the clusters into.
const BLOCKS: usize = 1 << 10;
/// Average number of clusters in a block.
const CLUSTERS_PER_BLOCK: usize = 8;

/// Returns an order of the nodes that keeps neighbours close, as one part. It depends on the graph only.
///
/// ```
/// use supergat_core::{Direction, Graph};
/// use supergat_numerics::locality::local_order;
/// // Two cliques of 8 nodes, with even and with odd numbers.
/// let pairs = (0..16).flat_map(|a| (0..a).map(move |b| (a, b)));
/// let edges: Vec<(u32, u32)> = pairs.filter(|(a, b)| (a - b) % 2 == 0).collect();
/// let order = local_order(&Graph::from_edges(16, &edges, Direction::Undirected)?);
/// assert!(order.outer()[..8].iter().all(|node| node % 2 == order.to_outer(0) % 2));
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn local_order(graph: &Graph) -> NodeOrder {
    let links = Weighted::links(graph);
    let hierarchy = Hierarchy::new(&links, None, CLUSTERS);
    let outer = hierarchy.order(&links, &vec![0; graph.nodes()], 1);
    NodeOrder::new(outer, vec![0, graph.nodes() as u32]).expect("an order of all nodes")
}

/// Divides a graph into parts of about the same number of nodes and edges, with few edges between parts. Within a
/// part, neighbours are close as in [`local_order`]. The result depends on the graph and the number of parts only.
///
/// ```
/// use supergat_core::{Direction, Graph};
/// use supergat_numerics::locality::partition;
/// let edges: Vec<(u32, u32)> = (1..100).map(|node| (node - 1, node)).collect();
/// let path = Graph::from_edges(100, &edges, Direction::Undirected)?;
/// let order = partition(&path, 2).unwrap();
/// assert_eq!(order.parts(), 2);
/// assert!((45..=55).contains(&order.part(0).len()));
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn partition(graph: &Graph, parts: usize) -> Result<NodeOrder, PartitionError> {
    let (nodes, links) = (graph.nodes(), Weighted::links(graph));
    if parts == 0 || parts > nodes.max(1) {
        return Err(PartitionError::Parts { parts, nodes });
    }
    let (hierarchy, part_of) = if graph.edges() <= DIRECT {
        let part_of = bisect(&links, parts, Balance::SizesAndLinks)?;
        (Hierarchy::new(&links, Some(&part_of), CLUSTERS), part_of)
    } else {
        // Clusters must be small compared with parts.
        let hierarchy = Hierarchy::new(&links, None, CLUSTERS.max(64 * parts));
        let of_cluster = bisect(hierarchy.top(&links), parts, Balance::SizesAndLinks)?;
        let part_of = (0..nodes).map(|node| of_cluster[hierarchy.cluster_of(node)]).collect();
        (hierarchy, part_of)
    };
    let outer = hierarchy.order(&links, &part_of, parts);
    let mut bounds = vec![0u32; parts + 1];
    part_of.iter().for_each(|&part| bounds[part as usize + 1] += 1);
    for part in 0..parts {
        bounds[part + 1] += bounds[part];
    }
    Ok(NodeOrder::new(outer, bounds).expect("an order of all nodes by part"))
}

/// Returns the share of edges between nodes whose numbers are in the same block of `block` nodes, among the edges
/// between different nodes. An order with a larger share keeps neighbours closer.
///
/// ```
/// use supergat_core::{Direction, Graph, NodeOrder};
/// use supergat_numerics::locality::share_within_blocks;
/// let graph = Graph::from_edges(4, &[(0, 1), (2, 3), (1, 2)], Direction::Undirected)?;
/// let share = share_within_blocks(&graph, &NodeOrder::identity(4)?, 2);
/// assert!((share - 2.0 / 3.0).abs() < 1e-12);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn share_within_blocks(graph: &Graph, order: &NodeOrder, block: usize) -> f64 {
    quality::share_within_blocks(graph, order, block.max(1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;
    use supergat_core::random::{Purpose, Stream};

    /// A graph of communities of 50 nodes with scattered numbers; nine of ten links are within one.
    pub(super) fn communities(nodes: u64, links: u64, direction: Direction) -> Graph {
        let dice = Stream::new(1, 0, 0, Purpose::SyntheticEdges);
        let shuffled = Stream::new(2, 0, 0, Purpose::SyntheticEdges).permutation(nodes);
        let link = |k: u64| {
            let first = dice.below(3 * k, nodes);
            let second = match dice.below(3 * k + 1, 10) {
                0 => dice.below(3 * k + 2, nodes),
                _ => first / 50 * 50 + dice.below(3 * k + 2, 50),
            };
            (shuffled.apply(first) as u32, shuffled.apply(second.min(nodes - 1)) as u32)
        };
        Graph::from_edges(nodes as usize, &(0..links).map(link).collect::<Vec<_>>(), direction).unwrap()
    }

    #[test]
    fn communities_are_found() {
        for direction in [Direction::Undirected, Direction::Directed] {
            let graph = communities(20_000, 200_000, direction);
            let given = share_within_blocks(&graph, &NodeOrder::identity(20_000).unwrap(), 1000);
            let order = local_order(&graph);
            let local = share_within_blocks(&graph, &order, 1000);
            assert!(given < 0.06 && local > 0.8, "{direction:?}: {given} and {local}");
        }
    }

    #[test]
    fn order_does_not_depend_on_threads() {
        let graph = communities(5000, 50_000, Direction::Directed);
        let in_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (local_order(&graph).outer().to_vec(), partition(&graph, 5).unwrap().outer().to_vec()))
        };
        let one = in_threads(1);
        assert!(one == in_threads(3) && one == in_threads(1));
    }

    #[test]
    fn parts_are_balanced_and_have_few_edges_between_them() {
        for direction in [Direction::Undirected, Direction::Directed] {
            let graph = communities(20_000, 200_000, direction);
            for parts in [2, 7, 16] {
                let order = partition(&graph, parts).unwrap();
                assert_eq!(order.parts(), parts);
                let quality = PartitionQuality::new(&graph, &order);
                assert!(quality.edge_cut < 0.13, "{direction:?} {parts}: {quality:?}");
                assert!(quality.node_balance < 1.1 && quality.edge_balance < 1.1, "{direction:?} {parts}: {quality:?}");
            }
        }
    }

    #[test]
    fn divides_graphs_without_links_and_of_few_nodes() {
        for (nodes, edges) in [(1, vec![]), (5, vec![]), (5, vec![(0, 1)]), (40, vec![]), (3000, vec![(7, 9)])] {
            let graph = Graph::from_edges(nodes, &edges, Direction::Directed).unwrap();
            assert_eq!(local_order(&graph).nodes(), nodes);
            for parts in [1, 2, 5, 40] {
                match partition(&graph, parts) {
                    Ok(order) => assert_eq!((order.parts(), order.nodes()), (parts, nodes)),
                    Err(error) => assert!(parts > nodes, "{error}"),
                }
            }
        }
        let empty = Graph::from_edges(0, &[], Direction::Directed).unwrap();
        assert_eq!(local_order(&empty).nodes(), 0);
        let error = partition(&empty, 2).unwrap_err().to_string();
        assert_eq!(error, "cannot divide 0 nodes into 2 parts: expected from 1 to 1 parts");
    }

    #[test]
    fn clusters_of_large_graphs_are_divided() {
        let graph = communities(20_000, 200_000, Direction::Undirected);
        let links = Weighted::links(&graph);
        let hierarchy = Hierarchy::new(&links, None, 1000);
        let top = hierarchy.top(&links);
        assert!(top.nodes() < 2000 && top.size(0) > 1, "{} clusters", top.nodes());
        assert_eq!((0..top.nodes()).map(|cluster| u64::from(top.size(cluster))).sum::<u64>(), 20_000);
        let of_cluster = bisect(top, 4, Balance::SizesAndLinks).unwrap();
        let part_of: Vec<u32> = (0..20_000).map(|node| of_cluster[hierarchy.cluster_of(node)]).collect();
        let order = hierarchy.order(&links, &part_of, 4);
        assert!(order.windows(2).all(|pair| part_of[pair[0] as usize] <= part_of[pair[1] as usize]));
    }
}
