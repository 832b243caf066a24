//! Agreement of a reproduced number with the printed one.

use crate::reproduce::paper::PrintedNumber;
use serde::Serialize;
use supergat_figure::Tone;
use supergat_numerics::statistics::Summary;

/// Share of a tolerance by which differences of decimal numbers may exceed it, because of rounding.
const ROUNDING: f64 = 1e-9;

/// Agreement of our number with the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The means differ by at most this tolerance.
    Within(f64),
    /// The means differ by more than this tolerance.
    Outside(f64),
    /// The paper copied its number from another paper, which used another method; the means differ by at most this
    /// tolerance.
    ReprintedWithin(f64),
    /// The paper copied its number from another paper; the means differ by more than this tolerance.
    ReprintedOutside(f64),
    /// The paper copied its number from another paper, or would have to, and one of the numbers is missing.
    Reprinted,
    /// Not judged: our runs use other splits. The paper's deviation does not include differences between
    /// splits.
    OtherSplits,
    /// The paper has no such number.
    NotPrinted,
    /// There are no runs of ours.
    Missing,
}

impl Verdict {
    /// Compares means with a tolerance of 0.01, or 0.02 for numbers of other papers, or twice the printed deviation if that
    /// is larger.
    pub(crate) fn compare(ours: Option<&Summary>, paper: Option<PrintedNumber>, reprinted: bool) -> Self {
        let (Some(ours), Some(paper)) = (ours, paper) else {
            return match (reprinted, paper) {
                (true, _) => Self::Reprinted,
                (false, None) if ours.is_some() => Self::NotPrinted,
                _ => Self::Missing,
            };
        };
        let tolerance = (2.0 * paper.std.unwrap_or(0.0)).max(if reprinted { 0.02 } else { 0.01 });
        match Self::with_tolerance(ours.mean, paper.mean, tolerance) {
            Self::Within(tolerance) if reprinted => Self::ReprintedWithin(tolerance),
            Self::Outside(tolerance) if reprinted => Self::ReprintedOutside(tolerance),
            judged => judged,
        }
    }

    /// Compares means with a given tolerance.
    pub(crate) fn with_tolerance(ours: f64, paper: f64, tolerance: f64) -> Self {
        let is_within = (ours - paper).abs() <= tolerance * (1.0 + ROUNDING);
        if is_within { Self::Within(tolerance) } else { Self::Outside(tolerance) }
    }

    /// Returns the text for tables, with the tolerance in percentage points.
    pub(crate) fn text(self) -> String {
        self.with_number(|tolerance| format!("{:.1}", 100.0 * tolerance))
    }

    /// Returns the text for CSV files, with the tolerance as a fraction.
    pub(crate) fn exact(self) -> String {
        self.with_number(|tolerance| format!("{tolerance:.3}"))
    }

    fn with_number(self, number: impl Fn(f64) -> String) -> String {
        match self {
            Self::Within(tolerance) => format!("within {}", number(tolerance)),
            Self::Outside(tolerance) => format!("outside {}", number(tolerance)),
            Self::ReprintedWithin(tolerance) => format!("reprinted, within {}", number(tolerance)),
            Self::ReprintedOutside(tolerance) => format!("reprinted, outside {}", number(tolerance)),
            Self::Reprinted => "reprinted, not judged".into(),
            Self::OtherSplits => "other splits, not judged".into(),
            Self::NotPrinted => "not in the paper".into(),
            Self::Missing => "missing".into(),
        }
    }

    /// Returns the colour for HTML pages.
    pub(crate) fn tone(self) -> Tone {
        match self {
            Self::Within(_) => Tone::Good,
            Self::Outside(_) => Tone::Bad,
            Self::ReprintedWithin(_) | Self::ReprintedOutside(_) | Self::Reprinted => Tone::Pale,
            Self::OtherSplits | Self::NotPrinted | Self::Missing => Tone::Pale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerance_is_one_or_two_deviations() {
        let ours = |mean| Some(Summary::of(vec![mean]));
        let verdict =
            |mean, paper, std| Verdict::compare(ours(mean).as_ref(), Some(PrintedNumber { mean: paper, std }), false);
        assert_eq!(verdict(0.81, 0.8, Some(0.004)), Verdict::Within(0.01));
        assert_eq!(verdict(0.811, 0.8, Some(0.004)), Verdict::Outside(0.01));
        assert_eq!(verdict(0.789, 0.8, None), Verdict::Outside(0.01));
        assert_eq!(verdict(0.77, 0.8, Some(0.015)), Verdict::Within(0.03));
    }

    #[test]
    fn numbers_of_other_papers_have_a_larger_tolerance() {
        let ours = Summary::of(vec![0.8]);
        let verdict = |mean, std| Verdict::compare(Some(&ours), Some(PrintedNumber { mean, std }), true);
        assert_eq!(verdict(0.82, None), Verdict::ReprintedWithin(0.02));
        assert_eq!(verdict(0.821, Some(0.005)), Verdict::ReprintedOutside(0.02));
        assert_eq!(verdict(0.827, Some(0.014)), Verdict::ReprintedWithin(0.028));
        let outside = verdict(0.821, None);
        assert_eq!([outside.text(), outside.exact()], ["reprinted, outside 2.0", "reprinted, outside 0.020"]);
    }

    #[test]
    fn does_not_judge_incomparable_numbers() {
        let (ours, paper) = (Summary::of(vec![0.8]), PrintedNumber { mean: 0.1, std: None });
        assert_eq!(Verdict::compare(Some(&ours), None, true), Verdict::Reprinted);
        assert_eq!(Verdict::compare(Some(&ours), None, false), Verdict::NotPrinted);
        assert_eq!(Verdict::compare(None, Some(paper), false), Verdict::Missing);
        assert_eq!(Verdict::compare(None, Some(paper), true), Verdict::Reprinted);
    }
}
