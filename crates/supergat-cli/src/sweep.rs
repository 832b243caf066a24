//! Many runs with a results file, shown while they go on.

use crate::error::Result;
use crate::files::probe;
use crate::interrupt::Interrupt;
use crate::sweep_progress::SweepProgress;
use std::ops::ControlFlow;
use std::path::Path;
use supergat_lab::sweep::{Job, Nodes, Report, ResultsFile, Task, run_task_sweep};

/// Opens a results file for further lines, made with its folder where there is none.
pub fn open(place: &Path) -> Result<ResultsFile> {
    if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        probe(folder)?;
    }
    Ok(ResultsFile::open(place)?)
}

/// Runs what a results file does not hold, and shows how far it is.
pub fn sweep(
    jobs: Vec<Job>,
    results: &mut ResultsFile,
    threads: usize,
    quiet: bool,
    interrupt: &Interrupt,
) -> Result<Report> {
    sweep_task(&Nodes, jobs, results, threads, quiet, interrupt)
}

/// Runs what is missing for a task, and tells of it.
pub fn sweep_task(
    task: &dyn Task,
    jobs: Vec<Job>,
    results: &mut ResultsFile,
    threads: usize,
    quiet: bool,
    interrupt: &Interrupt,
) -> Result<Report> {
    let progress = SweepProgress::new(quiet, jobs.len());
    let report = run_task_sweep(task, jobs, results, threads, |event, tally| {
        progress.observe(event, tally);
        if interrupt.pressed() {
            progress.stopping();
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    progress.finish();
    Ok(report?)
}

/// What came of a sweep, in one line.
pub fn told(report: &Report, place: &Path) -> String {
    let Report { found, ran, failed, .. } = report;
    let failed = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
    format!("{ran} new{failed}, {found} known before: {}", place.display())
}
