//! Power of t-tests and smallest detectable differences, from the noncentral t distribution as in
//! `TTestIndPower` and `TTestPower` of statsmodels: two-sided at the level [`ALPHA`], with the power
//! [`POWER`].

use super::distributions::{noncentral_t_cdf, t_quantile};
use super::{ALPHA, POWER, Undefined};

/// Returns the power of the pooled test for a difference of `effect` standard deviations between `n_a` and
/// `n_b` runs.
pub fn power(effect: f64, n_a: usize, n_b: usize) -> Result<f64, Undefined> {
    let (scale, df) = unpaired(n_a, n_b)?;
    if !effect.is_finite() {
        return Err(Undefined::NotFinite);
    }
    Ok(power_of_shift((effect * scale).abs().min(MAX_SHIFT), df))
}

/// Returns the smallest difference, in standard deviations, that the pooled test detects with power
/// [`POWER`].
pub fn detectable_effect(n_a: usize, n_b: usize) -> Result<f64, Undefined> {
    let (scale, df) = unpaired(n_a, n_b)?;
    Ok(smallest_shift(df) / scale)
}

/// Returns the smallest mean difference, in standard deviations of the differences, that the paired test
/// detects with power [`POWER`].
pub fn detectable_paired_effect(n: usize) -> Result<f64, Undefined> {
    let (scale, df) = paired(n)?;
    Ok(smallest_shift(df) / scale)
}

fn unpaired(n_a: usize, n_b: usize) -> Result<(f64, f64), Undefined> {
    let found = n_a.min(n_b);
    if found < 2 {
        return Err(Undefined::TooFew { found, needed: 2 });
    }
    let (n_a, n_b) = (n_a as f64, n_b as f64);
    Ok(((n_a * n_b / (n_a + n_b)).sqrt(), n_a + n_b - 2.0))
}

fn paired(n: usize) -> Result<(f64, f64), Undefined> {
    if n < 2 { Err(Undefined::TooFew { found: n, needed: 2 }) } else { Ok(((n as f64).sqrt(), (n - 1) as f64)) }
}

/// Noncentrality beyond which the power is one.
const MAX_SHIFT: f64 = 35.0;

/// Returns the probability that |t| exceeds its critical value with noncentrality `delta`.
fn power_of_shift(delta: f64, df: f64) -> f64 {
    let critical = t_quantile(1.0 - ALPHA / 2.0, df);
    let above = 1.0 - noncentral_t_cdf(critical, df, delta);
    let below = 1.0 - noncentral_t_cdf(critical, df, -delta);
    above + below
}

/// Returns the noncentrality with power [`POWER`], by bisection.
fn smallest_shift(df: f64) -> f64 {
    let (mut low, mut high) = (0.0, MAX_SHIFT);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if power_of_shift(middle, df) < POWER { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::super::samples::close;
    use super::*;

    /// `c = t.ppf(0.975, df)`, `nct.sf(c, df, delta) + nct.cdf(-c, df, delta)` of `scipy.stats`, with `df =
    /// 18, delta = sqrt(5)` and `df = 9, delta = sqrt(10) / 2`
    #[test]
    fn power_matches_scipy() {
        close(power(1.0, 10, 10).unwrap(), 0.5620066465861494);
        close(power(-1.0, 10, 10).unwrap(), 0.5620066465861494);
        close(power_of_shift(0.5 * 10f64.sqrt(), 9.0), 0.29317560651407687);
    }

    /// `scipy.optimize.brentq` of the above minus 0.8, for two samples of 3, 5, 10, 20, 100 and for 2 and 10
    /// pairs
    #[test]
    fn detectable_effects_match_scipy() {
        for (n, effect) in [
            (3, 3.0708922663636873),
            (5, 2.024439339384543),
            (10, 1.3249473925792306),
            (20, 0.9091290326820833),
            (100, 0.3981381375682328),
        ] {
            close(detectable_effect(n, n).unwrap(), effect);
        }
        for (n, effect) in [(2, 11.549888435882334), (10, 0.9960013714554437)] {
            close(detectable_paired_effect(n).unwrap(), effect);
        }
    }

    #[test]
    fn returns_the_reason_for_degenerate_numbers() {
        assert_eq!(detectable_effect(1, 9), Err(Undefined::TooFew { found: 1, needed: 2 }));
        assert_eq!(detectable_paired_effect(1), Err(Undefined::TooFew { found: 1, needed: 2 }));
        assert_eq!(power(f64::NAN, 5, 5), Err(Undefined::NotFinite));
        assert_eq!(power(1e9, 5, 5), Ok(1.0));
    }
}
