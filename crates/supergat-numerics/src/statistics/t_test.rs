//! Student's t-tests of the means of two samples, all two-sided.

use super::distributions::{t_quantile, t_two_sided};
use super::{ALPHA, Interval, Moments, ROUNDING, Undefined, differences, size};
use serde::Serialize;

/// Result of a t-test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TTest {
    /// Mean of the first sample minus mean of the second, or mean of the differences.
    pub difference: f64,
    /// 95 % interval of the difference.
    pub interval: Interval,
    /// The t statistic.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p-value.
    pub p: f64,
}

impl TTest {
    fn of(difference: f64, error: f64, df: f64) -> Result<Self, Undefined> {
        if !(difference.is_finite() && error.is_finite()) {
            return Err(Undefined::NotFinite);
        }
        if error <= 0.0 {
            return Err(Undefined::NoVariance);
        }
        let t = difference / error;
        let half = t_quantile(1.0 - ALPHA / 2.0, df) * error;
        let interval = Interval { low: difference - half, high: difference + half };
        Ok(Self { difference, interval, t, df, p: t_two_sided(t, df) })
    }
}

/// Computes the unpaired t-test with pooled variance, as in the paper.
pub fn pooled_t(a: &[f64], b: &[f64]) -> Result<TTest, Undefined> {
    pooled_t_of_moments(Moments::of(a)?, Moments::of(b)?)
}

/// Computes the pooled t-test of samples given by their moments, as in a published table.
pub fn pooled_t_of_moments(a: Moments, b: Moments) -> Result<TTest, Undefined> {
    let ((n_a, n_b), (var_a, var_b)) = numbers_and_variances(a, b)?;
    let df = n_a + n_b - 2.0;
    let pooled = ((n_a - 1.0) * var_a + (n_b - 1.0) * var_b) / df;
    TTest::of(a.mean - b.mean, (pooled * (1.0 / n_a + 1.0 / n_b)).sqrt(), df)
}

/// Computes Welch's unpaired t-test, without assuming equal variances.
pub fn welch_t(a: &[f64], b: &[f64]) -> Result<TTest, Undefined> {
    welch_t_of_moments(Moments::of(a)?, Moments::of(b)?)
}

/// Computes Welch's t-test of samples given by their moments.
pub fn welch_t_of_moments(a: Moments, b: Moments) -> Result<TTest, Undefined> {
    let ((n_a, n_b), (var_a, var_b)) = numbers_and_variances(a, b)?;
    let (share_a, share_b) = (var_a / n_a, var_b / n_b);
    let square = share_a + share_b;
    if square <= 0.0 {
        return Err(Undefined::NoVariance);
    }
    let df = square * square / (share_a * share_a / (n_a - 1.0) + share_b * share_b / (n_b - 1.0));
    TTest::of(a.mean - b.mean, square.sqrt(), df)
}

/// Computes the paired t-test.
pub fn paired_t(a: &[f64], b: &[f64]) -> Result<TTest, Undefined> {
    let differences = differences(a, b, 2)?;
    if differences.iter().all(|difference| *difference == 0.0) {
        return Err(Undefined::NoDifference);
    }
    let Moments { n, mean, std } = Moments::of(&differences)?;
    if std <= ROUNDING * size(a).max(size(b)) {
        return Err(Undefined::NoVariance);
    }
    TTest::of(mean, std / (n as f64).sqrt(), (n - 1) as f64)
}

type Pair = (f64, f64);

