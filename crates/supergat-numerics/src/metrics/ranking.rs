//! Metrics of an order by score: areas under curves, the curves, and the first k nodes.
//!
//! Nodes with equal scores share a threshold, so no metric depends on their order, except [`precision_at_k`]. All
//! functions return `None` if a score is NaN, or if the metric is undefined.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Numbers of positive and of all nodes with at least a score.
#[derive(Debug, Clone, Copy)]
struct Cut {
    threshold: f64,
    true_positives: f64,
    predicted: f64,
}

/// Returns the counts at every score, from the highest score to the lowest; `None` if a score is NaN.
fn cuts(positive: &[bool], scores: &[f64]) -> Option<Vec<Cut>> {
    assert_eq!(positive.len(), scores.len(), "a score for each node");
    if scores.iter().any(|score| score.is_nan()) {
        return None;
    }
    let mut order: Vec<(f64, bool)> = scores.iter().copied().zip(positive.iter().copied()).collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let [mut true_positives, mut predicted] = [0.0; 2];
    // The total order puts 0.0 directly before -0.0; they are equal and share a threshold.
    let cut = |group: &[(f64, bool)]| {
        true_positives += group.iter().filter(|(_, positive)| *positive).count() as f64;
        predicted += group.len() as f64;
        Cut { threshold: group[0].0, true_positives, predicted }
    };
    Some(order.chunk_by(|a, b| a.0 == b.0).map(cut).collect())
}

fn count(positive: &[bool]) -> f64 {
    positive.iter().filter(|positive| **positive).count() as f64
}

/// Returns the area under the ROC curve: the probability that a positive node scores higher than a negative one,
/// with equal scores counting half. `None` unless there are both.
///
/// ```
/// use supergat_numerics::metrics::roc_auc;
/// assert_eq!(roc_auc(&[true, false, true, false], &[0.9, 0.8, 0.7, 0.7]), Some(0.625));
/// assert_eq!(roc_auc(&[true, true], &[0.9, 0.8]), None);
/// ```
pub fn roc_auc(positive: &[bool], scores: &[f64]) -> Option<f64> {
    let cuts = cuts(positive, scores)?;
    let positives = count(positive);
    let negatives = positive.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return None;
    }
    let [mut above, mut before, mut wins] = [0.0; 3];
    for cut in cuts {
        let (hits, others) = (cut.true_positives - before, cut.predicted - cut.true_positives - above);
        // Positive nodes above these negative ones win, those beside them win half.
        wins += others * (before + hits / 2.0);
        (before, above) = (cut.true_positives, cut.predicted - cut.true_positives);
    }
    Some(wins / (positives * negatives))
}

/// Returns the average precision: the mean of the precisions at all thresholds, weighted by the increase of the
/// recall. `None` without positive nodes.
///
/// ```
/// use supergat_numerics::metrics::average_precision;
/// assert_eq!(average_precision(&[true, false, true], &[0.9, 0.8, 0.7]), Some((1.0 + 2.0 / 3.0) / 2.0));
/// ```
pub fn average_precision(positive: &[bool], scores: &[f64]) -> Option<f64> {
    let cuts = cuts(positive, scores)?;
    let positives = count(positive);
    let (mut before, mut sum) = (0.0, 0.0);
    for cut in cuts {
        sum += (cut.true_positives - before) * cut.true_positives / cut.predicted;
        before = cut.true_positives;
    }
    (positives > 0.0).then(|| sum / positives)
}

/// A point of a ROC curve. See [`roc_curve`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RocPoint {
    /// Nodes with at least this score count as positive; infinite in the first point, where none do.
    pub threshold: f64,
    /// Share of the negative nodes that count as positive.
    pub false_positive_rate: f64,
    /// Share of the positive nodes that count as positive.
    pub true_positive_rate: f64,
}

