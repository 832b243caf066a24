//! Progress of a recommendation: a bar on a terminal, lines elsewhere.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use supergat::lab::advice::AdviceEvent;

/// Interval between lines where there is no bar.
const INTERVAL: Duration = Duration::from_secs(5);

/// Reports the progress on standard error.
#[derive(Debug)]
pub struct AdviceProgress {
    quiet: bool,
    bar: Option<ProgressBar>,
    last_line: Mutex<Instant>,
}

impl AdviceProgress {
    /// Creates the progress of a recommendation.
    pub fn new(quiet: bool) -> Self {
        if !quiet {
            output::note("measuring the time of every family");
        }
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:8} {wide_msg}").expect("a valid template");
            ProgressBar::new(1).with_style(style.progress_chars("=> "))
        });
        Self { quiet, bar, last_line: Mutex::new(Instant::now()) }
    }

    /// Reports an event.
    pub fn observe(&self, event: AdviceEvent<'_>) {
        if self.quiet || matches!(event, AdviceEvent::Epoch) {
            return;
        }
        let text = match event {
            AdviceEvent::Epoch => return,
            AdviceEvent::Timing(family) => format!("measuring the time of {}", family.name),
            AdviceEvent::Planned(plan) => {
                let text = format!(
                    "comparing {} families: {} epochs, up to {}",
                    plan.families.len(),
                    plan.epochs,
                    output::count(plan.redraws, "redraw"),
                );
                return self.line(&text);
            }
            AdviceEvent::Run(done, all) => {
                if let Some(bar) = &self.bar {
                    bar.set_length(all as u64);
                    bar.set_position(done as u64);
                }
                format!("run {done}/{all}")
            }
        };
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None => {
                let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
                if last.elapsed() >= INTERVAL {
                    *last = Instant::now();
                    self.line(&text);
                }
            }
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
}