fn numbers_and_variances(a: Moments, b: Moments) -> Result<(Pair, Pair), Undefined> {
    let fewest = a.n.min(b.n);
    if fewest < 2 {
        return Err(Undefined::TooFew { found: fewest, needed: 2 });
    }
    Ok(((a.n as f64, b.n as f64), (a.std * a.std, b.std * b.std)))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{A, B, close};
    use super::*;

    fn assert_test(test: TTest, [t, df, p, low, high]: [f64; 5]) {
        close(test.t, t);
        close(test.df, df);
        close(test.p, p);
        close(test.interval.low, low);
        close(test.interval.high, high);
    }

    /// `r = scipy.stats.ttest_ind(A, B)`: `r.statistic, r.df, r.pvalue, *r.confidence_interval()`
    #[test]
    fn pooled_test_matches_scipy() {
        assert_test(
            pooled_t(&A, &B).unwrap(),
            [4.0875756745056995, 18.0, 0.0006910634816345378, 0.5078934833561526, 1.5821065166438508],
        );
        assert_test(
            pooled_t(&A, &B[..6]).unwrap(),
            [3.229324682019599, 14.0, 0.00605676344992252, 0.3089732537979586, 1.5310267462020448],
        );
    }

    /// `scipy.stats.ttest_ind(A, B, equal_var=False)`
    #[test]
    fn welchs_test_matches_scipy() {
        assert_test(
            welch_t(&A, &B).unwrap(),
            [4.0875756745056995, 16.615850213722805, 0.000800178831402, 0.5046683281368226, 1.5853316718631807],
        );
        assert_test(
            welch_t(&A, &B[..6]).unwrap(),
            [2.9764441253500897, 8.258361519529528, 0.01707816115740355, 0.21109158667689532, 1.6289084133231082],
        );
    }

    /// `scipy.stats.ttest_rel(A, B)`
    #[test]
    fn paired_test_matches_scipy() {
        assert_test(
            paired_t(&A, &B).unwrap(),
            [4.977287882858629, 9.0, 0.0007622624706234647, 0.5700517368574594, 1.519948263142544],
        );
    }

    /// `scipy.stats.ttest_ind_from_stats(84.3, 0.6, 100, 83.0, 0.7, 100)`: Cora in the paper's table.
    #[test]
    fn tests_published_moments() {
        let (mx, go) = (Moments { n: 100, mean: 84.3, std: 0.6 }, Moments { n: 100, mean: 83.0, std: 0.7 });
        let test = pooled_t_of_moments(mx, go).unwrap();
        close(test.t, 14.10047975821262);
        close(test.p, 1.0225796415648203e-31);
    }

    #[test]
    fn returns_the_reason_for_degenerate_samples() {
        type Test = fn(&[f64], &[f64]) -> Result<TTest, Undefined>;
        for test in [pooled_t as Test, welch_t, paired_t] {
            assert!(matches!(test(&[1.0], &[2.0]), Err(Undefined::TooFew { found: 1, needed: 2 })));
            assert_eq!(test(&[], &[]), Err(Undefined::TooFew { found: 0, needed: 2 }));
            assert_eq!(test(&[1.0, f64::NAN], &[2.0, 3.0]), Err(Undefined::NotFinite));
            assert_eq!(test(&[1.0, 2.0], &[2.0, f64::INFINITY]), Err(Undefined::NotFinite));
            assert_eq!(test(&[1.0, 1.0], &[2.0, 2.0]), Err(Undefined::NoVariance));
            assert_eq!(test(&[1e300, -1e300], &[1e300, 3e299]).map(|test| test.p.is_nan()), Err(Undefined::NotFinite));
        }
        assert_eq!(paired_t(&[1.0, 2.0], &[1.0]), Err(Undefined::NotPaired { a: 2, b: 1 }));
        assert_eq!(paired_t(&A, &A), Err(Undefined::NoDifference));
        let shifted: Vec<f64> = A.iter().map(|a| a + 0.1).collect();
        assert_eq!(paired_t(&A, &shifted), Err(Undefined::NoVariance));
        assert_eq!(
            welch_t_of_moments(Moments { n: 0, mean: 1.0, std: 1.0 }, Moments { n: 2, mean: 1.0, std: 1.0 }),
            Err(Undefined::TooFew { found: 0, needed: 2 })
        );
    }
}
