//! Metrics of classifications: of decided classes, of orders by score and of probabilities; calibration and
//! thresholds.
//!
//! | file | contents |
//! |---|---|
//! | `name.rs` | names of metrics |
//! | `confusion.rs` | accuracy, balanced accuracy, precision, recall and F1, from counts |
//! | `ranking.rs` | area under the ROC curve, average precision, curves, the first k nodes |
//! | `probability.rs` | log loss, Brier score, calibration error, reliability bins |
//! | `calibration.rs` | temperature scaling |
//! | `threshold.rs` | decision threshold for two classes |
//!
//! Values are shares between 0 and 1, except the two losses. They equal those of scikit-learn; where it raises an
//! error or warns, the value is `None`. Sums have a fixed order, so results have the same bits at any number of
//! threads.

mod calibration;
mod confusion;
mod name;
mod probability;
mod ranking;
mod threshold;

pub use calibration::{COLDEST, HOTTEST, temperature};
pub use confusion::{
    ClassCounts, ClassMetrics, Confusion, balanced_accuracy, class_counts, macro_f1, micro_f1, weighted_f1,
};
pub use name::{ClassMetric, Metric, NamedMetric};
pub use probability::{BINS, ReliabilityBin, brier_score, calibration_error, log_loss, reliability};
pub use ranking::{
    FirstK, PrecisionRecallPoint, RocPoint, average_precision, gains, precision_at_k, precision_recall_curve, roc_auc,
    roc_curve,
};
pub use threshold::{Threshold, ThresholdRule, choose_threshold};

use confusion::mean_of_defined;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use supergat_core::Labels;

/// Index of the positive class, unless another one is chosen: the second.
pub const POSITIVE: usize = 1;

/// All metrics of a list of nodes. `None` where a metric is undefined: see [`Metric`], [`ClassMetrics`] and the
/// functions of this module.
///
/// ```
/// use supergat_core::Labels;
/// use supergat_numerics::metrics::{Metric, Metrics, POSITIVE};
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let predicted = Labels::Single { classes: 2, of: vec![0, 1, 1, 1] };
/// let metrics = Metrics::of(&labels, &predicted, &[0.75, 0.25, 0.5, 0.5, 0.25, 0.75, 0.0, 1.0], POSITIVE);
/// assert_eq!((metrics.nodes, metrics.accuracy, metrics.auroc), (4, Some(0.75), Some(1.0)));
/// assert_eq!(metrics.get(Metric::BalancedAccuracy), Some(0.75));
/// assert_eq!((metrics.classes[0].recall, metrics.classes[1].predictions), (Some(0.5), 3));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Metrics {
    /// Number of nodes.
    pub nodes: usize,
    /// Share of right predictions.
    pub accuracy: Option<f64>,
    /// Mean recall of the classes.
    pub balanced_accuracy: Option<f64>,
    /// Mean F1 of the classes.
    pub macro_f1: Option<f64>,
    /// F1 of all classes together.
    pub micro_f1: Option<f64>,
    /// Mean F1 of the classes, weighted by their nodes.
    pub weighted_f1: Option<f64>,
    /// Area under the ROC curve.
    pub auroc: Option<f64>,
    /// Average precision.
    pub average_precision: Option<f64>,
    /// Precision of the 10 nodes with the highest probabilities of the positive class.
    pub precision_at_10: Option<f64>,
    /// Precision of the 100 nodes with the highest probabilities of the positive class.
    pub precision_at_100: Option<f64>,
    /// Precision of the 1000 nodes with the highest probabilities of the positive class.
    pub precision_at_1000: Option<f64>,
    /// Log loss.
    pub log_loss: Option<f64>,
    /// Brier score.
    pub brier: Option<f64>,
    /// Expected calibration error.
    pub calibration_error: Option<f64>,
    /// Counts, precision, recall and F1 of every class, in the order of the classes.
    #[serde(default)]
    pub classes: Vec<ClassMetrics>,
}

