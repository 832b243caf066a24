//! The classifier fitted on some of the labelled nodes and evaluated on all of them.

use super::labelled::LabelledNodes;
use supergat_numerics::ridge::{Classifier, NodeRef};

/// Maximum number of training nodes of the classifier, equally many of each class. The other labelled nodes
/// only evaluate it. With more classes there is no classifier.
pub(super) const MAX_TRAINING_NODES: usize = 300;
/// Weight of the class shares among the labelled nodes, as a prior of the class shares.
const PRIOR: f64 = 0.1;
/// Steps of the expectation maximisation of these shares, which has converged by then.
const STEPS: usize = 100;

/// The classifier and its training nodes.
pub(super) struct FittedClassifier<'a> {
    classifier: Classifier<'a>,
    /// Index of each labelled node in the training set, if it is in it.
    training_index: Vec<Option<usize>>,
}

impl<'a> FittedClassifier<'a> {
    /// Fits the classifier.
    pub(super) fn new(sample: &LabelledNodes<'a>) -> Self {
        let most = MAX_TRAINING_NODES / sample.classes;
        let (mut taken, mut chosen) = (vec![0; sample.classes], Vec::new());
        let mut training_index = vec![None; sample.nodes.len()];
        for (i, class) in sample.class_of.iter().enumerate().filter(|(_, class)| **class < sample.classes) {
            if taken[*class] < most {
                taken[*class] += 1;
                training_index[i] = Some(chosen.len());
                chosen.push(i);
            }
        }
        let nodes: Vec<NodeRef> = chosen.iter().map(|i| sample.nodes[*i]).collect();
        let class_of: Vec<usize> = chosen.iter().map(|i| sample.class_of[*i]).collect();
        Self { classifier: Classifier::fit(sample.examples, &nodes, &class_of, sample.classes), training_index }
    }

    /// Returns the scores of a labelled node, computed without it.
    pub(super) fn own_scores(&self, sample: &LabelledNodes<'_>, i: usize) -> Vec<f64> {
        match self.training_index[i] {
            Some(k) => self.classifier.left_out(k).to_vec(),
            None => self.classifier.scores(sample.nodes[i]),
        }
    }

    /// Returns the scores of any node, computed without labelled node `i`.
    pub(super) fn scores_without(&self, node: NodeRef, i: usize) -> Vec<f64> {
        match self.training_index[i] {
            Some(k) => self.classifier.scores_without(node, k),
            None => self.classifier.scores(node),
        }
    }

    /// Returns the weight of each labelled node: the share of its class among all nodes, divided by the
    /// number of labelled nodes of the class.
    pub(super) fn weights(&self, sample: &LabelledNodes<'_>) -> Vec<f64> {
        let classes = sample.classes;
        let mut labelled = vec![0.0; classes];
        // Share of class a that is predicted as class b; half a node more per row keeps shares positive.
        let mut confusion = vec![0.5 / classes as f64; classes * classes];
        for (i, class) in sample.class_of.iter().enumerate() {
            labelled[*class] += 1.0;
            confusion[class * classes + largest(&self.own_scores(sample, i))] += 1.0;
        }
        for (row, labelled) in confusion.chunks_mut(classes).zip(&labelled) {
            row.iter_mut().for_each(|value| *value /= labelled + 0.5);
        }
        let shares = class_shares(&self.predicted(sample), &confusion, &labelled);
        sample.class_of.iter().map(|class| shares[*class] / labelled[*class]).collect()
    }

    /// Counts the unlabelled nodes that are predicted as each class.
    fn predicted(&self, sample: &LabelledNodes<'_>) -> Vec<f64> {
        let mut counts = vec![0.0; sample.classes];
        for (e, index) in sample.index.iter().enumerate() {
            for node in (0..index.len()).filter(|node| index[*node].is_none()) {
                counts[largest(&self.classifier.scores((e, node)))] += 1.0;
            }
        }
        counts
    }
}

/// Returns the class shares pi that maximise the likelihood of the predictions, `sum over b of predicted_b ln
/// sum over a of pi_a confusion_ab`, by expectation maximisation with a weak prior: the shares among labelled
/// nodes.
fn class_shares(predicted: &[f64], confusion: &[f64], labelled: &[f64]) -> Vec<f64> {
    let (classes, total) = (labelled.len(), labelled.iter().sum::<f64>());
    let seen: f64 = predicted.iter().sum();
    let mut shares: Vec<f64> = labelled.iter().map(|count| count / total).collect();
    for _ in 0..STEPS {
        let expected = |b: usize| (0..classes).map(|a| shares[a] * confusion[a * classes + b]).sum::<f64>();
        let ratio: Vec<f64> = (0..classes).map(|b| predicted[b] / seen / expected(b).max(1e-12)).collect();
        let new = |a: usize| {
            let grown = shares[a] * (0..classes).map(|b| confusion[a * classes + b] * ratio[b]).sum::<f64>();
            (grown + PRIOR * labelled[a] / total) / (1.0 + PRIOR)
        };
        shares = (0..classes).map(new).collect();
    }
    shares
}

/// Index of the largest value.
fn largest(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, k| if values[k] > values[best] { k } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of class 0 and half of class 1 are predicted correctly. If both are equally frequent, three
    /// quarters of the nodes are predicted as class 0.
    #[test]
    fn corrects_class_shares_for_prediction_errors() {
        let shares = |predicted: [f64; 2]| class_shares(&predicted, &[1.0, 0.0, 0.5, 0.5], &[20.0, 20.0]);
        let even = shares([75.0, 25.0]);
        assert!((even[0] - 0.5).abs() < 1e-6 && (even[1] - 0.5).abs() < 1e-6, "{even:?}");
        let uneven = shares([95.0, 5.0]);
        assert!(uneven[1] > 0.08 && uneven[1] < 0.2, "{uneven:?}");
    }
}
