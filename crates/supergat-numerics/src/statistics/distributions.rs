//! Student's t distribution, central and noncentral, and the normal distribution.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::ln_gamma;

/// Returns the two-sided p-value of a t statistic.
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    // The incomplete beta function is accurate far out in the tail.
    beta_reg(df / 2.0, 0.5, df / (df + t * t))
}

/// Returns the quantile `p` of Student's t distribution.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).expect("degrees of freedom are positive").inverse_cdf(p)
}

/// Returns the two-sided p-value of a normal statistic.
pub fn normal_two_sided(z: f64) -> f64 {
    (2.0 * Normal::standard().sf(z.abs())).min(1.0)
}

/// Returns the probability that a noncentral t is at most `t`, which must not be negative (Lenth 1989,
/// algorithm AS 243).
pub fn noncentral_t_cdf(t: f64, df: f64, delta: f64) -> f64 {
    let x = t * t / (df + t * t);
    let half = delta * delta / 2.0;
    let below_zero = Normal::standard().cdf(-delta);
    if x <= 0.0 {
        return below_zero;
    }
    let mut sum = 0.0;
    let mut even = (-half).exp();
    let mut odd = delta * (-half - ln_gamma(1.5)).exp() / std::f64::consts::SQRT_2;
    // The weights are a Poisson distribution, negligible beyond the mean plus twelve standard deviations.
    let terms = (half + 12.0 * half.sqrt() + 30.0) as usize;
    for j in 0..terms {
        let j = j as f64;
        sum += even * beta_reg(j + 0.5, df / 2.0, x) + odd * beta_reg(j + 1.0, df / 2.0, x);
        even *= half / (j + 1.0);
        odd *= half / (j + 1.5);
    }
    (below_zero + sum / 2.0).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::samples::close;
    use super::*;

    /// `2 * scipy.stats.t.sf(t, df)`, `scipy.stats.t.ppf(p, df)`, `2 * scipy.stats.norm.sf(z)`
    #[test]
    fn central_distributions_match_scipy() {
        for (t, df, p) in [
            (0.5, 3.0, 0.651447964848151),
            (2.1, 18.0, 0.050090405709568346),
            (7.0, 198.0, 3.879634595527227e-11),
            (12.0, 5.5, 3.748050062923341e-05),
            (25.0, 198.0, 3.6091416290201137e-63),
        ] {
            close(t_two_sided(t, df), p);
        }
        for (p, df, t) in [
            (0.975, 1.0, 12.706204736174694),
            (0.975, 2.0, 4.302652729749462),
            (0.975, 9.0, 2.262157162798205),
            (0.975, 14.32, 2.140298944844318),
            (0.975, 198.0, 1.9720174778363146),
            (0.975, 5000.0, 1.9604385517065073),
        ] {
            close(t_quantile(p, df), t);
        }
        for (z, p) in [(0.3, 0.7641771556220948), (1.96, 0.04999579029644087), (8.0, 1.244192114854348e-15)] {
            close(normal_two_sided(z), p);
        }
    }

    /// `scipy.stats.nct.cdf(t, df, delta)`
    #[test]
    fn noncentral_t_matches_scipy() {
        for (t, df, delta, p) in [
            (2.1, 18.0, 2.0, 0.5263507536250039),
            (2.1, 18.0, -2.0, 0.9999432114739006),
            (4.3, 2.0, 6.0, 0.16393126245075726),
            (12.7, 1.0, 16.0, 0.20913226139033825),
            (1.97, 198.0, 2.8, 0.2037095902219737),
            (0.0, 9.0, 1.0, 0.15865525393145707),
        ] {
            close(noncentral_t_cdf(t, df, delta), p);
        }
    }
}
