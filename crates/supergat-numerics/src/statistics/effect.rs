//! Effect sizes: differences in standard deviations.

use super::{Moments, ROUNDING, Undefined, differences, size};
use serde::Serialize;
use statrs::function::gamma::ln_gamma;

/// A difference in standard deviations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    /// Cohen's d.
    pub d: f64,
    /// Hedges' g: d corrected for its bias in small samples.
    pub g: f64,
}

impl Effect {
    fn of(difference: f64, std: f64, df: f64) -> Result<Self, Undefined> {
        if !(difference.is_finite() && std.is_finite()) {
            return Err(Undefined::NotFinite);
        }
        if std <= 0.0 {
            return Err(Undefined::NoVariance);
        }
        let d = difference / std;
        // The exact correction instead of the approximation 1 - 3 / (4 df - 1). One degree of freedom has no
        // unbiased estimate.
        let correction =
            if df > 1.0 { (ln_gamma(df / 2.0) - ln_gamma((df - 1.0) / 2.0)).exp() / (df / 2.0).sqrt() } else { 0.0 };
        Ok(Self { d, g: d * correction })
    }
}

/// Computes the effect size of two samples, in units of their pooled standard deviation.
pub fn effect(a: &[f64], b: &[f64]) -> Result<Effect, Undefined> {
    let (a, b) = (Moments::of(a)?, Moments::of(b)?);
    let (free_a, free_b) = ((a.n - 1) as f64, (b.n - 1) as f64);
    let df = free_a + free_b;
    Effect::of(a.mean - b.mean, ((free_a * a.std * a.std + free_b * b.std * b.std) / df).sqrt(), df)
}

/// Computes the effect size of pairs, in units of the standard deviation of their differences.
pub fn paired_effect(a: &[f64], b: &[f64]) -> Result<Effect, Undefined> {
    let Moments { n, mean, std } = Moments::of(&differences(a, b, 2)?)?;
    let std = if std <= ROUNDING * size(a).max(size(b)) { 0.0 } else { std };
    Effect::of(mean, std, (n - 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{A, B, close};
    use super::*;

    /// SciPy has no effect sizes; computed from its parts: `d = r.statistic * sqrt(1/10 + 1/10)` of
    /// `scipy.stats.ttest_ind(A, B)`, and `g = d * exp(scipy.special.gammaln(9) - scipy.special.gammaln(8.5))
    /// / sqrt(9)`.
    #[test]
    fn effect_matches_scipy() {
        let Effect { d, g } = effect(&A, &B).unwrap();
        close(d, 1.8280194142738595);
        close(g, 1.7505962606093541);
    }

    /// `d = scipy.stats.ttest_rel(A, B).statistic / sqrt(10)`, `g = d * exp(gammaln(4.5) - gammaln(4)) /
    /// sqrt(4.5)`
    #[test]
    fn paired_effect_matches_scipy() {
        let Effect { d, g } = paired_effect(&A, &B).unwrap();
        close(d, 1.573956628019061);
        close(g, 1.4383994431170903);
    }

    #[test]
    fn returns_the_reason_for_degenerate_samples() {
        assert_eq!(effect(&[1.0, 1.0], &[2.0, 2.0]), Err(Undefined::NoVariance));
        assert_eq!(paired_effect(&A, &A), Err(Undefined::NoVariance));
        assert_eq!(effect(&[1.0], &[2.0, 2.0]), Err(Undefined::TooFew { found: 1, needed: 2 }));
        assert_eq!(paired_effect(&[1.0, 2.0], &[0.0, 3.0]).unwrap().g, 0.0);
    }
}
