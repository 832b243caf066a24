//! Spectral features: the leading eigenvectors of `S = D^-1/2 A D^-1/2`.
//!
//! Every connected component has one trivial eigenvector, `D^1/2 1` with eigenvalue 1, which only repeats the
//! degrees. They are removed: the features are the leading eigenvectors of
//!
//! ```text
//! (2 I + S) / 3 - sum over components of u_c u_c^T,   u_c = D^1/2 1_c / |D^1/2 1_c|
//! ```
//!
//! All eigenvalues of `S` are between -1 and 1, so this matrix is positive semidefinite, and its eigenvalues are
//! at least 1/3 except for the trivial eigenvectors, where they are 0. Eigenvectors are computed by the block
//! Lanczos method of `eigen/`. Spectra of large graphs are dense at their end, and the method would need
//! thousands of vectors to separate them. So the space is limited to four vectors per feature, and at least
//! 256. In graphs with more nodes, features may be approximations: combinations of leading eigenvectors.
//!
//! Each feature has standard deviation 1, and its entry of largest magnitude is positive. Directions of links
//! and self-loops do not count. Features of nodes without links are 0.

use crate::eigen::{Operator, fix_signs, leading};
use crate::links::Links;
use rayon::prelude::*;
use supergat_core::Graph;

/// Largest residual norm of an eigenvector, relative to the largest eigenvalue.
const TOLERANCE: f64 = 1e-3;
/// Largest number of vectors of the Krylov space per feature.
const VECTORS_PER_FEATURE: usize = 4;
/// The Krylov space may always grow to this number of vectors.
const FEWEST_VECTORS: usize = 256;
/// Eigenvalue below which an eigenvector is trivial.
const TRIVIAL: f64 = 1.0 / 6.0;

/// Computes `count` spectral features of every node, row by row. Features are 0 from the first one that the
/// graph does not have: it has as many as nodes minus connected components.
pub fn spectral(graph: &Graph, count: usize) -> Vec<f32> {
    let operator = Deflated::new(Links::new(graph, &[]));
    let nodes = graph.nodes();
    let found = count.min(nodes - operator.trivial);
    let mut features = vec![0.0; nodes * count];
    if found == 0 {
        return features;
    }
    let width = found.next_multiple_of(8);
    let mut pairs = leading(&operator, found, width, TOLERANCE, FEWEST_VECTORS.max(VECTORS_PER_FEATURE * found));
    fix_signs(&mut pairs.vectors, width);
    let scales: Vec<f64> = (0..found).map(|k| scale(pairs.values[k], &pairs.vectors, width, k)).collect();
    let rows = features.par_chunks_exact_mut(count).zip(pairs.vectors.par_chunks_exact(width)).enumerate();
    rows.filter(|(node, _)| operator.links.degree(*node) > 0).for_each(|(_, (row, vector))| {
        row.iter_mut().zip(vector).zip(&scales).for_each(|((to, from), scale)| *to = (from * scale) as f32);
    });
    features
}

/// Returns the factor that gives column `k` standard deviation 1; 0 for a trivial eigenvector.
fn scale(value: f64, vectors: &[f64], width: usize, k: usize) -> f64 {
    let rows = (vectors.len() / width) as f64;
    let column = || vectors.iter().skip(k).step_by(width);
    let mean = column().sum::<f64>() / rows;
    let variance = column().map(|value| (value - mean).powi(2)).sum::<f64>() / rows;
    if value > TRIVIAL && variance > 0.0 { variance.sqrt().recip() } else { 0.0 }
}

/// The matrix whose leading eigenvectors are the features.
struct Deflated {
    links: Links,
    component: Vec<u32>,
    /// Entry of each node in the trivial eigenvector of its component.
    unit: Vec<f64>,
    /// Number of trivial eigenvectors.
    trivial: usize,
}

impl Deflated {
    fn new(links: Links) -> Self {
        let (component, trivial) = links.components();
        // A node without links is a component with the eigenvector 1.
        let weight = |node: usize| links.degree(node).max(1) as f64;
        let mut sums = vec![0.0; trivial];
        (0..links.nodes()).for_each(|node| sums[component[node] as usize] += weight(node));
        let unit = (0..links.nodes()).map(|node| (weight(node) / sums[component[node] as usize]).sqrt()).collect();
        Self { links, component, unit, trivial }
    }

    /// Makes vectors orthogonal to the trivial eigenvectors.
    fn deflate(&self, block: &mut [f64], width: usize) {
        let mut amounts = vec![0.0; self.trivial * width];
        let nodes = || self.component.iter().map(|&c| c as usize * width..(c as usize + 1) * width).zip(&self.unit);
        for (row, (at, unit)) in block.chunks_exact(width).zip(nodes()) {
            amounts[at].iter_mut().zip(row).for_each(|(amount, value)| *amount += unit * value);
        }
        for (row, (at, unit)) in block.chunks_exact_mut(width).zip(nodes()) {
            row.iter_mut().zip(&amounts[at]).for_each(|(value, amount)| *value -= unit * amount);
        }
    }
}

