//! Result of a training: the object in `summary.json` and of `train --json`, also formatted as a table.

use crate::output::{self, BOLD, SCHEMA, count};
use serde::{Deserialize, Serialize};
use supergat::Training;
use supergat::data::Dataset;
use supergat::lab::Summary;

/// Width of the list with the values of all seeds, in characters.
const LIST_WIDTH: usize = 60;

/// Result of a training.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunSummary {
    /// Version of the object: [`SCHEMA`].
    pub schema: u32,
    /// Name of the dataset.
    pub dataset: String,
    /// Dataset as given by the user: a name, path or specification.
    pub source: String,
    /// Name of the model.
    pub model: String,
    /// Name of the metric; see [`metric`].
    pub metric: String,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// Number of the split of each run, if every run has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<usize>,
    /// Test metric of each seed, in percent, at its best validation epoch.
    pub test: Summary,
    /// Validation metric of each seed, in percent, at its best validation epoch.
    pub validation: Summary,
    /// Seed with the best validation metric; the run folder contains its model.
    pub best_seed: u64,
    /// Number of epochs of each seed.
    pub epochs: Vec<usize>,
    /// Best validation epoch of each seed, counted from 0.
    pub best_epochs: Vec<usize>,
    /// Duration of the whole training, in seconds.
    pub seconds: f64,
    /// Whether the training was interrupted.
    pub interrupted: bool,
    /// Path of the run folder.
    pub run_dir: String,
}

/// Returns the name of the metric for a dataset.
pub fn metric(dataset: &Dataset) -> &'static str {
    if dataset.is_multi_label() { "micro-f1" } else { "accuracy" }
}

/// Formats the mean and, for several values, the standard deviation.
pub fn percent(summary: &Summary) -> String {
    match summary.values.len() {
        1 => format!("{:.2} %", summary.mean),
        _ => format!("{:.2} ± {:.2} %", summary.mean, summary.std),
    }
}

impl RunSummary {
    /// Summarises the runs. The path of the run folder is set later.
    pub fn of(dataset: &Dataset, source: &str, training: &Training, seconds: f64) -> Self {
        Self {
            schema: SCHEMA,
            dataset: dataset.name.clone(),
            source: source.to_owned(),
            model: training.classifier.model_name(),
            metric: metric(dataset).to_owned(),
            seeds: training.runs.iter().map(|run| run.seed).collect(),
            splits: Vec::new(),
            test: training.test(),
            validation: training.validation(),
            best_seed: training.runs[training.best].seed,
            epochs: training.runs.iter().map(|run| run.outcome.epochs).collect(),
            best_epochs: training.runs.iter().map(|run| run.outcome.best_epoch).collect(),
            seconds,
            interrupted: training.interrupted,
            run_dir: String::new(),
        }
    }

    /// Returns the name of what differs between the runs: seed or split.
    pub fn unit(&self) -> &'static str {
        if self.splits.is_empty() { "seed" } else { "split" }
    }

    /// Formats the result as a table.
    pub fn table(&self) -> String {
        let Self { dataset, model, metric, .. } = self;
        let several = self.seeds.len() > 1;
        let mut text = format!("{BOLD}{model} on {dataset}{BOLD:#}");
        text += if self.interrupted { ", interrupted\n" } else { "\n" };
        let mut row = |name: &str, value: &str, explanation: &str| text += &output::row(name, value, explanation);
        let unit = self.unit();
        let seeds = if several { format!(", {}", count(self.seeds.len(), unit)) } else { String::new() };
        let explanation = format!("(at the best validation epoch{seeds})");
        row(&format!("test {metric}"), &percent(&self.test), &explanation);
        if several {
            for (k, line) in wrapped(&self.test.values).iter().enumerate() {
                row(&if k == 0 { format!("  of each {unit}") } else { String::new() }, line, "");
            }
        }
        row(&format!("validation {metric}"), &percent(&self.validation), "");
        let (epochs, best) = (&self.epochs, self.best_epochs[0]);
        let (least, most) = (epochs.iter().min().unwrap_or(&0), epochs.iter().max().unwrap_or(&0));
        match several {
            false => row("epochs", &most.to_string(), &format!("(best: {best}, counted from 0)")),
            true if least == most => row("epochs", &most.to_string(), "each"),
            true => row("epochs", &format!("{least} to {most}"), ""),
        }
        row("seconds", &format!("{:.1}", self.seconds), "");
        row("run folder", &self.run_dir, "");
        text
    }
}

/// Formats values as lines of limited width.
fn wrapped(values: &[f64]) -> Vec<String> {
    let mut lines = vec![String::new()];
    for value in values {
        let word = format!("{value:.2}");
        if lines.last().is_some_and(|line| line.len() + 1 + word.len() > LIST_WIDTH) {
            lines.push(String::new());
        }
        let line = lines.last_mut().expect("never empty");
        if !line.is_empty() {
            line.push(' ');
        }
        *line += &word;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_long_lists() {
        let values: Vec<f64> = (0..25).map(|k| 80.0 + f64::from(k) / 100.0).collect();
        let lines = wrapped(&values);
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() <= LIST_WIDTH));
        assert_eq!(lines.join(" ").split(' ').count(), 25);
        assert!(lines[0].starts_with("80.00 80.01 ") && lines[2].ends_with("80.24"));
    }

    #[test]
    fn omits_deviation_of_a_single_value() {
        assert_eq!(percent(&Summary::of(vec![81.25])), "81.25 %");
        assert_eq!(percent(&Summary::of(vec![80.0, 82.0])), "81.00 ± 1.41 %");
    }
}
