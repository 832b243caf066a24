//! Simulated cases of the study: one property of the inputs is varied at a time.

use super::{Inputs, VarianceEstimate, Weights, simulate};
use serde::Serialize;

/// Inputs from which one property is varied.
const BASELINE: Inputs = Inputs { features: 64, mean: 0.0, variance: 1.0, correlation: 0.0 };
/// Number of heads and features per head, as in the published networks.
const SHAPE: [usize; 2] = [8, 8];

/// A varied property of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Varied {
    /// Number of features.
    Features,
    /// Variance of a feature.
    Variance,
    /// Correlation between the two nodes.
    Correlation,
}

impl Varied {
    /// All properties.
    pub const ALL: [Self; 3] = [Self::Features, Self::Variance, Self::Correlation];

    /// Returns a human-readable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Features => "input features",
            Self::Variance => "input variance",
            Self::Correlation => "correlation of the two nodes",
        }
    }

    /// Returns the values of the property with the inputs they give.
    fn inputs(self) -> Vec<(f64, Inputs)> {
        match self {
            Self::Features => (0..=8)
                .map(|power| 1 << power)
                .map(|features| (features as f64, Inputs { features, ..BASELINE }))
                .collect(),
            Self::Variance => [0.25, 0.5, 1.0, 2.0, 4.0, 8.0].map(|v| (v, Inputs { variance: v, ..BASELINE })).into(),
            Self::Correlation => {
                [0.0, 0.2, 0.4, 0.6, 0.8, 1.0].map(|c| (c, Inputs { correlation: c, ..BASELINE })).into()
            }
        }
    }
}

/// Simulated variances of one setting, beside those of the formulas.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Case {
    /// Varied property.
    pub varied: Varied,
    /// Value of the property.
    pub value: f64,
    /// Inputs of the layer.
    pub inputs: Inputs,
    /// Parameters of the layer.
    pub weights: Weights,
    /// Simulated variance of e_GO.
    pub go: VarianceEstimate,
    /// Variance of e_GO by the proposition.
    pub go_formula: f64,
    /// Simulated variance of e_DP.
    pub dp: VarianceEstimate,
    /// Exact variance of e_DP.
    pub dp_formula: f64,
    /// Lower bound on the variance of e_DP by the proposition.
    pub dp_bound: f64,
}

/// Simulates all values of one property. Each value uses different random numbers, so that errors are
/// independent.
pub fn cases(varied: Varied, trials: u32, seed: u64) -> Vec<Case> {
    let case = |(value, inputs): (f64, Inputs), number: u64| {
        let weights = Weights::glorot(inputs.features, SHAPE[0], SHAPE[1]);
        // The lower 32 bits of the seed number the cases of a study.
        let [go, dp] = simulate(&inputs, &weights, trials, seed << 32 | (varied as u64) << 16 | number);
        let moments = inputs.moments();
        let (go_formula, dp_formula) = (moments.go(&weights), moments.dp(&weights));
        Case { varied, value, inputs, weights, go, go_formula, dp, dp_formula, dp_bound: moments.dp_bound(&weights) }
    };
    varied.inputs().into_iter().zip(0..).map(|(setting, number)| case(setting, number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_variances_agree_with_formulas() {
        for varied in Varied::ALL {
            let cases = cases(varied, 2000, 3);
            for case in &cases {
                assert!((case.go.variance - case.go_formula).abs() < 5.0 * case.go.error, "{case:?}");
                assert!((case.dp.variance - case.dp_formula).abs() < 5.0 * case.dp.error, "{case:?}");
                assert!(case.dp_bound <= case.dp_formula, "{case:?}");
            }
            assert!(cases.windows(2).all(|pair| pair[0].value < pair[1].value));
        }
    }
}
