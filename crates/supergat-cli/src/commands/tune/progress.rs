//! Progress of a search: a bar on a terminal, a line every few seconds elsewhere.

use crate::output;
use crate::status_line::StatusLine;
use crate::sweep::progress::time;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use supergat::hyperparameters::Value;
use supergat_select::tune::{Budget, Choice, Space, Trial, TuneEvent, Tuning};
use supergat_train::Settings;

/// Reports the progress of a search on standard error.
#[derive(Debug)]
pub struct TuneProgress {
    /// Bar or lines on standard error.
    pub status: StatusLine,
    budget: Budget,
    space: Space,
    seeds: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    started: Instant,
    /// Number of runs made by this command.
    runs: usize,
    /// Number of finished trials.
    trials: usize,
    /// Number of finished trials found in the results file.
    found: usize,
    best: String,
}

impl TuneProgress {
    /// Creates the progress of a search.
    pub fn new(quiet: bool, tuning: &Tuning) -> Self {
        let state = State { started: Instant::now(), runs: 0, trials: 0, found: 0, best: String::new() };
        let (space, seeds) = (tuning.space.clone(), tuning.seeds as usize);
        Self { status: StatusLine::with_spinner(quiet), budget: tuning.budget, space, seeds, state: Mutex::new(state) }
    }

    /// Reports an event.
    pub fn observe(&self, event: TuneEvent<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            TuneEvent::Epoch => {
                if let Some(bar) = self.status.bar() {
                    bar.tick();
                }
                return;
            }
            TuneEvent::Run => state.runs += 1,
            TuneEvent::Trials(trials) => self.trials(&mut state, trials),
            TuneEvent::Finals => {
                drop(state);
                return self.status.line("running the best trials with further seeds");
            }
        }
        self.status.show(&self.text(&state));
    }

    fn trials(&self, state: &mut State, trials: &[Trial]) {
        state.trials = trials.len();
        if state.runs == 0 {
            state.found = trials.len();
            state.started = Instant::now();
        }
        let full = trials.iter().filter(|trial| trial.is_complete(self.seeds));
        if let Some(best) = full.max_by(|a, b| a.mean().total_cmp(&b.mean())) {
            let values = values(&self.space, &best.settings);
            state.best = format!("best validation {:.2} % (trial {}: {values})", 100.0 * best.mean(), best.number);
        }
    }

    fn text(&self, state: &State) -> String {
        let State { trials, runs, best, .. } = state;
        let best = if best.is_empty() { String::new() } else { format!(", {best}") };
        let left = self.left(state).map_or_else(String::new, |left| format!(", {} left", time(left)));
        format!("{}, {}{best}{left}", output::count(*trials, "trial"), output::count(*runs, "new run"))
    }

    fn left(&self, state: &State) -> Option<Duration> {
        let elapsed = state.started.elapsed();
        match self.budget {
            Budget::Time(time) => Some(time.saturating_sub(elapsed)),
            Budget::Trials(all) if state.trials > state.found => {
                let each = elapsed.div_f64((state.trials - state.found) as f64);
                Some(each.mul_f64(all.saturating_sub(state.trials) as f64))
            }
            Budget::Trials(_) => None,
        }
    }
}

/// Formats the searched values that the model uses, such as `lambda_2 0.0082, p_n 0.5, norm batch`.
pub fn values(space: &Space, settings: &Settings) -> String {
    let text = |choice: Choice| match choice {
        Choice::Value(Value::Number(number)) => short(number),
        other => other.to_string(),
    };
    let words = space.dimensions().iter().filter_map(|dimension| {
        let value = dimension.of(settings)?;
        Some(format!("{} {}", dimension.name, text(value)))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Formats a number with about three digits.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && size < 0.001 => format!("{value:.2e}"),
        size if size < 1.0 => format!("{:.3}", value).trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortens_values() {
        let all = [0.0, 0.5, 0.008_228_8, 2.44e-6, 11.346, 1.0].map(short);
        assert_eq!(all, ["0", "0.5", "0.008", "2.44e-6", "11.3", "1.0"]);
    }
}
