//! Places in the plane for points of any dimension, so that near points stay near: t-SNE (van der Maaten and Hinton, 2008), computed exactly.
//!
//! ```text
//! p_j|i  = exp(-b_i |x_i - x_j|^2) / sum over k of the same     b_i such that 2^(entropy of p_.|i) is the perplexity
//! p_ij   = (p_j|i + p_i|j) / 2n
//! q_ij   = (1 + |y_i - y_j|^2)^-1 / sum over all pairs of the same
//! C      = sum p_ij ln(p_ij / q_ij)                               what is minimised
//! dC/dy_i = 4 sum_j (p_ij - q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2)
//! ```
//!
//! Gradient descent with momentum and a step size per coordinate, as published; the time is quadratic in the number of points.

use rayon::prelude::*;
use supergat_core::random::{Purpose, Stream};

/// The perplexity of common use: about how many neighbours a point has.
pub const PERPLEXITY: f64 = 30.0;
const STEPS: usize = 1000;
/// In the first steps the p_ij are larger by this factor, so that clusters form.
const EXAGGERATION: f64 = 12.0;
const EXAGGERATED_STEPS: usize = 250;
/// Momentum while the p_ij are exaggerated, and after that.
const MOMENTUM: [f64; 2] = [0.5, 0.8];
/// How the step size of a coordinate grows when it keeps its direction, and shrinks when it turns.
const GAIN: (f64, f64) = (0.2, 0.8);
const SMALLEST_GAIN: f64 = 0.01;
/// Standard deviation of the places to begin with.
const START: f64 = 1e-4;

/// Places of the points, drawn with a seed to begin with, and the divergence C that is left.
pub fn tsne<const D: usize>(points: &[[f64; D]], perplexity: f64, seed: u64) -> (Vec<[f64; 2]>, f64) {
    let n = points.len();
    let p = joint(points, perplexity);
    let stream = Stream::new(seed, 0, 1, Purpose::SyntheticFeatures);
    let mut places: Vec<[f64; 2]> = (0..n as u64).map(|k| stream.normal_pair(k).map(|z| START * z)).collect();
    let mut steps = vec![[0.0; 2]; n];
    let mut gains = vec![[1.0f64; 2]; n];
    let rate = (n as f64 / EXAGGERATION / 4.0).max(50.0);
    for step in 0..STEPS {
        let early = step < EXAGGERATED_STEPS;
        let (factor, momentum) = if early { (EXAGGERATION, MOMENTUM[0]) } else { (1.0, MOMENTUM[1]) };
        let gradient = gradient(&p, factor, &places);
        for (k, place) in places.iter_mut().enumerate() {
            for axis in 0..2 {
                let turned = (gradient[k][axis] > 0.0) == (steps[k][axis] > 0.0);
                let gain = if turned { gains[k][axis] * GAIN.1 } else { gains[k][axis] + GAIN.0 };
                gains[k][axis] = gain.max(SMALLEST_GAIN);
                steps[k][axis] = momentum * steps[k][axis] - rate * gains[k][axis] * gradient[k][axis];
                place[axis] += steps[k][axis];
            }
        }
    }
    let left = divergence(&p, &places);
    (places, left)
}

/// The symmetric p_ij, row after row.
fn joint<const D: usize>(points: &[[f64; D]], perplexity: f64) -> Vec<f64> {
    let n = points.len();
    let rows: Vec<Vec<f64>> = (0..n).into_par_iter().map(|i| conditional(points, i, perplexity)).collect();
    let symmetric = |cell: usize| (rows[cell / n][cell % n] + rows[cell % n][cell / n]) / (2.0 * n as f64);
    (0..n * n).map(symmetric).collect()
}

