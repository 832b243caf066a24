//! Metrics of probabilities: log loss, Brier score and calibration error.
//!
//! With p the probability of class c for node i, y = 1 if the node has the class and 0 otherwise, n nodes and C
//! classes:
//!
//! | metric | one label per node | several labels per node |
//! |---|---|---|
//! | log loss | mean over nodes of -ln p of its class | mean over nodes and classes of -y ln p - (1 - y) ln(1 - p) |
//! | Brier score | mean over nodes of sum_c (p - y)^2; half of it if C = 2 | mean over nodes and classes of (p - y)^2 |
//! | confidence | largest p of the node; right if that class is its label | p of each node and class; right if y = 1 |
//! | calibration error | sum_b n_b / n abs(right_b - confidence_b) over 15 bins | the same over nodes and classes |
//!
//! Log loss and Brier score are those of scikit-learn: probabilities are limited to between 2.2e-16 and 1 - 2.2e-16 in
//! the log loss, and the Brier score of two classes is that of the second class alone. The calibration error is the
//! expected calibration error of Guo et al. (2017): bin b contains the confidences above b / 15 and up to (b + 1) / 15.

use serde::{Deserialize, Serialize};
use supergat_core::Labels;

/// Number of bins of the calibration error.
pub const BINS: usize = 15;

/// Checks that there is a probability for each node and class.
fn check(labels: &Labels, probabilities: &[f64]) {
    assert_eq!(labels.nodes() * labels.classes(), probabilities.len(), "a probability for each node and class");
}

/// Returns the log loss; `None` without nodes. Limits probabilities as described in the module.
///
/// ```
/// use supergat_core::Labels;
/// use supergat_numerics::metrics::log_loss;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1] };
/// let loss = log_loss(&labels, &[0.5, 0.5, 0.75, 0.25]).unwrap();
/// assert!((loss - (2.0f64.ln() + 4.0f64.ln()) / 2.0).abs() < 1e-15);
/// ```
///
/// # Panics
///
/// Panics if the number of probabilities is not that of nodes times classes.
pub fn log_loss(labels: &Labels, probabilities: &[f64]) -> Option<f64> {
    check(labels, probabilities);
    let loss = |p: f64| -p.clamp(f64::EPSILON, 1.0 - f64::EPSILON).ln();
    let (sum, count) = match labels {
        Labels::Single { classes, of } => {
            let rows = of.iter().zip(probabilities.chunks_exact((*classes).max(1)));
            (rows.map(|(&class, row)| loss(row[class as usize])).sum::<f64>(), of.len())
        }
        Labels::Multi { of, .. } => {
            let terms = of.iter().zip(probabilities).map(|(&y, &p)| loss(if y == 1 { p } else { 1.0 - p }));
            (terms.sum(), of.len())
        }
    };
    (count > 0).then(|| sum / count as f64)
}

/// Returns the Brier score as defined in the module; `None` without nodes.
///
/// ```
/// use supergat_core::Labels;
/// use supergat_numerics::metrics::brier_score;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1] };
/// assert_eq!(brier_score(&labels, &[0.5, 0.5, 0.75, 0.25]), Some((0.25 + 0.5625) / 2.0));
/// ```
///
/// # Panics
///
/// Panics if the number of probabilities is not that of nodes times classes.
pub fn brier_score(labels: &Labels, probabilities: &[f64]) -> Option<f64> {
    check(labels, probabilities);
    let classes = labels.classes().max(1);
    let (sum, count) = match labels {
        Labels::Single { of, .. } => {
            let squares = probabilities.iter().enumerate().map(|(k, &p)| {
                let y = f64::from(of[k / classes] as usize == k % classes);
                (p - y).powi(2)
            });
            (squares.sum::<f64>() * if classes == 2 { 0.5 } else { 1.0 }, of.len())
        }
        Labels::Multi { of, .. } => {
            (of.iter().zip(probabilities).map(|(&y, &p)| (p - f64::from(y)).powi(2)).sum(), of.len())
        }
    };
    (count > 0).then(|| sum / count as f64)
}

/// A bin of a reliability diagram. See [`reliability`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Lower end of the confidences, exclusive except for the first bin.
    pub from: f64,
    /// Upper end of the confidences, inclusive.
    pub to: f64,
    /// Number of confidences in the bin.
    pub count: usize,
    /// Mean confidence; `None` in an empty bin.
    pub confidence: Option<f64>,
    /// Share that was right; `None` in an empty bin.
    pub right: Option<f64>,
}

