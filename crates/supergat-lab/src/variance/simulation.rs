//! The variance of attention by simulation, over everything that the proposition calls random.

use super::{Inputs, Weights};
use rayon::prelude::*;
use serde::Serialize;
use supergat_core::random::{Purpose, Stream};

/// A variance that was estimated from a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The sample's variance.
    pub variance: f64,
    /// Its standard error, sqrt((m_4 - m_2^2) / n) from the central moments.
    pub error: f64,
}

impl Estimate {
    /// Of a sample.
    pub fn of(sample: &[f64]) -> Self {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let moment = |power| sample.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n;
        let (second, fourth) = (moment(2), moment(4));
        Self { variance: second * n / (n - 1.0), error: ((fourth - second.powi(2)) / n).sqrt() }
    }

    /// The 95 % interval.
    pub fn interval(&self) -> [f64; 2] {
        const QUANTILE: f64 = 1.959_963_984_540_054;
        [self.variance - QUANTILE * self.error, self.variance + QUANTILE * self.error]
    }
}

/// Draws inputs, W and a anew in each trial, and gives the variances of e_GO and e_DP.
pub fn simulate(inputs: &Inputs, weights: &Weights, trials: u32, seed: u64) -> [Estimate; 2] {
    let drawn: Vec<[f64; 2]> =
        (0..trials).into_par_iter().map(|trial| attention(inputs, weights, seed, trial)).collect();
    [0, 1].map(|form| Estimate::of(&drawn.iter().map(|both| both[form]).collect::<Vec<_>>()))
}

/// e_GO and e_DP of one trial.
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

/// The features of two nodes: a part that both share, and a part of each.
fn pairs(inputs: &Inputs, stream: &Stream) -> Vec<[f64; 2]> {
    let (shared, own) = (inputs.correlation.sqrt(), (1.0 - inputs.correlation).sqrt());
    let pair = |r: u64| {
        let ([common, _], parts) = (stream.normal_pair(2 * r), stream.normal_pair(2 * r + 1));
        parts.map(|part| inputs.mean + inputs.variance.sqrt() * (shared * common + own * part))
    };
    (0..inputs.features as u64).map(pair).collect()
}

/// A uniformly distributed number of mean zero: half its range is sqrt(3 variance).
fn uniform(stream: &Stream, index: usize, variance: f64) -> f64 {
    (3.0 * variance).sqrt() * (2.0 * stream.uniform(index as u64) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The simulated variances and the formulas agree within four standard errors, where features, means, correlations and numbers of heads are
    /// such that each term of the formulas matters in one of the cases.
    #[test]
    fn simulation_and_formulas_agree() {
        for (features, mean, variance, correlation, made) in [
            (1, 1.0, 0.0, 0.0, 1),
            (1, 0.0, 1.0, 0.0, 6),
            (2, 0.5, 0.5, 0.6, 3),
            (4, 1.0, 0.3, 0.0, 8),
            (8, 0.0, 2.0, 1.0, 4),
            (16, 0.2, 1.0, 0.5, 8),
        ] {
            let inputs = Inputs { features, mean, variance, correlation };
            let weights = Weights::glorot(features, 1, made);
            let [go, dp] = simulate(&inputs, &weights, 60_000, 5);
            let moments = inputs.moments();
            for (name, estimate, formula) in [("GO", go, moments.go(&weights)), ("DP", dp, moments.dp(&weights))] {
                assert!(
                    (estimate.variance - formula).abs() < 4.0 * estimate.error,
                    "{name} {inputs:?}: {estimate:?}, {formula}"
                );
                // A formula that is wrong by a tenth would be seen.
                assert!(4.0 * estimate.error < 0.1 * formula, "{name} {inputs:?}: {estimate:?}");
            }
            assert!(moments.dp_bound(&weights) < dp.variance + 4.0 * dp.error, "{inputs:?}");
        }
    }

    /// The variance of an equal number of 1 and -1 is n / (n - 1), and its standard error is zero; of uniform numbers it is 1/12 with
    /// the error sqrt((1/80 - 1/144) / n).
    #[test]
    fn variances_and_their_errors() {
        let estimate = Estimate::of(&[1.0, -1.0, 1.0, -1.0]);
        assert!((estimate.variance - 4.0 / 3.0).abs() < 1e-12 && estimate.error == 0.0);
        let stream = Stream::new(1, 0, 0, Purpose::Weights);
        let numbers: Vec<f64> = (0..50_000).map(|k| stream.uniform(k)).collect();
        let estimate = Estimate::of(&numbers);
        assert!((estimate.error - (1.0f64 / 180.0 / 50_000.0).sqrt()).abs() < 0.02 * estimate.error);
        let [low, high] = estimate.interval();
        assert!(low < 1.0 / 12.0 && 1.0 / 12.0 < high && (high - low - 3.92 * estimate.error).abs() < 1e-6);
    }

    #[test]
    fn the_seed_decides() {
        let inputs = Inputs { features: 3, mean: 0.0, variance: 1.0, correlation: 0.0 };
        let weights = Weights::glorot(3, 1, 2);
        let run = |seed| simulate(&inputs, &weights, 50, seed);
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
