//! Progress of a benchmark: a bar on a terminal, lines elsewhere.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use supergat::lab::benchmark::BenchmarkEvent;

/// Interval between lines where there is no bar.
const INTERVAL: Duration = Duration::from_secs(10);

/// Reports the progress on standard error.
#[derive(Debug)]
pub struct BenchmarkProgress {
    quiet: bool,
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    last_line: Instant,
    part: String,
    stopping: bool,
}

impl BenchmarkProgress {
    /// Creates the progress of a benchmark.
    pub fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:8} {wide_msg}").expect("a valid template");
            ProgressBar::new(1).with_style(style.progress_chars("=> "))
        });
        let state = State { last_line: Instant::now(), part: String::new(), stopping: false };
        Self { quiet, bar, state: Mutex::new(state) }
    }

    /// Reports an event.
    pub fn observe(&self, event: &BenchmarkEvent<'_>) {
        if self.quiet {
            return;
        }
        let mut state = self.state();
        let text = match event {
            BenchmarkEvent::Epoch => return,
            BenchmarkEvent::Part(part) => {
                state.part = (*part).to_owned();
                state.part.clone()
            }
            BenchmarkEvent::Run(done, all) => {
                if let Some(bar) = &self.bar {
                    bar.set_length(*all as u64);
                    bar.set_position(*done as u64);
                }
                format!("{}, run {done}/{all}", state.part)
            }
            BenchmarkEvent::Late(text) => return self.line(&format!("late: {text}")),
        };
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None if state.last_line.elapsed() >= INTERVAL => {
                state.last_line = Instant::now();
                self.line(&text);
            }
            None => {}
        }
    }

    /// Reports once that the benchmark will stop.
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
