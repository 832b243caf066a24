//! The paper's homophily of a graph, estimated from the labels there are, with a 95 % interval.
//!
//! h is the mean over nodes of the share of neighbours with the node's own class. With few labels two things speak of it, and both are combined, each weighed by one over its variance:
//!
//! - **Links between two labelled nodes** ([`links`](super::links)): the share that agrees. Nothing is assumed, but there may be hardly any.
//! - **Features of the unlabelled neighbours of labelled nodes** ([`features`](super::features)), seen through a classifier that does not look at links.
//!
//! A labelled node i of class y stands for its class: it weighs w_i = pi_y / n_y, where n_y nodes of the class are labelled and pi_y is its share among all nodes,
//! which the classifier's predictions tell after its errors are taken out. Where most nodes are labelled each stands for itself, and features are not asked.
//!
//! Where links have a direction a node may be its own neighbour. How often is known without labels: with o the mean share of a node's neighbours that is the node itself,
//! and g what was found between different nodes, h = o + (1 - o) g.
//!
//! Where a node may have several classes, only links between labelled nodes are counted, by the paper's share of shared labels.

use super::classifier::{Classifier, Place};
use super::features::FeatureEvidence;
use super::links::LinkEvidence;
use crate::density::Point;
use crate::graph_statistics::{agreement, neighbours};
use serde::Serialize;
use supergat::{Example, Labels};
use supergat_data::Dataset;

/// At most so many labelled nodes teach the classifier; the others measure it.
const TAUGHT: usize = 300;
/// How much the shares of the classes lean to those among the labelled nodes.
const LEAN: f64 = 0.1;
/// Steps of the expectation maximisation of these shares; it has settled by then.
const STEPS: usize = 100;

/// Which labels may be looked at. Those of test nodes never are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// Those of the training nodes.
    Training,
    /// Those of the training and validation nodes.
    TrainingAndValidation,
}

impl Known {
    fn nodes(self, example: &Example<f32>) -> impl Iterator<Item = u32> {
        let validation = match self {
            Self::Training => &[][..],
            Self::TrainingAndValidation => &example.validation,
        };
        example.train.iter().chain(validation).copied()
    }
}

/// What an estimate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Links between labelled nodes.
    Links,
    /// These, and features of neighbours.
    LinksAndFeatures,
    /// Features of neighbours; no link joins two labelled nodes.
    Features,
}

/// An estimate of the homophily.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HomophilyEstimate {
    /// The estimate.
    pub estimate: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its standard error.
    pub error: f64,
    /// What it comes from.
    pub from: Source,
    /// Labelled nodes.
    pub labelled: usize,
    /// Links between two of them.
    pub links: usize,
}

/// Why there is no estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// No labels.
    #[error("no node has a label")]
    NoLabels,
    /// Nothing can disagree.
    #[error("all labelled nodes have the same class")]
    OneClass,
    /// Classes without a labelled node.
    #[error("{labelled} labelled nodes are fewer than the {classes} classes")]
    TooFew {
        /// Labelled nodes.
        labelled: usize,
        /// Classes.
        classes: usize,
    },
    /// No neighbours.
    #[error("no labelled node has a neighbour")]
    NoNeighbours,
    /// Neither links nor features say anything.
    #[error("no link joins two labelled nodes, and features do not tell the classes apart")]
    NoEvidence,
}

/// Log10 of the degree and homophily of every labelled node, where most nodes are labelled and each has one class; without leaves that are linked to another class, as in
/// [`crate::density`].
pub(super) fn points(dataset: &Dataset, known: Known) -> Option<Vec<Point>> {
    let sample = Sample::of(dataset, known).ok().filter(Sample::speaks_for_itself)?;
    let of = |(i, (list, _)): (usize, &(Vec<u32>, f64))| {
        let (graph, node) = sample.places[i];
        let known = list.iter().filter(|other| sample.number[graph][**other as usize].is_some());
        let labels = &sample.examples[graph].labels;
        let agreements: Vec<f64> = known.filter_map(|other| agreement(labels, node, *other as usize)).collect();
        let (neighbours, same) = (agreements.len() as f64, agreements.iter().sum::<f64>());
        (neighbours > 1.0 || same > 0.0).then(|| [neighbours.log10(), same / neighbours])
    };
    (!dataset.is_multi_label()).then(|| sample.around.iter().enumerate().filter_map(of).collect())
}

/// An estimate with its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    pub(super) value: f64,
    pub(super) variance: f64,
    /// How many standard errors the 95 % interval reaches to either side.
    pub(super) reach: f64,
}

