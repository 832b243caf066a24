//! Progress of the study of depth: a bar on a terminal, lines elsewhere.

use crate::status_line::StatusLine;
use std::sync::{Mutex, PoisonError};
use supergat_studies::depth::{Cell, DepthEvent, DepthPlan};

/// Reports the progress on standard error.
#[derive(Debug)]
pub struct DepthProgress {
    /// Bar or lines on standard error.
    pub status: StatusLine,
    cells: usize,
    trials: usize,
    splits: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Name of the current cell.
    cell: String,
    /// Number of finished trials in the cell.
    trials: usize,
    /// Number of final runs in the cell; `None` while its search is running.
    finals: Option<usize>,
    best: String,
}

impl DepthProgress {
    /// Creates the progress of a study.
    pub fn new(quiet: bool, plan: &DepthPlan) -> Self {
        let cells = plan.cells().len();
        let status = StatusLine::with_bar(quiet, "{bar:8} cell {pos}/{len} {wide_msg}", cells as u64);
        Self { status, cells, trials: plan.trials, splits: plan.splits, state: Mutex::default() }
    }

    /// Reports an event.
    pub fn observe(&self, event: DepthEvent<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            DepthEvent::Epoch => return,
            DepthEvent::Cell(number, Cell { graph, depth, model }) => {
                self.status.advance(number, self.cells);
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
                return self.status.line(&text);
            }
            DepthEvent::Hopeless => {
                let text = format!("failed: {}: no trial succeeded; results.jsonl has the reasons", state.cell);
                return self.status.line(&text);
            }
        }
        self.status.show(&self.text(&state));
    }

    fn text(&self, state: &State) -> String {
        let State { cell, trials, finals, best, .. } = state;
        match finals {
            Some(finals) => format!("{cell}: final run {finals}/{}{best}", self.splits),
            None => format!("{cell}: trial {trials}/{}{best}", self.trials),
        }
    }
}
