//! The table of training times: seconds of a whole training run on all threads or a GPU, and the ratio to GAT's.

use crate::reproduce::paper::{self, PaperTable, PrintedNumber};
use crate::reproduce::table::{REFERENCE, mean_and_deviation};
use std::ops::ControlFlow;
use supergat_core::Result;
use supergat_core::words::count;
use supergat_data::Dataset;
use supergat_figure::Tone;
use supergat_figure::sheet::{Sheet, exact, or_dash};
use supergat_numerics::statistics::Summary;
use supergat_train::run_seeds;
use supergat_train::settings::Settings;
use supergat_train::{DeviceChoice, Resources};

/// Table of training times. Timings are never cached: they depend on the machine and its load.
#[derive(Debug, Clone, PartialEq)]
pub struct WallClock {
    paper: PaperTable,
    resources: Resources,
    rows: Vec<TimedRow>,
    notes: Vec<String>,
}

/// Measured times of a model on a dataset.
#[derive(Debug, Clone, PartialEq)]
struct TimedRow {
    dataset: String,
    model: String,
    seconds: Summary,
    epochs: Summary,
}

impl WallClock {
    /// Returns the datasets that the paper timed.
    pub fn datasets() -> Vec<String> {
        paper::wall_clock().datasets
    }

    /// Returns the models timed by default: those of the paper that this program has, and SuperGAT-SD.
    pub fn models() -> Vec<String> {
        [REFERENCE, "gcn-gam", "supergat-mx", "supergat-sd"].map(Into::into).into()
    }

    /// Returns the number of runs that the paper timed per model and dataset.
    pub fn seeds() -> u64 {
        paper::wall_clock().seeds
    }

    /// Creates an empty table for measurements on all threads, or on a GPU.
    pub fn new(resources: impl Into<Resources>) -> Self {
        Self { paper: paper::wall_clock(), resources: resources.into(), rows: Vec::new(), notes: Vec::new() }
    }

