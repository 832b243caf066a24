//! Simulated variance of attention over random inputs, weights and attention vectors.

use super::{Inputs, Weights};
use rayon::prelude::*;
use serde::Serialize;
use supergat_core::random::{Purpose, Stream};

/// Variance estimated from a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VarianceEstimate {
    /// Sample variance.
    pub variance: f64,
    /// Standard error of the variance, sqrt((m_4 - m_2^2) / n) from the central moments.
    pub error: f64,
}

impl VarianceEstimate {
    /// Estimates the variance of a sample of at least two values.
    pub fn new(sample: &[f64]) -> Self {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let moment = |power| sample.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n;
        let (second, fourth) = (moment(2), moment(4));
        Self { variance: second * n / (n - 1.0), error: ((fourth - second.powi(2)) / n).sqrt() }
    }

    /// Returns the 95 % confidence interval.
    pub fn interval(&self) -> [f64; 2] {
        const QUANTILE: f64 = 1.959_963_984_540_054;
        [self.variance - QUANTILE * self.error, self.variance + QUANTILE * self.error]
    }
}

/// Estimates the variances of e_GO and e_DP. Each trial draws new inputs, W and a.
pub fn simulate(inputs: &Inputs, weights: &Weights, trials: u32, seed: u64) -> [VarianceEstimate; 2] {
    let drawn: Vec<[f64; 2]> =
        (0..trials).into_par_iter().map(|trial| attention(inputs, weights, seed, trial)).collect();
    [0, 1].map(|form| VarianceEstimate::new(&drawn.iter().map(|both| both[form]).collect::<Vec<_>>()))
}

/// Returns e_GO and e_DP of one trial.
fn attention(inputs: &Inputs, weights: &Weights, seed: u64, trial: u32) -> [f64; 2] {
    let stream = |purpose| Stream::new(seed, trial, 0, purpose);
    let pairs = pairs(inputs, &stream(Purpose::SyntheticFeatures));
    let (matrix, vector) = (stream(Purpose::Weights), stream(Purpose::AttentionVectors));
    let (mut go, mut dp) = (0.0, 0.0);
    for k in 0..weights.features {
        let (mut i, mut j) = (0.0, 0.0);
        for (r, [x, y]) in pairs.iter().enumerate() {
            let w = uniform(&matrix, k * pairs.len() + r, weights.matrix);
            i += w * x;
            j += w * y;
        }
        go += uniform(&vector, 2 * k, weights.vector) * i + uniform(&vector, 2 * k + 1, weights.vector) * j;
        dp += i * j;
    }
    [go, dp]
}

/// Draws the features of two nodes. Each is the sum of a shared part and an independent part.
fn pairs(inputs: &Inputs, stream: &Stream) -> Vec<[f64; 2]> {
    let (shared, own) = (inputs.correlation.sqrt(), (1.0 - inputs.correlation).sqrt());
    let pair = |r: u64| {
        let ([common, _], parts) = (stream.normal_pair(2 * r), stream.normal_pair(2 * r + 1));
        parts.map(|part| inputs.mean + inputs.variance.sqrt() * (shared * common + own * part))
    };
    (0..inputs.features as u64).map(pair).collect()
}

/// Draws a uniformly distributed number of mean zero: half its range is sqrt(3 variance).
fn uniform(stream: &Stream, index: usize, variance: f64) -> f64 {
    (3.0 * variance).sqrt() * (2.0 * stream.uniform(index as u64) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each term of the formulas matters in at least one of the cases.
    #[test]
    fn formulas_agree_with_simulation_within_four_standard_errors() {
        for (features, mean, variance, correlation, outputs) in [
            (1, 1.0, 0.0, 0.0, 1),
            (1, 0.0, 1.0, 0.0, 6),
            (2, 0.5, 0.5, 0.6, 3),
            (4, 1.0, 0.3, 0.0, 8),
            (8, 0.0, 2.0, 1.0, 4),
            (16, 0.2, 1.0, 0.5, 8),
        ] {
            let inputs = Inputs { features, mean, variance, correlation };
            let weights = Weights::glorot(features, 1, outputs);
            let [go, dp] = simulate(&inputs, &weights, 60_000, 5);
            let moments = inputs.moments();
            for (name, estimate, formula) in [("GO", go, moments.go(&weights)), ("DP", dp, moments.dp(&weights))] {
                assert!(
                    (estimate.variance - formula).abs() < 4.0 * estimate.error,
                    "{name} {inputs:?}: {estimate:?}, {formula}"
                );
                // The test would detect a formula that is wrong by 10 %.
                assert!(4.0 * estimate.error < 0.1 * formula, "{name} {inputs:?}: {estimate:?}");
            }
            assert!(moments.dp_bound(&weights) < dp.variance + 4.0 * dp.error, "{inputs:?}");
        }
    }

    /// The variance of equally many 1 and -1 is n / (n - 1) with standard error zero. The variance of uniform
    /// numbers is 1/12 with standard error sqrt((1/80 - 1/144) / n).
    #[test]
    fn estimates_known_variances_and_standard_errors() {
        let estimate = VarianceEstimate::new(&[1.0, -1.0, 1.0, -1.0]);
        assert!((estimate.variance - 4.0 / 3.0).abs() < 1e-12 && estimate.error == 0.0);
        let stream = Stream::new(1, 0, 0, Purpose::Weights);
        let numbers: Vec<f64> = (0..50_000).map(|k| stream.uniform(k)).collect();
        let estimate = VarianceEstimate::new(&numbers);
        assert!((estimate.error - (1.0f64 / 180.0 / 50_000.0).sqrt()).abs() < 0.02 * estimate.error);
        let [low, high] = estimate.interval();
        assert!(low < 1.0 / 12.0 && 1.0 / 12.0 < high && (high - low - 3.92 * estimate.error).abs() < 1e-6);
    }

    #[test]
    fn depends_on_the_seed_only() {
        let inputs = Inputs { features: 3, mean: 0.0, variance: 1.0, correlation: 0.0 };
        let weights = Weights::glorot(3, 1, 2);
        let run = |seed| simulate(&inputs, &weights, 50, seed);
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
