//! Statistics of the results of many runs: summaries, tests, effect sizes and power.
//!
//! | file | contents |
//! |---|---|
//! | `spread.rs` | mean and quantiles of many values |
//! | `summary.rs` | mean, standard deviation, 95 % interval |
//! | `t_test.rs` | t-tests of two means: pooled (the paper's), Welch, paired |
//! | `wilcoxon.rs` | Wilcoxon's signed-rank test of pairs, without normality |
//! | `holm.rs` | Holm's correction for multiple tests |
//! | `effect.rs` | effect sizes: differences in standard deviations |
//! | `proportion.rs` | 95 % interval of a share |
//! | `power.rs` | power of the tests, and smallest detectable differences |
//! | `mark.rs` | the paper's stars and arrows |
//!
//! Functions take slices and return a number, or the reason why it is [`Undefined`]; they never return NaN.

mod distributions;
mod effect;
mod holm;
mod mark;
mod power;
mod proportion;
mod spread;
mod summary;
mod t_test;
mod wilcoxon;

pub use distributions::t_quantile;
pub use effect::{Effect, effect, paired_effect};
pub use holm::holm;
pub use mark::{Direction, Mark, Stars, mark, mark_of_moments};
pub use power::{detectable_effect, detectable_paired_effect, power};
pub use proportion::wilson;
pub use spread::Spread;
pub use summary::{Interval, Moments, Summary, from_percent, to_percent};
pub use t_test::{TTest, paired_t, pooled_t, pooled_t_of_moments, welch_t, welch_t_of_moments};
pub use wilcoxon::{Wilcoxon, WilcoxonMethod, wilcoxon};

use serde::Serialize;

/// Significance level of all tests and intervals.
pub const ALPHA: f64 = 0.05;
/// Power at which a difference counts as detectable.
pub const POWER: f64 = 0.8;

/// Relative standard deviation below which values count as equal up to rounding.
const ROUNDING: f64 = 1e-12;

/// Reason why a statistic is undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Undefined {
    /// Too few values.
    #[error("too few values: {found}, where at least {needed} are needed")]
    TooFew {
        /// Number of values.
        found: usize,
        /// Minimum number of values.
        needed: usize,
    },
    /// A value is NaN or infinite.
    #[error("a value is not a finite number")]
    NotFinite,
    /// The values have no variance.
    #[error("the values do not vary, so significance cannot be computed")]
    NoVariance,
    /// All pairs are equal.
    #[error("all differences are zero")]
    NoDifference,
    /// The samples have different lengths.
    #[error("{a} values cannot be paired with {b}")]
    NotPaired {
        /// Number of values of the first sample.
        a: usize,
        /// Number of values of the second sample.
        b: usize,
    },
}

/// Validates that there are enough values and that all are finite.
fn check(values: &[f64], needed: usize) -> Result<(), Undefined> {
    if values.len() < needed {
        return Err(Undefined::TooFew { found: values.len(), needed });
    }
    if values.iter().all(|value| value.is_finite()) { Ok(()) } else { Err(Undefined::NotFinite) }
}

/// Returns the differences of pairs, a - b; differences within rounding errors become exactly zero.
fn differences(a: &[f64], b: &[f64], needed: usize) -> Result<Vec<f64>, Undefined> {
    if a.len() != b.len() {
        return Err(Undefined::NotPaired { a: a.len(), b: b.len() });
    }
    check(a, needed)?;
    check(b, needed)?;
    let noise = ROUNDING * size(a).max(size(b));
    let differences = a.iter().zip(b).map(|(a, b)| a - b);
    Ok(differences.map(|d| if d.abs() <= noise { 0.0 } else { d }).collect())
}

/// Returns the largest absolute value.
fn size(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |size, value| size.max(value.abs()))
}

#[cfg(test)]
mod samples {
    //! Samples shared by several tests: accuracies of two models with ten seeds.
    pub const A: [f64; 10] = [84.3, 83.9, 84.8, 84.1, 85.2, 84.6, 83.7, 84.0, 84.9, 84.45];
    pub const B: [f64; 10] = [83.1, 83.6, 82.7, 83.9, 84.5, 83.05, 82.2, 83.8, 83.35, 83.3];

    /// Asserts that two numbers agree to eight digits.
    pub fn close(ours: f64, scipy: f64) {
        assert!((ours - scipy).abs() <= 1e-8 * scipy.abs().max(1e-30), "{ours} instead of {scipy}");
    }
}
