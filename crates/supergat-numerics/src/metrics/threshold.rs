//! Decision threshold for two classes, chosen on validation nodes.
//!
//! A node is positive if the probability of the positive class is at least the threshold. A threshold lies half-way
//! between two neighbouring probabilities of validation nodes, so that rounding does not change decisions.

use super::ranking::{PrecisionRecallPoint, precision_recall_curve};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How a threshold is chosen.
///
/// ```
/// use supergat_numerics::metrics::ThresholdRule;
/// assert_eq!("f1".parse(), Ok(ThresholdRule::F1));
/// assert_eq!("precision=0.9".parse(), Ok(ThresholdRule::Precision(0.9)));
/// assert_eq!("0.3".parse::<ThresholdRule>().unwrap().to_string(), "0.3");
/// assert!("precision=2".parse::<ThresholdRule>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum ThresholdRule {
    /// Largest F1.
    F1,
    /// Largest recall with at least this precision.
    Precision(f64),
    /// Largest precision with at least this recall.
    Recall(f64),
    /// This probability.
    Value(f64),
}

impl fmt::Display for ThresholdRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F1 => f.write_str("f1"),
            Self::Precision(share) => write!(f, "precision={share}"),
            Self::Recall(share) => write!(f, "recall={share}"),
            Self::Value(value) => write!(f, "{value}"),
        }
    }
}

impl FromStr for ThresholdRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = |number: &str| number.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        let rule = match text.split_once('=') {
            None if text == "f1" => Some(Self::F1),
            None => share(text).map(Self::Value),
            Some(("precision", number)) => share(number).map(Self::Precision),
            Some(("recall", number)) => share(number).map(Self::Recall),
            Some(_) => None,
        };
        rule.ok_or_else(|| {
            format!("expected f1, precision=0.9, recall=0.8 or a probability between 0 and 1, found `{text}`")
        })
    }
}