/// Returns the ROC curve, from (0, 0) to (1, 1), with a point for every score. `None` unless there are positive and
/// negative nodes.
///
/// ```
/// use supergat_numerics::metrics::roc_curve;
/// let curve = roc_curve(&[true, false, true], &[0.9, 0.8, 0.7]).unwrap();
/// assert_eq!(curve.len(), 4);
/// assert_eq!((curve[1].threshold, curve[1].false_positive_rate, curve[1].true_positive_rate), (0.9, 0.0, 0.5));
/// ```
pub fn roc_curve(positive: &[bool], scores: &[f64]) -> Option<Vec<RocPoint>> {
    let cuts = cuts(positive, scores)?;
    let positives = count(positive);
    let negatives = positive.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return None;
    }
    let first = RocPoint { threshold: f64::INFINITY, false_positive_rate: 0.0, true_positive_rate: 0.0 };
    let points = cuts.into_iter().map(|cut| RocPoint {
        threshold: cut.threshold,
        false_positive_rate: (cut.predicted - cut.true_positives) / negatives,
        true_positive_rate: cut.true_positives / positives,
    });
    Some(std::iter::once(first).chain(points).collect())
}

/// A point of a precision-recall curve. See [`precision_recall_curve`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrecisionRecallPoint {
    /// Nodes with at least this score count as positive.
    pub threshold: f64,
    /// Share of positive nodes among those that count as positive.
    pub precision: f64,
    /// Share of the positive nodes that count as positive.
    pub recall: f64,
}

impl PrecisionRecallPoint {
    /// Returns the harmonic mean of precision and recall; 0 if both are 0.
    pub fn f1(&self) -> f64 {
        let sum = self.precision + self.recall;
        if sum == 0.0 { 0.0 } else { 2.0 * self.precision * self.recall / sum }
    }
}

/// Returns the precision-recall curve from the highest score to the lowest, with a point for every score. `None`
/// without positive nodes.
///
/// ```
/// use supergat_numerics::metrics::precision_recall_curve;
/// let curve = precision_recall_curve(&[true, false, true], &[0.9, 0.8, 0.7]).unwrap();
/// assert_eq!((curve[1].threshold, curve[1].precision, curve[1].recall), (0.8, 0.5, 0.5));
/// assert_eq!(curve[2].recall, 1.0);
/// ```
pub fn precision_recall_curve(positive: &[bool], scores: &[f64]) -> Option<Vec<PrecisionRecallPoint>> {
    let cuts = cuts(positive, scores)?;
    let positives = count(positive);
    let point = |cut: Cut| PrecisionRecallPoint {
        threshold: cut.threshold,
        precision: cut.true_positives / cut.predicted,
        recall: cut.true_positives / positives,
    };
    (positives > 0.0).then(|| cuts.into_iter().map(point).collect())
}

/// Returns the share of positive nodes among the k nodes with the highest scores. Where k divides nodes with equal
/// scores, those that come first in the lists are taken: exactly k nodes count, as in a list that a user works through.
/// `None` if k is 0 or above the number of nodes.
///
/// ```
/// use supergat_numerics::metrics::precision_at_k;
/// let (positive, scores) = ([true, false, true, false], [0.9, 0.8, 0.8, 0.1]);
/// assert_eq!(precision_at_k(&positive, &scores, 1), Some(1.0));
/// // The second and the third node have the same score, and the second comes first.
/// assert_eq!(precision_at_k(&positive, &scores, 2), Some(0.5));
/// assert_eq!(precision_at_k(&positive, &scores, 5), None);
/// ```
///
/// # Panics
///
/// Panics if the lists differ in length.
pub fn precision_at_k(positive: &[bool], scores: &[f64], k: usize) -> Option<f64> {
    assert_eq!(positive.len(), scores.len(), "a score for each node");
    if !(1..=scores.len()).contains(&k) || scores.iter().any(|score| score.is_nan()) {
        return None;
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    // No score is NaN, and 0.0 equals -0.0.
    let by_score =
        |&a: &usize, &b: &usize| scores[b].partial_cmp(&scores[a]).unwrap_or(Ordering::Equal).then(a.cmp(&b));
    let (before, last, _) = order.select_nth_unstable_by(k - 1, by_score);
    let hits = before.iter().chain([&*last]).filter(|&&node| positive[node]).count();
    Some(hits as f64 / k as f64)
}

/// Positive nodes among the k nodes with the highest scores. See [`gains`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FirstK {
    /// Number of nodes.
    pub k: usize,
    /// Share of positive nodes among them.
    pub precision: f64,
    /// Share of all positive nodes that is among them, also called the gain.
    pub recall: f64,
    /// Precision divided by the share of positive nodes among all nodes.
    pub lift: f64,
}

