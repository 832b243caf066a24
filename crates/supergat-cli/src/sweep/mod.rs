//! Sweeps: many runs with a results file, and their progress.

pub mod progress;

use crate::args::SweepArgs;
use crate::error::{CliError, Result};
use crate::files::probe;
use crate::process;
use crate::process::interrupt::Interrupt;
use progress::SweepProgress;
use std::path::Path;
use supergat_select::sweep::{Job, ResultsFile, SweepOutcome, run_sweep};
use supergat_train::Resources;
use supergat_train::task::Task;

/// Returns what the runs of a sweep may use. Fails if the device cannot be used.
pub fn resources(args: &SweepArgs) -> Result<Resources> {
    let resources = process::resources(args.threads, args.device, args.quiet)?;
    resources.check()?;
    Ok(resources)
}

/// Returns what the runs of a command may use as [`resources`] does; with `table_only`, no run is trained, and the device
/// only selects runs.
pub fn resources_or_kind(args: &SweepArgs, table_only: bool) -> Result<Resources> {
    if table_only { process::resources(args.threads, args.device, true) } else { resources(args) }
}

/// Returns the time limit of a command. Longer times could overflow an `Instant`.
pub fn minutes(given: Option<f64>) -> Result<Option<f64>> {
    match given {
        Some(minutes) if !(minutes > 0.0 && minutes < 5e6) => {
            Err(CliError::usage(format!("--minutes {minutes}: must be positive and below 5000000")))
        }
        given => Ok(given),
    }
}

/// Opens a results file for appending; creates the file and its folder if they are missing.
pub fn open(path: &Path) -> Result<ResultsFile> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        probe(folder)?;
    }
    Ok(ResultsFile::open(path)?)
}

/// Opens the results file of a command, selects the runs of its device, and reports damaged lines. With `table_only`, the
/// file is only read.
pub fn results(path: &Path, args: &SweepArgs, resources: &Resources, table_only: bool) -> Result<ResultsFile> {
    let mut results = if table_only { ResultsFile::read(path)? } else { open(path)? };
    results.select(resources.kind());
    results.damage_notes().iter().for_each(|text| args.note(text));
    Ok(results)
}

/// Runs the jobs of a study that are not in its results file. Reports damaged lines and the number of runs.
pub fn study(
    task: &dyn Task,
    jobs: Vec<Job>,
    path: &Path,
    resources: Resources,
    args: &SweepArgs,
) -> Result<(ResultsFile, SweepOutcome)> {
    study_of_tasks(vec![(task, jobs)], path, resources, args)
}

/// Runs the jobs of several tasks, one task after another, as [`study`] does. An interrupted task is the last.
pub fn study_of_tasks(
    tasks: Vec<(&dyn Task, Vec<Job>)>,
    path: &Path,
    resources: Resources,
    args: &SweepArgs,
) -> Result<(ResultsFile, SweepOutcome)> {
    let mut results = results(path, args, &resources, false)?;
    let interrupt = Interrupt::listen()?;
    let mut all = SweepOutcome::default();
    for (task, jobs) in tasks {
        if !all.interrupted && !jobs.is_empty() {
            all = all.and(sweep(task, jobs, &mut results, resources, args, &interrupt)?);
        }
    }
    args.note(&summary(&all, path));
    Ok((results, all))
}

/// Runs the jobs of a task that are not in a results file, with progress.
pub fn sweep(
    task: &dyn Task,
    jobs: Vec<Job>,
    results: &mut ResultsFile,
    resources: Resources,
    args: &SweepArgs,
    interrupt: &Interrupt,
) -> Result<SweepOutcome> {
    let progress = SweepProgress::new(args.quiet, jobs.len());
    let outcome = run_sweep(task, jobs, results, resources, |event, tally| progress.follow(event, tally, interrupt));
    progress.status.finish();
    Ok(outcome?)
}

/// Describes the outcome of a sweep in one line.
pub fn summary(outcome: &SweepOutcome, path: &Path) -> String {
    let SweepOutcome { found, ran, failed, .. } = outcome;
    let failed = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
    format!("{ran} new{failed}, {found} already done: {}", path.display())
}