impl Metrics {
    /// Computes all metrics from the labels of nodes, their predicted labels and their probabilities, a row of classes
    /// per node. `positive` is the positive class if there are two; it has no effect on other numbers of classes. Nodes
    /// with equal probabilities are taken in their order for the precision of the first ones.
    ///
    /// # Panics
    ///
    /// Panics if the three differ in nodes or classes, or if a label or the positive class is unknown.
    pub fn of(labels: &Labels, predicted: &Labels, probabilities: &[f64], positive: usize) -> Self {
        let counts = class_counts(labels, predicted);
        let micro_f1 = micro_f1(&counts);
        let single = !labels.is_multi();
        let mut metrics = Self {
            nodes: labels.nodes(),
            accuracy: micro_f1.filter(|_| single),
            balanced_accuracy: balanced_accuracy(&counts).filter(|_| single),
            macro_f1: macro_f1(&counts),
            micro_f1,
            weighted_f1: weighted_f1(&counts),
            auroc: over_classes(labels, probabilities, positive, roc_auc),
            average_precision: over_classes(labels, probabilities, positive, average_precision),
            log_loss: log_loss(labels, probabilities),
            brier: brier_score(labels, probabilities),
            calibration_error: calibration_error(labels, probabilities),
            classes: counts.iter().map(ClassMetrics::from).collect(),
            ..Self::default()
        };
        if single && labels.classes() == 2 {
            let (positive, scores) = one_against_rest(labels, probabilities, positive);
            metrics.set_precision_at(&positive, &scores);
        }
        metrics
    }

    /// Sets the precisions of the first nodes, from whether each node has the positive class and from its score. They
    /// depend on the order of nodes with equal scores, as [`precision_at_k`] does; no other metric depends on it.
    ///
    /// ```
    /// use supergat_numerics::metrics::Metrics;
    /// let mut metrics = Metrics::default();
    /// metrics.set_precision_at(&[true; 12], &[0.5; 12]);
    /// assert_eq!((metrics.precision_at_10, metrics.precision_at_100), (Some(1.0), None));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the lists differ in length.
    pub fn set_precision_at(&mut self, positive: &[bool], scores: &[f64]) {
        self.precision_at_10 = precision_at_k(positive, scores, 10);
        self.precision_at_100 = precision_at_k(positive, scores, 100);
        self.precision_at_1000 = precision_at_k(positive, scores, 1000);
    }

    /// Returns a metric by its name.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Accuracy => self.accuracy,
            Metric::BalancedAccuracy => self.balanced_accuracy,
            Metric::MacroF1 => self.macro_f1,
            Metric::MicroF1 => self.micro_f1,
            Metric::WeightedF1 => self.weighted_f1,
            Metric::Auroc => self.auroc,
            Metric::AveragePrecision => self.average_precision,
            Metric::PrecisionAt10 => self.precision_at_10,
            Metric::PrecisionAt100 => self.precision_at_100,
            Metric::PrecisionAt1000 => self.precision_at_1000,
            Metric::LogLoss => self.log_loss,
            Metric::Brier => self.brier,
            Metric::CalibrationError => self.calibration_error,
        }
    }
}

/// Returns for each node whether it has a class, and its score for it.
///
/// ```
/// use supergat_core::Labels;
/// use supergat_numerics::metrics::one_against_rest;
/// let labels = Labels::Single { classes: 3, of: vec![2, 0] };
/// let (positive, scores) = one_against_rest(&labels, &[0.1, 0.2, 0.7, 0.5, 0.3, 0.2], 2);
/// assert_eq!((positive, scores), (vec![true, false], vec![0.7, 0.2]));
/// ```
///
/// # Panics
///
/// Panics if there is no such class, or if the number of scores is not that of nodes times classes.
pub fn one_against_rest(labels: &Labels, scores: &[f64], class: usize) -> (Vec<bool>, Vec<f64>) {
    let classes = labels.classes();
    assert!(class < classes && labels.nodes() * classes == scores.len(), "a score for each node and class");
    let positive = match labels {
        Labels::Single { of, .. } => of.iter().map(|&label| label as usize == class).collect(),
        Labels::Multi { of, .. } => of.iter().skip(class).step_by(classes).map(|&flag| flag == 1).collect(),
    };
    (positive, scores.iter().skip(class).step_by(classes).copied().collect())
}

