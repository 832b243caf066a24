//! Agreement of a reproduced number with the printed one.

use crate::reproduce::paper::PrintedNumber;
use serde::Serialize;
use supergat_figure::Tone;
use supergat_numerics::statistics::Summary;

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
    /// Compares means with a tolerance of 1.0, or 2.0 for numbers of other papers, or twice the printed deviation if that is
    /// larger.
    pub(crate) fn compare(ours: Option<&Summary>, paper: Option<PrintedNumber>, reprinted: bool) -> Self {
        let (Some(ours), Some(paper)) = (ours, paper) else {
            return match (reprinted, paper) {
                (true, _) => Self::Reprinted,
                (false, None) if ours.is_some() => Self::NotPrinted,
                _ => Self::Missing,
            };
        };
        let tolerance = (2.0 * paper.std.unwrap_or(0.0)).max(if reprinted { 2.0 } else { 1.0 });
        match Self::with_tolerance(ours.mean, paper.mean, tolerance) {
            Self::Within(tolerance) if reprinted => Self::ReprintedWithin(tolerance),
            Self::Outside(tolerance) if reprinted => Self::ReprintedOutside(tolerance),
            judged => judged,
        }
    }

    /// Compares means with a given tolerance.
    pub(crate) fn with_tolerance(ours: f64, paper: f64, tolerance: f64) -> Self {
        if (ours - paper).abs() <= tolerance { Self::Within(tolerance) } else { Self::Outside(tolerance) }
    }

    /// Returns the text for tables.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Within(tolerance) => format!("within {tolerance:.1}"),
            Self::Outside(tolerance) => format!("outside {tolerance:.1}"),
            Self::ReprintedWithin(tolerance) => format!("reprinted, within {tolerance:.1}"),
            Self::ReprintedOutside(tolerance) => format!("reprinted, outside {tolerance:.1}"),
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
        assert_eq!(verdict(81.0, 80.0, Some(0.4)), Verdict::Within(1.0));
        assert_eq!(verdict(81.1, 80.0, Some(0.4)), Verdict::Outside(1.0));
        assert_eq!(verdict(78.9, 80.0, None), Verdict::Outside(1.0));
        assert_eq!(verdict(77.0, 80.0, Some(1.5)), Verdict::Within(3.0));
    }

    #[test]
    fn numbers_of_other_papers_have_a_larger_tolerance() {
        let ours = Summary::of(vec![80.0]);
        let verdict = |mean, std| Verdict::compare(Some(&ours), Some(PrintedNumber { mean, std }), true);
        assert_eq!(verdict(82.0, None), Verdict::ReprintedWithin(2.0));
        assert_eq!(verdict(82.1, Some(0.5)), Verdict::ReprintedOutside(2.0));
        assert_eq!(verdict(82.7, Some(1.4)), Verdict::ReprintedWithin(2.8));
        assert_eq!(verdict(82.1, None).text(), "reprinted, outside 2.0");
    }

    #[test]
    fn does_not_judge_incomparable_numbers() {
        let (ours, paper) = (Summary::of(vec![80.0]), PrintedNumber { mean: 10.0, std: None });
        assert_eq!(Verdict::compare(Some(&ours), None, true), Verdict::Reprinted);
        assert_eq!(Verdict::compare(Some(&ours), None, false), Verdict::NotPrinted);
        assert_eq!(Verdict::compare(None, Some(paper), false), Verdict::Missing);
        assert_eq!(Verdict::compare(None, Some(paper), true), Verdict::Reprinted);
    }
}
