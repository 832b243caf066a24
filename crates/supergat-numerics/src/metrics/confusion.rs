//! Metrics of decided classes: accuracy, precision, recall and F1, from counts.
//!
//! With TP, FP and FN the true positives, false positives and false negatives of a class:
//!
//! | metric | formula |
//! |---|---|
//! | precision | TP / (TP + FP) |
//! | recall | TP / (TP + FN) |
//! | F1 | 2 TP / (2 TP + FP + FN) |
//! | macro-F1 | mean F1 of the classes that have one |
//! | weighted F1 | mean F1, weighted by the number of nodes of the class |
//! | micro-F1 | F1 of the sums of TP, FP and FN over all classes |
//! | balanced accuracy | mean recall of the classes that have nodes |
//!
//! A quotient with a zero denominator is undefined (`None`) and is left out of means, as scikit-learn does with
//! `zero_division=nan`.

use serde::{Deserialize, Serialize};
use supergat_core::Labels;

/// Counts of one class. See [`Confusion`] and [`class_counts`] for examples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCounts {
    /// Nodes of the class for which it was predicted.
    pub true_positives: u64,
    /// Other nodes for which the class was predicted.
    pub false_positives: u64,
    /// Nodes of the class for which it was not predicted.
    pub false_negatives: u64,
}

impl ClassCounts {
    /// Returns the number of nodes of the class.
    pub fn support(&self) -> u64 {
        self.true_positives + self.false_negatives
    }

    /// Returns the number of nodes for which the class was predicted.
    pub fn predictions(&self) -> u64 {
        self.true_positives + self.false_positives
    }

    /// Returns the share of right predictions of the class; `None` if it was never predicted.
    pub fn precision(&self) -> Option<f64> {
        share(self.true_positives, self.predictions())
    }

    /// Returns the share of the nodes of the class for which it was predicted; `None` if the class has no nodes.
    pub fn recall(&self) -> Option<f64> {
        share(self.true_positives, self.support())
    }

    /// Returns the harmonic mean of precision and recall; `None` if the class has no nodes and was never predicted.
    pub fn f1(&self) -> Option<f64> {
        share(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)
    }
}

/// Counts and metrics of one class. `None` where a metric is undefined.
///
/// ```
/// use supergat_numerics::metrics::{ClassMetrics, Confusion};
/// let [_, second, third] = Confusion::new(3, &[0, 0, 1, 2], &[0, 1, 1, 1]).per_class()[..] else { panic!() };
/// let second = ClassMetrics::from(&second);
/// assert_eq!((second.nodes, second.predictions, second.f1), (1, 3, Some(0.5)));
/// // The third class is never predicted.
/// assert_eq!(ClassMetrics::from(&third).precision, None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassMetrics {
    /// Number of nodes of the class.
    pub nodes: u64,
    /// Number of nodes for which the class was predicted.
    pub predictions: u64,
    /// Share of right predictions of the class; `None` if it was never predicted.
    pub precision: Option<f64>,
    /// Share of the nodes of the class for which it was predicted; `None` if the class has no nodes.
    pub recall: Option<f64>,
    /// Harmonic mean of precision and recall; `None` if the class has no nodes and was never predicted.
    pub f1: Option<f64>,
}