/// Returns precision, gain and lift of the k nodes with the highest scores, for several k. Where k divides nodes with
/// equal scores, their mean counts, so the result does not depend on the order of the nodes. `None` if a k is 0 or above
/// the number of nodes, and without positive nodes.
///
/// ```
/// use supergat_numerics::metrics::gains;
/// let first = gains(&[true, false, true, false], &[0.9, 0.8, 0.8, 0.1], &[2]).unwrap()[0];
/// assert_eq!((first.precision, first.recall, first.lift), (0.75, 0.75, 1.5));
/// ```
pub fn gains(positive: &[bool], scores: &[f64], numbers: &[usize]) -> Option<Vec<FirstK>> {
    let cuts = cuts(positive, scores)?;
    let (positives, nodes) = (count(positive), positive.len());
    if positives == 0.0 || numbers.iter().any(|k| !(1..=nodes).contains(k)) {
        return None;
    }
    let first = |&k: &usize| {
        let number = k as f64;
        let end = cuts.partition_point(|cut| cut.predicted < number);
        let (hits, before) = end.checked_sub(1).map_or((0.0, 0.0), |k| (cuts[k].true_positives, cuts[k].predicted));
        let share = (number - before) / (cuts[end].predicted - before);
        let hits = hits + share * (cuts[end].true_positives - hits);
        let precision = hits / number;
        FirstK { k, precision, recall: hits / positives, lift: precision / (positives / nodes as f64) }
    };
    Some(numbers.iter().map(first).collect())
}

#[cfg(test)]
mod tests {
    use super::super::samples::close;
    use super::*;

    const POSITIVE: [bool; 12] = [true, false, true, true, false, false, true, false, false, true, false, false];
    const SCORES: [f64; 12] = [0.9, 0.8, 0.8, 0.7, 0.7, 0.7, 0.4, 0.4, 0.3, 0.1, 0.1, 0.05];

    /// Expected values: scikit-learn 1.9, with ties.
    #[test]
    fn areas_equal_scikit_learn() {
        close(roc_auc(&POSITIVE, &SCORES), 0.6714285714285715);
        close(average_precision(&POSITIVE, &SCORES), 0.6242424242424243);
        // The order of the nodes does not matter.
        let reversed = |list: &[f64]| list.iter().rev().copied().collect::<Vec<_>>();
        let flags: Vec<bool> = POSITIVE.iter().rev().copied().collect();
        assert_eq!(roc_auc(&flags, &reversed(&SCORES)), roc_auc(&POSITIVE, &SCORES));
        assert_eq!(average_precision(&flags, &reversed(&SCORES)), average_precision(&POSITIVE, &SCORES));
    }

    #[test]
    fn area_is_the_share_of_pairwise_wins() {
        let positive: Vec<bool> = (0..100).map(|k| k < 40).collect();
        let scores: Vec<f64> =
            (0..100).map(|k: u32| f64::from(if k < 40 { k * k % 17 + 2 } else { k * k % 19 })).collect();
        let win = |a: f64, b: f64| f64::from(u8::from(a > b)) + 0.5 * f64::from(u8::from(a == b));
        let wins: f64 = scores[..40].iter().flat_map(|&a| scores[40..].iter().map(move |&b| win(a, b))).sum();
        assert_eq!(roc_auc(&positive, &scores), Some(wins / 2400.0));
        assert_eq!(roc_auc(&positive, &[1.0; 100]), Some(0.5));
        assert_eq!(average_precision(&positive, &[1.0; 100]), Some(0.4));
    }

    #[test]
    fn curves_equal_scikit_learn() {
        let roc = roc_curve(&POSITIVE, &SCORES).unwrap();
        let rates: Vec<[f64; 2]> = roc.iter().map(|p| [p.false_positive_rate, p.true_positive_rate]).collect();
        assert_eq!(rates.len(), EXPECTED_ROC.len());
        for (found, expected) in rates.iter().zip(EXPECTED_ROC) {
            close(Some(found[0]), expected[0]);
            close(Some(found[1]), expected[1]);
        }
        let curve = precision_recall_curve(&POSITIVE, &SCORES).unwrap();
        assert_eq!(curve.len(), EXPECTED_PR.len());
        for (found, expected) in curve.iter().zip(EXPECTED_PR) {
            close(Some(found.threshold), expected[0]);
            close(Some(found.precision), expected[1]);
            close(Some(found.recall), expected[2]);
        }
    }

