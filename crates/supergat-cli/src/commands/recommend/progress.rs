//! Progress of a recommendation: a bar on a terminal, lines elsewhere.

use crate::output;
use crate::status_line::StatusLine;
use supergat::lab::advice::AdviceEvent;

/// Reports the progress on standard error.
#[derive(Debug)]
pub struct AdviceProgress {
    status: StatusLine,
}

impl AdviceProgress {
    /// Creates the progress of a recommendation.
    pub fn new(quiet: bool) -> Self {
        let status = StatusLine::with_bar(quiet, "{bar:8} {wide_msg}", 1);
        status.line("measuring the time of every family");
        Self { status }
    }

    /// Reports an event.
    pub fn observe(&self, event: AdviceEvent<'_>) {
        let text = match event {
            AdviceEvent::Epoch => return,
            AdviceEvent::Timing(family) => format!("measuring the time of {}", family.name),
            AdviceEvent::Planned(plan) => {
                let epochs = match plan.first_epochs {
                    Some(first) => format!("{first} epochs, then more of the best"),
                    None => format!("{} epochs, up to {}", plan.epochs, output::count(plan.redraws, "redraw")),
                };
                let text = format!("comparing {} families: {epochs}", plan.families.len());
                return self.status.line(&text);
            }
            AdviceEvent::Run(done, all) => {
                self.status.advance(done, all);
                format!("run {done}/{all}")
            }
        };
        self.status.show(&text);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.status.finish();
    }
}
