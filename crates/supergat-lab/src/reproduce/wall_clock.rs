//! The table of training times: seconds of a whole training, one at a time on all threads, and how much longer than GAT's.

use crate::reproduce::paper::{self, Figure, PaperTable};
use crate::runs::run_seeds;
use crate::settings::Settings;
use crate::sheet::Sheet;
use crate::statistics::Summary;
use std::ops::ControlFlow;
use supergat_core::Result;
use supergat_data::Dataset;
use supergat_figure::Tone;

const REFERENCE: &str = "gat-go";

/// Times of trainings. Nothing is kept between measurements: a time belongs to the machine and the moment.
#[derive(Debug, Clone, PartialEq)]
pub struct WallClock {
    paper: PaperTable,
    threads: usize,
    lines: Vec<Line>,
    notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct Line {
    dataset: String,
    model: String,
    seconds: Summary,
    epochs: Summary,
}

impl WallClock {
    /// The datasets that the paper timed.
    pub fn datasets() -> Vec<String> {
        paper::wall_clock().datasets
    }

    /// The models that are timed unless others are wanted: those of the paper that this program has, and SuperGAT-SD.
    pub fn models() -> Vec<String> {
        [REFERENCE, "supergat-mx", "supergat-sd"].map(Into::into).into()
    }

    /// How often each is timed in the paper.
    pub fn seeds() -> u64 {
        paper::wall_clock().seeds
    }

    /// Nothing measured yet.
    pub fn new(threads: usize) -> Self {
        Self { paper: paper::wall_clock(), threads, lines: Vec::new(), notes: Vec::new() }
    }

    /// Times a model on a dataset, a run per seed, one after the other. `go_on` is asked after each epoch; `None` when it said no.
    pub fn measure(
        &mut self,
        dataset: &Dataset,
        settings: &Settings,
        seeds: u64,
        go_on: impl Fn() -> bool + Sync,
    ) -> Result<Option<f64>> {
        let (mut seconds, mut epochs) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            let observe =
                |_: crate::Observation<'_>| if go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            let runs = run_seeds(dataset, settings, &[seed], self.threads, observe)?;
            if runs.interrupted {
                return Ok(None);
            }
            seconds.push(runs.runs[0].seconds);
            epochs.push(runs.runs[0].outcome.epochs as f64);
        }
        let (seconds, epochs) = (Summary::of(seconds), Summary::of(epochs));
        let mean = seconds.mean;
        let (dataset, model) = (dataset.name.clone(), settings.model.to_string());
        self.lines.push(Line { dataset, model, seconds, epochs });
        Ok(Some(mean))
    }

    /// Adds a sentence below the table.
    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    fn printed(&self, dataset: &str, model: &str) -> Option<Figure> {
        let row = self.paper.rows.iter().find(|row| row.model.as_deref() == Some(model))?;
        row.cells.get(dataset).copied()
    }

    fn ratio(&self, line: &Line) -> Option<f64> {
        let gat = self.lines.iter().find(|other| other.dataset == line.dataset && other.model == REFERENCE)?;
        Some(line.seconds.mean / gat.seconds.mean)
    }

    /// As text.
    pub fn sheet(&self) -> Sheet {
        let mut notes = vec![
            format!(
                "ours: seconds of one training from the first epoch to the last, one at a time on {} threads; measured when this table was made.",
                self.threads
            ),
            "paper: seconds on one GTX 1080 Ti; a ratio is the time divided by GAT's on the same dataset. Numbers of epochs differ between \
             models, as published."
                .to_owned(),
        ];
        notes.extend(self.notes.iter().cloned());
        let header =
            ["dataset", "model", "seconds", "n", "epochs", "ratio to GAT", "paper, seconds", "paper, ratio to GAT"];
        Sheet {
            title: self.paper.title.clone(),
            header: header.map(Into::into).into(),
            rows: self.lines.iter().map(|line| (Tone::Plain, self.texts(line))).collect(),
            csv_header: "dataset,model,seconds_mean,seconds_std,n,epochs_mean,ratio,paper_seconds,paper_ratio,threads"
                .into(),
            csv_rows: self.lines.iter().map(|line| self.csv(line)).collect(),
            notes,
        }
    }

    fn printed_ratio(&self, line: &Line) -> Option<f64> {
        Some(self.printed(&line.dataset, &line.model)?.mean / self.printed(&line.dataset, REFERENCE)?.mean)
    }

    fn texts(&self, line: &Line) -> Vec<String> {
        let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}"));
        let seconds = match line.seconds.values.len() {
            1 => format!("{:.2}", line.seconds.mean),
            _ => format!("{:.2} ± {:.2}", line.seconds.mean, line.seconds.std),
        };
        vec![
            line.dataset.clone(),
            paper::printed_name(&line.model),
            seconds,
            line.seconds.values.len().to_string(),
            format!("{:.0}", line.epochs.mean),
            ratio(self.ratio(line)),
            self.printed(&line.dataset, &line.model).map_or_else(
                || "-".into(),
                |figure| match figure.std {
                    Some(std) => format!("{:.1} ± {std:.1}", figure.mean),
                    None => format!("{:.1}", figure.mean),
                },
            ),
            ratio(self.printed_ratio(line)),
        ]
    }

    fn csv(&self, line: &Line) -> Vec<String> {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        vec![
            line.dataset.clone(),
            line.model.clone(),
            line.seconds.mean.to_string(),
            line.seconds.std.to_string(),
            line.seconds.values.len().to_string(),
            line.epochs.mean.to_string(),
            number(self.ratio(line)),
            number(self.printed(&line.dataset, &line.model).map(|figure| figure.mean)),
            number(self.printed_ratio(line)),
            self.threads.to_string(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(dataset: &str, model: &str, seconds: Vec<f64>) -> Line {
        let epochs = Summary::of(vec![10.0; seconds.len()]);
        Line { dataset: dataset.into(), model: model.into(), seconds: Summary::of(seconds), epochs }
    }

    #[test]
    fn ratios_are_to_gat_on_the_same_graph() {
        let mut clock = WallClock::new(2);
        clock.lines = vec![
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
        assert_eq!(rows[2].1[5..], ["-"; 3].map(String::from), "no GAT of ours, and none of SD in the paper");
        assert_eq!(clock.sheet().csv_rows[1][6], "2");
    }

    #[test]
    fn a_training_is_timed_to_its_end() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=400,degree=4").unwrap();
        let settings = Settings { max_epochs: 7, early_stop: false, ..Settings::general("gat-go".parse().unwrap()) };
        let mut clock = WallClock::new(1);
        assert!(clock.measure(&dataset, &settings, 2, || true).unwrap().unwrap() > 0.0);
        assert_eq!((clock.lines[0].seconds.values.len(), clock.lines[0].epochs.mean), (2, 7.0));
        assert_eq!(clock.measure(&dataset, &settings, 2, || false).unwrap(), None);
        assert_eq!(clock.lines.len(), 1);
    }
}
