//! Mean and spread of the results of many runs.

use serde::{Deserialize, Serialize};

/// Mean, sample standard deviation (zero for a single value) and the values themselves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub std: f64,
    /// The values, in the order of the runs.
    pub values: Vec<f64>,
}

impl Summary {
    /// Of these values.
    pub fn of(values: Vec<f64>) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        let std = if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        Self { mean, std, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_sample_deviation() {
        let summary = Summary::of(vec![1.0, 2.0, 3.0, 6.0]);
        assert_eq!(summary.mean, 3.0);
        assert!((summary.std - 2.160_246_899_469_287).abs() < 1e-15);
        assert_eq!(Summary::of(vec![4.0]).std, 0.0);
    }
}
