//! Progress of a sweep: a bar on a terminal, a line every few seconds elsewhere.

use crate::output;
use crate::process::interrupt::Interrupt;
use crate::status_line::{RESUMES, StatusLine};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use supergat_select::sweep::{Event, Record, Tally};
use supergat_train::task::Status;

/// Reports the progress of a sweep on standard error.
#[derive(Debug)]
pub struct SweepProgress {
    /// Bar or lines on standard error.
    pub status: StatusLine,
    /// Datasets already reported as missing.
    missing: Mutex<Vec<String>>,
}

impl SweepProgress {
    /// Creates the progress of a sweep over `jobs` jobs.
    pub fn new(quiet: bool, jobs: usize) -> Self {
        let status = StatusLine::with_bar(quiet, "{bar:8} run {pos}/{len} {wide_msg}", jobs as u64);
        Self { status, missing: Mutex::default() }
    }

    /// Reports an event; returns `Break` if the sweep is interrupted.
    pub fn follow(&self, event: Event<'_>, tally: Tally, interrupt: &Interrupt) -> ControlFlow<()> {
        self.observe(event, tally);
        self.status.flow(interrupt, RESUMES)
    }

    fn observe(&self, event: Event<'_>, tally: Tally) {
        if self.status.is_quiet() || matches!(event, Event::Epoch) {
            return;
        }
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        self.status.advance(tally.settled, tally.jobs);
        match event {
            Event::Loading(source) => {
                if let Some(bar) = self.status.bar() {
                    bar.set_message(format!("loading {}", output::visible(source)));
                }
            }
            Event::Unavailable(source, reason) if !missing.iter().any(|name| name == source) => {
                missing.push(source.to_owned());
                self.status.line(&format!("skipped: {reason}"));
            }
            Event::Done(record) => self.done(record, tally),
            Event::Unavailable(..) | Event::Found(_) | Event::Epoch => {}
        }
    }

    fn done(&self, record: &Record, tally: Tally) {
        let Record { dataset, model, seed, .. } = record;
        let left = tally.left.map_or_else(String::new, |left| format!(", {} left", time(left)));
        let text = match &record.status {
            Status::Failed { reason } => {
                return self.status.line(&format!("failed: {model} on {dataset}, seed {seed}: {reason}"));
            }
            Status::Ok { test, metric, .. } => {
                format!("{model} on {dataset}, seed {seed}: test {metric} {:.2} %{left}", 100.0 * test.metric)
            }
        };
        match self.status.bar() {
            Some(bar) => bar.set_message(output::visible(&text)),
            None if self.status.is_due() || tally.settled == tally.jobs => {
                self.status.line(&format!("run {}/{}: {text}", tally.settled, tally.jobs));
            }
            None => {}
        }
    }
}

/// Formats a duration: `50 s`, `12 min`, `3.4 h`.
pub fn time(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_durations() {
        let of = |seconds| time(Duration::from_secs(seconds));
        assert_eq!([of(50), of(720), of(12_240)], ["50 s", "12 min", "3.4 h"]);
    }
}
