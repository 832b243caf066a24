//! Sweeps: many runs with a results file, and their progress.

pub mod progress;

use crate::args::SweepArgs;
use crate::error::Result;
use crate::files::probe;
use crate::output;
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

/// Returns what a command may use that trains runs or, if `table_only`, only writes tables of them and needs no device.
pub fn resources_for(args: &SweepArgs, table_only: bool) -> Result<Resources> {
    match table_only {
        true => process::resources(args.threads, args.device, true),
        false => resources(args),
    }
}

/// Opens a results file for appending or, if `table_only`, only reads it. Reports damaged lines.
pub fn results_for(path: &Path, table_only: bool, resources: Resources, quiet: bool) -> Result<ResultsFile> {
    let mut results = if table_only { ResultsFile::read(path)? } else { open(path)? };
    results.select(resources.kind());
    if !quiet {
        results.damage_notes().iter().for_each(|note| output::note(note));
    }
    Ok(results)
}

/// Opens a results file for appending; creates the file and its folder if they are missing.
pub fn open(path: &Path) -> Result<ResultsFile> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        probe(folder)?;
    }
    Ok(ResultsFile::open(path)?)
}

/// Runs the jobs of a study that are not in its results file. Reports damaged lines and the number of runs.
pub fn study(
    task: &dyn Task,
    jobs: Vec<Job>,
    path: &Path,
    resources: Resources,
    quiet: bool,
) -> Result<(ResultsFile, SweepOutcome)> {
    study_of_tasks(vec![(task, jobs)], path, resources, quiet)
}

/// Runs the jobs of several tasks, one task after another, as [`study`] does. An interrupted task is the last.
pub fn study_of_tasks(
    tasks: Vec<(&dyn Task, Vec<Job>)>,
    path: &Path,
    resources: Resources,
    quiet: bool,
) -> Result<(ResultsFile, SweepOutcome)> {
    let mut results = results_for(path, false, resources, quiet)?;
    let interrupt = Interrupt::listen()?;
    let mut all = SweepOutcome::default();
    for (task, jobs) in tasks {
        if !all.interrupted && !jobs.is_empty() {
            all = all.and(sweep(task, jobs, &mut results, resources, quiet, &interrupt)?);
        }
    }
    if !quiet {
        output::note(&told(&all, path));
    }
    Ok((results, all))
}

/// Runs the jobs of a task that are not in a results file, with progress.
pub fn sweep(
    task: &dyn Task,
    jobs: Vec<Job>,
    results: &mut ResultsFile,
    resources: Resources,
    quiet: bool,
    interrupt: &Interrupt,
) -> Result<SweepOutcome> {
    let progress = SweepProgress::new(quiet, jobs.len());
    let report = run_sweep(task, jobs, results, resources, |event, tally| progress.follow(event, tally, interrupt));
    progress.finish();
    Ok(report?)
}

/// Describes the outcome of a sweep in one line.
pub fn told(report: &SweepOutcome, path: &Path) -> String {
    let SweepOutcome { found, ran, failed, .. } = report;
    let failed = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
    format!("{ran} new{failed}, {found} already done: {}", path.display())
}