/// Returns a metric of two classes: with one of two labels per node, that of the class `positive`; otherwise the mean
/// over the classes that it is defined for, each against the rest.
///
/// ```
/// use supergat_core::Labels;
/// use supergat_numerics::metrics::{POSITIVE, over_classes, roc_auc};
/// let labels = Labels::Single { classes: 3, of: vec![0, 0, 1] };
/// // The third class has no nodes, so the mean is over the first two.
/// let auc = over_classes(&labels, &[0.8, 0.1, 0.1, 0.2, 0.5, 0.3, 0.4, 0.4, 0.2], POSITIVE, roc_auc);
/// assert_eq!(auc, Some(0.5));
/// ```
///
/// # Panics
///
/// Panics if the number of scores is not that of nodes times classes, or if there is no such class.
pub fn over_classes(
    labels: &Labels,
    scores: &[f64],
    positive: usize,
    metric: impl Fn(&[bool], &[f64]) -> Option<f64> + Sync,
) -> Option<f64> {
    let of = |class: usize| {
        let (positive, scores) = one_against_rest(labels, scores, class);
        metric(&positive, &scores)
    };
    if !labels.is_multi() && labels.classes() == 2 {
        return of(positive);
    }
    let of_each: Vec<Option<f64>> = (0..labels.classes()).into_par_iter().map(of).collect();
    mean_of_defined(of_each.into_iter())
}

#[cfg(test)]
mod samples {
    //! Labels, predictions and probabilities shared by the tests of this module. `tests/metrics.py` of this crate
    //! computes the expected values from them.

    use supergat_core::Labels;

    /// Twelve nodes of three classes out of five, with ties. Class 3 is predicted for one node; class 4 never occurs.
    pub fn single() -> (Labels, Labels, Vec<f64>) {
        let of = vec![0, 0, 1, 2, 1, 0, 0, 2, 1, 0, 2, 1];
        let rows: [[u8; 5]; 12] = [
            [60, 10, 10, 10, 10],
            [30, 40, 20, 5, 5],
            [20, 50, 20, 5, 5],
            [10, 20, 60, 5, 5],
            [50, 30, 10, 5, 5],
            [60, 20, 10, 5, 5],
            [20, 20, 50, 5, 5],
            [10, 10, 10, 60, 10],
            [20, 50, 20, 10, 0],
            [90, 5, 5, 0, 0],
            [25, 40, 25, 5, 5],
            [20, 20, 45, 10, 5],
        ];
        let predicted = rows.iter().map(|row| supergat_core::argmax(&row.map(f64::from)) as u32).collect();
        let probabilities = rows.iter().flatten().map(|&share| f64::from(share) / 100.0).collect();
        (Labels::Single { classes: 5, of }, Labels::Single { classes: 5, of: predicted }, probabilities)
    }

    /// Six nodes with up to four labels. No node has label 3, and none is predicted.
    pub fn multi() -> (Labels, Labels, Vec<f64>) {
        let of = vec![1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0];
        let shares: [u8; 24] =
            [90, 20, 40, 10, 60, 30, 30, 5, 20, 10, 70, 20, 80, 60, 40, 10, 55, 35, 65, 0, 45, 30, 60, 15];
        let probabilities: Vec<f64> = shares.iter().map(|&share| f64::from(share) / 100.0).collect();
        let predicted = probabilities.iter().map(|&p| u8::from(p > 0.5)).collect();
        (Labels::Multi { classes: 4, of }, Labels::Multi { classes: 4, of: predicted }, probabilities)
    }

