//! An estimate of a number, and what two of them come to together.

/// How far the 95 % interval of a normal number reaches.
pub(super) const NORMAL_REACH: f64 = 1.96;

/// An estimate with its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    pub(super) value: f64,
    pub(super) variance: f64,
    /// How many standard errors the 95 % interval reaches to either side.
    pub(super) reach: f64,
}

impl Part {
    /// The mean of two, each weighed by one over its variance. Where they disagree by more than their errors allow, the error of the result is widened by the factor
    /// that would make them agree (Birge 1932).
    pub(super) fn and(self, other: Self) -> Self {
        let precision = 1.0 / self.variance + 1.0 / other.variance;
        let value = (self.value / self.variance + other.value / other.variance) / precision;
        let disagreement = [self, other].map(|part| (part.value - value).powi(2) / part.variance).iter().sum::<f64>();
        Self { value, variance: disagreement.max(1.0) / precision, reach: self.reach.max(other.reach) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disagreement_widens_the_error() {
        let both = |a: f64, b: f64| {
            let [a, b] = [a, b].map(|value| Part { value, variance: 0.02, reach: NORMAL_REACH });
            let Part { value, variance, .. } = a.and(b);
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
