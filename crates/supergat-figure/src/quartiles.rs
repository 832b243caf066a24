//! Quartiles, whiskers and outliers for box plots.

/// Box, whiskers and outliers. Whiskers extend to the last value within 1.5 interquartile ranges of the box.
#[derive(Debug, Clone, PartialEq)]
pub struct Quartiles {
    /// End of the lower whisker.
    pub low: f64,
    /// First quartile.
    pub first: f64,
    /// Second quartile.
    pub median: f64,
    /// Third quartile.
    pub third: f64,
    /// End of the upper whisker.
    pub high: f64,
    /// Outliers: values beyond the whiskers.
    pub beyond: Vec<f64>,
    /// Number of finite values.
    pub count: usize,
}

impl Quartiles {
    /// Computes the quartiles of the finite values. Without any, all quartiles are NaN, which figures do not
    /// draw.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let [first, median, third] = [0.25, 0.5, 0.75].map(|share| quantile(&sorted, share));
        let reach = 1.5 * (third - first);
        let within = |value: &f64| (first - reach..=third + reach).contains(value);
        let low = sorted.iter().copied().find(within).unwrap_or(f64::NAN);
        let high = sorted.iter().copied().rev().find(within).unwrap_or(f64::NAN);
        let beyond = sorted.iter().copied().filter(|value| !within(value)).collect();
        Self { low, first, median, third, high, beyond, count: sorted.len() }
    }
}

/// Quantile by linear interpolation, as in NumPy; NaN for an empty slice.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = share * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * position.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_numpy_quartiles() {
        let of = Quartiles::of(&[1.0, 2.0, 3.0, 4.0, 100.0, f64::NAN]);
        assert_eq!([of.first, of.median, of.third], [2.0, 3.0, 4.0]);
        assert_eq!((of.low, of.high, of.beyond, of.count), (1.0, 4.0, vec![100.0], 5));
        assert_eq!(Quartiles::of(&[1.0, 2.0]).first, 1.25);
        assert!(Quartiles::of(&[]).median.is_nan());
    }
}
