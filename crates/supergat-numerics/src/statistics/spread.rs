//! Distribution of many values, summarised by mean and quantiles.

use serde::{Deserialize, Serialize};

/// Mean and quantiles of values. Quantiles are linearly interpolated, as in NumPy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of values.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// 5 % quantile.
    pub low: f64,
    /// First quartile.
    pub first: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub third: f64,
    /// 95 % quantile.
    pub high: f64,
}

impl Spread {
    /// Summarises `values`; `None` if empty or if one is not finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let quantile = |share: f64| {
            let position = share * (sorted.len() - 1) as f64;
            let below = position.floor() as usize;
            let above = (below + 1).min(sorted.len() - 1);
            sorted[below] + (sorted[above] - sorted[below]) * position.fract()
        };
        Some(Self {
            count: sorted.len(),
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: quantile(0.05),
            first: quantile(0.25),
            median: quantile(0.5),
            third: quantile(0.75),
            high: quantile(0.95),
        })
    }

    /// Returns the mean of each number over several samples of the same size; panics if empty.
    pub fn mean_of(spreads: &[Self]) -> Self {
        let mean = |number: fn(&Self) -> f64| spreads.iter().map(number).sum::<f64>() / spreads.len() as f64;
        Self {
            count: spreads[0].count,
            mean: mean(|s| s.mean),
            low: mean(|s| s.low),
            first: mean(|s| s.first),
            median: mean(|s| s.median),
            third: mean(|s| s.third),
            high: mean(|s| s.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.quantile([4, 1, 9, 2.5, 7, 7], [0.05, 0.25, 0.5, 0.75, 0.95])`
    #[test]
    fn quantiles_match_numpy() {
        let spread = Spread::of(&[4.0, 1.0, 9.0, 2.5, 7.0, 7.0]).unwrap();
        assert_eq!((spread.count, spread.low, spread.first, spread.median), (6, 1.375, 2.875, 5.5));
        assert_eq!((spread.third, spread.high), (7.0, 8.5));
        assert!((spread.mean - 30.5 / 6.0).abs() < 1e-15);
        assert_eq!(Spread::of(&[3.0]).map(|one| (one.low, one.high)), Some((3.0, 3.0)));
        assert_eq!((Spread::of(&[]), Spread::of(&[1.0, f64::NAN])), (None, None));
    }

    #[test]
    fn averages_each_number_over_samples() {
        let [a, b] = [[1.0, 2.0, 3.0], [3.0, 4.0, 8.0]].map(|values| Spread::of(&values).unwrap());
        let mean = Spread::mean_of(&[a, b]);
        assert_eq!((mean.count, mean.mean, mean.median, mean.third), (3, 3.5, 3.0, 4.25));
    }
}