/// The labelled nodes of a dataset and what they are linked with.
pub(super) struct Sample<'a> {
    pub(super) examples: &'a [Example<f32>],
    pub(super) classes: usize,
    pub(super) places: Vec<Place>,
    /// Class of each labelled node; zeros where a node may have several.
    pub(super) class_of: Vec<usize>,
    /// Of each labelled node its neighbours, besides itself, and one over their number.
    pub(super) around: Vec<(Vec<u32>, f64)>,
    /// For each graph and node the number of the labelled node, if it is one.
    pub(super) number: Vec<Vec<Option<u32>>>,
    /// Mean share of a node's neighbours that is the node itself.
    loops: f64,
}

/// Estimates the homophily of a dataset from the labels that may be looked at.
pub fn estimate(dataset: &Dataset, known: Known) -> Result<HomophilyEstimate, Unknown> {
    let sample = Sample::of(dataset, known)?;
    let alone = dataset.is_multi_label() || sample.speaks_for_itself();
    let classifier = (!alone).then(|| Taught::new(&sample));
    let weights = match &classifier {
        Some(taught) => taught.weights(&sample),
        None => vec![1.0 / sample.places.len() as f64; sample.places.len()],
    };
    let links = LinkEvidence::of(&sample, &weights);
    let features = classifier.and_then(|taught| FeatureEvidence::of(&sample, &taught, &weights));
    let parts = [links.map(|links| links.part), features.map(|features| features.part())];
    let from = match parts {
        [Some(_), Some(_)] => Source::LinksAndFeatures,
        [Some(_), None] => Source::Links,
        [None, Some(_)] => Source::Features,
        [None, None] => return Err(Unknown::NoEvidence),
    };
    let parts = parts.iter().flatten();
    let precision: f64 = parts.clone().map(|part| 1.0 / part.variance).sum();
    let value = parts.clone().map(|part| part.value / part.variance).sum::<f64>() / precision;
    let reach = parts.map(|part| part.reach).fold(0.0, f64::max);
    // Links of nodes with themselves agree by nature.
    let rest = 1.0 - sample.loops;
    let value = sample.loops * sample.agreement_with_itself() + rest * value;
    let error = rest * precision.recip().sqrt();
    let end = |sign: f64| (value + sign * reach * error).clamp(0.0, 1.0);
    Ok(HomophilyEstimate {
        estimate: value.clamp(0.0, 1.0),
        low: end(-1.0),
        high: end(1.0),
        error,
        from,
        labelled: sample.places.len(),
        links: links.map_or(0, |links| links.pairs),
    })
}

impl<'a> Sample<'a> {
    fn of(dataset: &'a Dataset, known: Known) -> Result<Self, Unknown> {
        let (examples, classes) = (&dataset.examples[..], dataset.classes());
        let mut sample = Self {
            examples,
            classes,
            places: Vec::new(),
            class_of: Vec::new(),
            around: Vec::new(),
            number: examples.iter().map(|example| vec![None; example.graph.nodes()]).collect(),
            loops: 0.0,
        };
        let mut linked = 0.0;
        for (e, example) in examples.iter().enumerate() {
            let mut lists = neighbours(&example.graph);
            for (i, list) in lists.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
                linked += 1.0;
                sample.loops += list.iter().filter(|j| **j as usize == i).count() as f64 / list.len() as f64;
            }
            for node in known.nodes(example) {
                let i = node as usize;
                let mut list = std::mem::take(&mut lists[i]);
                let share = 1.0 / (list.len() as f64).max(1.0);
                list.retain(|other| *other != node);
                sample.number[e][i] = Some(sample.places.len() as u32);
                sample.places.push((e, i));
                sample.around.push((list, share));
                sample.class_of.push(match &example.labels {
                    Labels::Single { of, .. } => of[i] as usize,
                    Labels::Multi { .. } => 0,
                });
            }
        }
        sample.loops /= f64::max(linked, 1.0);
        sample.check(dataset.is_multi_label())
    }

    fn check(self, several: bool) -> Result<Self, Unknown> {
        let labelled = self.places.len();
        let Some(first) = self.class_of.first() else { return Err(Unknown::NoLabels) };
        if !several && self.class_of.iter().all(|class| class == first) {
            return Err(Unknown::OneClass);
        }
        if !several && labelled < self.classes {
            return Err(Unknown::TooFew { labelled, classes: self.classes });
        }
        if self.around.iter().all(|(list, _)| list.is_empty()) {
            return Err(Unknown::NoNeighbours);
        }
        Ok(self)
    }

    /// The mean agreement of a labelled node with itself: 1, unless nodes have several classes.
    fn agreement_with_itself(&self) -> f64 {
        let each = self.places.iter().filter_map(|(e, i)| agreement(&self.examples[*e].labels, *i, *i));
        each.sum::<f64>() / self.places.len() as f64
    }

    /// Whether most nodes are labelled, of the graphs that have labelled ones.
    fn speaks_for_itself(&self) -> bool {
        let with_labels = self.number.iter().filter(|number| number.iter().any(Option::is_some));
        2 * self.places.len() >= with_labels.map(Vec::len).sum::<usize>()
    }
}

