//! Progress of the study of depth: a bar on a terminal, lines elsewhere.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use supergat::lab::depth::{Cell, DepthEvent, DepthPlan};

/// Interval between lines where there is no bar.
const INTERVAL: Duration = Duration::from_secs(10);

/// Reports the progress on standard error.
#[derive(Debug)]
pub struct DepthProgress {
    quiet: bool,
    bar: Option<ProgressBar>,
    cells: usize,
    trials: usize,
    splits: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    last_line: Instant,
    /// Name of the current cell.
    cell: String,
    /// Number of finished trials in the cell.
    trials: usize,
    /// Number of final runs in the cell; `None` while its search is running.
    finals: Option<usize>,
    best: String,
    stopping: bool,
}

impl DepthProgress {
    /// Creates the progress of a study.
    pub fn new(quiet: bool, plan: &DepthPlan) -> Self {
        let cells = plan.cells().len();
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:8} cell {pos}/{len} {wide_msg}").expect("a valid template");
            ProgressBar::new(cells as u64).with_style(style.progress_chars("=> "))
        });
        let state = State {
            last_line: Instant::now(),
            cell: String::new(),
            trials: 0,
            finals: None,
            best: String::new(),
            stopping: false,
        };
        Self { quiet, bar, cells, trials: plan.trials, splits: plan.splits, state: Mutex::new(state) }
    }

    /// Reports an event.
    pub fn observe(&self, event: DepthEvent<'_>) {
        if self.quiet {
            return;
        }
        let mut state = self.state();
        match event {
            DepthEvent::Epoch => return,
            DepthEvent::Cell(number, Cell { graph, depth, model }) => {
                if let Some(bar) = &self.bar {
                    bar.set_position(number as u64);
                }
                state.cell =
                    format!("cell {}/{}: {model}, {}, on {}", number + 1, self.cells, depth.name(), graph.dataset);
                (state.trials, state.finals, state.best) = (0, None, String::new());
            }
            DepthEvent::Run => state.finals = state.finals.map(|finals| finals + 1),
            DepthEvent::Trials(trials) => {
                state.trials = trials.len();
                let complete = trials.iter().filter(|trial| trial.is_complete(1));
                let best = complete.map(|trial| trial.mean()).fold(0.0, f64::max);
                state.best = format!(", best validation {:.2} %", 100.0 * best);
            }
            DepthEvent::Finals => state.finals = Some(0),
            DepthEvent::Failed(reason) => {
                let text = format!("failed: {}: {reason}", state.cell);
                return self.line(&text);
            }
            DepthEvent::Hopeless => {
                let text = format!("failed: {}: no trial succeeded; results.jsonl has the reasons", state.cell);
                return self.line(&text);
            }
        }
        let text = self.text(&state);
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None if state.last_line.elapsed() >= INTERVAL => {
                state.last_line = Instant::now();
                self.line(&text);
            }
            None => {}
        }
    }

    /// Reports once that the study will stop.
    pub fn stopping(&self) {
        if !self.quiet && !std::mem::replace(&mut self.state().stopping, true) {
            self.line("stopping; finished runs are kept, and the same command resumes");
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn text(&self, state: &State) -> String {
        let State { cell, trials, finals, best, .. } = state;
        match finals {
            Some(finals) => format!("{cell}: final run {finals}/{}{best}", self.splits),
            None => format!("{cell}: trial {trials}/{}{best}", self.trials),
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(text)),
            None => output::note(text),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
