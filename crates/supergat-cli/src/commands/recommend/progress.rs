//! Progress of a recommendation: a bar on a terminal, lines elsewhere.

use crate::output;
use crate::status_line::StatusLine;
use std::sync::{Mutex, PoisonError};
use supergat_select::advice::AdviceEvent;

/// Reports the progress on standard error.
#[derive(Debug)]
pub struct AdviceProgress {
    status: StatusLine,
    /// Number of ended runs, and of all runs, once they are planned.
    runs: Mutex<Option<(usize, usize)>>,
}

impl AdviceProgress {
    /// Creates the progress of a recommendation, which begins with a line.
    pub fn new(quiet: bool, start: &str) -> Self {
        let status = StatusLine::with_bar(quiet, "{bar:8} {wide_msg}", 1);
        status.line(start);
        Self { status, runs: Mutex::default() }
    }

    /// Reports an event.
    pub fn observe(&self, event: AdviceEvent<'_>) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match event {
            AdviceEvent::Timing(family) => format!("measuring the time of {}", family.name),
            AdviceEvent::Planned(plan) => {
                let epochs = match plan.first_epochs {
                    Some(first) => format!("{first} epochs, then more of the best"),
                    None => format!("{} epochs, up to {}", plan.epochs, output::count(plan.redraws, "redraw")),
                };
                let names: Vec<&str> = plan.families.iter().map(|family| family.name).collect();
                return self.status.line(&format!("comparing {}: {epochs}", names.join(", ")));
            }
            AdviceEvent::Run(done, all) => {
                *runs = Some((done, all));
                return self.status.advance(done, all);
            }
            AdviceEvent::Epoch(left) => {
                let Some((done, all)) = *runs else { return };
                let left = left.map_or_else(String::new, |left| format!(", about {:.0} s left", left.as_secs_f64()));
                format!("run {}/{all}{left}", (done + 1).min(all))
            }
        };
        self.status.show(&text);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.status.finish();
    }
}
