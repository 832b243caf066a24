//! Losses and metrics over the epochs, of the best seed and fainter of the others.

use super::{Report, Run, thinned};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use supergat_core::Epoch;
use supergat_core::words::count;
use supergat_figure::{Axis, Plot, panels};

/// A line of `metrics.jsonl`: one epoch of one seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EpochLine {
    /// The seed.
    pub seed: u64,
    /// Epoch, counted from 0.
    pub epoch: usize,
    /// Training loss: label_loss + lambda_e * edge_loss. For cgat lambda_e is omitted, because its edge_loss
    /// is already weighted.
    pub train_loss: f64,
    /// Mean label loss of the training nodes.
    pub label_loss: f64,
    /// Edge loss, summed over the layers.
    pub edge_loss: f64,
    /// Mean label loss of the validation nodes.
    pub validation_loss: f64,
    /// Metric of the validation nodes, between 0 and 1.
    pub validation_metric: f64,
    /// Metric of the test nodes, between 0 and 1; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_metric: Option<f64>,
}

impl EpochLine {
    /// Creates the line of an epoch of a dataset with test nodes.
    pub fn new(seed: u64, epoch: &Epoch) -> Self {
        Self {
            seed,
            epoch: epoch.epoch,
            train_loss: epoch.train.total,
            label_loss: epoch.train.label,
            edge_loss: epoch.train.edge,
            validation_loss: epoch.validation.loss,
            validation_metric: epoch.validation.metric,
            test_metric: Some(epoch.test.metric),
        }
    }
}

/// Maximum number of seeds in the background.
const MAX_SEEDS: usize = 20;
/// Maximum number of points of a curve.
const MAX_POINTS: usize = 400;

/// A curve: its name, and its value at an epoch, if it has one.
type Curve = (&'static str, fn(&EpochLine) -> Option<f64>);

pub(super) fn add(report: Report, run: &Run<'_>) -> Report {
    let mut seeds: BTreeMap<u64, Vec<&EpochLine>> = BTreeMap::new();
    run.lines.iter().for_each(|line| seeds.entry(line.seed).or_default().push(line));
    let metric = format!("{} (%)", run.metric);
    let losses: [Curve; 2] =
        [("training, labels", |line| Some(line.label_loss)), ("validation", |line| Some(line.validation_loss))];
    let mut metrics: Vec<Curve> = vec![("validation", |line| Some(100.0 * line.validation_metric))];
    if run.dataset.has_test_nodes() {
        metrics.push(("test", |line| Some(100.0 * line.test_metric?)));
    }
    let mut plots =
        vec![plot(run, &seeds, "Label loss", "loss", &losses), plot(run, &seeds, "Metric", &metric, &metrics)];
    if run.lines.iter().any(|line| line.edge_loss != 0.0) {
        let edges: [Curve; 1] = [("training, edges", |line| Some(line.edge_loss))];
        plots.push(plot(run, &seeds, "Edge loss (unweighted)", "loss", &edges));
    }
    let others = match seeds.len() {
        1 => String::new(),
        many => {
            format!(" Strong lines: seed {}, the best of {}; faint lines: other seeds.", run.seed, count(many, "seed"))
        }
    };
    let caption = format!(
        "The model is that of epoch {} (counted from 0) of {}, selected by its validation {}; test nodes are not used for selection.{others}",
        run.epoch,
        run.epochs(),
        run.metric
    );
    report.section("Training").figure("curves", panels("", 2, &plots), &caption)
}

fn plot(run: &Run<'_>, seeds: &BTreeMap<u64, Vec<&EpochLine>>, title: &str, label: &str, curves: &[Curve]) -> Plot {
    let mut plot = Plot::new(title, Axis::linear("epoch"), Axis::linear(label));
    for (name, value) in curves {
        for (_, lines) in seeds.iter().filter(|(seed, _)| **seed != run.seed).take(MAX_SEEDS) {
            plot = plot.faint_line(name, &points(lines, *value));
        }
    }
    for (name, value) in curves {
        plot = plot.line(name, &points(seeds.get(&run.seed).map_or(&[][..], Vec::as_slice), *value));
    }
    plot.mark_x(run.epoch as f64, "best epoch")
}

/// Returns the points of a curve, not all of a long one.
fn points(lines: &[&EpochLine], value: fn(&EpochLine) -> Option<f64>) -> Vec<[f64; 2]> {
    thinned(lines, MAX_POINTS).filter_map(|line| Some([line.epoch as f64, value(line)?])).collect()
}
