//! The state of a long command on standard error: a bar on a terminal, a line every few seconds elsewhere.

use crate::output;
use crate::process::interrupt::Interrupt;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between lines about the state where there is no bar.
const INTERVAL: Duration = Duration::from_secs(10);

/// Said when a command stops whose runs are kept.
pub const RESUMES: &str = "stopping; finished runs are kept, and the same command resumes";

/// Shows the state of a command; nothing if the command is quiet.
#[derive(Debug)]
pub struct StatusLine {
    quiet: bool,
    bar: Option<ProgressBar>,
    said: Mutex<Said>,
}

#[derive(Debug)]
struct Said {
    last: Instant,
    stopping: bool,
}

impl StatusLine {
    /// Shows a bar of this length, with a template of `indicatif`.
    pub fn with_bar(quiet: bool, template: &str, length: u64) -> Self {
        Self::new(quiet, || ProgressBar::new(length).with_style(style(template).progress_chars("=> ")))
    }

    /// Shows a spinner, where it is not known how much is left.
    pub fn with_spinner(quiet: bool) -> Self {
        Self::new(quiet, || ProgressBar::new_spinner().with_style(style("{spinner} {wide_msg}")))
    }

    fn new(quiet: bool, bar: impl FnOnce() -> ProgressBar) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(bar);
        Self { quiet, bar, said: Mutex::new(Said { last: Instant::now(), stopping: false }) }
    }

    /// Returns whether nothing is shown.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns the bar, if there is one.
    pub fn bar(&self) -> Option<&ProgressBar> {
        self.bar.as_ref()
    }

    /// Moves the bar to this position of a length.
    pub fn advance(&self, position: usize, length: usize) {
        if let Some(bar) = &self.bar {
            bar.set_length(length as u64);
            bar.set_position(position as u64);
        }
    }

    /// Shows the state: beside the bar, or as a line if the last one was a while ago.
    pub fn show(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(output::visible(text)),
            None if self.is_due() => self.line(text),
            None => {}
        }
    }

    /// Returns whether there is no bar and the last line was a while ago.
    pub fn is_due(&self) -> bool {
        self.bar.is_none() && !self.quiet && self.said().last.elapsed() >= INTERVAL
    }

    /// Writes a line that stays.
    pub fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(text)),
            None if !self.quiet => {
                self.said().last = Instant::now();
                output::note(text);
            }
            None => {}
        }
    }

    /// Says once that the command will stop.
    pub fn stopping(&self, text: &str) {
        let said = std::mem::replace(&mut self.said().stopping, true);
        if !said {
            self.line(text);
        }
    }

    /// Returns `Break` if the command is interrupted, and says once that it will stop.
    pub fn flow(&self, interrupt: &Interrupt, text: &str) -> ControlFlow<()> {
        if !interrupt.requested() {
            return ControlFlow::Continue(());
        }
        self.stopping(text);
        ControlFlow::Break(())
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a valid template")
}
