//! PageRank: how often a random walk visits a node.
//!
//! A walk follows an edge with probability `d = 0.85`, else it continues at any node. With `P` the matrix of its steps
//! along edges, `N` nodes and `1` the vector of ones, the probabilities of visits are
//!
//! ```text
//! r = d P^T r + (1 - d) / N 1
//! ```
//!
//! A walk at a node without outgoing edges continues at any node. Edges count in their direction, and self-loops do not
//! count.

use rayon::prelude::*;
use supergat_core::Graph;

/// Probability that the walk follows an edge.
const FOLLOWS: f64 = 0.85;
/// Steps of the power iteration. The error falls by a factor of 0.85 in each: to 1e-7 of the first one.
const STEPS: usize = 100;

/// Computes the PageRank of every node, multiplied by the number of nodes: its mean is 1.
///
/// ```
/// use supergat_core::{Direction, Graph};
/// use supergat_numerics::pagerank::pagerank;
/// let star = Graph::from_edges(4, &[(1, 0), (2, 0), (3, 0)], Direction::Directed)?;
/// let ranks = pagerank(&star);
/// assert!(ranks[0] > 2.0 && ranks[1] < 1.0);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn pagerank(graph: &Graph) -> Vec<f64> {
    let nodes = graph.nodes();
    let (incoming, outgoing) = (graph.incoming(), graph.outgoing());
    let links = |node: usize| outgoing.of(node).iter().filter(|&&other| other as usize != node).count();
    let shares: Vec<f64> = (0..nodes).into_par_iter().map(|node| 1.0 / links(node) as f64).collect();
    let mut ranks = vec![1.0; nodes];
    let mut sent = vec![0.0; nodes];
    for _ in 0..STEPS {
        sent.par_iter_mut().zip(&ranks).zip(&shares).with_min_len(4096).for_each(|((sent, rank), share)| {
            *sent = if share.is_finite() { rank * share } else { 0.0 };
        });
        // Summed in the order of the nodes, so that the bits do not depend on the number of threads.
        let stuck: f64 = ranks.iter().zip(&shares).filter(|(_, share)| share.is_infinite()).map(|(rank, _)| rank).sum();
        let anywhere = 1.0 - FOLLOWS + FOLLOWS * stuck / nodes as f64;
        ranks.par_iter_mut().enumerate().with_min_len(1024).for_each(|(node, rank)| {
            let others = incoming.of(node).iter().filter(|&&other| other as usize != node);
            *rank = anywhere + FOLLOWS * others.map(|&other| sent[other as usize]).sum::<f64>();
        });
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;

    fn of(nodes: usize, pairs: &[(u32, u32)], direction: Direction) -> Vec<f64> {
        pagerank(&Graph::from_edges(nodes, pairs, direction).unwrap())
    }

    #[track_caller]
    fn assert_close(found: &[f64], expected: &[f64]) {
        let close = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6);
        assert!(close && found.len() == expected.len(), "{found:?} {expected:?}");
    }

    #[test]
    fn nodes_of_regular_graphs_are_equal() {
        assert_close(&of(3, &[(0, 1), (1, 2), (2, 0)], Direction::Undirected), &[1.0; 3]);
        assert_close(&of(3, &[(0, 1), (1, 2), (2, 0)], Direction::Directed), &[1.0; 3]);
        assert_close(&of(2, &[], Direction::Undirected), &[1.0; 2]);
    }

    /// A path of two directed edges: `a = 1 - d + d c / 3`, `b = a + d a`, `c = a + d b`, as node `c` has no outgoing edge.
    #[test]
    fn path_has_known_ranks() {
        let d = FOLLOWS;
        let [a, b, c] = [1.0, 1.0 + d, 1.0 + d + d * d].map(|rank| 3.0 * rank / (3.0 + 2.0 * d + d * d));
        assert_close(&of(3, &[(0, 1), (1, 2)], Direction::Directed), &[a, b, c]);
    }

    #[test]
    fn self_loops_do_not_count() {
        let loops = of(3, &[(0, 0), (0, 1), (2, 2)], Direction::Directed);
        assert_eq!(loops, of(3, &[(0, 1)], Direction::Directed));
        assert!((loops.iter().sum::<f64>() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn result_does_not_depend_on_thread_count() {
        let pairs: Vec<(u32, u32)> = (0..9000u32).map(|k| (k * 7919 % 3001, k * 104_729 % 2999)).collect();
        let graph = Graph::from_edges(3001, &pairs, Direction::Directed).unwrap();
        let on = |threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| pagerank(&graph))
        };
        assert_eq!(on(1), on(3));
    }
}