/// Returns the bins of a reliability diagram: how confident the model is, and how often it is right. The bins have
/// equal width between 0 and 1.
///
/// ```
/// use supergat_core::Labels;
/// use supergat_numerics::metrics::reliability;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1, 0] };
/// let bins = reliability(&labels, &[0.625, 0.375, 0.75, 0.25, 0.125, 0.875], 4);
/// assert_eq!((bins[2].count, bins[2].confidence, bins[2].right), (2, Some(0.6875), Some(0.5)));
/// assert_eq!((bins[3].count, bins[3].right), (1, Some(0.0)));
/// ```
///
/// # Panics
///
/// Panics if `bins` is 0 or if the number of probabilities is not that of nodes times classes.
pub fn reliability(labels: &Labels, probabilities: &[f64], bins: usize) -> Vec<ReliabilityBin> {
    check(labels, probabilities);
    assert!(bins > 0, "at least one bin");
    let mut sums = vec![(0usize, 0.0, 0usize); bins];
    let mut add = |confidence: f64, right: bool| {
        // Ends of bins are computed as they are shown, so that a confidence equal to one belongs below it.
        let upper = |bin: usize| (bin + 1) as f64 / bins as f64;
        let mut bin = ((confidence * bins as f64) as usize).min(bins - 1);
        if bin > 0 && confidence <= upper(bin - 1) {
            bin -= 1;
        }
        let sum = &mut sums[bin];
        *sum = (sum.0 + 1, sum.1 + confidence, sum.2 + usize::from(right));
    };
    match labels {
        Labels::Single { classes, of } => {
            for (&class, row) in of.iter().zip(probabilities.chunks_exact((*classes).max(1))) {
                let best = supergat_core::argmax(row);
                add(row[best], best == class as usize);
            }
        }
        Labels::Multi { of, .. } => of.iter().zip(probabilities).for_each(|(&y, &p)| add(p, y == 1)),
    }
    let bin = |(bin, (count, confidence, right)): (usize, (usize, f64, usize))| ReliabilityBin {
        from: bin as f64 / bins as f64,
        to: (bin + 1) as f64 / bins as f64,
        count,
        confidence: (count > 0).then(|| confidence / count as f64),
        right: (count > 0).then(|| right as f64 / count as f64),
    };
    sums.into_iter().enumerate().map(bin).collect()
}

/// Returns the expected calibration error over [`BINS`] bins, as defined in the module; `None` without nodes.
///
/// ```
/// use supergat_core::Labels;
/// use supergat_numerics::metrics::calibration_error;
/// // Two nodes with confidence 0.75, of which one is right.
/// let labels = Labels::Single { classes: 2, of: vec![0, 0] };
/// assert_eq!(calibration_error(&labels, &[0.75, 0.25, 0.25, 0.75]), Some(0.25));
/// ```
///
/// # Panics
///
/// Panics if the number of probabilities is not that of nodes times classes.
pub fn calibration_error(labels: &Labels, probabilities: &[f64]) -> Option<f64> {
    let bins = reliability(labels, probabilities, BINS);
    let total: usize = bins.iter().map(|bin| bin.count).sum();
    let gap = |bin: &ReliabilityBin| {
        let (confidence, right) = (bin.confidence.unwrap_or(0.0), bin.right.unwrap_or(0.0));
        bin.count as f64 * (right - confidence).abs()
    };
    (total > 0).then(|| bins.iter().map(gap).sum::<f64>() / total as f64)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{close, multi, single};
    use super::*;

    /// Expected values: `log_loss`, `brier_score_loss` and `mean_squared_error` of scikit-learn 1.9.
    #[test]
    fn equals_scikit_learn() {
        let (labels, _, probabilities) = single();
        close(log_loss(&labels, &probabilities), 1.0283193863091415);
        close(brier_score(&labels, &probabilities), 0.5491666666666667);
        let (labels, _, probabilities) = multi();
        close(log_loss(&labels, &probabilities), 0.4437487501706969);
        close(brier_score(&labels, &probabilities), 0.14729166666666668);
        let labels = Labels::Single { classes: 2, of: vec![0, 1, 1, 0] };
        let probabilities = [1.0, 0.0, 0.3, 0.7, 1.0, 0.0, 0.4, 0.6];
        close(log_loss(&labels, &probabilities), 9.329154766232511);
        close(brier_score(&labels, &probabilities), 0.3625);
    }

    /// Expected value: the definition, computed with NumPy.
    #[test]
    fn calibration_error_equals_its_definition() {
        let (labels, _, probabilities) = single();
        close(calibration_error(&labels, &probabilities), 0.1625);
        let (labels, _, probabilities) = multi();
        close(calibration_error(&labels, &probabilities), 0.2041666666666667);
    }

    #[test]
    fn a_confidence_at_the_end_of_a_bin_belongs_to_it() {
        let labels = Labels::Multi { classes: 1, of: vec![1; BINS + 1] };
        let ends: Vec<f64> = (0..=BINS).map(|k| k as f64 / BINS as f64).collect();
        let counts: Vec<usize> = reliability(&labels, &ends, BINS).iter().map(|bin| bin.count).collect();
        assert_eq!((counts[0], &counts[1..]), (2, &[1; BINS - 1][..]));
    }

    #[test]
    fn is_undefined_without_nodes() {
        for labels in [Labels::Single { classes: 3, of: vec![] }, Labels::Multi { classes: 3, of: vec![] }] {
            assert_eq!(
                (log_loss(&labels, &[]), brier_score(&labels, &[]), calibration_error(&labels, &[])),
                (None, None, None)
            );
        }
    }
}
