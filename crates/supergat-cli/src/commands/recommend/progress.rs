//! Progress of both comparisons: a bar on a terminal, lines elsewhere.

use crate::output;
use crate::status_line::StatusLine;
use std::sync::{Mutex, PoisonError};
use supergat_select::recommend::quick::QuickEvent;
use supergat_select::recommend::thorough::{RungPlan, ThoroughEvent, ThoroughPlan};

/// Reports the progress of a comparison within seconds on standard error.
#[derive(Debug)]
pub struct QuickProgress {
    /// Bar or lines on standard error.
    pub status: StatusLine,
    /// Number of ended runs, and of all runs, once they are planned.
    runs: Mutex<Option<(usize, usize)>>,
}

impl QuickProgress {
    /// Prints the first line and creates the bar.
    pub fn new(quiet: bool, start: &str) -> Self {
        let status = StatusLine::with_bar(quiet, "{bar:8} {wide_msg}", 1);
        status.line(start);
        Self { status, runs: Mutex::default() }
    }

    /// Reports an event.
    pub fn observe(&self, event: QuickEvent<'_>) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match event {
            QuickEvent::Timing(family) => format!("measuring the time of {}", family.model_in_words()),
            QuickEvent::Planned(plan) => {
                let epochs = match plan.first_epochs {
                    Some(first) => format!("{}, then more of the best", output::count(first, "epoch")),
                    None => {
                        let epochs = output::count(plan.epochs, "epoch");
                        format!("{epochs}, up to {}", output::count(plan.repetitions, "repetition"))
                    }
                };
                let names: Vec<String> = plan.families.iter().map(|family| family.model_in_words()).collect();
                return self.status.line(&format!("comparing {}: {epochs}", names.join(", ")));
            }
            QuickEvent::Run(done, all) => {
                *runs = Some((done, all));
                return self.status.advance(done, all);
            }
            QuickEvent::Epoch(left) => {
                let Some((done, all)) = *runs else { return };
                let left = left.map_or_else(String::new, |left| format!(", about {:.0} s left", left.as_secs_f64()));
                format!("run {}/{all}{left}", (done + 1).min(all))
            }
        };
        self.status.show(&text);
    }
}

/// Reports the progress of a comparison within minutes on standard error.
#[derive(Debug)]
pub struct ThoroughProgress {
    /// Bar or lines on standard error.
    pub status: StatusLine,
    /// Description of the current part.
    part: Mutex<String>,
}

impl ThoroughProgress {
    /// Creates the bar.
    pub fn new(quiet: bool) -> Self {
        Self { status: StatusLine::with_bar(quiet, "{bar:8} {wide_msg}", 1), part: Mutex::default() }
    }

    /// Reports an event.
    pub fn observe(&self, event: &ThoroughEvent<'_>) {
        let mut current = self.part.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match event {
            ThoroughEvent::Epoch => return,
            ThoroughEvent::Part(part) => {
                *current = (*part).to_owned();
                current.clone()
            }
            ThoroughEvent::Run(done, all) => {
                self.status.advance(*done, *all);
                format!("{current}, run {done}/{all}")
            }
            ThoroughEvent::Settled(plan) => return self.status.line(&summary(plan)),
            ThoroughEvent::Late(text) => return self.status.line(&format!("late: {text}")),
        };
        self.status.show(&text);
    }
}

/// Describes a plan in one line.
pub(super) fn summary(plan: &ThoroughPlan) -> String {
    let rung = |RungPlan { trials, epochs, splits }: &RungPlan| {
        let epochs = output::count(*epochs, "epoch");
        match splits {
            1 => format!("{trials} x {epochs}"),
            _ => format!("{trials} x {epochs} on {splits} splits"),
        }
    };
    let rungs: Vec<String> = plan.rungs.iter().map(rung).collect();
    format!(
        "plan: {}, each with {} on validation nodes, then up to {} ({})",
        output::count(plan.families.len(), "model"),
        rungs.join(", "),
        output::count(plan.final_splits().len(), "split"),
        plan.splits_are
    )
}
