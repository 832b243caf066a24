//! Many runs with a results file, shown while they go on.

pub mod progress;

use crate::error::Result;
use crate::files::probe;
use crate::output;
use crate::process::interrupt::Interrupt;
use crate::process::threads;
use progress::SweepProgress;
use std::path::Path;
use supergat_lab::sweep::{Job, Nodes, Report, ResultsFile, Task, run_task_sweep};

/// Opens a results file for further lines, made with its folder where there is none.
pub fn open(place: &Path) -> Result<ResultsFile> {
    if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        probe(folder)?;
    }
    Ok(ResultsFile::open(place)?)
}

/// Runs what the results file of a study does not hold; tells what is damaged in it, and what came of it.
pub fn study(
    task: &dyn Task,
    jobs: Vec<Job>,
    place: &Path,
    wanted_threads: Option<u16>,
    quiet: bool,
) -> Result<(ResultsFile, Report)> {
    let note = |text: &str| {
        if !quiet {
            output::note(text)
        }
    };
    let mut results = open(place)?;
    results.damage_notes().iter().for_each(|text| note(text));
    let interrupt = Interrupt::listen()?;
    let report = sweep_task(task, jobs, &mut results, threads(wanted_threads)?, quiet, &interrupt)?;
    note(&told(&report, place));
    Ok((results, report))
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
fn sweep_task(
    task: &dyn Task,
    jobs: Vec<Job>,
    results: &mut ResultsFile,
    threads: usize,
    quiet: bool,
    interrupt: &Interrupt,
) -> Result<Report> {
    let progress = SweepProgress::new(quiet, jobs.len());
    let report = run_task_sweep(task, jobs, results, threads, |event, tally| progress.follow(event, tally, interrupt));
    progress.finish();
    Ok(report?)
}

/// What came of a sweep, in one line.
pub fn told(report: &Report, place: &Path) -> String {
    let Report { found, ran, failed, .. } = report;
    let failed = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
    format!("{ran} new{failed}, {found} known before: {}", place.display())
}
