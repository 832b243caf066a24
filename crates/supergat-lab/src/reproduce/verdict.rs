//! Whether two numbers agree.

use crate::reproduce::paper::Figure;
use crate::statistics::Summary;
use serde::Serialize;
use supergat_figure::Tone;

/// Whether our number agrees with the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It differs by at most this much.
    Within(f64),
    /// It differs by more than this.
    Outside(f64),
    /// The paper copied its number from another paper, where it was made in another way.
    Reprinted,
    /// Ours is of other splits than the paper's, whose deviation does not tell how much splits differ.
    OtherSplits,
    /// The paper has no number.
    NotPrinted,
    /// There are no runs.
    Missing,
}

impl Verdict {
    /// Compares means: they may differ by one, or by twice the printed deviation where that is more.
    pub(crate) fn of(ours: Option<&Summary>, paper: Option<Figure>, reprinted: bool) -> Self {
        let (Some(ours), Some(paper)) = (ours, paper) else {
            return match (reprinted, paper) {
                (true, _) => Self::Reprinted,
                (false, None) if ours.is_some() => Self::NotPrinted,
                _ => Self::Missing,
            };
        };
        let tolerance = (2.0 * paper.std.unwrap_or(0.0)).max(1.0);
        if reprinted { Self::Reprinted } else { Self::judged(ours.mean, paper.mean, tolerance) }
    }

    /// Whether two means differ by at most so much.
    pub(crate) fn judged(ours: f64, paper: f64, tolerance: f64) -> Self {
        if (ours - paper).abs() <= tolerance { Self::Within(tolerance) } else { Self::Outside(tolerance) }
    }

    /// In words.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Within(tolerance) => format!("within {tolerance:.1}"),
            Self::Outside(tolerance) => format!("outside {tolerance:.1}"),
            Self::Reprinted => "reprinted, not judged".into(),
            Self::OtherSplits => "other splits, not judged".into(),
            Self::NotPrinted => "not in the paper".into(),
            Self::Missing => "missing".into(),
        }
    }

    /// What colours it on a page.
    pub(crate) fn tone(self) -> Tone {
        match self {
            Self::Within(_) => Tone::Good,
            Self::Outside(_) => Tone::Bad,
            Self::Reprinted | Self::OtherSplits | Self::NotPrinted | Self::Missing => Tone::Pale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_may_differ_by_one_or_two_deviations() {
        let ours = |mean| Some(Summary::of(vec![mean]));
        let of = |mean, paper, std| Verdict::of(ours(mean).as_ref(), Some(Figure { mean: paper, std }), false);
        assert_eq!(of(81.0, 80.0, Some(0.4)), Verdict::Within(1.0));
        assert_eq!(of(81.1, 80.0, Some(0.4)), Verdict::Outside(1.0));
        assert_eq!(of(78.9, 80.0, None), Verdict::Outside(1.0));
        assert_eq!(of(77.0, 80.0, Some(1.5)), Verdict::Within(3.0));
    }

    #[test]
    fn what_cannot_be_compared_is_not_judged() {
        let (ours, paper) = (Summary::of(vec![80.0]), Figure { mean: 10.0, std: None });
        assert_eq!(Verdict::of(Some(&ours), Some(paper), true), Verdict::Reprinted);
        assert_eq!(Verdict::of(Some(&ours), None, false), Verdict::NotPrinted);
        assert_eq!(Verdict::of(None, Some(paper), false), Verdict::Missing);
        assert_eq!(Verdict::of(None, Some(paper), true), Verdict::Reprinted);
    }
}
