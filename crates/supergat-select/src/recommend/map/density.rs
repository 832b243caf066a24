//! Kernel density of degree and homophily over the nodes of a graph.
//!
//! A node with d_i labelled neighbours, s_i of them of its own class, is the point (x_i, y_i) = (log10 d_i,
//! s_i / d_i). The density of n points is
//!
//! ```text
//! f(x, y) = 1/n sum_i k(x - x_i; b_x) k(y - y_i; b_y)      k(t; b) = exp(-t^2 / 2 b^2) / (b sqrt(2 pi))
//! b_x     = n^(-1/6) std(x),  b_y = n^(-1/6) std(y)        Scott's rule (1992) for two dimensions
//! ```
//!
//! Kernels are reflected at the limits x = 0, y = 0 and y = 1. As the paper suggests, leaves linked to
//! another class (d_i = 1, s_i = 0) are omitted: they have little influence on training, but would form a
//! separate peak.

use serde::Serialize;
use supergat_data::Dataset;
use supergat_numerics::homophily::neighbourhoods;

/// Number of grid columns, along log10 of the degree.
pub const COLUMNS: usize = 60;
/// Number of grid rows, along homophily.
pub const ROWS: usize = 40;
/// Minimum bandwidths. Narrower kernels could fall between the cells of the grid.
const MIN_BANDWIDTH: [f64; 2] = [0.02, 0.0125];
/// Extent of the grid beyond the largest degree, in bandwidths.
const MARGIN: f64 = 1.0;

/// Log10 of the degree, and homophily, of a node.
pub type Point = [f64; 2];

/// Returns the points of all nodes with neighbours, except leaves linked to another class.
pub fn points(dataset: &Dataset) -> Vec<Point> {
    let nodes = dataset.examples.iter().flat_map(neighbourhoods);
    let linked = nodes.filter(|[neighbours, same]| *neighbours > 1.0 || *same > 0.0);
    linked.map(|[neighbours, same]| [neighbours.log10(), same / neighbours]).collect()
}

/// A density on a grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Density {
    /// Number of points.
    pub nodes: usize,
    /// Standard deviations of the kernel along degree and homophily.
    pub bandwidth: [f64; 2],
    /// Centres of the columns, as log10 of the degree.
    pub degrees: Vec<f64>,
    /// Centres of the rows, as homophily.
    pub homophilies: Vec<f64>,
    /// Density at the centre of every cell, in row-major order.
    pub values: Vec<f64>,
}

impl Density {
    /// Estimates the density of points; `None` if there are none.
    pub fn of(points: &[Point]) -> Option<Self> {
        let largest = points.iter().map(|point| point[0]).reduce(f64::max)?;
        let bandwidth = [0, 1].map(|axis| bandwidth(points, axis));
        let degrees = centres(largest + MARGIN * bandwidth[0], COLUMNS);
        let homophilies = centres(1.0, ROWS);
        let mut values = vec![0.0; COLUMNS * ROWS];
        for &[x, y] in points {
            let along = kernels(&degrees, &[x, -x], bandwidth[0]);
            let across = kernels(&homophilies, &[y, -y, 2.0 - y], bandwidth[1]);
            for (row, across) in values.chunks_exact_mut(COLUMNS).zip(across) {
                row.iter_mut().zip(&along).for_each(|(value, along)| *value += along * across / points.len() as f64);
            }
        }
        Some(Self { nodes: points.len(), bandwidth, degrees, homophilies, values })
    }

    /// Returns the marginal density of log10 of the degree.
    pub fn of_degree(&self) -> Vec<Point> {
        let height = 1.0 / ROWS as f64;
        let sum = |column: usize| (0..ROWS).map(|row| self.values[row * COLUMNS + column]).sum::<f64>();
        self.degrees.iter().enumerate().map(|(column, &x)| [x, sum(column) * height]).collect()
    }

    /// Returns the marginal density of homophily.
    pub fn of_homophily(&self) -> Vec<Point> {
        let rows = self.values.chunks_exact(COLUMNS).map(|row| row.iter().sum::<f64>() * self.column_width());
        self.homophilies.iter().copied().zip(rows).map(|(y, value)| [y, value]).collect()
    }

    fn column_width(&self) -> f64 {
        2.0 * self.degrees[0]
    }

    /// Returns the share of all nodes in a cell.
    pub(crate) fn share(&self, cell: usize) -> f64 {
        self.values[cell] * self.column_width() / ROWS as f64
    }
}

