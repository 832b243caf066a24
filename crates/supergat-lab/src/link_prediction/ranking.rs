//! Ranking metrics of scores: area under the ROC curve and average precision. Equal scores share a threshold.

/// Returns the area under the ROC curve: the probability that an edge scores higher than a non-edge, with
/// equal scores counting half. Returns `None` if one side is empty or a score is NaN.
pub fn auc(edges: &[f32], others: &[f32]) -> Option<f64> {
    let mut below = 0.0;
    let mut wins = 0.0;
    for [edges, others] in thresholds(edges, others)? {
        wins += edges * (below + others / 2.0);
        below += others;
    }
    Some(wins / (edges.len() as f64 * others.len() as f64))
}

/// Returns the average precision: the mean of the precisions at the thresholds, weighted by the increase in
/// recall. Returns `None` in the same cases as [`auc`].
pub fn average_precision(edges: &[f32], others: &[f32]) -> Option<f64> {
    let [mut true_positives, mut predicted] = [0.0; 2];
    let mut sum = 0.0;
    for [edges, others] in thresholds(edges, others)?.into_iter().rev() {
        true_positives += edges;
        predicted += edges + others;
        sum += edges * true_positives / predicted;
    }
    Some(sum / edges.len() as f64)
}

/// Counts edges and non-edges at each score, from the lowest score to the highest.
fn thresholds(edges: &[f32], others: &[f32]) -> Option<Vec<[f64; 2]>> {
    let both = edges.iter().map(|&score| (score, 0)).chain(others.iter().map(|&score| (score, 1)));
    let mut scores: Vec<(f32, usize)> = both.collect();
    if edges.is_empty() || others.is_empty() || scores.iter().any(|(score, _)| score.is_nan()) {
        return None;
    }
    scores.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    // The total order puts -0.0 directly before 0.0; they are equal and share a threshold.
    let equal = scores.chunk_by(|a, b| a.0 == b.0);
    let count = |group: &[(f32, usize)], side| group.iter().filter(|(_, kind)| *kind == side).count() as f64;
    Some(equal.map(|group| [count(group, 0), count(group, 1)]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?} instead of {expected}");
    }

    /// Expected values: `roc_auc_score` and `average_precision_score` of scikit-learn, with ties.
    #[test]
    fn equals_scikit_learn() {
        let edges = [0.9, 0.8, 0.8, 0.55, 0.5, 0.3, -0.1];
        let others = [0.8, 0.7, 0.5, 0.5, 0.2, 0.1, 0.0, -0.1, -2.5];
        close(auc(&edges, &others), 0.7222222222222223);
        close(average_precision(&edges, &others), 0.6841269841269841);
        let (edges, others) = ([3.0, 1.0, 4.0, 1.0, 5.0], [2.0, 7.0, 1.0, 8.0]);
        close(auc(&edges, &others), 0.35);
        close(average_precision(&edges, &others), 0.5088888888888888);
    }

    #[test]
    fn handles_perfect_reversed_tied_and_undefined_rankings() {
        assert_eq!(
            (auc(&[2.0, 3.0], &[1.0, -1.0]), average_precision(&[2.0, 3.0], &[1.0, -1.0])),
            (Some(1.0), Some(1.0))
        );
        assert_eq!(auc(&[0.0], &[1.0, 2.0]), Some(0.0));
        assert_eq!((auc(&[1.0; 3], &[1.0; 5]), average_precision(&[1.0; 3], &[1.0; 5])), (Some(0.5), Some(3.0 / 8.0)));
        assert_eq!((auc(&[0.0], &[-0.0]), auc(&[f32::INFINITY], &[f32::NEG_INFINITY])), (Some(0.5), Some(1.0)));
        assert_eq!((auc(&[], &[1.0]), auc(&[1.0], &[]), auc(&[f32::NAN], &[1.0])), (None, None, None));
    }

    #[test]
    fn auc_equals_the_share_of_pairwise_wins() {
        let score = |k: u32, modulus: u32| (k * k % modulus) as f32;
        let edges: Vec<f32> = (0..40).map(|k| score(k, 17) + 2.0).collect();
        let others: Vec<f32> = (0..60).map(|k| score(k, 19)).collect();
        let win = |a: f32, b: f32| {
            if a > b {
                1.0
            } else if a == b {
                0.5
            } else {
                0.0
            }
        };
        let wins: f64 = edges.iter().flat_map(|&a| others.iter().map(move |&b| win(a, b))).sum();
        close(auc(&edges, &others), wins / 2400.0);
    }
}
