//! Wilcoxon's signed-rank test: do pairs differ in one direction? Two-sided, with the choices that `scipy.stats.wilcoxon` makes by default.
//!
//! Pairs without a difference are left out. The chance is exact (all assignments of signs to the ranks are counted) up to 50 pairs without
//! ties and zeros, and up to 13 pairs with them; beyond that it is the normal approximation, corrected for ties and not for continuity.

use super::distributions::normal_two_sided;
use super::{Undefined, differences, size};
use serde::Serialize;

/// Most pairs for an exact chance.
const EXACT: usize = 50;
/// Most pairs for an exact chance when there are ties or zeros.
const EXACT_WITH_TIES: usize = 13;
/// Differences that agree to this share of the values are ties: 81.3 - 81.2 and 80.6 - 80.5 are the same but for rounding.
const TIE: f64 = 1e-11;

/// How a chance was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WilcoxonMethod {
    /// By counting.
    Exact,
    /// By the normal approximation.
    Normal,
}

/// The answer of the signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Wilcoxon {
    /// The smaller of the two sums of ranks.
    pub statistic: f64,
    /// Pairs that differ.
    pub n: usize,
    /// Chance of such a sum, or one farther from the middle, if signs were chance.
    pub p: f64,
    /// How it was computed.
    pub method: WilcoxonMethod,
}

/// Tests pairs.
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
        // Twice the mean rank of a group, which is whole.
        let rank = group.start + 1 + group.end;
        doubled_ranks.extend(group.clone().map(|_| rank));
        plus += rank * differing[group.clone()].iter().filter(|difference| **difference > 0.0).count();
    }
    let n = differing.len();
    let least = plus.min(n * (n + 1) - plus);
    let simple = groups.len() == n && n == all.len();
    let exact = all.len() <= if simple { EXACT } else { EXACT_WITH_TIES };
    let (p, method) = if exact {
        (exact_chance(&doubled_ranks, least), WilcoxonMethod::Exact)
    } else {
        let sizes = groups.iter().map(|group| group.len() as f64);
        (normal_chance(n as f64, least as f64 / 2.0, sizes), WilcoxonMethod::Normal)
    };
    Ok(Wilcoxon { statistic: least as f64 / 2.0, n, p, method })
}

/// Ranges of sorted differences whose sizes agree.
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

/// Twice the share of all assignments of signs whose positive ranks add up to at most `least`.
fn exact_chance(doubled_ranks: &[usize], least: usize) -> f64 {
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

fn normal_chance(n: f64, least: f64, tied: impl Iterator<Item = f64>) -> f64 {
    let ties: f64 = tied.map(|size| size * size * size - size).sum();
    let variance = (n * (n + 1.0) * (2.0 * n + 1.0) - ties / 2.0) / 24.0;
    normal_two_sided((least - n * (n + 1.0) / 4.0) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::samples::{A, B, close};
    use super::*;

    fn is(test: Wilcoxon, statistic: f64, p: f64, method: WilcoxonMethod) {
        assert_eq!((test.statistic, test.method), (statistic, method));
        close(test.p, p);
    }

    /// `scipy.stats.wilcoxon(numpy.round(A - B, 10))`
    #[test]
    fn few_pairs_are_counted_as_in_scipy() {
        is(wilcoxon(&A, &B).unwrap(), 0.0, 0.001953125, WilcoxonMethod::Exact);
    }

    /// `scipy.stats.wilcoxon(D)` and `scipy.stats.wilcoxon(D[:13])`, D as in the code
    #[test]
    fn ties_and_zeros_are_treated_as_in_scipy() {
        let d = [1.0, -1.0, 2.0, 2.0, 0.0, 3.0, -4.0, 5.0, 5.0, 5.0, 6.0, -2.0, 7.0, 8.0, 0.0, 9.0];
        is(wilcoxon(&d, &[0.0; 16]).unwrap(), 12.5, 0.011847839085313791, WilcoxonMethod::Normal);
        is(wilcoxon(&d[..13], &[0.0; 13]).unwrap(), 12.5, 0.03466796875, WilcoxonMethod::Exact);
    }

    /// `scipy.stats.wilcoxon(E[:50])`, `scipy.stats.wilcoxon(E)` with `E = [((k * 37) % 101 - 40.5) * (k + 1) / 7 for k in range(60)]`
    #[test]
    fn many_pairs_are_treated_as_in_scipy() {
        let e: Vec<f64> = (0..60).map(|k| (f64::from(k * 37 % 101) - 40.5) * f64::from(k + 1) / 7.0).collect();
        is(wilcoxon(&e[..50], &[0.0; 50]).unwrap(), 437.0, 0.052989788310034314, WilcoxonMethod::Exact);
        is(wilcoxon(&e, &[0.0; 60]).unwrap(), 644.0, 0.04604348917027671, WilcoxonMethod::Normal);
    }

    #[test]
    fn degenerate_pairs_have_typed_answers() {
        assert_eq!(wilcoxon(&A, &A), Err(Undefined::NoDifference));
        assert_eq!(wilcoxon(&[], &[]), Err(Undefined::TooFew { found: 0, needed: 1 }));
        assert_eq!(wilcoxon(&[1.0], &[1.0, 2.0]), Err(Undefined::NotPaired { a: 1, b: 2 }));
        assert_eq!(wilcoxon(&[f64::NAN], &[1.0]), Err(Undefined::NotFinite));
        // A single pair can say nothing: both signs are as far from the middle.
        assert_eq!(wilcoxon(&[2.0], &[1.0]).unwrap().p, 1.0);
    }
}
