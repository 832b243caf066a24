//! Features of nodes from the links around them.
//!
//! | feature | formula |
//! |---|---|
//! | degree | `log(1 + d_i)` for `d_i` links |
//! | clustering | number of links among the neighbours, divided by `d_i (d_i - 1) / 2` |
//! | return `k` | `(P^k)_ii` with `P = D^-1 A`: probability that a random walk is back after `k` steps |
//!
//! Links count without direction, and self-loops do not count. A feature is 0 where it is not defined: for
//! nodes without links, and clustering for nodes with one.
//!
//! Clustering and the first two return probabilities are exact; both enumerate triangles by intersecting
//! sorted lists of neighbours. The others follow from `S = D^-1/2 A D^-1/2`, since `(P^k)_ii = (S^k)_ii`:
//!
//! ```text
//! (S^(a+b))_ii = sum over j of (S^a e_j)_i (S^b e_j)_i       exact: every unit vector e_j
//!              = mean over z of (S^a z)_i (S^b z)_i          estimate: random signs z
//! ```
//!
//! The first form is used for graphs of at most 4096 nodes. The second needs O(edges) time per vector; with
//! 512 vectors, the relative standard error of the return probabilities of even steps is at most
//! `sqrt(2 / 512)`, which is 6 %, whatever the graph.

use crate::links::Links;
use rayon::prelude::*;
use supergat_core::Graph;
use supergat_core::random::{Purpose, Stream};

/// Names of the features.
pub const NAMES: [&str; 9] =
    ["degree", "clustering", "return 2", "return 3", "return 4", "return 5", "return 6", "return 7", "return 8"];

/// Largest number of nodes for which all return probabilities are exact.
pub const EXACT: usize = 4096;
/// Number of random vectors behind the estimates on larger graphs.
pub const PROBES: usize = 512;

/// Number of vectors that are multiplied at a time.
const BLOCK: usize = 16;
/// Number of steps of a walk after which the products of two walks give the longest return.
const STEPS: usize = 4;
/// Index of the first return probability that follows from products of walks: that of four steps.
const FROM_WALKS: usize = 4;

/// Computes the features of every node, in the order of [`NAMES`].
pub fn structural(graph: &Graph) -> Vec<[f64; NAMES.len()]> {
    let links = Links::new(graph, &[]);
    let mut rows: Vec<_> = (0..links.nodes()).into_par_iter().map(|node| local(&links, node)).collect();
    add_walks(&links, &mut rows);
    rows
}

/// Computes the features that follow from the neighbours of a node and their neighbours.
fn local(links: &Links, node: usize) -> [f64; NAMES.len()] {
    let degree = links.degree(node) as f64;
    let (mut closed, mut two_steps, mut three_steps) = (0u64, 0.0, 0.0);
    for &other in links.of(node) {
        let share = 1.0 / links.degree(other as usize) as f64;
        let mut common = 0.0;
        for_common(links.of(node), links.of(other as usize), |third| {
            closed += 1;
            common += 1.0 / links.degree(third as usize) as f64;
        });
        two_steps += share;
        three_steps += share * common;
    }
    let mut row = [0.0; NAMES.len()];
    row[0] = degree.ln_1p();
    if degree > 1.0 {
        // Every link among the neighbours was found from both of its ends.
        row[1] = closed as f64 / (degree * (degree - 1.0));
    }
    if degree > 0.0 {
        (row[2], row[3]) = (two_steps / degree, three_steps / degree);
    }
    row
}

