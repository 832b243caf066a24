//! The metric that compares families, and whether classes are imbalanced.

use serde::{Deserialize, Serialize};
use supergat_core::{Labels, ModelKind, Select};
use supergat_data::Dataset;
use supergat_train::selection::{metric_of, scorer};
use supergat_train::settings::Settings;

/// Names of the metrics that can be chosen.
pub const METRICS: [&str; 6] = ["accuracy", "micro-f1", "balanced-accuracy", "macro-f1", "auroc", "average-precision"];

/// Fraction of the smaller of two classes below which AUROC is the usual metric.
const RARE: f64 = 0.3;
/// Ratio of the largest to the smallest class from which on weights of classes are searched.
const IMBALANCED: f64 = 3.0;

/// Metric by which epochs and trials are selected, and which is tested. The default is accuracy or micro-F1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MetricChoice {
    /// Score that selects; `None` for accuracy or micro-F1.
    pub select: Option<Select>,
    /// Class that counts as positive if there are two; `None` for the second.
    pub positive: Option<usize>,
}

impl MetricChoice {
    /// Chooses the metric of a dataset, with notes about the choice. `name` is one of [`METRICS`]; without it, accuracy or
    /// micro-F1 is chosen, or AUROC if one of two classes is rare. Fails if a named metric is undefined.
    pub fn new(dataset: &Dataset, name: Option<&str>) -> Result<(Self, Vec<String>), String> {
        let requested = RequestedMetric::new(dataset, name, true)?;
        if requested.choice.is_defined(dataset) {
            return Ok((requested.choice, requested.notes(true, "")));
        }
        if let Some(name) = name {
            return Err(format!(
                "{name} is undefined for the labels of the validation nodes: they must contain all classes; choose accuracy"
            ));
        }
        let reason = "the validation nodes have one class, so others are undefined";
        Ok((Self::default(), requested.notes(false, reason)))
    }

    /// Returns whether the metric is defined for the validation nodes of a dataset.
    pub(super) fn is_defined(self, dataset: &Dataset) -> bool {
        let settings = Settings { select: self.select, positive: self.positive, ..Settings::general(ModelKind::Mlp) };
        scorer(dataset, &settings).is_ok()
    }

    /// Returns whether the metric is defined for the test nodes of a dataset.
    pub(super) fn is_defined_for_test(self, dataset: &Dataset) -> bool {
        // Graphs and features are shared.
        let mut tested = dataset.clone();
        tested.examples.iter_mut().for_each(|example| example.validation.clone_from(&example.test));
        self.is_defined(&tested)
    }

    /// Returns the name of the metric.
    pub fn name(self, dataset: &Dataset) -> String {
        let settings = Settings { select: self.select, ..Settings::general(ModelKind::Mlp) };
        metric_of(dataset, &settings).to_string()
    }
}

/// A requested or usual metric, which may be undefined.
#[derive(Default)]
pub(super) struct RequestedMetric {
    pub(super) choice: MetricChoice,
    /// Reason for another metric than accuracy, if none was named.
    rare: Option<String>,
}

impl RequestedMetric {
    /// Chooses a metric by its name, or by the classes of training nodes, and of validation nodes if they may be used. Fails if
    /// there is no metric of the name.
    pub(super) fn new(dataset: &Dataset, name: Option<&str>, with_validation: bool) -> Result<Self, String> {
        let counts = class_counts(dataset, with_validation);
        let labelled: u64 = counts.iter().sum();
        let rarest = (0..counts.len()).min_by_key(|&class| counts[class]);
        let is_rare = |class: &usize| counts.len() == 2 && (counts[*class] as f64) < RARE * labelled as f64;
        let rare = rarest.filter(is_rare);
        let Some(name) = name else {
            let Some(class) = rare else { return Ok(Self::default()) };
            let share = 100.0 * counts[class] as f64 / labelled as f64;
            let rare = format!("only {share:.1} % of the labelled nodes have the class {}", dataset.class_names[class]);
            let choice = MetricChoice { select: Some(Select::Auroc), positive: None };
            return Ok(Self { choice, rare: Some(rare) });
        };
        let is_default = if dataset.is_multi_label() { name == "micro-f1" } else { name == "accuracy" };
        let select = match name {
            _ if is_default => return Ok(Self::default()),
            "accuracy" => return Err("accuracy is undefined for nodes with several classes: use micro-f1".into()),
            "micro-f1" => return Err("micro-f1 equals accuracy for nodes with one class: use accuracy".into()),
            other => other.parse::<Select>().ok().filter(|_| METRICS.contains(&other)),
        };
        let unknown = || format!("unknown metric `{name}`: expected one of {}", METRICS.join(", "));
        let select = select.ok_or_else(unknown)?;
        let positive = rare.filter(|&class| select == Select::AveragePrecision && class == 0);
        Ok(Self { choice: MetricChoice { select: Some(select), positive }, rare: None })
    }

    /// Returns notes about the choice. A metric that is undefined for a reason is replaced by accuracy.
    pub(super) fn notes(&self, is_defined: bool, reason: &str) -> Vec<String> {
        let note = |rare: &String| match is_defined {
            true => format!(
                "The metric is auroc, because {rare}; average-precision looks at the nodes that a model ranks first."
            ),
            false => format!("The metric is accuracy although {rare}: {reason}."),
        };
        self.rare.iter().map(note).collect()
    }
}

/// Returns whether weights of classes are searched: the largest class of the training nodes has at least three times as many
/// as the smallest.
pub(super) fn is_imbalanced(dataset: &Dataset) -> bool {
    let counts = class_counts(dataset, false);
    let (least, most) = (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
    least > 0 && most as f64 >= IMBALANCED * least as f64
}

/// Returns the number of training nodes of every class, also of validation nodes if `with_validation`; empty if nodes may have several classes.
fn class_counts(dataset: &Dataset, with_validation: bool) -> Vec<u64> {
    let mut counts = vec![0; dataset.classes()];
    for example in &dataset.examples {
        let Labels::Single { of, .. } = &example.labels else { return Vec::new() };
        let more = if with_validation { &example.validation[..] } else { &[] };
        for &node in example.train.iter().chain(more) {
            if let Some(count) = counts.get_mut(of[node as usize] as usize) {
                *count += 1;
            }
        }
    }
    counts
}