/// The classifier, and which labelled nodes taught it.
pub(super) struct Taught<'a> {
    classifier: Classifier<'a>,
    /// Of each labelled node its number among those that taught, if it did.
    pupil: Vec<Option<usize>>,
}

impl<'a> Taught<'a> {
    fn new(sample: &Sample<'a>) -> Self {
        let most = (TAUGHT / sample.classes).max(1);
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
    fn weights(&self, sample: &Sample<'_>) -> Vec<f64> {
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

    fn generated(spec: &str) -> Dataset {
        supergat_data::load(&format!("random-partition:{spec}")).unwrap()
    }

    /// Of 240 random partition graphs with twenty labels per class, at least nine in ten intervals hold the homophily of all labels.
    #[test]
    fn intervals_hold_the_truth() {
        let (mut held, mut all, mut width) = (0, 0, 0.0);
        for homophily in [0.1, 0.3, 0.5, 0.7, 0.9] {
            for degree in [2.5, 10.0, 40.0] {
                for _ in 0..16 {
                    // Every graph has a seed of its own: with the same one, features and labelled nodes would be the same.
                    let spec = format!("classes=5,nodes=180,degree={degree},homophily={homophily},seed={all}");
                    let dataset = generated(&spec);
                    let truth = crate::graph_statistics::homophily(&dataset.examples).node.unwrap();
                    let estimate = estimate(&dataset, Known::Training).unwrap();
                    assert!(estimate.labelled == 100 && estimate.low < estimate.high);
                    held += u32::from(estimate.low <= truth && truth <= estimate.high);
                    all += 1;
                    width += estimate.high - estimate.low;
                }
            }
        }
        let width = width / f64::from(all);
        assert!(held * 10 >= all * 9, "{held} of {all}");
        assert!(width < 0.2, "{width}");
    }

    #[test]
    fn what_cannot_be_known_is_not_invented() {
        let dataset = generated("classes=4,nodes=180,degree=5,homophily=0.5");
        let with = |train: Vec<u32>| {
            let mut dataset = dataset.clone();
            (dataset.examples[0].train, dataset.examples[0].validation) = (train, Vec::new());
            estimate(&dataset, Known::TrainingAndValidation)
        };
        let Labels::Single { of, .. } = &dataset.examples[0].labels else { unreachable!("one class per node") };
        let of_class = |class: u32| (0..720u32).filter(move |i| of[*i as usize] == class);
        assert_eq!(with(Vec::new()), Err(Unknown::NoLabels));
        assert_eq!(with(of_class(2).take(9).collect()), Err(Unknown::OneClass));
        let three = [0, 1, 2].map(|class| of_class(class).next().unwrap());
        assert_eq!(with(three.to_vec()), Err(Unknown::TooFew { labelled: 3, classes: 4 }));
        let mut lonely = dataset.clone();
        lonely.examples[0].graph = supergat::Graph::from_edges(720, &[], supergat::Direction::Undirected).unwrap();
        assert_eq!(estimate(&lonely, Known::Training), Err(Unknown::NoNeighbours));
    }

    /// Links of nodes with themselves count as the paper counts them, in graphs with directions.
    #[test]
    fn loops_agree_by_nature() {
        let mut dataset = generated("classes=4,nodes=180,degree=6,homophily=0.3");
        let links = (0..720u32).flat_map(|i| [(i, i), (i, (i + 180) % 720), (i, (i + 7) % 720)]);
        let links: Vec<(u32, u32)> = links.collect();
        dataset.examples[0].graph = supergat::Graph::from_edges(720, &links, supergat::Direction::Directed).unwrap();
        dataset.examples[0].train = (0..720).collect();
        let truth = crate::graph_statistics::homophily(&dataset.examples).node.unwrap();
        let found = estimate(&dataset, Known::Training).unwrap();
        assert!(truth > 0.5 && (found.estimate - truth).abs() < 0.003, "{truth} {found:?}");
    }

    /// Where all nodes are labelled the estimate is the homophily itself.
    #[test]
    fn with_all_labels_it_is_the_homophily() {
        let mut dataset = generated("classes=4,nodes=180,degree=6,homophily=0.6");
        dataset.examples[0].train = (0..720).collect();
        let truth = crate::graph_statistics::homophily(&dataset.examples).node.unwrap();
        let found = estimate(&dataset, Known::Training).unwrap();
        assert_eq!(found.from, Source::Links);
        assert!((found.estimate - truth).abs() < 0.003 && found.high - found.low < 0.12, "{found:?}");
    }
}