    /// Asserts that a value is defined and equal to the expected one.
    pub fn close(found: Option<f64>, expected: f64) {
        let found = found.expect("a number");
        assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{close, multi, single};
    use super::*;

    /// Expected values: `roc_auc_score` and `average_precision_score` of scikit-learn 1.9 for each class with nodes,
    /// averaged.
    #[test]
    fn means_over_classes_equal_scikit_learn() {
        let (labels, predicted, probabilities) = single();
        let metrics = Metrics::of(&labels, &predicted, &probabilities, POSITIVE);
        close(metrics.auroc, 0.7949129188712521);
        close(metrics.average_precision, 0.7373400673400673);
        let (labels, predicted, probabilities) = multi();
        let metrics = Metrics::of(&labels, &predicted, &probabilities, POSITIVE);
        close(metrics.auroc, 0.7986111111111112);
        close(metrics.average_precision, 0.7722222222222223);
        assert_eq!((metrics.accuracy, metrics.balanced_accuracy), (None, None));
    }

    #[test]
    fn two_classes_have_the_metrics_of_the_positive_one() {
        let labels = Labels::Single { classes: 2, of: vec![1, 0, 1, 1, 0] };
        let second = [0.9, 0.8, 0.8, 0.2, 0.1];
        let probabilities: Vec<f64> = second.iter().flat_map(|p| [1.0 - p, *p]).collect();
        let predicted = Labels::Single { classes: 2, of: vec![1, 1, 1, 0, 0] };
        let metrics = Metrics::of(&labels, &predicted, &probabilities, POSITIVE);
        close(metrics.auroc, 0.75);
        close(metrics.average_precision, 0.8055555555555556);
        close(metrics.macro_f1, 0.5833333333333333);
        let first = Metrics::of(&labels, &predicted, &probabilities, 0);
        close(first.auroc, 0.75);
        close(first.average_precision, 0.75);
        assert_eq!(
            Metrics { auroc: metrics.auroc, average_precision: metrics.average_precision, ..first.clone() },
            metrics
        );
        assert_eq!(metrics.classes[1], ClassMetrics { nodes: 3, predictions: 3, ..metrics.classes[1] });
        close(metrics.classes[1].f1, 2.0 / 3.0);
    }

    #[test]
    fn undefined_metrics_are_none() {
        let none = Metrics::of(
            &Labels::Single { classes: 2, of: vec![] },
            &Labels::Single { classes: 2, of: vec![] },
            &[],
            POSITIVE,
        );
        assert_eq!(none, Metrics { classes: vec![ClassMetrics::default(); 2], ..Metrics::default() });
        let one = Labels::Single { classes: 2, of: vec![1, 1] };
        let metrics = Metrics::of(&one, &one, &[0.5, 0.5, 0.25, 0.75], POSITIVE);
        assert_eq!((metrics.auroc, metrics.average_precision, metrics.accuracy), (None, Some(1.0), Some(1.0)));
    }

    #[test]
    fn two_classes_have_precisions_of_the_first_nodes() {
        // The first class has all nodes of even position among the first 20, and ties are taken by position.
        let of: Vec<u32> = (0..120).map(|k| u32::from(k >= 20 || k % 2 == 1)).collect();
        let labels = Labels::Single { classes: 2, of };
        let first = |k: i32| if k < 20 { 0.75 } else { 0.25 };
        let probabilities: Vec<f64> = (0..120).flat_map(|k| [first(k), 1.0 - first(k)]).collect();
        let of_class = |positive| {
            let metrics = Metrics::of(&labels, &labels, &probabilities, positive);
            [Metric::PrecisionAt10, Metric::PrecisionAt100, Metric::PrecisionAt1000].map(|metric| metrics.get(metric))
        };
        assert_eq!(of_class(0), [Some(0.5), Some(0.1), None]);
        assert_eq!(of_class(1), [Some(1.0), Some(1.0), None]);
        let three = Labels::Single { classes: 3, of: vec![0; 120] };
        assert_eq!(Metrics::of(&three, &three, &[0.25; 360], POSITIVE).precision_at_10, None);
        let multi = Labels::Multi { classes: 2, of: vec![1; 240] };
        assert_eq!(Metrics::of(&multi, &multi, &[0.75; 240], POSITIVE).precision_at_10, None);
    }

    #[test]
    fn bits_do_not_depend_on_threads() {
        let (labels, predicted, probabilities) = multi();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Metrics::of(&labels, &predicted, &probabilities, POSITIVE))
        };
        assert_eq!(with(1), with(4));
    }
}