/// Calls `visit` with the common values of two ascending lists.
///
/// The work is bounded by the shorter list times the logarithm of the longer one, so that hubs are cheap.
fn for_common(a: &[u32], b: &[u32], mut visit: impl FnMut(u32)) {
    /// Ratio of lengths from which searching is faster than merging.
    const MUCH_LONGER: usize = 8;
    let (short, mut long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let search = long.len() / MUCH_LONGER >= short.len();
    for &value in short {
        let skip = if search {
            long.partition_point(|&other| other < value)
        } else {
            long.iter().position(|&other| other >= value).unwrap_or(long.len())
        };
        long = &long[skip..];
        if long.first() == Some(&value) {
            visit(value);
        }
    }
}

/// Adds the return probabilities of four and more steps.
fn add_walks(links: &Links, rows: &mut [[f64; NAMES.len()]]) {
    let nodes = links.nodes();
    let (probes, weight) = if nodes <= EXACT { (nodes, 1.0) } else { (PROBES, 1.0 / PROBES as f64) };
    let stream = Stream::new(0, 0, 0, Purpose::WalkProbes);
    for first in (0..probes).step_by(BLOCK) {
        let mut walks = vec![vec![0.0; nodes * BLOCK]; STEPS + 1];
        let start = |node: usize, values: &mut [f64]| {
            let bits = stream.bits((first / BLOCK * nodes + node) as u64);
            for (k, value) in values.iter_mut().enumerate().take(probes - first) {
                *value = match nodes <= EXACT {
                    true => f64::from(u8::from(node == first + k)),
                    false => 1.0 - 2.0 * (bits >> k & 1) as f64,
                };
            }
        };
        walks[0].par_chunks_exact_mut(BLOCK).enumerate().for_each(|(node, values)| start(node, values));
        for step in 0..STEPS {
            let (before, after) = walks.split_at_mut(step + 1);
            links.times(&before[step], BLOCK, &mut after[0]);
        }
        rows.par_iter_mut().enumerate().with_min_len(256).for_each(|(node, row)| {
            let walk = |steps: usize| &walks[steps][node * BLOCK..(node + 1) * BLOCK];
            for (k, value) in row.iter_mut().enumerate().skip(FROM_WALKS) {
                // Feature k is the return probability of k steps: of two walks of about half the length.
                let (a, b) = (walk(k / 2), walk(k - k / 2));
                *value += weight * a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;

    fn of(nodes: usize, pairs: &[(u32, u32)]) -> Vec<[f64; 9]> {
        structural(&Graph::from_edges(nodes, pairs, Direction::Undirected).unwrap())
    }

    #[track_caller]
    fn assert_close(found: [f64; 9], expected: [f64; 9]) {
        let close = found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-12);
        assert!(close, "{found:?} {expected:?}");
    }

    /// The eigenvalues of a triangle's walk are 1, -1/2 and -1/2, so `(P^k)_ii = (1 + 2 (-1/2)^k) / 3`.
    #[test]
    fn triangle_has_known_features() {
        let back = |k: i32| (1.0 + 2.0 * (-0.5f64).powi(k)) / 3.0;
        let row = [3f64.ln(), 1.0, back(2), back(3), back(4), back(5), back(6), back(7), back(8)];
        of(3, &[(0, 1), (1, 2), (2, 0)]).into_iter().for_each(|found| assert_close(found, row));
    }

    /// A walk on a star is at the centre after every other step.
    #[test]
    fn star_and_path_have_known_features() {
        for leaves in [2u32, 5] {
            let links: Vec<(u32, u32)> = (1..=leaves).map(|leaf| (0, leaf)).collect();
            let found = of(leaves as usize + 2, &links);
            let (centre, leaf) = (f64::from(leaves + 1).ln(), 1.0 / f64::from(leaves));
            assert_close(found[0], [centre, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
            assert_close(found[1], [2f64.ln(), 0.0, leaf, 0.0, leaf, 0.0, leaf, 0.0, leaf]);
            assert_close(found[leaves as usize + 1], [0.0; 9]);
        }
    }

    /// A triangle with a tail: the node with the tail has one link among its three neighbours.
    #[test]
    fn clustering_counts_links_among_neighbours() {
        let found = of(4, &[(0, 1), (1, 2), (2, 0), (2, 3)]);
        let clustering: Vec<f64> = found.iter().map(|row| row[1]).collect();
        assert_eq!(clustering, [1.0, 1.0, 1.0 / 3.0, 0.0]);
        assert_eq!(found[2][3], 2.0 * (1.0 / 3.0) * 0.5 * 0.5);
    }

    #[test]
    fn direction_and_self_loops_do_not_count() {
        let directed = Graph::from_edges(4, &[(0, 1), (2, 1), (2, 0), (2, 2), (3, 3)], Direction::Directed).unwrap();
        assert_eq!(structural(&directed), of(4, &[(0, 1), (1, 2), (0, 2)]));
    }

    fn random_graph(nodes: u64, links: u64) -> Graph {
        let stream = Stream::new(3, 0, 0, Purpose::SyntheticEdges);
        let end = |k: u64| stream.below(2 * k, nodes) as u32;
        // Half of the links lead to a few hubs.
        let other = |k: u64| (stream.below(2 * k + 1, nodes) / if k.is_multiple_of(2) { 1 } else { 1000 }) as u32;
        let pairs: Vec<(u32, u32)> = (0..links).map(|k| (end(k), other(k))).collect();
        Graph::from_edges(nodes as usize, &pairs, Direction::Undirected).unwrap()
    }

    /// Compares the estimates for four steps with exact values.
    #[test]
    fn estimates_have_the_stated_error() {
        let links = Links::new(&random_graph(EXACT as u64 + 1000, 20_000), &[]);
        let mut rows = vec![[0.0; 9]; links.nodes()];
        add_walks(&links, &mut rows);
        let exact: Vec<f64> = (0..links.nodes()).map(|node| four_steps(&links, node)).collect();
        let errors = rows.iter().zip(&exact).filter(|(_, exact)| **exact > 0.0);
        let squares: Vec<f64> = errors.map(|(row, exact)| (row[4] / exact - 1.0).powi(2)).collect();
        let error = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
        assert!(error > 0.0 && error < (2.0 / PROBES as f64).sqrt(), "{error}");
    }

    /// Returns `(P^4)_ii` from all walks of two steps.
    fn four_steps(links: &Links, node: usize) -> f64 {
        let mut reached = std::collections::BTreeMap::<u32, f64>::new();
        let root = |node: u32| (links.degree(node as usize) as f64).sqrt();
        for &middle in links.of(node) {
            for &end in links.of(middle as usize) {
                *reached.entry(end).or_default() += 1.0 / (root(node as u32) * root(middle).powi(2) * root(end));
            }
        }
        reached.values().map(|value| value * value).sum()
    }

    #[test]
    fn result_does_not_depend_on_thread_count() {
        for graph in [random_graph(300, 900), random_graph(EXACT as u64 + 1, 9000)] {
            let on = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| structural(&graph))
            };
            assert_eq!(on(1), on(3));
        }
    }

    #[test]
    fn graphs_without_links_or_nodes_have_zeros() {
        assert_eq!(of(3, &[]), [[0.0; 9]; 3]);
        assert!(of(0, &[]).is_empty());
    }
}
