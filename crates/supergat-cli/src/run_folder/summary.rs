//! The result of a training command: the object that `--json` prints and `summary.json` holds, and the same for people.

use crate::output::{self, BOLD, count};
use serde::{Deserialize, Serialize};
use supergat_data::Dataset;
use supergat_lab::{Runs, Summary};

/// Version of all JSON objects of this command; it rises when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// Width of the list of all seeds' values.
const LIST_WIDTH: usize = 60;

/// The result of a training command.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunSummary {
    /// [`SCHEMA`]
    pub schema: u32,
    /// Name of the dataset.
    pub dataset: String,
    /// The dataset as it was given.
    pub source: String,
    /// Name of the model.
    pub model: String,
    /// [`metric`]
    pub metric: String,
    /// The seeds that were run.
    pub seeds: Vec<u64>,
    /// Test metric of each seed, in percent, at its best validation epoch.
    pub test: Summary,
    /// Validation metric of each seed, in percent, at its best validation epoch.
    pub validation: Summary,
    /// The seed with the best validation metric; the run folder holds its model.
    pub best_seed: u64,
    /// Epochs of each seed.
    pub epochs: Vec<usize>,
    /// The best validation epoch of each seed, counted from 0.
    pub best_epochs: Vec<usize>,
    /// Time of the whole training.
    pub seconds: f64,
    /// Whether Ctrl-C ended the training.
    pub interrupted: bool,
    /// The run folder.
    pub run_dir: String,
}

/// What a dataset is measured by.
pub fn metric(dataset: &Dataset) -> &'static str {
    if dataset.is_multi_label() { "micro-f1" } else { "accuracy" }
}

/// Mean and, of several values, standard deviation.
pub fn percent(summary: &Summary) -> String {
    match summary.values.len() {
        1 => format!("{:.2} %", summary.mean),
        _ => format!("{:.2} ± {:.2} %", summary.mean, summary.std),
    }
}

impl RunSummary {
    /// Sums up the runs; the run folder is named later.
    pub fn of(dataset: &Dataset, source: &str, model: String, runs: &Runs, seconds: f64) -> Self {
        Self {
            schema: SCHEMA,
            dataset: dataset.name.clone(),
            source: source.to_owned(),
            model,
            metric: metric(dataset).to_owned(),
            seeds: runs.runs.iter().map(|run| run.seed).collect(),
            test: runs.test(),
            validation: runs.validation(),
            best_seed: runs.runs[runs.best].seed,
            epochs: runs.runs.iter().map(|run| run.outcome.epochs).collect(),
            best_epochs: runs.runs.iter().map(|run| run.outcome.best_epoch).collect(),
            seconds,
            interrupted: runs.interrupted,
            run_dir: String::new(),
        }
    }

    /// As a table.
    pub fn table(&self) -> String {
        let Self { dataset, model, metric, .. } = self;
        let several = self.seeds.len() > 1;
        let mut text = format!("{BOLD}{model} on {dataset}{BOLD:#}");
        text += if self.interrupted { ", interrupted\n" } else { "\n" };
        let mut row = |name: &str, value: &str, explanation: &str| text += &output::row(name, value, explanation);
        let seeds = if several { format!(", {}", count(self.seeds.len(), "seed")) } else { String::new() };
        let explanation = format!("(at the best validation epoch{seeds})");
        row(&format!("test {metric}"), &percent(&self.test), &explanation);
        if several {
            for (k, line) in wrapped(&self.test.values).iter().enumerate() {
                row(if k == 0 { "  of each seed" } else { "" }, line, "");
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

/// Values as lines of a bounded width.
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
    fn long_lists_are_wrapped() {
        let values: Vec<f64> = (0..25).map(|k| 80.0 + f64::from(k) / 100.0).collect();
        let lines = wrapped(&values);
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() <= LIST_WIDTH));
        assert_eq!(lines.join(" ").split(' ').count(), 25);
        assert!(lines[0].starts_with("80.00 80.01 ") && lines[2].ends_with("80.24"));
    }

    #[test]
    fn a_single_value_has_no_deviation() {
        assert_eq!(percent(&Summary::of(vec![81.25])), "81.25 %");
        assert_eq!(percent(&Summary::of(vec![80.0, 82.0])), "81.00 ± 1.41 %");
    }
}
