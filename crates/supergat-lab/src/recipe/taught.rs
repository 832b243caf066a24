//! The quick classifier, taught by some of the labelled nodes and measured by all of them.

use super::classifier::{Classifier, Place};
use super::sample::Sample;

/// At most so many labelled nodes teach the classifier, the same number of each class; the others measure it. With more classes there is none.
pub(super) const TAUGHT: usize = 300;
/// How much the shares of the classes lean to those among the labelled nodes.
const LEAN: f64 = 0.1;
/// Steps of the expectation maximisation of these shares; it has settled by then.
const STEPS: usize = 100;

/// The classifier, and which labelled nodes taught it.
pub(super) struct Taught<'a> {
    classifier: Classifier<'a>,
    /// Of each labelled node its number among those that taught, if it did.
    pupil: Vec<Option<usize>>,
}

impl<'a> Taught<'a> {
    /// Teaches it.
    pub(super) fn new(sample: &Sample<'a>) -> Self {
        let most = TAUGHT / sample.classes;
        let (mut taken, mut chosen) = (vec![0; sample.classes], Vec::new());
        let mut pupil = vec![None; sample.places.len()];
        for (i, class) in sample.class_of.iter().enumerate().filter(|(_, class)| **class < sample.classes) {
            if taken[*class] < most {
                taken[*class] += 1;
                pupil[i] = Some(chosen.len());
                chosen.push(i);
            }
        }
        let places: Vec<Place> = chosen.iter().map(|i| sample.places[*i]).collect();
        let class_of: Vec<usize> = chosen.iter().map(|i| sample.class_of[*i]).collect();
        Self { classifier: Classifier::fit(sample.examples, &places, &class_of, sample.classes), pupil }
    }

    /// Scores of a labelled node, as if it had not taught.
    pub(super) fn own(&self, sample: &Sample<'_>, i: usize) -> Vec<f64> {
        match self.pupil[i] {
            Some(k) => self.classifier.left_out(k).to_vec(),
            None => self.classifier.scores(sample.places[i]),
        }
    }

    /// Scores of any node, as if a labelled node had not taught.
    pub(super) fn without(&self, place: Place, i: usize) -> Vec<f64> {
        match self.pupil[i] {
            Some(k) => self.classifier.scores_without(place, k),
            None => self.classifier.scores(place),
        }
    }

    /// What each labelled node weighs: its class's share of all nodes, divided among the labelled nodes of the class.
    pub(super) fn weights(&self, sample: &Sample<'_>) -> Vec<f64> {
        let classes = sample.classes;
        let mut labelled = vec![0.0; classes];
        // How often class a is taken for class b; half a node more in every row keeps shares positive.
        let mut confusion = vec![0.5 / classes as f64; classes * classes];
        for (i, class) in sample.class_of.iter().enumerate() {
            labelled[*class] += 1.0;
            confusion[class * classes + largest(&self.own(sample, i))] += 1.0;
        }
        for (row, labelled) in confusion.chunks_mut(classes).zip(&labelled) {
            row.iter_mut().for_each(|value| *value /= labelled + 0.5);
        }
        let shares = class_shares(&self.predicted(sample), &confusion, &labelled);
        sample.class_of.iter().map(|class| shares[*class] / labelled[*class]).collect()
    }

    /// How many unlabelled nodes are taken for each class.
    fn predicted(&self, sample: &Sample<'_>) -> Vec<f64> {
        let mut counts = vec![0.0; sample.classes];
        for (e, number) in sample.number.iter().enumerate() {
            for node in (0..number.len()).filter(|node| number[*node].is_none()) {
                counts[largest(&self.classifier.scores((e, node)))] += 1.0;
            }
        }
        counts
    }
}

/// The shares pi of the classes for which predictions are likely, `sum over b of predicted_b ln sum over a of pi_a confusion_ab`, by expectation maximisation that leans a
/// little to the shares among labelled nodes.
fn class_shares(predicted: &[f64], confusion: &[f64], labelled: &[f64]) -> Vec<f64> {
    let (classes, total) = (labelled.len(), labelled.iter().sum::<f64>());
    let seen: f64 = predicted.iter().sum();
    let mut shares: Vec<f64> = labelled.iter().map(|count| count / total).collect();
    for _ in 0..STEPS {
        let expected = |b: usize| (0..classes).map(|a| shares[a] * confusion[a * classes + b]).sum::<f64>();
        let surprise: Vec<f64> = (0..classes).map(|b| predicted[b] / seen / expected(b).max(1e-12)).collect();
        let new = |a: usize| {
            let grown = shares[a] * (0..classes).map(|b| confusion[a * classes + b] * surprise[b]).sum::<f64>();
            (grown + LEAN * labelled[a] / total) / (1.0 + LEAN)
        };
        shares = (0..classes).map(new).collect();
    }
    shares
}

/// Position of the largest value.
fn largest(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, k| if values[k] > values[best] { k } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of class 0 and half of class 1 are recognised, so that three in four are taken for class 0 where both are equally frequent.
    #[test]
    fn errors_are_taken_out_of_class_shares() {
        let shares = |predicted: [f64; 2]| class_shares(&predicted, &[1.0, 0.0, 0.5, 0.5], &[20.0, 20.0]);
        let even = shares([75.0, 25.0]);
        assert!((even[0] - 0.5).abs() < 1e-6 && (even[1] - 0.5).abs() < 1e-6, "{even:?}");
        let uneven = shares([95.0, 5.0]);
        assert!(uneven[1] > 0.08 && uneven[1] < 0.2, "{uneven:?}");
    }
}