impl Operator for Deflated {
    fn side(&self) -> usize {
        self.links.nodes()
    }

    fn apply(&self, block: &[f64], width: usize) -> Vec<f64> {
        let mut out = vec![0.0; block.len()];
        self.links.times(block, width, &mut out);
        let pairs = out.par_iter_mut().zip(block).with_min_len(4096);
        pairs.for_each(|(out, value)| *out = (2.0 * value + *out) / 3.0);
        self.deflate(&mut out, width);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;
    use supergat_core::random::{Purpose, Stream};

    fn of(nodes: usize, pairs: &[(u32, u32)], count: usize) -> Vec<Vec<f32>> {
        let graph = Graph::from_edges(nodes, pairs, Direction::Undirected).unwrap();
        let rows = spectral(&graph, count);
        (0..count).map(|k| rows.iter().skip(k).step_by(count).copied().collect()).collect()
    }

    #[track_caller]
    fn assert_close(found: &[f32], expected: &[f64]) {
        let close = found.iter().zip(expected).all(|(found, expected)| (f64::from(*found) - expected).abs() < 1e-5);
        assert!(found.len() == expected.len() && close, "{found:?} {expected:?}");
    }

    /// A path of three nodes has the eigenvectors (1, 0, -1) and (1, -sqrt 2, 1) besides the trivial one.
    #[test]
    fn path_has_known_features() {
        let found = of(3, &[(0, 1), (1, 2)], 5);
        let sign = f64::from(found[0][0].signum());
        assert_close(&found[0], &[sign * 1.5f64.sqrt(), 0.0, -sign * 1.5f64.sqrt()]);
        let deviation = (4.0 / 3.0 - ((2.0 - 2f64.sqrt()) / 3.0).powi(2)).sqrt();
        assert_close(&found[1], &[-1.0 / deviation, 2f64.sqrt() / deviation, -1.0 / deviation]);
        found[2..].iter().for_each(|zero| assert_close(zero, &[0.0; 3]));
    }

    /// A pair of nodes has the eigenvectors (1, 1), which is trivial, and (1, -1).
    #[test]
    fn disconnected_graphs_have_one_trivial_vector_per_component() {
        // A path of three nodes, a pair of nodes, and a node without links.
        let found = of(6, &[(0, 1), (1, 2), (3, 4)], 8);
        let zero = |column: &[f32], nodes: &[usize]| nodes.iter().all(|&node| column[node].abs() < 1e-5);
        assert!(zero(&found[0], &[1, 3, 4, 5]) && (found[0][0] + found[0][2]).abs() < 1e-5, "{:?}", found[0]);
        for column in &found[1..3] {
            assert!(zero(column, &[5]) && (column[0] - column[2]).abs() < 1e-5, "{column:?}");
            assert!((column[3] + column[4]).abs() < 1e-5, "{column:?}");
        }
        assert!(found[3..].iter().all(|column| zero(column, &[0, 1, 2, 3, 4, 5])), "{found:?}");
    }

    #[test]
    fn graphs_without_links_or_nodes_have_zeros() {
        assert_eq!(of(2, &[], 3), vec![vec![0.0; 2]; 3]);
        assert!(of(0, &[], 3).concat().is_empty() && of(1, &[], 1) == [[0.0]]);
    }

    /// Two dense groups with few links between them.
    fn two_groups() -> Graph {
        let stream = Stream::new(2, 0, 0, Purpose::SyntheticEdges);
        let node = |k: u64, group: u64| (200 * group + stream.below(k, 200)) as u32;
        let inside = (0..4000u64).map(|k| (node(2 * k, k % 2), node(2 * k + 1, k % 2)));
        let between = (4000..4040u64).map(|k| (node(2 * k, 0), node(2 * k + 1, 1)));
        Graph::from_edges(400, &inside.chain(between).collect::<Vec<_>>(), Direction::Undirected).unwrap()
    }

    #[test]
    fn first_feature_separates_groups_and_all_have_unit_variance() {
        let rows = spectral(&two_groups(), 4);
        let first: Vec<f32> = rows.iter().step_by(4).copied().collect();
        let sign = first[0].signum();
        let right = first.iter().enumerate().filter(|(node, value)| (**value * sign > 0.0) == (*node < 200));
        assert!(right.count() >= 398);
        for k in 0..4 {
            let column: Vec<f64> = rows.iter().skip(k).step_by(4).map(|value| f64::from(*value)).collect();
            let mean = column.iter().sum::<f64>() / 400.0;
            let variance = column.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 400.0;
            assert!((variance - 1.0).abs() < 1e-5, "{variance}");
        }
    }

    #[test]
    fn result_does_not_depend_on_thread_count() {
        let graph = two_groups();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| spectral(&graph, 8))
        };
        assert_eq!(on(1), on(3));
    }
}