/// p_j|i for all j, its b_i found by bisection.
fn conditional<const D: usize>(points: &[[f64; D]], i: usize, perplexity: f64) -> Vec<f64> {
    let squared = |j: usize| points[i].iter().zip(&points[j]).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let distances: Vec<f64> = (0..points.len()).map(squared).collect();
    let nearest = (0..points.len()).filter(|&j| j != i).map(|j| distances[j]).fold(f64::INFINITY, f64::min);
    let row = |b: f64| {
        // Less the nearest, so that the exponential of at least one is not zero.
        let one = |(j, distance): (usize, &f64)| if j == i { 0.0 } else { (-b * (distance - nearest)).exp() };
        let weights: Vec<f64> = distances.iter().enumerate().map(one).collect();
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

/// In natural units.
fn entropy(p: &[f64]) -> f64 {
    p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

/// (1 + |y_i - y_j|^2)^-1.
fn closeness([a, b]: [f64; 2], [c, d]: [f64; 2]) -> f64 {
    1.0 / (1.0 + (a - c).powi(2) + (b - d).powi(2))
}

/// The sum of all closenesses but those of points with themselves; rows are added in order, whatever thread made them.
fn closenesses(places: &[[f64; 2]]) -> f64 {
    let row = |i: usize| places.iter().map(|&other| closeness(places[i], other)).sum::<f64>() - 1.0;
    (0..places.len()).into_par_iter().map(row).collect::<Vec<f64>>().into_iter().sum()
}

fn gradient(p: &[f64], factor: f64, places: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let (n, sum) = (places.len(), closenesses(places));
    let of = |i: usize| {
        let mut total = [0.0; 2];
        for (&p, &other) in p[i * n..(i + 1) * n].iter().zip(places) {
            let close = closeness(places[i], other);
            let force = 4.0 * (factor * p - close / sum) * close;
            total[0] += force * (places[i][0] - other[0]);
            total[1] += force * (places[i][1] - other[1]);
        }
        total
    };
    (0..n).into_par_iter().map(of).collect()
}

/// C.
fn divergence(p: &[f64], places: &[[f64; 2]]) -> f64 {
    let (n, sum) = (places.len(), closenesses(places));
    let of = |(cell, p): (usize, &f64)| p * (p * sum / closeness(places[cell / n], places[cell % n])).ln();
    p.iter().enumerate().filter(|(_, p)| **p > 0.0).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three groups of forty points in five dimensions, far from each other.
    fn groups() -> Vec<[f64; 5]> {
        let stream = Stream::new(4, 0, 0, Purpose::SyntheticFeatures);
        let coordinate = |k: u64, axis: u64| {
            let centre = if k / 40 == axis { 10.0 } else { 0.0 };
            centre + stream.normal_pair(5 * k + axis)[0]
        };
        (0..120).map(|k| std::array::from_fn(|axis| coordinate(k, axis as u64))).collect()
    }

    #[test]
    fn the_perplexity_is_reached() {
        let points = groups();
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
    fn groups_stay_apart_and_the_divergence_falls() {
        let points = groups();
        let (places, left) = tsne(&points, 20.0, 1);
        let stream = Stream::new(1, 0, 1, Purpose::SyntheticFeatures);
        let start: Vec<[f64; 2]> = (0..120).map(|k| stream.normal_pair(k)).collect();
        assert!(left < 0.5 * divergence(&joint(&points, 20.0), &start), "{left}");
        let squared =
            |a: usize, b: usize| (places[a][0] - places[b][0]).powi(2) + (places[a][1] - places[b][1]).powi(2);
        // The nearest other point is of the same group, for all of them.
        for k in 0..120 {
            let others = (0..120).filter(|&other| other != k);
            let nearest = others.min_by(|&a, &b| squared(k, a).total_cmp(&squared(k, b))).unwrap();
            assert_eq!(nearest / 40, k / 40, "point {k}");
        }
        assert_eq!(tsne(&points, 20.0, 1).0, places);
    }

    /// The gradient is that of the divergence, by central differences.
    #[test]
    fn the_gradient_is_that_of_the_divergence() {
        let points = groups();
        let p = joint(&points, 10.0);
        let stream = Stream::new(2, 0, 0, Purpose::SyntheticFeatures);
        let places: Vec<[f64; 2]> = (0..120).map(|k| stream.normal_pair(k)).collect();
        let gradient = gradient(&p, 1.0, &places);
        for (k, axis) in [(0, 0), (41, 1), (99, 0)] {
            let at = |by: f64| {
                let mut moved = places.clone();
                moved[k][axis] += by;
                divergence(&p, &moved)
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((difference - gradient[k][axis]).abs() < 1e-7, "{difference} {}", gradient[k][axis]);
        }
    }
}
