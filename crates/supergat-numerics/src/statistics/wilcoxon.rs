//! Wilcoxon's signed-rank test of pairs, two-sided, with the defaults of `scipy.stats.wilcoxon`.
//!
//! Pairs without a difference are skipped. The p-value is exact (all assignments of signs to the ranks are
//! counted) up to 50 pairs without ties and zeros, and up to 13 pairs with them. Beyond that it is the normal
//! approximation, corrected for ties but not for continuity.

use super::distributions::normal_two_sided;
use super::{Undefined, differences, size};
use serde::Serialize;

/// Maximum number of pairs for an exact p-value.
const EXACT: usize = 50;
/// Maximum number of pairs for an exact p-value with ties or zeros.
const EXACT_WITH_TIES: usize = 13;
/// Relative tolerance of ties: 81.3 - 81.2 and 80.6 - 80.5 are equal except for rounding.
const TIE: f64 = 1e-11;

/// Method used for the p-value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WilcoxonMethod {
    /// Exact count of sign assignments.
    Exact,
    /// Normal approximation.
    Normal,
}

/// Result of the signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Wilcoxon {
    /// Smaller of the two rank sums.
    pub statistic: f64,
    /// Number of pairs that differ.
    pub n: usize,
    /// Two-sided p-value.
    pub p: f64,
    /// Method used for the p-value.
    pub method: WilcoxonMethod,
}

/// Computes Wilcoxon's signed-rank test of pairs.
pub fn wilcoxon(a: &[f64], b: &[f64]) -> Result<Wilcoxon, Undefined> {
    let all = differences(a, b, 1)?;
    let mut differing: Vec<f64> = all.iter().copied().filter(|difference| *difference != 0.0).collect();
    if differing.is_empty() {
        return Err(Undefined::NoDifference);
    }
    differing.sort_by(|x, y| x.abs().total_cmp(&y.abs()));
    let groups = tied_groups(&differing, TIE * size(a).max(size(b)));
    let (mut doubled_ranks, mut plus) = (Vec::with_capacity(differing.len()), 0_usize);
    for group in &groups {
        // Twice the mean rank of a group, which is an integer.
        let rank = group.start + 1 + group.end;
        doubled_ranks.extend(group.clone().map(|_| rank));
        plus += rank * differing[group.clone()].iter().filter(|difference| **difference > 0.0).count();
    }
    let n = differing.len();
    let least = plus.min(n * (n + 1) - plus);
    let simple = groups.len() == n && n == all.len();
    let exact = all.len() <= if simple { EXACT } else { EXACT_WITH_TIES };
    let (p, method) = if exact {
        (exact_p(&doubled_ranks, least), WilcoxonMethod::Exact)
    } else {
        let sizes = groups.iter().map(|group| group.len() as f64);
        (normal_p(n as f64, least as f64 / 2.0, sizes), WilcoxonMethod::Normal)
    };
    Ok(Wilcoxon { statistic: least as f64 / 2.0, n, p, method })
}

/// Returns the ranges of sorted differences with equal absolute values.
fn tied_groups(sorted: &[f64], tolerance: f64) -> Vec<std::ops::Range<usize>> {
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    for (k, value) in sorted.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if value.abs() - sorted[group.start].abs() <= tolerance => group.end = k + 1,
            _ => groups.push(k..k + 1),
        }
    }
    groups
}

/// Returns twice the share of sign assignments whose positive ranks sum to at most `least`.
fn exact_p(doubled_ranks: &[usize], least: usize) -> f64 {
    let mut ways = vec![0.0; least + 1];
    ways[0] = 1.0;
    for rank in doubled_ranks {
        for sum in (*rank..=least).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let share = ways.iter().sum::<f64>() / 2.0_f64.powi(doubled_ranks.len() as i32);
    (2.0 * share).min(1.0)
}

fn normal_p(n: f64, least: f64, tied: impl Iterator<Item = f64>) -> f64 {
    let ties: f64 = tied.map(|size| size * size * size - size).sum();
    let variance = (n * (n + 1.0) * (2.0 * n + 1.0) - ties / 2.0) / 24.0;
    normal_two_sided((least - n * (n + 1.0) / 4.0) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::samples::{A, B, close};
    use super::*;

    fn assert_test(test: Wilcoxon, statistic: f64, p: f64, method: WilcoxonMethod) {
        assert_eq!((test.statistic, test.method), (statistic, method));
        close(test.p, p);
    }

    /// `scipy.stats.wilcoxon(numpy.round(A - B, 10))`
    #[test]
    fn few_pairs_match_scipy() {
        assert_test(wilcoxon(&A, &B).unwrap(), 0.0, 0.001953125, WilcoxonMethod::Exact);
    }

    /// `scipy.stats.wilcoxon(D)` and `scipy.stats.wilcoxon(D[:13])`, D as in the code
    #[test]
    fn ties_and_zeros_match_scipy() {
        let d = [1.0, -1.0, 2.0, 2.0, 0.0, 3.0, -4.0, 5.0, 5.0, 5.0, 6.0, -2.0, 7.0, 8.0, 0.0, 9.0];
        assert_test(wilcoxon(&d, &[0.0; 16]).unwrap(), 12.5, 0.011847839085313791, WilcoxonMethod::Normal);
        assert_test(wilcoxon(&d[..13], &[0.0; 13]).unwrap(), 12.5, 0.03466796875, WilcoxonMethod::Exact);
    }

    /// `scipy.stats.wilcoxon(E[:50])`, `scipy.stats.wilcoxon(E)` with `E = [((k * 37) % 101 - 40.5) * (k + 1)
    /// / 7 for k in range(60)]`
    #[test]
    fn many_pairs_match_scipy() {
        let e: Vec<f64> = (0..60).map(|k| (f64::from(k * 37 % 101) - 40.5) * f64::from(k + 1) / 7.0).collect();
        assert_test(wilcoxon(&e[..50], &[0.0; 50]).unwrap(), 437.0, 0.052989788310034314, WilcoxonMethod::Exact);
        assert_test(wilcoxon(&e, &[0.0; 60]).unwrap(), 644.0, 0.04604348917027671, WilcoxonMethod::Normal);
    }

    #[test]
    fn returns_the_reason_for_degenerate_pairs() {
        assert_eq!(wilcoxon(&A, &A), Err(Undefined::NoDifference));
        assert_eq!(wilcoxon(&[], &[]), Err(Undefined::TooFew { found: 0, needed: 1 }));
        assert_eq!(wilcoxon(&[1.0], &[1.0, 2.0]), Err(Undefined::NotPaired { a: 1, b: 2 }));
        assert_eq!(wilcoxon(&[f64::NAN], &[1.0]), Err(Undefined::NotFinite));
        // With a single pair both signs are equally probable.
        assert_eq!(wilcoxon(&[2.0], &[1.0]).unwrap().p, 1.0);
    }
}
