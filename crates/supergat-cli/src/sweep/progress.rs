//! Progress of a sweep: a bar on a terminal, a line every few seconds elsewhere.

use crate::output;
use crate::process::interrupt::Interrupt;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use supergat::lab::sweep::{Event, Record, Status, Tally};

/// Interval between lines where there is no bar.
const INTERVAL: Duration = Duration::from_secs(10);

/// Reports the progress of a sweep on standard error.
#[derive(Debug)]
pub struct SweepProgress {
    quiet: bool,
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    last_line: Instant,
    stopping: bool,
    /// Datasets already reported as missing.
    missing: Vec<String>,
}

impl SweepProgress {
    /// Creates the progress of a sweep over `jobs` jobs.
    pub fn new(quiet: bool, jobs: usize) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:8} run {pos}/{len} {wide_msg}").expect("a valid template");
            ProgressBar::new(jobs as u64).with_style(style.progress_chars("=> "))
        });
        let state = State { last_line: Instant::now(), stopping: false, missing: Vec::new() };
        Self { quiet, bar, state: Mutex::new(state) }
    }

    /// Reports an event; returns `Break` if the sweep is interrupted.
    pub fn follow(&self, event: Event<'_>, tally: Tally, interrupt: &Interrupt) -> ControlFlow<()> {
        self.observe(event, tally);
        if interrupt.requested() {
            self.stopping();
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn observe(&self, event: Event<'_>, tally: Tally) {
        if self.quiet || matches!(event, Event::Epoch(_)) {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = &self.bar {
            bar.set_position(tally.settled as u64);
        }
        match event {
            Event::Loading(source) => {
                if let Some(bar) = &self.bar {
                    bar.set_message(format!("loading {source}"));
                }
            }
            Event::Unavailable(source, reason, _) if !state.missing.iter().any(|name| name == source) => {
                state.missing.push(source.to_owned());
                self.line(&format!("skipped: {reason}"));
            }
            Event::Done(record) => self.done(&mut state, record, tally),
            Event::Unavailable(..) | Event::Found(_) | Event::Epoch(_) => {}
        }
    }

    /// Reports once that the runs will stop.
    fn stopping(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut state.stopping, true) {
            self.line("stopping; finished runs are kept, and the same command resumes");
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn done(&self, state: &mut State, record: &Record, tally: Tally) {
        let Record { dataset, model, seed, .. } = record;
        let left = tally.left.map_or_else(String::new, |left| format!(", {} left", time(left)));
        let text = match &record.status {
            Status::Failed { reason } => {
                return self.line(&format!("failed: {model} on {dataset}, seed {seed}: {reason}"));
            }
            Status::Ok { test, metric, .. } => {
                format!("{model} on {dataset}, seed {seed}: test {metric} {:.2} %{left}", 100.0 * test.metric)
            }
        };
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None if state.last_line.elapsed() >= INTERVAL || tally.settled == tally.jobs => {
                state.last_line = Instant::now();
                self.line(&format!("run {}/{}: {text}", tally.settled, tally.jobs));
            }
            None => {}
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(text)),
            None if !self.quiet => output::note(text),
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
