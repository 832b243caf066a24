//! Resampled parts of the labelled nodes: for training, for selecting the epoch, and for scores. Test nodes are never used.

use crate::recommend::map::Known;
use crate::recommend::metric::MetricChoice;
use std::collections::{BTreeMap, BTreeSet};
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Labels, Select};
use supergat_data::Dataset;

/// Most repetitions.
pub(super) const MOST: usize = 8;
/// Number of validation nodes from which on the given training nodes are kept, and only validation nodes are resampled.
const MANY: usize = 1000;
/// Number of validation nodes from which on a repetition has as many; with fewer, it takes [`HELD`] of all labelled nodes.
const ENOUGH: usize = 30;
/// Fraction of the labelled nodes that are not trained on.
const HELD: f64 = 0.4;
/// Layer of the random numbers, which no other split has.
const LAYER: u16 = 9;

/// A node: its graph and its number.
type Node = (u32, u32);

/// Resampled parts of a dataset.
pub(super) struct Resampled<'a> {
    dataset: &'a Dataset,
    /// Parts of every repetition.
    parts: Vec<[Vec<Node>; 3]>,
    /// Number of nodes that are resampled.
    pub(super) movable: usize,
    /// Whether the given training nodes are kept.
    pub(super) keeps_training: bool,
}

impl Resampled<'_> {
    /// Returns the number of repetitions.
    pub(super) fn count(&self) -> usize {
        self.parts.len()
    }

    /// Returns the dataset of a repetition: the scored nodes are its test nodes.
    pub(super) fn dataset(&self, repetition: usize) -> Dataset {
        with_parts(self.dataset, &self.parts[repetition])
    }

    /// Returns the sizes of the parts of the first repetition; the others differ by a few nodes.
    pub(super) fn sizes(&self) -> [usize; 3] {
        [0, 1, 2].map(|part| self.parts[0][part].len())
    }

    /// Returns the number of different nodes that are scored in the first repetitions.
    pub(super) fn scored(&self, repetitions: usize) -> usize {
        self.scored_nodes(repetitions).len()
    }

    fn scored_nodes(&self, repetitions: usize) -> BTreeSet<Node> {
        self.parts.iter().take(repetitions).flat_map(|parts| &parts[2]).copied().collect()
    }

    /// Returns the number of scored nodes that the error of a metric depends on, with `n_c` of class c among K classes:
    ///
    /// ```text
    /// AUROC, average precision       min n_c
    /// balanced accuracy, macro-F1    K^2 / sum_c 1 / n_c
    /// others                         sum_c n_c
    /// ```
    pub(super) fn effective(&self, repetitions: usize, metric: MetricChoice) -> f64 {
        let nodes = self.scored_nodes(repetitions);
        let mut counts = BTreeMap::new();
        nodes.iter().for_each(|&node| *counts.entry(class(self.dataset, node)).or_insert(0.0) += 1.0);
        let counts: Vec<f64> = counts.into_values().collect();
        match metric.select {
            _ if self.dataset.is_multi_label() => nodes.len() as f64,
            Some(Select::Auroc | Select::AveragePrecision) => counts.into_iter().fold(f64::INFINITY, f64::min),
            Some(Select::BalancedAccuracy | Select::MacroF1) => {
                (counts.len() as f64).powi(2) / counts.iter().map(|count| 1.0 / count).sum::<f64>()
            }
            _ => nodes.len() as f64,
        }
    }
}

