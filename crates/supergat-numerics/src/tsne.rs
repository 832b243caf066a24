//! t-SNE (van der Maaten and Hinton, 2008), computed exactly: positions in the plane for points of any
//! dimension, such that near points stay near.
//!
//! ```text
//! p_j|i  = exp(-b_i |x_i - x_j|^2) / sum over k                 b_i such that 2^(entropy of p_.|i) is the perplexity
//! p_ij   = (p_j|i + p_i|j) / 2n
//! q_ij   = (1 + |y_i - y_j|^2)^-1 / sum over all pairs
//! C      = sum p_ij ln(p_ij / q_ij)                               minimised
//! dC/dy_i = 4 sum_j (p_ij - q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2)
//! ```
//!
//! The method is gradient descent with momentum and a step size per coordinate, as published. Time is
//! quadratic in the number of points.

use rayon::prelude::*;
use supergat_core::random::{Purpose, Stream};

/// Usual perplexity: the effective number of neighbours of a point.
pub const PERPLEXITY: f64 = 30.0;
const STEPS: usize = 1000;
/// Factor by which the p_ij are exaggerated in the first steps, so that clusters form.
const EXAGGERATION: f64 = 12.0;
const EXAGGERATED_STEPS: usize = 250;
/// Momentum during and after exaggeration.
const MOMENTUM: [f64; 2] = [0.5, 0.8];
/// Increment of a coordinate's step size while its direction is kept, and factor when it is reversed.
const GAIN: (f64, f64) = (0.2, 0.8);
const MIN_GAIN: f64 = 0.01;
/// Standard deviation of the initial positions.
const INITIAL_SPREAD: f64 = 1e-4;

/// Returns the positions of the points and the final divergence C. `points` holds `dimension` coordinates of
/// each point. The initial positions are drawn with `seed`.
///
/// ```
/// use supergat_numerics::tsne::tsne;
/// let points = [0.0, 0.1, 0.2, 9.0, 9.1, 9.2];
/// let (positions, _) = tsne(&points, 1, 2.0, 0);
/// assert_eq!(positions.len(), 6);
/// ```
pub fn tsne(points: &[f64], dimension: usize, perplexity: f64, seed: u64) -> (Vec<[f64; 2]>, f64) {
    let points: Vec<&[f64]> = points.chunks_exact(dimension).collect();
    let n = points.len();
    let p = joint(&points, perplexity);
    let stream = Stream::new(seed, 0, 1, Purpose::SyntheticFeatures);
    let mut positions: Vec<[f64; 2]> =
        (0..n as u64).map(|k| stream.normal_pair(k).map(|z| INITIAL_SPREAD * z)).collect();
    let mut steps = vec![[0.0; 2]; n];
    let mut gains = vec![[1.0f64; 2]; n];
    let rate = (n as f64 / EXAGGERATION / 4.0).max(50.0);
    for step in 0..STEPS {
        let early = step < EXAGGERATED_STEPS;
        let (factor, momentum) = if early { (EXAGGERATION, MOMENTUM[0]) } else { (1.0, MOMENTUM[1]) };
        let gradient = gradient(&p, factor, &positions);
        for (k, position) in positions.iter_mut().enumerate() {
            for axis in 0..2 {
                let reversed = (gradient[k][axis] > 0.0) == (steps[k][axis] > 0.0);
                let gain = if reversed { gains[k][axis] * GAIN.1 } else { gains[k][axis] + GAIN.0 };
                gains[k][axis] = gain.max(MIN_GAIN);
                steps[k][axis] = momentum * steps[k][axis] - rate * gains[k][axis] * gradient[k][axis];
                position[axis] += steps[k][axis];
            }
        }
    }
    let divergence = divergence(&p, &positions);
    (positions, divergence)
}

/// Returns the symmetric p_ij in row-major order.
fn joint(points: &[&[f64]], perplexity: f64) -> Vec<f64> {
    let n = points.len();
    let rows: Vec<Vec<f64>> = (0..n).into_par_iter().map(|i| conditional(points, i, perplexity)).collect();
    let symmetric = |cell: usize| (rows[cell / n][cell % n] + rows[cell % n][cell / n]) / (2.0 * n as f64);
    (0..n * n).map(symmetric).collect()
}

/// Returns p_j|i for all j, with b_i found by bisection.
fn conditional(points: &[&[f64]], i: usize, perplexity: f64) -> Vec<f64> {
    let squared = |j: usize| points[i].iter().zip(points[j]).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let distances: Vec<f64> = (0..points.len()).map(squared).collect();
    let nearest = (0..points.len()).filter(|&j| j != i).map(|j| distances[j]).fold(f64::INFINITY, f64::min);
    let row = |b: f64| {
        // Subtracting the smallest distance prevents underflow of all weights.
        let weight = |(j, distance): (usize, &f64)| if j == i { 0.0 } else { (-b * (distance - nearest)).exp() };
        let weights: Vec<f64> = distances.iter().enumerate().map(weight).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect::<Vec<f64>>()
    };
    let (mut low, mut high, mut b) = (0.0, f64::INFINITY, 1.0);
    for _ in 0..100 {
        if entropy(&row(b)) > perplexity.ln() {
            low = b
        } else {
            high = b
        }
        b = if high.is_finite() { (low + high) / 2.0 } else { 2.0 * b };
    }
    row(b)
}