    /// `roc_curve(drop_intermediate=False)`: false and true positive rate.
    const EXPECTED_ROC: [[f64; 2]; 8] = [
        [0.0, 0.0],
        [0.0, 0.2],
        [0.14285714285714285, 0.4],
        [0.42857142857142855, 0.6],
        [0.5714285714285714, 0.8],
        [0.7142857142857143, 0.8],
        [0.8571428571428571, 1.0],
        [1.0, 1.0],
    ];
    /// `precision_recall_curve`, reversed: threshold, precision and recall.
    const EXPECTED_PR: [[f64; 3]; 7] = [
        [0.9, 1.0, 0.2],
        [0.8, 0.6666666666666666, 0.4],
        [0.7, 0.5, 0.6],
        [0.4, 0.5, 0.8],
        [0.3, 0.4444444444444444, 0.8],
        [0.1, 0.45454545454545453, 1.0],
        [0.05, 0.4166666666666667, 1.0],
    ];

    #[test]
    fn first_nodes_share_ties() {
        let first = |k| gains(&POSITIVE, &SCORES, &[k]).unwrap()[0];
        assert_eq!((first(1).precision, first(1).recall), (1.0, 0.2));
        // One of the two nodes with score 0.8 is positive.
        close(Some(first(2).precision), 0.75);
        close(Some(first(4).precision), (2.0 + 1.0 / 3.0) / 4.0);
        assert_eq!((first(12).recall, first(12).lift), (1.0, 1.0));
        assert_eq!((gains(&POSITIVE, &SCORES, &[0]), gains(&POSITIVE, &SCORES, &[13])), (None, None));
    }

    /// Expected values: `precision_score` of the first k nodes of a stable sort.
    #[test]
    fn exactly_k_nodes_count_by_score_then_position() {
        let expected = [
            1.0,
            0.5,
            0.6666666666666666,
            0.75,
            0.6,
            0.5,
            0.5714285714285714,
            0.5,
            0.4444444444444444,
            0.5,
            0.45454545454545453,
            0.4166666666666667,
        ];
        for (k, expected) in (1..).zip(expected) {
            close(precision_at_k(&POSITIVE, &SCORES, k), expected);
        }
        // The positive one of the two nodes with score 0.8 comes first.
        let mut swapped = POSITIVE;
        swapped.swap(1, 2);
        assert_eq!(precision_at_k(&swapped, &SCORES, 2), Some(1.0));
        assert_eq!(precision_at_k(&[false, true], &[-0.0, 0.0], 1), Some(0.0), "zeros are equal");
        assert_eq!((precision_at_k(&POSITIVE, &SCORES, 0), precision_at_k(&POSITIVE, &SCORES, 13)), (None, None));
        assert_eq!(precision_at_k(&[false; 2], &[0.1, 0.2], 2), Some(0.0));
        assert_eq!(precision_at_k(&[true, false], &[0.5, f64::NAN], 1), None);
    }

    #[test]
    fn is_undefined_for_one_class_and_nan() {
        let scores = [0.1, 0.2];
        assert_eq!((roc_auc(&[true, true], &scores), roc_auc(&[false, false], &scores)), (None, None));
        assert_eq!(
            (average_precision(&[false, false], &scores), average_precision(&[true, true], &scores)),
            (None, Some(1.0))
        );
        assert_eq!((roc_auc(&[], &[]), average_precision(&[], &[])), (None, None));
        assert_eq!(roc_auc(&[true, false], &[f64::NAN, 0.0]), None);
        assert!(roc_curve(&[true, true], &scores).is_none() && precision_recall_curve(&[false], &[1.0]).is_none());
        assert_eq!(gains(&[false, false], &scores, &[1]), None);
    }

    #[test]
    fn handles_extreme_scores() {
        let infinite = [f64::INFINITY, f64::NEG_INFINITY];
        assert_eq!((roc_auc(&[true, false], &infinite), roc_auc(&[true, false], &[0.0, -0.0])), (Some(1.0), Some(0.5)));
        assert_eq!(roc_auc(&[false, true], &infinite), Some(0.0));
    }
}