/// Draws the parts. Fails if there are too few labelled nodes, or one class.
pub(super) fn resampled(
    dataset: &Dataset,
    known: Known,
    metric: MetricChoice,
    seed: u64,
) -> Result<Resampled<'_>, String> {
    let given = |is_validation: bool| -> Vec<Node> {
        let nodes = dataset.examples.iter().enumerate().flat_map(|(graph, example)| {
            let list = if is_validation { &example.validation } else { &example.train };
            list.iter().map(move |&node| (graph as u32, node))
        });
        nodes.collect()
    };
    let train = given(false);
    let validation = if known == Known::Training { Vec::new() } else { given(true) };
    let labelled = train.len() + validation.len();
    let classes: BTreeSet<usize> = train.iter().chain(&validation).map(|&node| class(dataset, node)).collect();
    match labelled {
        0 => return Err("no node has a label".into()),
        _ if train.is_empty() => return Err("there are no training nodes".into()),
        _ if classes.len() < 2 && !dataset.is_multi_label() => {
            return Err("all labelled nodes have the same class".into());
        }
        1..4 => return Err(format!("{labelled} labelled nodes are too few for parts to train on and to score")),
        _ => {}
    }
    let is_enough = validation.len() >= ENOUGH || validation.len() as f64 >= HELD * labelled as f64;
    let keeps_training =
        (validation.len() >= MANY || dataset.examples.len() > 1) && validation.len() > 1 && !train.is_empty();
    let trained = if keeps_training || is_enough { train.len() } else { labelled - held(labelled, validation.len()) };
    let pool: Vec<Node> = if keeps_training { validation } else { train.iter().chain(&validation).copied().collect() };
    let mut parts = Vec::new();
    for repetition in 0..MOST as u32 {
        let kept = if keeps_training { &train[..] } else { &[] };
        let drawn = drawn(dataset, kept, &pool, &train, trained, is_enough, seed, repetition);
        let split = with_parts(dataset, &drawn);
        let is_usable = drawn.iter().all(|part| !part.is_empty())
            && metric.is_defined(&split)
            && metric.is_defined_for_test(&split);
        if is_usable {
            parts.push(drawn);
        }
    }
    if parts.is_empty() {
        return Err(format!(
            "{labelled} labelled nodes are too few for parts in which {} is defined",
            metric.name(dataset)
        ));
    }
    Ok(Resampled { dataset, parts, movable: pool.len(), keeps_training })
}

/// Returns how many of few labelled nodes are not trained on.
fn held(labelled: usize, validation: usize) -> usize {
    ((HELD * labelled as f64).round() as usize).max(validation).clamp(2, labelled - 1)
}

