//! Progress of a training: a bar on a terminal, a line every few seconds elsewhere.

use crate::config::Resolved;
use crate::run_folder::checkpoint::{self, Plan};
use crate::run_folder::summary::percent;
use crate::status_line::StatusLine;
use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use supergat::DeviceChoice;
use supergat_core::Epoch;
use supergat_numerics::statistics::Summary;
use supergat_train::{Observation, Saving, SeedRun};

/// Time after which the speed of a training is known.
const WARM_UP: Duration = Duration::from_secs(2);
/// Seconds of a training from which on a GPU is worth a note.
const LONG: f64 = 30.0;
/// Line after the first Ctrl-C.
pub const STOPPING: &str = "stopping after this epoch; Ctrl-C again quits at once, without a run folder";
/// Note for long trainings on the CPU.
pub const GPU_NOTE: &str = "note: a GPU is present; --device cuda trains faster";

/// Returns whether a GPU is present.
pub fn has_gpu() -> bool {
    DeviceChoice::Auto.resolved() != DeviceChoice::Cpu
}

/// Reports the progress of the runs on standard error.
#[derive(Debug)]
pub struct Progress {
    metric: &'static str,
    /// Whether there are test nodes.
    has_test_nodes: bool,
    /// First seed, if every seed is a split.
    first_split: Option<u64>,
    seeds: u64,
    max_epochs: u64,
    /// Bar or lines on standard error.
    pub status: StatusLine,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    epochs: u64,
    /// Metric of every finished run: of the test nodes, or of the validation nodes without any.
    metrics: Vec<f64>,
    started: Instant,
    /// First lines. They are printed with the first epoch: if training cannot start, only the error is printed.
    opening: Vec<String>,
    /// Whether a checkpoint was written, and whether the last attempt failed.
    saved: bool,
    failed: bool,
    /// Whether to look for a GPU if the training will be long.
    look_for_gpu: bool,
}

impl Progress {
    /// Creates the progress of a training. `metric` is the name of its metric, `opening` contains the first lines. Without
    /// test nodes, validation metrics are printed alone. With `look_for_gpu`, a note is printed if the training will be
    /// long and a GPU is present.
    pub fn new(
        quiet: bool,
        resolved: &Resolved,
        metric: &'static str,
        has_test_nodes: bool,
        opening: Vec<String>,
        look_for_gpu: bool,
    ) -> Self {
        let (seeds, max_epochs) = (resolved.seeds, resolved.settings.training.max_epochs as u64);
        let (length, template) = match seeds {
            1 => (max_epochs, "{bar:8} epoch {pos}/{len} {wide_msg}"),
            many if resolved.all_splits => (many, "{bar:8} split {pos}/{len} {wide_msg}"),
            many => (many, "{bar:8} seed {pos}/{len} {wide_msg}"),
        };
        let state = State {
            epochs: 0,
            metrics: Vec::new(),
            started: Instant::now(),
            opening,
            saved: false,
            failed: false,
            look_for_gpu,
        };
        let first_split = resolved.all_splits.then_some(resolved.seed);
        let status = StatusLine::with_bar(quiet, template, length);
        Self { metric, has_test_nodes, first_split, seeds, max_epochs, status, state: Mutex::new(state) }
    }

    /// Reports an event of one of the runs.
    pub fn observe(&self, observation: Observation<'_>) {
        if self.status.is_quiet() {
            return;
        }
        let mut state = self.state();
        std::mem::take(&mut state.opening).iter().for_each(|text| self.status.line(text));
        match observation {
            Observation::Epoch(seed, epoch) => self.epoch(&mut state, seed, epoch),
            Observation::Done(run, ..) => self.done(&mut state, run),
        }
    }

    /// Returns the number of seeds or splits.
    pub fn seeds(&self) -> usize {
        self.seeds as usize
    }

    /// Adds lines to the first ones.
    pub fn open_with(&self, lines: Vec<String>) {
        self.state().opening.extend(lines);
    }

