//! Resampled splits of a dataset.

use crate::recommend::metric::MetricChoice;
use crate::sweep::taken;
use serde::{Deserialize, Serialize};
use supergat_data::{Dataset, SplitChoice};
use supergat_train::dataset_hash::split_hash;

/// Most splits of a comparison.
pub(super) const MOST: usize = 10;
/// Number of training nodes per class in splits by class.
const PER_CLASS: usize = 20;

/// A split of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitPlan {
    /// Split: `3` of the files, `random:3`, `random:60/20/20:3`, or `published` for the split of the dataset.
    pub split: String,
    /// Hash of its nodes.
    pub hash: String,
    /// Seed of the runs on it.
    pub seed: u64,
}

/// Returns up to ten splits, with a sentence about them and notes: those of the files if there are several, else resampled
/// ones like the given split. If none can be drawn, the given split is used with several seeds. `keep` always uses it.
pub(super) fn splits(
    dataset: &Dataset,
    metric: MetricChoice,
    seed: u64,
    keep: bool,
) -> Result<(Vec<SplitPlan>, String, Vec<String>), String> {
    if !is_usable(dataset, metric) {
        let sizes = sizes(dataset).map(|size| size.to_string()).join(", ");
        return Err(format!(
            "the split has {sizes} nodes for training, validation and testing: a comparison needs some of each, and a metric that \
             is defined for them"
        ));
    }
    let seeds = || (0..MOST as u64).map(|k| seed.saturating_add(k));
    let (choices, words) = if keep {
        (Vec::new(), String::new())
    } else if dataset.splits.len() > 1 {
        let choices: Vec<SplitChoice> = (0..dataset.splits.len().min(MOST)).map(SplitChoice::Numbered).collect();
        (choices, "splits of the files".to_owned())
    } else {
        resampled(dataset, seeds())
    };
    let mut notes = Vec::new();
    let mut found = Vec::new();
    for (choice, seed) in choices.iter().zip(seeds()) {
        if let Ok(split) = taken(dataset, *choice)
            && is_usable(&split, metric)
            && metric.is_defined_for_test(&split)
        {
            found.push(SplitPlan { split: choice.to_string(), hash: split_hash(&split), seed });
        }
    }
    if found.len() > 1 {
        if found.len() < choices.len() {
            notes.push(format!(
                "{} of {} splits are not used: a part of theirs has no nodes, or not all classes.",
                choices.len() - found.len(),
                choices.len()
            ));
        }
        return Ok((found, words, notes));
    }
    let hash = split_hash(dataset);
    let split = SplitChoice::Published.to_string();
    let found = seeds().map(|seed| SplitPlan { split: split.clone(), hash: hash.clone(), seed }).collect();
    notes.push(
        "All runs have the same split and different seeds, so intervals contain the chance of training, but not that of the \
         choice of nodes."
            .into(),
    );
    Ok((found, "seeds on the given split".to_owned(), notes))
}

/// Returns random splits with as many nodes as the given one: by class if it has 20 training nodes per class, else by shares.
fn resampled(dataset: &Dataset, seeds: impl Iterator<Item = u64>) -> (Vec<SplitChoice>, String) {
    let [_] = &dataset.examples[..] else { return (Vec::new(), String::new()) };
    let [train, validation, test] = sizes(dataset);
    if train == PER_CLASS * dataset.classes() && dataset.redrawn(0).is_some() {
        let words = "resampled splits, 20 training and 30 validation nodes per class".to_owned();
        return (seeds.map(|seed| SplitChoice::Random { seed }).collect(), words);
    }
    let all = (train + validation + test) as f64;
    let part = |nodes: usize| (10_000.0 * nodes as f64 / all).round().max(1.0) / 100.0;
    let [train, validation] = [part(train), part(validation)];
    let text = format!("{train:.2}/{validation:.2}/{:.2}", 100.0 - train - validation);
    let Ok(shares) = text.parse::<supergat_data::Shares>() else { return (Vec::new(), String::new()) };
    let words = format!("resampled splits, {shares} % of the labelled nodes");
    (seeds.map(|seed| SplitChoice::Shares { shares, seed }).collect(), words)
}

/// Returns whether all parts of a split have nodes, and the metric is defined.
fn is_usable(dataset: &Dataset, metric: MetricChoice) -> bool {
    !sizes(dataset).contains(&0) && metric.is_defined(dataset)
}

/// Returns the numbers of training, validation and test nodes.
pub(super) fn sizes(dataset: &Dataset) -> [usize; 3] {
    let mut sizes = [0; 3];
    for example in &dataset.examples {
        for (size, list) in sizes.iter_mut().zip([&example.train, &example.validation, &example.test]) {
            *size += list.len();
        }
    }
    sizes
}