/// Draws the three parts. Each class has the same share of the training part as in the given split; where that is not
/// kept, the share of all labelled nodes.
#[allow(clippy::too_many_arguments)]
fn drawn(
    dataset: &Dataset,
    kept: &[Node],
    pool: &[Node],
    train: &[Node],
    trained: usize,
    is_enough: bool,
    seed: u64,
    repetition: u32,
) -> [Vec<Node>; 3] {
    let groups = if dataset.is_multi_label() { 1 } else { dataset.classes() };
    let mut parts = [kept.to_vec(), Vec::new(), Vec::new()];
    let mut turn = repetition as usize;
    for group in 0..groups {
        let is_here = |node: &&Node| groups == 1 || class(dataset, **node) == group;
        let mut nodes: Vec<Node> = pool.iter().filter(is_here).copied().collect();
        let stream = Stream::new(seed, repetition * groups as u32 + group as u32, LAYER, Purpose::Split);
        stream.shuffle(&mut nodes);
        let first = match (kept.is_empty(), is_enough) {
            (false, _) => 0,
            (true, true) => train.iter().filter(is_here).count(),
            // A class with one node is trained on; a larger one has nodes in both.
            (true, false) if nodes.len() < 2 => nodes.len(),
            (true, false) => {
                let share = trained as f64 / pool.len() as f64;
                ((share * nodes.len() as f64).round() as usize).clamp(1, nodes.len() - 1)
            }
        };
        for (place, node) in nodes.into_iter().enumerate() {
            if place < first {
                parts[0].push(node);
            } else {
                parts[1 + turn % 2].push(node);
                turn += 1;
            }
        }
    }
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

/// Returns the class of a node; 0 if nodes may have several.
fn class(dataset: &Dataset, (graph, node): Node) -> usize {
    match &dataset.examples[graph as usize].labels {
        Labels::Single { of, .. } => of[node as usize] as usize,
        Labels::Multi { .. } => 0,
    }
}

/// Returns a dataset with other training, validation and test nodes. Graph and features are shared.
fn with_parts(dataset: &Dataset, parts: &[Vec<Node>; 3]) -> Dataset {
    let mut split = dataset.clone();
    for (graph, example) in split.examples.iter_mut().enumerate() {
        let of = |part: &[Node]| {
            part.iter().filter(|(of, _)| *of as usize == graph).map(|(_, node)| *node).collect::<Vec<u32>>()
        };
        [example.train, example.validation, example.test] = [0, 1, 2].map(|part| of(&parts[part]));
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(resampled: &Resampled<'_>, repetition: usize) -> [BTreeSet<u32>; 3] {
        let example = resampled.dataset(repetition).examples.remove(0);
        [example.train, example.validation, example.test].map(|list| list.into_iter().collect())
    }

    #[test]
    fn parts_are_disjoint_and_contain_no_test_node() {
        let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6").unwrap();
        let example = &dataset.examples[0];
        let test: BTreeSet<u32> = example.test.iter().copied().collect();
        let found = resampled(&dataset, Known::TrainingAndValidation, MetricChoice::default(), 0).unwrap();
        assert_eq!((found.count(), found.keeps_training), (MOST, false));
        assert_eq!(found.sizes(), [example.train.len(), example.validation.len() / 2, example.validation.len() / 2]);
        for repetition in 0..MOST {
            let [train, select, score] = sets(&found, repetition);
            assert!(train.is_disjoint(&select) && train.is_disjoint(&score) && select.is_disjoint(&score));
            assert!([&train, &select, &score].iter().all(|part| part.is_disjoint(&test)));
            // Classes have as many training nodes as in the given split.
            assert_eq!(train.len(), example.train.len());
        }
        assert_ne!(sets(&found, 0), sets(&found, 1));
        let training = resampled(&dataset, Known::Training, MetricChoice::default(), 0).unwrap();
        let all: BTreeSet<u32> = example.train.iter().copied().collect();
        assert!(sets(&training, 0).iter().all(|part| part.is_subset(&all)));
    }

    #[test]
    fn many_validation_nodes_keep_the_training_nodes() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=1000,degree=2").unwrap();
        let mut dataset = dataset.drawn_by_shares("20/60/20".parse().unwrap(), 1).unwrap();
        let found = resampled(&dataset, Known::TrainingAndValidation, MetricChoice::default(), 0).unwrap();
        assert!(found.keeps_training && found.movable == 1200);
        assert_eq!(sets(&found, 3)[0], dataset.examples[0].train.iter().copied().collect());
        // Few validation nodes: some training nodes are held out too.
        let more = dataset.examples[0].validation.split_off(10);
        dataset.examples[0].test.extend(more);
        let found = resampled(&dataset, Known::TrainingAndValidation, MetricChoice::default(), 0).unwrap();
        assert_eq!((found.movable, found.sizes()), (410, [246, 82, 82]));
    }

    #[test]
    fn too_few_labels_are_refused_with_the_reason() {
        let mut dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=2").unwrap();
        let refused = |dataset: &Dataset| {
            resampled(dataset, Known::TrainingAndValidation, MetricChoice::default(), 0).err().unwrap()
        };
        dataset.examples[0].validation.clear();
        let train = dataset.examples[0].train.clone();
        dataset.examples[0].train.truncate(3);
        assert!(refused(&dataset).contains("same class"));
        dataset.examples[0].train.clear();
        assert!(refused(&dataset).contains("no node has a label"));
        // Five nodes of two classes are enough for scores that mean little.
        dataset.examples[0].train = [&train[..3], &train[train.len() - 2..]].concat();
        dataset.examples[0].train.sort_unstable();
        let found = resampled(&dataset, Known::TrainingAndValidation, MetricChoice::default(), 0).unwrap();
        assert_eq!(found.sizes(), [3, 1, 1]);
    }
}
