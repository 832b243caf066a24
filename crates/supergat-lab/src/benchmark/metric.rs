//! The metric of a benchmark, and whether classes are imbalanced.

use crate::selection::{metric_of, scorer};
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use supergat_core::{Labels, ModelKind, Select};
use supergat_data::Dataset;

/// Names of the metrics that can be chosen.
pub const METRICS: [&str; 6] = ["accuracy", "micro-f1", "balanced-accuracy", "macro-f1", "auroc", "average-precision"];

/// Share of the smaller one of two classes below which AUROC is the usual metric.
const RARE: f64 = 0.3;
/// Ratio of the largest to the smallest class from which on weights of classes are searched.
const IMBALANCED: f64 = 3.0;

/// Metric by which epochs and trials are selected, and which is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricChoice {
    /// Score that selects; `None` for accuracy or micro-F1.
    pub select: Option<Select>,
    /// Positive one of two classes; the second if `None`.
    pub positive: Option<usize>,
}

impl MetricChoice {
    /// Chooses the metric of a dataset, with notes about the choice. `name` is one of [`METRICS`]; without it, accuracy or
    /// micro-F1 is chosen, or AUROC if one of two classes is rare. Fails if a named metric is undefined.
    pub fn new(dataset: &Dataset, name: Option<&str>) -> Result<(Self, Vec<String>), String> {
        let counts = class_counts(dataset, true);
        let labelled: u64 = counts.iter().sum();
        let rarest = (0..counts.len()).min_by_key(|&class| counts[class]);
        let is_rare = |class: &usize| counts.len() == 2 && (counts[*class] as f64) < RARE * labelled as f64;
        let rare = rarest.filter(is_rare);
        if let Some(name) = name {
            let is_default = if dataset.is_multi_label() { name == "micro-f1" } else { name == "accuracy" };
            let select = match name {
                _ if is_default => None,
                "accuracy" => return Err("accuracy is undefined for nodes with several classes: use micro-f1".into()),
                "micro-f1" => return Err("micro-f1 equals accuracy for nodes with one class: use accuracy".into()),
                other => {
                    Some(
                        other.parse::<Select>().ok().filter(|_| METRICS.contains(&other)).ok_or_else(|| {
                            format!("unknown metric `{other}`: expected one of {}", METRICS.join(", "))
                        })?,
                    )
                }
            };
            let positive = rare.filter(|&class| select == Some(Select::AveragePrecision) && class == 0);
            let choice = Self { select, positive };
            return match choice.is_defined(dataset) {
                true => Ok((choice, Vec::new())),
                false => Err(format!(
                    "{name} is undefined for the labels of the validation nodes: they must contain all classes; choose \
                     accuracy or macro-f1"
                )),
            };
        }
        let plain = Self { select: None, positive: None };
        let Some(class) = rare else { return Ok((plain, Vec::new())) };
        let share = 100.0 * counts[class] as f64 / labelled as f64;
        let rare = format!("only {share:.1} % of the labelled nodes have the class {}", dataset.class_names[class]);
        let auroc = Self { select: Some(Select::Auroc), positive: None };
        Ok(match auroc.is_defined(dataset) {
            true => {
                let note = format!(
                    "The metric is auroc, because {rare}; --metric average-precision looks at the nodes that a model ranks first."
                );
                (auroc, vec![note])
            }
            false => {
                let note = format!(
                    "The metric is accuracy although {rare}: the validation nodes have one class, so others are undefined."
                );
                (plain, vec![note])
            }
        })
    }

    /// Returns whether the metric is defined for the validation nodes of a dataset.
    pub(crate) fn is_defined(self, dataset: &Dataset) -> bool {
        let settings = Settings { select: self.select, positive: self.positive, ..Settings::general(ModelKind::Mlp) };
        scorer(dataset, &settings).is_ok()
    }

    /// Returns the name of the metric.
    pub fn name(self, dataset: &Dataset) -> String {
        let settings = Settings { select: self.select, ..Settings::general(ModelKind::Mlp) };
        metric_of(dataset, &settings).to_string()
    }
}

/// Returns whether weights of classes are searched: the largest class of the training nodes has at least three times as many
/// as the smallest.
pub(super) fn is_imbalanced(dataset: &Dataset) -> bool {
    let counts = class_counts(dataset, false);
    let (least, most) = (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
    least > 0 && most as f64 >= IMBALANCED * least as f64
}

/// Returns the number of training nodes of every class, and of validation nodes if wanted; none if nodes may have several.
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
