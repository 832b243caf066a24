//! Confidence interval of a proportion.
//!
//! Wilson's interval of k of n at 95 %, with z the normal quantile 1.96 and p = k / n:
//!
//! ```text
//! (p + z^2 / 2n ± z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
//! ```
//!
//! The interval stays between 0 and 1, also if all or none are counted.

use super::{Interval, Undefined};

/// The normal quantile of 0.975.
const Z: f64 = 1.959_963_984_540_054;

/// Returns Wilson's 95 % interval of the proportion `count` of `of`.
pub fn wilson(count: usize, of: usize) -> Result<Interval, Undefined> {
    if of == 0 || count > of {
        return Err(Undefined::TooFew { found: of, needed: count.max(1) });
    }
    let (n, square) = (of as f64, Z * Z);
    let p = count as f64 / n;
    let middle = p + square / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + square / (4.0 * n * n)).sqrt();
    let scale = 1.0 + square / n;
    Ok(Interval { low: ((middle - half) / scale).max(0.0), high: ((middle + half) / scale).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.binomtest(k, n).proportion_ci(method="wilson")`
    #[test]
    fn matches_scipy() {
        for (count, of, low, high) in [
            (8, 10, 0.490_162_471_536_641_8, 0.943_317_848_545_624_8),
            (0, 5, 0.0, 0.434_482_464_783_174_8),
            (5, 5, 0.565_517_535_216_825_2, 1.0),
        ] {
            let found = wilson(count, of).unwrap();
            assert!((found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9, "{found:?}");
        }
        assert!(wilson(0, 0).is_err() && wilson(3, 2).is_err());
    }
}