/// Returns the entropy in nats.
fn entropy(p: &[f64]) -> f64 {
    p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

/// Returns (1 + |y_i - y_j|^2)^-1.
fn similarity([a, b]: [f64; 2], [c, d]: [f64; 2]) -> f64 {
    1.0 / (1.0 + (a - c).powi(2) + (b - d).powi(2))
}

/// Returns the sum of the similarities of all pairs of different points. Rows are summed in order, so that
/// the result does not depend on the number of threads.
fn total_similarity(positions: &[[f64; 2]]) -> f64 {
    let row = |i: usize| positions.iter().map(|&other| similarity(positions[i], other)).sum::<f64>() - 1.0;
    (0..positions.len()).into_par_iter().map(row).collect::<Vec<f64>>().into_iter().sum()
}

/// Returns dC/dy_i for all points, with p scaled by `factor`.
fn gradient(p: &[f64], factor: f64, positions: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let (n, sum) = (positions.len(), total_similarity(positions));
    let row = |i: usize| {
        let mut total = [0.0; 2];
        for (&p, &other) in p[i * n..(i + 1) * n].iter().zip(positions) {
            let close = similarity(positions[i], other);
            let force = 4.0 * (factor * p - close / sum) * close;
            total[0] += force * (positions[i][0] - other[0]);
            total[1] += force * (positions[i][1] - other[1]);
        }
        total
    };
    (0..n).into_par_iter().map(row).collect()
}

/// Returns the divergence C.
fn divergence(p: &[f64], positions: &[[f64; 2]]) -> f64 {
    let (n, sum) = (positions.len(), total_similarity(positions));
    let term = |(cell, p): (usize, &f64)| p * (p * sum / similarity(positions[cell / n], positions[cell % n])).ln();
    p.iter().enumerate().filter(|(_, p)| **p > 0.0).map(term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns three distant groups of forty points in five dimensions.
    fn groups() -> Vec<[f64; 5]> {
        let stream = Stream::new(4, 0, 0, Purpose::SyntheticFeatures);
        let coordinate = |k: u64, axis: u64| {
            let centre = if k / 40 == axis { 10.0 } else { 0.0 };
            centre + stream.normal_pair(5 * k + axis)[0]
        };
        (0..120).map(|k| std::array::from_fn(|axis| coordinate(k, axis as u64))).collect()
    }

    fn rows(points: &[[f64; 5]]) -> Vec<&[f64]> {
        points.iter().map(|point| &point[..]).collect()
    }

    #[test]
    fn conditional_distributions_have_the_perplexity() {
        let points = groups();
        let points = rows(&points);
        for perplexity in [5.0, 20.0] {
            for i in [0, 50, 119] {
                let p = conditional(&points, i, perplexity);
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12 && p[i] == 0.0);
                assert!((entropy(&p).exp() - perplexity).abs() < 1e-6 * perplexity);
            }
        }
        let p = joint(&points, 20.0);
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9 && p[3 * 120 + 7] == p[7 * 120 + 3]);
    }

    #[test]
    fn separates_groups_and_reduces_divergence() {
        let points = groups();
        let (positions, divergence_after) = tsne(points.as_flattened(), 5, 20.0, 1);
        let stream = Stream::new(1, 0, 1, Purpose::SyntheticFeatures);
        let start: Vec<[f64; 2]> = (0..120).map(|k| stream.normal_pair(k)).collect();
        assert!(divergence_after < 0.5 * divergence(&joint(&rows(&points), 20.0), &start), "{divergence_after}");
        let squared = |a: usize, b: usize| {
            (positions[a][0] - positions[b][0]).powi(2) + (positions[a][1] - positions[b][1]).powi(2)
        };
        // The nearest neighbour of every point is in the same group.
        for k in 0..120 {
            let others = (0..120).filter(|&other| other != k);
            let nearest = others.min_by(|&a, &b| squared(k, a).total_cmp(&squared(k, b))).unwrap();
            assert_eq!(nearest / 40, k / 40, "point {k}");
        }
        assert_eq!(tsne(points.as_flattened(), 5, 20.0, 1).0, positions);
    }

    #[test]
    fn gradient_equals_central_differences_of_the_divergence() {
        let points = groups();
        let p = joint(&rows(&points), 10.0);
        let stream = Stream::new(2, 0, 0, Purpose::SyntheticFeatures);
        let positions: Vec<[f64; 2]> = (0..120).map(|k| stream.normal_pair(k)).collect();
        let gradient = gradient(&p, 1.0, &positions);
        for (k, axis) in [(0, 0), (41, 1), (99, 0)] {
            let at = |by: f64| {
                let mut moved = positions.clone();
                moved[k][axis] += by;
                divergence(&p, &moved)
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((difference - gradient[k][axis]).abs() < 1e-7, "{difference} {}", gradient[k][axis]);
        }
    }
}
