//! Progress of a benchmark: a bar on a terminal, lines elsewhere.

use crate::commands::benchmark::summary;
use crate::status_line::{RESUMES, StatusLine};
use std::sync::{Mutex, PoisonError};
use supergat_select::benchmark::BenchmarkEvent;

/// Reports the progress on standard error.
#[derive(Debug)]
pub struct BenchmarkProgress {
    status: StatusLine,
    /// What is being done.
    part: Mutex<String>,
}

impl BenchmarkProgress {
    /// Creates the progress of a benchmark.
    pub fn new(quiet: bool) -> Self {
        Self { status: StatusLine::with_bar(quiet, "{bar:8} {wide_msg}", 1), part: Mutex::default() }
    }

    /// Reports an event.
    pub fn observe(&self, event: &BenchmarkEvent<'_>) {
        let mut current = self.part.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match event {
            BenchmarkEvent::Epoch => return,
            BenchmarkEvent::Part(part) => {
                *current = (*part).to_owned();
                current.clone()
            }
            BenchmarkEvent::Run(done, all) => {
                self.status.advance(*done, *all);
                format!("{current}, run {done}/{all}")
            }
            BenchmarkEvent::Settled(plan) => return self.status.line(&summary(plan)),
            BenchmarkEvent::Late(text) => return self.status.line(&format!("late: {text}")),
        };
        self.status.show(&text);
    }

    /// Reports once that the benchmark will stop.
    pub fn stopping(&self) {
        self.status.stopping(RESUMES);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.status.finish();
    }
}