/// Returns the centres of `count` cells from 0 to `end`.
fn centres(end: f64, count: usize) -> Vec<f64> {
    (0..count).map(|cell| (cell as f64 + 0.5) * end / count as f64).collect()
}

/// Returns the bandwidth by Scott's rule, with a minimum.
fn bandwidth(points: &[Point], axis: usize) -> f64 {
    let n = points.len() as f64;
    let mean = points.iter().map(|point| point[axis]).sum::<f64>() / n;
    let variance = points.iter().map(|point| (point[axis] - mean).powi(2)).sum::<f64>() / n;
    (variance.sqrt() * n.powf(-1.0 / 6.0)).max(MIN_BANDWIDTH[axis])
}

/// Returns the sum of the kernels centred at `around`, a point and its reflections, at each of `positions`.
fn kernels(positions: &[f64], around: &[f64], bandwidth: f64) -> Vec<f64> {
    let scale = 1.0 / (bandwidth * std::f64::consts::TAU.sqrt());
    let kernel = |t: f64| scale * (-0.5 * (t / bandwidth).powi(2)).exp();
    positions.iter().map(|position| around.iter().map(|centre| kernel(position - centre)).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrates_to_one() {
        let points: Vec<Point> = (1..400).map(|k| [f64::from(k % 17 + 1).log10(), f64::from(k % 5) / 4.0]).collect();
        let density = Density::of(&points).unwrap();
        let total: f64 = (0..COLUMNS * ROWS).map(|cell| density.share(cell)).sum();
        // The part beyond the margin is missing.
        assert!((0.97..=1.001).contains(&total), "{total}");
        let width = density.degrees[1] - density.degrees[0];
        let by_degree: f64 = density.of_degree().iter().map(|[_, value]| value * width).sum();
        let by_homophily: f64 = density.of_homophily().iter().map(|[_, value]| value / ROWS as f64).sum();
        assert!((by_degree - total).abs() < 1e-9 && (by_homophily - total).abs() < 1e-9);
    }

    /// Two points far from the limits give a sum of two normal densities. The bandwidth is 2^(-1/6) of the
    /// standard deviation, or the minimum.
    #[test]
    fn kernel_is_the_normal_density() {
        let density = Density::of(&[[2.0, 0.45], [2.0, 0.55]]).unwrap();
        let [b_x, b_y] = density.bandwidth;
        assert!(b_x == MIN_BANDWIDTH[0] && (b_y - 0.05 * 2f64.powf(-1.0 / 6.0)).abs() < 1e-12);
        for (cell, value) in density.values.iter().enumerate() {
            let (x, y) = (density.degrees[cell % COLUMNS], density.homophilies[cell / COLUMNS]);
            let one = |centre: f64| (-0.5 * (((x - 2.0) / b_x).powi(2) + ((y - centre) / b_y).powi(2))).exp();
            let expected = (one(0.45) + one(0.55)) / (2.0 * std::f64::consts::TAU * b_x * b_y);
            assert!((value - expected).abs() < 1e-9 / (b_x * b_y), "{value} instead of {expected}");
        }
    }

    #[test]
    fn bandwidth_follows_scotts_rule() {
        let points: Vec<Point> = (0..729).map(|k| [f64::from(k % 27), f64::from(k / 27) / 26.0]).collect();
        let [x, y] = Density::of(&points).unwrap().bandwidth;
        // 729^(-1/6) = 1/3; the standard deviation of 0, ..., 26 is sqrt((27^2 - 1) / 12).
        let std = (728.0f64 / 12.0).sqrt();
        assert!((x - std / 3.0).abs() < 1e-9 && (y - std / 26.0 / 3.0).abs() < 1e-9, "{x} {y}");
        assert_eq!(Density::of(&[]), None);
    }

    #[test]
    fn omits_leaves_linked_to_another_class() {
        // A path 0 - 1 - 2 - 3 of classes 0 0 1 0 and an isolated node: node 3 is such a leaf.
        use supergat_core::{Direction, Example, Features, Graph, Labels};
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected).unwrap();
        let features = Features::dense(5, 1, vec![0.0f32; 5]).unwrap();
        let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 0, 0] };
        let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![2]]).unwrap();
        let mut dataset = supergat_data::load("random-partition:classes=2,nodes=200").unwrap();
        dataset.examples = vec![example];
        assert_eq!(points(&dataset), [[0.0, 1.0], [2f64.log10(), 0.5], [2f64.log10(), 0.0]]);
    }
}
