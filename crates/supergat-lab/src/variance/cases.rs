//! What the study simulates: one property of the inputs varied at a time, the others held.

use super::{Estimate, Inputs, Weights, simulate};
use serde::Serialize;

/// What is held while something else varies.
const CENTRE: Inputs = Inputs { features: 64, mean: 0.0, variance: 1.0, correlation: 0.0 };
/// Heads of the layer and features of each, as in the published networks.
const SHAPE: [usize; 2] = [8, 8];

/// A property of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Varied {
    /// How many features.
    Features,
    /// Variance of a feature.
    Variance,
    /// Correlation of the two nodes.
    Correlation,
}

impl Varied {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Features, Self::Variance, Self::Correlation];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Features => "input features",
            Self::Variance => "input variance",
            Self::Correlation => "correlation of the two nodes",
        }
    }

    fn inputs(self) -> Vec<(f64, Inputs)> {
        match self {
            Self::Features => (0..=8)
                .map(|power| 1 << power)
                .map(|features| (features as f64, Inputs { features, ..CENTRE }))
                .collect(),
            Self::Variance => [0.25, 0.5, 1.0, 2.0, 4.0, 8.0].map(|v| (v, Inputs { variance: v, ..CENTRE })).into(),
            Self::Correlation => {
                [0.0, 0.2, 0.4, 0.6, 0.8, 1.0].map(|c| (c, Inputs { correlation: c, ..CENTRE })).into()
            }
        }
    }
}

/// One setting: simulated, and by the formulas.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Case {
    /// What is varied.
    pub varied: Varied,
    /// Its value.
    pub value: f64,
    /// The inputs.
    pub inputs: Inputs,
    /// The layer.
    pub weights: Weights,
    /// Variance of e_GO, simulated.
    pub go: Estimate,
    /// Variance of e_GO by the proposition.
    pub go_formula: f64,
    /// Variance of e_DP, simulated.
    pub dp: Estimate,
    /// Variance of e_DP, exact.
    pub dp_formula: f64,
    /// Its lower bound by the proposition.
    pub dp_bound: f64,
}

/// Simulates all settings of one property. Every setting has its own random numbers, so that the errors are independent.
pub fn cases(varied: Varied, trials: u32, seed: u64) -> Vec<Case> {
    let case = |(value, inputs): (f64, Inputs), number: u64| {
        let weights = Weights::glorot(inputs.features, SHAPE[0], SHAPE[1]);
        // A seed of 64 bits names 2^32 of these studies.
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
    fn one_property_varies_and_the_formulas_follow() {
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
