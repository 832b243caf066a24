//! An estimate with its variance, and the combination of two of them.

/// Half width of the 95 % interval of a normal distribution, in standard deviations.
pub(super) const NORMAL_REACH: f64 = 1.96;

/// Estimate of a number from one source of evidence, with its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PartialEstimate {
    pub(super) value: f64,
    pub(super) variance: f64,
    /// Half width of the 95 % interval, in standard errors.
    pub(super) reach: f64,
}

impl PartialEstimate {
    /// Combines two estimates, weighted by the inverse of their variances. If they differ by more than their
    /// errors allow, the error of the result is increased by the Birge ratio (Birge 1932).
    pub(super) fn combined_with(self, other: Self) -> Self {
        let precision = 1.0 / self.variance + 1.0 / other.variance;
        let value = (self.value / self.variance + other.value / other.variance) / precision;
        let disagreement = [self, other].map(|one| (one.value - value).powi(2) / one.variance).iter().sum::<f64>();
        Self { value, variance: disagreement.max(1.0) / precision, reach: self.reach.max(other.reach) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disagreement_increases_the_error() {
        let both = |a: f64, b: f64| {
            let [a, b] = [a, b].map(|value| PartialEstimate { value, variance: 0.02, reach: NORMAL_REACH });
            let PartialEstimate { value, variance, .. } = a.combined_with(b);
            (value, variance)
        };
        let close = |(value, variance): (f64, f64), expected: (f64, f64)| {
            (value - expected.0).abs() < 1e-12 && (variance - expected.1).abs() < 1e-12
        };
        assert!(close(both(0.5, 0.6), (0.55, 0.01)));
        // Chi-squared is 2 * 0.3^2 / 0.02 = 9, with one degree of freedom.
        assert!(close(both(0.2, 0.8), (0.5, 0.09)));
    }
}