    /// Reports the first checkpoint, and the first of several failed attempts to write one. Completes the folder of
    /// checkpoints with its plan.
    pub fn saving(&self, saving: Saving<'_>, plan: &Plan) {
        let mut state = self.state();
        let line = match saving {
            Saving::Saved(folder) => {
                state.failed = false;
                checkpoint::restore(folder, plan);
                let run = checkpoint::run_of(folder).unwrap_or_default();
                (!std::mem::replace(&mut state.saved, true)).then(|| {
                    format!("checkpoint: {}; after an interruption: {}", folder.display(), checkpoint::command(&run))
                })
            }
            Saving::Failed(error) => {
                // Without its folder, the previous one is lost as well.
                let kept = if state.saved && error.kind() != ErrorKind::NotFound {
                    ", and the previous one is kept"
                } else {
                    ""
                };
                (!std::mem::replace(&mut state.failed, true))
                    .then(|| format!("note: no checkpoint could be written ({error}); training continues{kept}"))
            }
        };
        if let Some(line) = line {
            self.status.line(&line);
        }
    }

    fn epoch(&self, state: &mut State, seed: u64, epoch: &Epoch) {
        state.epochs += 1;
        let elapsed = state.started.elapsed();
        if state.look_for_gpu && elapsed >= WARM_UP {
            state.look_for_gpu = false;
            if seconds_of_all(state.epochs, self.seeds.saturating_mul(self.max_epochs), elapsed) > LONG && has_gpu() {
                self.status.line(GPU_NOTE);
            }
        }
        let rate = state.epochs as f64 / state.started.elapsed().as_secs_f64().max(1e-9);
        match self.status.bar() {
            Some(bar) if self.seeds == 1 => {
                bar.set_position(epoch.epoch as u64 + 1);
                bar.set_message(format!("{rate:.0} epochs/s, {}", measures(epoch)));
            }
            Some(bar) => {
                let nodes = if self.has_test_nodes { "test" } else { "validation" };
                let mean = match state.metrics.len() {
                    0 => String::new(),
                    _ => format!("mean {nodes} {} {}, ", self.metric, percent(&Summary::of(state.metrics.clone()))),
                };
                bar.set_message(format!("{mean}{rate:.0} epochs/s"));
            }
            None if self.status.is_due() => {
                let (run, epoch_number) = (self.run(seed), epoch.epoch);
                self.status.line(&format!("{run}, epoch {epoch_number}: {rate:.0} epochs/s, {}", measures(epoch)));
            }
            None => {}
        }
    }

    fn done(&self, state: &mut State, run: &SeedRun) {
        let outcome = &run.outcome;
        let (test, validation) = (outcome.test.metric, outcome.validation.metric);
        state.metrics.push(if self.has_test_nodes { test } else { validation });
        let metrics = match self.has_test_nodes {
            true => format!("test {} {:.2} %, validation {:.2} %", self.metric, 100.0 * test, 100.0 * validation),
            false => format!("validation {} {:.2} %", self.metric, 100.0 * validation),
        };
        match self.status.bar() {
            Some(bar) if self.seeds > 1 => bar.inc(1),
            Some(_) => {}
            None => self.status.line(&format!(
                "{}: {metrics} in epoch {} of {}, {:.1} s",
                self.run(run.seed),
                outcome.best_epoch,
                outcome.epochs,
                run.seconds
            )),
        }
    }

    /// Returns the name of the run with this seed.
    fn run(&self, seed: u64) -> String {
        self.first_split.map_or_else(|| format!("seed {seed}"), |first| format!("split {}", seed - first))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Estimates the seconds of `all` epochs, of which `done` took `elapsed`.
fn seconds_of_all(done: u64, all: u64, elapsed: Duration) -> f64 {
    elapsed.as_secs_f64() * all as f64 / done as f64
}

/// Formats validation metric and training loss, short enough for a line of 80 characters.
fn measures(epoch: &Epoch) -> String {
    let loss = epoch.train;
    // The second part is the weighted edge loss, so that the two parts add up to the total.
    let parts = match loss.edge {
        0.0 => String::new(),
        _ => format!(" ({:.2} + {:.2})", loss.label, loss.total - loss.label),
    };
    format!("validation {:.1} %, loss {:.2}{parts}", 100.0 * epoch.validation.metric, loss.total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_the_duration_from_the_first_epochs() {
        assert_eq!(seconds_of_all(10, 500, Duration::from_secs(2)), 100.0);
        assert!(seconds_of_all(1, u64::MAX, WARM_UP) > LONG);
    }
}