    /// Times a model on a dataset, one run per seed in sequence, and returns the mean in seconds.
    /// `keep_running` is called after each epoch; when it returns `false`, measuring stops and the result is
    /// `None`.
    pub fn measure(
        &mut self,
        dataset: &Dataset,
        settings: &Settings,
        seeds: u64,
        keep_running: impl Fn() -> bool + Sync,
    ) -> Result<Option<f64>> {
        let (mut seconds, mut epochs) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            let observe = |_: supergat_train::Observation<'_>| {
                if keep_running() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let runs = run_seeds(dataset, settings, &[seed], self.resources, observe)?;
            if runs.interrupted {
                return Ok(None);
            }
            seconds.push(runs.runs[0].seconds);
            epochs.push(runs.runs[0].outcome.epochs as f64);
        }
        let (seconds, epochs) = (Summary::of(seconds), Summary::of(epochs));
        let mean = seconds.mean;
        let (dataset, model) = (dataset.name.clone(), settings.model.to_string());
        self.rows.push(TimedRow { dataset, model, seconds, epochs });
        Ok(Some(mean))
    }

    /// Adds a note below the table.
    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    fn printed(&self, dataset: &str, model: &str) -> Option<PrintedNumber> {
        let row = self.paper.rows.iter().find(|row| row.model.as_deref() == Some(model))?;
        row.cells.get(dataset).copied()
    }

    fn ratio(&self, row: &TimedRow) -> Option<f64> {
        let gat = self.rows.iter().find(|other| other.dataset == row.dataset && other.model == REFERENCE)?;
        Some(row.seconds.mean / gat.seconds.mean)
    }

    /// Returns the table as text.
    pub fn sheet(&self) -> Sheet {
        let place = match self.resources.device.resolved() {
            DeviceChoice::Cuda(_) => format!("on a GPU ({})", self.resources.kind()),
            DeviceChoice::Cpu | DeviceChoice::Auto => format!("on {}", count(self.resources.threads, "thread")),
        };
        let mut notes = vec![
            format!("ours: seconds of one training run from the first epoch to the last, one run at a time {place}."),
            "paper: seconds on one GTX 1080 Ti; a ratio is the time divided by GAT's on the same dataset. Numbers of \
             epochs differ between models, as published."
                .to_owned(),
        ];
        notes.extend(self.notes.iter().cloned());
        let header =
            ["dataset", "model", "seconds", "n", "epochs", "ratio to GAT", "paper, seconds", "paper, ratio to GAT"];
        let csv_header = "dataset,model,seconds_mean,seconds_std,n,epochs_mean,ratio,paper_seconds,paper_ratio,threads";
        Sheet::new(&self.paper.title, header, self.rows.iter().map(|row| (Tone::Plain, self.texts(row))))
            .with_csv(csv_header, self.rows.iter().map(|row| self.csv(row)))
            .with_notes(notes)
    }

    fn printed_ratio(&self, row: &TimedRow) -> Option<f64> {
        Some(self.printed(&row.dataset, &row.model)?.mean / self.printed(&row.dataset, REFERENCE)?.mean)
    }

    fn texts(&self, row: &TimedRow) -> Vec<String> {
        let ratio = |ratio: Option<f64>| or_dash(ratio.map(|ratio| format!("{ratio:.2}")));
        vec![
            row.dataset.clone(),
            paper::printed_name(&row.model),
            mean_and_deviation(&row.seconds),
            row.seconds.values.len().to_string(),
            format!("{:.0}", row.epochs.mean),
            ratio(self.ratio(row)),
            or_dash(self.printed(&row.dataset, &row.model).map(|printed| printed.to_string())),
            ratio(self.printed_ratio(row)),
        ]
    }

    fn csv(&self, row: &TimedRow) -> Vec<String> {
        vec![
            row.dataset.clone(),
            row.model.clone(),
            row.seconds.mean.to_string(),
            row.seconds.std.to_string(),
            row.seconds.values.len().to_string(),
            row.epochs.mean.to_string(),
            exact(self.ratio(row)),
            exact(self.printed(&row.dataset, &row.model).map(|printed| printed.mean)),
            exact(self.printed_ratio(row)),
            self.resources.threads.to_string(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(dataset: &str, model: &str, seconds: Vec<f64>) -> TimedRow {
        let epochs = Summary::of(vec![10.0; seconds.len()]);
        TimedRow { dataset: dataset.into(), model: model.into(), seconds: Summary::of(seconds), epochs }
    }

    #[test]
    fn ratios_are_relative_to_gat_on_the_same_dataset() {
        let mut clock = WallClock::new(2);
        clock.rows = vec![
            timed("cora", "gat-go", vec![2.0]),
            timed("cora", "supergat-mx", vec![3.0, 5.0]),
            timed("pubmed", "supergat-sd", vec![1.0]),
        ];
        let rows = clock.sheet().rows;
        assert_eq!(rows[0].1[5..], ["1.00", "11.3 ± 2.7", "1.00"].map(String::from));
        assert_eq!(
            rows[1].1[1..],
            ["SuperGAT-MX", "4.00 ± 1.41", "2", "10", "2.00", "30.8 ± 0.5", "2.73"].map(String::from)
        );
        assert_eq!(rows[2].1[5..], ["-"; 3].map(String::from), "neither our GAT nor the paper's SD is available");
        assert_eq!(clock.sheet().csv_rows[1][6], "2");
    }

    #[test]
    fn times_complete_runs_only() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=400,degree=4").unwrap();
        let settings = Settings::general("gat-go".parse().unwrap()).with(|s| {
            s.training.max_epochs = 7;
            s.early_stopping.early_stop = false;
        });
        let mut clock = WallClock::new(1);
        assert!(clock.measure(&dataset, &settings, 2, || true).unwrap().unwrap() > 0.0);
        assert_eq!((clock.rows[0].seconds.values.len(), clock.rows[0].epochs.mean), (2, 7.0));
        assert_eq!(clock.measure(&dataset, &settings, 2, || false).unwrap(), None);
        assert_eq!(clock.rows.len(), 1);
    }
}
