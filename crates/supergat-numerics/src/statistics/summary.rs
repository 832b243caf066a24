//! Mean and standard deviation of the results of many runs.

use super::distributions::t_quantile;
use super::{ALPHA, ROUNDING, Undefined, check, size};
use serde::{Deserialize, Serialize};

/// Mean, sample standard deviation (zero for a single value) and values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub std: f64,
    /// Values, in the order of the runs.
    pub values: Vec<f64>,
}

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Size, mean and standard deviation of a sample, as printed in published tables.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Moments {
    /// Number of values.
    pub n: usize,
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub std: f64,
}

impl Interval {
    /// Returns the interval of a metric in per cent, as texts and figures show it.
    pub fn in_percent(self) -> Self {
        Self { low: 100.0 * self.low, high: 100.0 * self.high }
    }

    /// Returns the interval of a metric from 0 to 1, from its interval in per cent.
    pub fn in_fractions(self) -> Self {
        Self { low: self.low / 100.0, high: self.high / 100.0 }
    }
}

/// Returns a number that is printed in per cent with one decimal as a fraction. A mere division by 100 has rounding errors:
/// 0.7 % would be 0.006999999999999999.
pub fn from_percent(printed: f64) -> f64 {
    (10.0 * printed).round() / 1000.0
}

/// Returns a number of [`from_percent`] in per cent, exactly as printed.
pub fn to_percent(fraction: f64) -> f64 {
    (1000.0 * fraction).round() / 10.0
}

impl Summary {
    /// Summarises `values`; mean and standard deviation are NaN if empty.
    pub fn of(values: Vec<f64>) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        let std = if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        Self { mean, std, values }
    }

    /// Returns the summary of metrics in per cent, as texts and figures show them. Many accuracies are round numbers in per
    /// cent only, so their equal means are equal to the last bit.
    pub fn in_percent(&self) -> Self {
        Self::of(self.values.iter().map(|value| 100.0 * value).collect())
    }

    /// Returns Student's 95 % interval of the mean.
    pub fn interval(&self) -> Result<Interval, Undefined> {
        check(&self.values, 2)?;
        let n = self.values.len() as f64;
        let half = t_quantile(1.0 - ALPHA / 2.0, n - 1.0) * self.std / n.sqrt();
        Ok(Interval { low: self.mean - half, high: self.mean + half })
    }
}

impl Moments {
    /// Computes the moments of at least two finite values.
    pub fn of(values: &[f64]) -> Result<Self, Undefined> {
        check(values, 2)?;
        let Summary { mean, std, .. } = Summary::of(values.to_vec());
        let std = if std <= ROUNDING * size(values) { 0.0 } else { std };
        Ok(Self { n: values.len(), mean, std })
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{A, close};
    use super::*;

    #[test]
    fn computes_mean_and_sample_standard_deviation() {
        let summary = Summary::of(vec![1.0, 2.0, 3.0, 6.0]);
        assert_eq!(summary.mean, 3.0);
        assert!((summary.std - 2.160_246_899_469_287).abs() < 1e-15);
        assert_eq!(Summary::of(vec![4.0]).std, 0.0);
    }

    /// `scipy.stats.t.interval(0.95, 9, numpy.mean(A), scipy.stats.sem(A))`
    #[test]
    fn interval_matches_scipy() {
        let interval = Summary::of(A.to_vec()).interval().unwrap();
        close(interval.low, 84.05008799737642);
        close(interval.high, 84.73991200262357);
    }

    #[test]
    fn converts_from_and_to_percent() {
        assert_eq!([0.7, 83.1, 100.0].map(from_percent), [0.007, 0.831, 1.0]);
        assert!((0..=1000).map(|k| f64::from(k) / 10.0).all(|printed| to_percent(from_percent(printed)) == printed));
        let summary = Summary::of(vec![0.8, 0.9]).in_percent();
        assert_eq!((summary.mean, summary.values), (85.0, vec![80.0, 90.0]));
        assert_eq!(Interval { low: 0.25, high: 0.5 }.in_percent(), Interval { low: 25.0, high: 50.0 });
        assert_eq!(Interval { low: 25.0, high: 50.0 }.in_fractions(), Interval { low: 0.25, high: 0.5 });
    }

    #[test]
    fn handles_degenerate_samples() {
        assert_eq!(Summary::of(vec![4.0]).interval(), Err(Undefined::TooFew { found: 1, needed: 2 }));
        assert_eq!(Summary::of(vec![4.0, f64::NAN]).interval(), Err(Undefined::NotFinite));
        let constant = Summary::of(vec![4.0, 4.0]).interval().unwrap();
        assert_eq!((constant.low, constant.high), (4.0, 4.0));
        assert_eq!(Moments::of(&[0.1 + 0.2, 0.3]).unwrap().std, 0.0);
    }
}