impl From<ThresholdRule> for String {
    fn from(rule: ThresholdRule) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for ThresholdRule {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// A chosen threshold. See [`choose_threshold`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// Probability of the positive class from which on a node counts as positive.
    pub value: f64,
    /// Why the rule could not be followed, and what was done instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Chooses the threshold by a rule, from the probabilities of the positive class of validation nodes.
///
/// Without positive nodes, and for a probability that is not a number, the threshold is 0.5. If no threshold has the
/// wanted precision, the one with the highest precision is taken; among equal ones, the one with the highest recall. In
/// both cases a note says so. Among equally good thresholds, the highest is taken.
///
/// ```
/// use supergat_numerics::metrics::{ThresholdRule, choose_threshold};
/// let (positive, probabilities) = ([true, true, false, true, false], [0.9, 0.8, 0.6, 0.4, 0.2]);
/// let choose = |rule| choose_threshold(rule, &positive, &probabilities);
/// // All three positive nodes and one negative: F1 = 6 / 7.
/// assert!((choose(ThresholdRule::F1).value - 0.3).abs() < 1e-12);
/// assert!((choose(ThresholdRule::Precision(1.0)).value - 0.7).abs() < 1e-12);
/// assert!((choose(ThresholdRule::Recall(0.6)).value - 0.7).abs() < 1e-12);
/// ```
///
/// # Panics
///
/// Panics if the lists differ in length.
pub fn choose_threshold(rule: ThresholdRule, positive: &[bool], probabilities: &[f64]) -> Threshold {
    if let ThresholdRule::Value(value) = rule {
        return Threshold { value, note: None };
    }
    let Some(curve) = precision_recall_curve(positive, probabilities) else {
        let reason = if positive.iter().any(|positive| *positive) {
            "a probability of a validation node is not a number"
        } else {
            "no validation node has the positive class"
        };
        return Threshold { value: 0.5, note: Some(format!("the threshold is 0.5, because {reason}")) };
    };
    let allowed = |point: &PrecisionRecallPoint| match rule {
        ThresholdRule::Precision(share) => point.precision >= share,
        ThresholdRule::Recall(share) => point.recall >= share,
        ThresholdRule::F1 | ThresholdRule::Value(_) => true,
    };
    let goal = |point: &PrecisionRecallPoint| match rule {
        ThresholdRule::Precision(_) => point.recall,
        ThresholdRule::Recall(_) => point.precision,
        ThresholdRule::F1 | ThresholdRule::Value(_) => point.f1(),
    };
    if let Some(best) = first_largest(&curve, allowed, |point| [goal(point), 0.0]) {
        return Threshold { value: between(&curve, best), note: None };
    }
    // The last point has recall 1, so only a precision can be out of reach.
    let best = first_largest(&curve, |_| true, |point| [point.precision, point.recall]).expect("at least one point");
    let PrecisionRecallPoint { precision, recall, .. } = curve[best];
    let note = format!(
        "no threshold has {rule} on the validation nodes; the highest precision is {precision:.3}, with a recall of \
         {recall:.3}"
    );
    Threshold { value: between(&curve, best), note: Some(note) }
}

/// Returns the index of the first point with the largest value among the allowed ones.
fn first_largest(
    curve: &[PrecisionRecallPoint],
    allowed: impl Fn(&PrecisionRecallPoint) -> bool,
    value: impl Fn(&PrecisionRecallPoint) -> [f64; 2],
) -> Option<usize> {
    let points = curve.iter().enumerate().filter(|(_, point)| allowed(point)).map(|(k, point)| (k, value(point)));
    points.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(k, _)| k)
}

/// Returns the threshold half-way to the next lower probability.
fn between(curve: &[PrecisionRecallPoint], k: usize) -> f64 {
    curve.get(k + 1).map_or(curve[k].threshold, |lower| {
        let middle = 0.5 * (curve[k].threshold + lower.threshold);
        // Neighbouring numbers have no number between them.
        if middle > lower.threshold { middle } else { curve[k].threshold }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSITIVE: [bool; 8] = [false, true, true, false, true, false, true, false];
    const PROBABILITIES: [f64; 8] = [0.95, 0.9, 0.9, 0.7, 0.6, 0.6, 0.3, 0.1];

    fn chosen(rule: &str) -> (f64, f64, Option<String>) {
        let Threshold { value, note } = choose_threshold(rule.parse().unwrap(), &POSITIVE, &PROBABILITIES);
        let predicted = PROBABILITIES.map(|p| p >= value);
        let hits = POSITIVE.iter().zip(predicted).filter(|(y, p)| **y && *p).count() as f64;
        (hits / predicted.iter().filter(|p| **p).count() as f64, hits / 4.0, note)
    }

    #[test]
    fn follows_the_rule() {
        // Precision and recall from the highest probability on: 0/1 0/4, 2/3 2/4, 2/4 2/4, 3/6 3/4, 4/7 4/4, 4/8 4/4.
        assert_eq!(chosen("f1"), (4.0 / 7.0, 1.0, None));
        assert_eq!(chosen("precision=0.6"), (2.0 / 3.0, 0.5, None));
        assert_eq!(chosen("precision=0.5"), (4.0 / 7.0, 1.0, None));
        assert_eq!(chosen("recall=0.5"), (2.0 / 3.0, 0.5, None));
        assert_eq!(chosen("recall=0.7"), (4.0 / 7.0, 1.0, None));
        assert_eq!(choose_threshold(ThresholdRule::Value(0.25), &[], &[]).value, 0.25);
    }

    #[test]
    fn an_unreachable_precision_gives_the_highest_one() {
        let (precision, recall, note) = chosen("precision=0.9");
        assert_eq!((precision, recall), (2.0 / 3.0, 0.5));
        assert!(note.unwrap().starts_with("no threshold has precision=0.9"));
    }

    #[test]
    fn without_positive_nodes_the_threshold_is_one_half() {
        for (positive, probabilities) in [(&[false, false][..], &[0.1, 0.9][..]), (&[true], &[f64::NAN]), (&[], &[])] {
            let Threshold { value, note } = choose_threshold(ThresholdRule::F1, positive, probabilities);
            assert!(value == 0.5 && note.is_some());
        }
    }

    #[test]
    fn rejects_other_texts() {
        for text in ["", "f2", "recall", "recall=", "recall=-0.1", "precision=nan", "1.5", "inf", "accuracy=0.5"] {
            let error = text.parse::<ThresholdRule>().unwrap_err();
            assert!(error.contains(&format!("found `{text}`")), "{error}");
        }
    }
}