impl From<&ClassCounts> for ClassMetrics {
    fn from(counts: &ClassCounts) -> Self {
        Self {
            nodes: counts.support(),
            predictions: counts.predictions(),
            precision: counts.precision(),
            recall: counts.recall(),
            f1: counts.f1(),
        }
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Returns the mean of the values that are defined, added in their order.
pub(super) fn mean_of_defined(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (sum, count) = values.flatten().fold((0.0, 0u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Returns the counts of every class, for one or several labels per node.
///
/// ```
/// use supergat_core::Labels;
/// use supergat_numerics::metrics::class_counts;
/// let labels = Labels::Multi { classes: 2, of: vec![1, 0, 1, 1] };
/// let predicted = Labels::Multi { classes: 2, of: vec![1, 1, 0, 1] };
/// let counts = class_counts(&labels, &predicted);
/// assert_eq!((counts[0].precision(), counts[0].recall()), (Some(1.0), Some(0.5)));
/// assert_eq!(counts[1].precision(), Some(0.5));
/// ```
///
/// # Panics
///
/// Panics if the labels and the predictions differ in kind, in classes or in nodes, or if a class is unknown.
pub fn class_counts(labels: &Labels, predicted: &Labels) -> Vec<ClassCounts> {
    assert_eq!((labels.classes(), labels.nodes()), (predicted.classes(), predicted.nodes()), "the same nodes");
    match (labels, predicted) {
        (Labels::Single { classes, of }, Labels::Single { of: predicted, .. }) => {
            Confusion::new(*classes, of, predicted).per_class()
        }
        (Labels::Multi { classes, of }, Labels::Multi { of: predicted, .. }) => {
            let mut counts = vec![ClassCounts::default(); *classes];
            for (k, (&label, &predicted)) in of.iter().zip(predicted).enumerate() {
                let counts = &mut counts[k % classes];
                match (label, predicted) {
                    (0, 0) => {}
                    (0, _) => counts.false_positives += 1,
                    (_, 0) => counts.false_negatives += 1,
                    _ => counts.true_positives += 1,
                }
            }
            counts
        }
        _ => panic!("labels and predictions of one kind"),
    }
}

/// Returns the mean F1 of the classes that have nodes or predictions; `None` if there is no such class.
pub fn macro_f1(counts: &[ClassCounts]) -> Option<f64> {
    mean_of_defined(counts.iter().map(ClassCounts::f1))
}

/// Returns the mean F1, weighted by the number of nodes of each class; `None` without any.
pub fn weighted_f1(counts: &[ClassCounts]) -> Option<f64> {
    let nodes: u64 = counts.iter().map(ClassCounts::support).sum();
    let sum: f64 = counts.iter().map(|class| class.f1().unwrap_or(0.0) * class.support() as f64).sum();
    (nodes > 0).then(|| sum / nodes as f64)
}

/// Returns F1 of the counts of all classes together; `None` if all are zero. With one label per node this is the
/// accuracy.
pub fn micro_f1(counts: &[ClassCounts]) -> Option<f64> {
    let sum = |count: fn(&ClassCounts) -> u64| counts.iter().map(count).sum();
    ClassCounts {
        true_positives: sum(|class| class.true_positives),
        false_positives: sum(|class| class.false_positives),
        false_negatives: sum(|class| class.false_negatives),
    }
    .f1()
}

/// Returns the mean recall of the classes that have nodes; `None` without any.
pub fn balanced_accuracy(counts: &[ClassCounts]) -> Option<f64> {
    mean_of_defined(counts.iter().map(ClassCounts::recall))
}

/// Number of nodes for each pair of a class and a predicted class.
///
/// ```
/// use supergat_numerics::metrics::Confusion;
/// let confusion = Confusion::new(3, &[0, 0, 1, 2], &[0, 1, 1, 1]);
/// assert_eq!((confusion.of(0, 1), confusion.of(2, 2)), (1, 0));
/// assert_eq!(confusion.accuracy(), Some(0.5));
/// let [_, second, third] = confusion.per_class()[..] else { panic!() };
/// assert_eq!((second.precision(), second.recall()), (Some(1.0 / 3.0), Some(1.0)));
/// assert_eq!((third.precision(), third.recall()), (None, Some(0.0)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    classes: usize,
    /// Row after row: the rows are the classes of nodes, the columns the predicted ones.
    counts: Vec<u64>,
}

impl Confusion {
    /// Counts the nodes with these classes and predicted classes.
    ///
    /// # Panics
    ///
    /// Panics if the lists differ in length or contain a class that is not below `classes`.
    pub fn new(classes: usize, labels: &[u32], predicted: &[u32]) -> Self {
        assert_eq!(labels.len(), predicted.len(), "a prediction for each node");
        let mut counts = vec![0; classes * classes];
        for (&label, &predicted) in labels.iter().zip(predicted) {
            assert!((label as usize) < classes && (predicted as usize) < classes, "a class below {classes}");
            counts[label as usize * classes + predicted as usize] += 1;
        }
        Self { classes, counts }
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Returns the number of nodes of class `label` for which `predicted` was predicted. Panics if there is no such
    /// class.
    pub fn of(&self, label: usize, predicted: usize) -> u64 {
        assert!(label < self.classes && predicted < self.classes, "a class below {}", self.classes);
        self.counts[label * self.classes + predicted]
    }

    /// Returns the share of right predictions; `None` without nodes.
    pub fn accuracy(&self) -> Option<f64> {
        let right = (0..self.classes).map(|class| self.of(class, class)).sum();
        share(right, self.counts.iter().sum())
    }

    /// Returns the counts of every class.
    pub fn per_class(&self) -> Vec<ClassCounts> {
        let classes = 0..self.classes;
        let of = |class: usize| {
            let true_positives = self.of(class, class);
            let labelled: u64 = classes.clone().map(|other| self.of(class, other)).sum();
            let predicted: u64 = classes.clone().map(|other| self.of(other, class)).sum();
            ClassCounts {
                true_positives,
                false_positives: predicted - true_positives,
                false_negatives: labelled - true_positives,
            }
        };
        classes.clone().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{close, multi, single};
    use super::*;

    /// Expected values: scikit-learn 1.9 with `zero_division=nan`. Class 3 has no nodes but is predicted; class 4
    /// has neither.
    #[test]
    fn equals_scikit_learn_for_one_label() {
        let (labels, predicted, _) = single();
        let counts = class_counts(&labels, &predicted);
        let (Labels::Single { of, .. }, Labels::Single { of: predicted, .. }) = (&labels, &predicted) else { panic!() };
        close(Confusion::new(5, of, predicted).accuracy(), 0.5);
        close(micro_f1(&counts), 0.5);
        close(balanced_accuracy(&counts), 0.4777777777777778);
        close(macro_f1(&counts), 0.375);
        close(weighted_f1(&counts), 0.5277777777777778);
        close(counts[0].precision(), 0.75);
        close(counts[0].recall(), 0.6);
        close(counts[0].f1(), 2.0 / 3.0);
        close(counts[2].precision(), 0.3333333333333333);
        assert_eq!((counts[3].precision(), counts[3].recall(), counts[3].f1()), (Some(0.0), None, Some(0.0)));
        assert_eq!((counts[4].precision(), counts[4].recall(), counts[4].f1()), (None, None, None));
    }

    #[test]
    fn equals_scikit_learn_for_several_labels() {
        let (labels, predicted, _) = multi();
        let counts = class_counts(&labels, &predicted);
        close(micro_f1(&counts), 0.5882352941176471);
        close(macro_f1(&counts), 0.4722222222222222);
        close(weighted_f1(&counts), 0.5555555555555556);
        assert_eq!(counts[3], ClassCounts::default());
        let classes: Vec<ClassMetrics> = counts.iter().map(ClassMetrics::from).collect();
        for (class, (value, nodes, predictions)) in classes.iter().zip([(0.75, 4, 4), (0.0, 2, 1), (2.0 / 3.0, 3, 3)]) {
            [class.precision, class.recall, class.f1].into_iter().for_each(|found| close(found, value));
            assert_eq!((class.nodes, class.predictions), (nodes, predictions));
        }
        assert_eq!(classes[3], ClassMetrics::default());
    }

    /// Expected values: `precision_recall_fscore_support` of scikit-learn 1.9 with `zero_division=nan`. Class 3 is never
    /// predicted, class 4 has no nodes, and class 5 has neither.
    #[test]
    fn metrics_of_classes_equal_scikit_learn() {
        let labels = [0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 0, 1, 2, 3];
        let predicted = [0, 0, 1, 1, 0, 2, 2, 2, 0, 4, 0, 2, 2, 1];
        let counts = Confusion::new(6, &labels, &predicted).per_class();
        let expected = [
            (Some(0.6), Some(0.75), Some(0.6666666666666666), 4, 5),
            (Some(0.3333333333333333), Some(0.3333333333333333), Some(0.3333333333333333), 3, 3),
            (Some(0.8), Some(0.6666666666666666), Some(0.7272727272727273), 6, 5),
            (None, Some(0.0), Some(0.0), 1, 0),
            (Some(0.0), None, Some(0.0), 0, 1),
            (None, None, None, 0, 0),
        ];
        assert_eq!(counts.len(), expected.len());
        for (counts, (precision, recall, f1, nodes, predictions)) in counts.iter().zip(expected) {
            let found = ClassMetrics::from(counts);
            assert_eq!((found.nodes, found.predictions), (nodes, predictions));
            for (found, expected) in [(found.precision, precision), (found.recall, recall), (found.f1, f1)] {
                match expected {
                    Some(expected) => close(found, expected),
                    None => assert_eq!(found, None),
                }
            }
        }
    }

    #[test]
    fn is_undefined_without_nodes_and_right_for_one_class() {
        let none = class_counts(&Labels::Single { classes: 2, of: vec![] }, &Labels::Single { classes: 2, of: vec![] });
        assert_eq!(
            (macro_f1(&none), micro_f1(&none), weighted_f1(&none), balanced_accuracy(&none)),
            (None, None, None, None)
        );
        assert_eq!(Confusion::new(2, &[], &[]).accuracy(), None);
        let constant = Confusion::new(2, &[0, 0, 0, 1], &[0, 0, 0, 0]).per_class();
        assert_eq!((balanced_accuracy(&constant), micro_f1(&constant)), (Some(0.5), Some(0.75)));
        close(macro_f1(&constant), 0.42857142857142855);
        let alone = Confusion::new(2, &[1, 1], &[1, 1]).per_class();
        assert_eq!((balanced_accuracy(&alone), macro_f1(&alone)), (Some(1.0), Some(1.0)));
    }
}
