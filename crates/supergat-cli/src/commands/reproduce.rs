//! `supergat reproduce`

use crate::args::{ReproduceArgs, TableChoice};
use crate::commands::train::threads;
use crate::config::model_names;
use crate::error::{CliError, INTERRUPTED, Result};
use crate::interrupt::Interrupt;
use crate::keys::nearest_first;
use crate::output;
use crate::sweep_progress::SweepProgress;
use clap::ValueEnum;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use supergat_lab::reproduce::{Plan, tables};
use supergat_lab::sweep::{Job, Report, ResultsFile, run_sweep};

/// Runs what is missing and writes the tables.
pub fn run(args: &ReproduceArgs) -> Result<ExitCode> {
    let plans = plans(args)?;
    let place = args.results.clone().unwrap_or_else(|| args.out.join("results.jsonl"));
    probe(&args.out)?;
    let mut results = if args.table_only { ResultsFile::read(&place)? } else { open(&place)? };
    if !args.quiet {
        for damage in results.damaged() {
            output::note(&format!("note: {}, line {}: skipped: {}", place.display(), damage.line, damage.reason));
        }
    }
    let mut interrupted = false;
    if !args.table_only {
        let threads = threads(args.threads)?;
        let jobs = plans.iter().flat_map(Plan::jobs).collect();
        interrupted = sweep(jobs, &mut results, threads, args.quiet)?.interrupted;
    }
    Ok(if interrupted { INTERRUPTED.into() } else { ExitCode::SUCCESS })
}

/// The tables that are wanted, with the rows and columns that are wanted.
fn plans(args: &ReproduceArgs) -> Result<Vec<Plan>> {
    let known = supergat_data::KNOWN.map(str::to_owned).to_vec();
    args.datasets.iter().try_for_each(|name| check("dataset", name, known.clone()))?;
    args.models.iter().try_for_each(|name| check("model", name, model_names()))?;
    let wanted = |id: &str| args.table == TableChoice::All || TableChoice::from_str(id, false) == Ok(args.table);
    let mut plans = Vec::new();
    for table in tables().into_iter().filter(|table| wanted(&table.id)) {
        let columns = table.datasets.clone();
        let mut plan = Plan::new(table, args.split, args.seeds)?;
        if !args.datasets.is_empty() {
            plan.keep_datasets(&args.datasets);
            if let (Some(name), true) =
                (args.datasets.iter().find(|name| !columns.contains(name)), args.table != TableChoice::All)
            {
                let columns = nearest_first(name, columns).join(", ");
                return Err(CliError::usage(format!(
                    "{name} is not in the table {}: expected some of {columns}",
                    plan.table.id
                )));
            }
        }
        if !args.models.is_empty() {
            plan.keep_models(&args.models);
        }
        plans.push(plan);
    }
    Ok(plans)
}

fn check(what: &str, name: &str, known: Vec<String>) -> Result<()> {
    if known.iter().any(|word| word == name) {
        return Ok(());
    }
    Err(CliError::usage(format!("unknown {what} `{name}`: expected some of {}", nearest_first(name, known).join(", "))))
}

/// Finds out before the first run whether files can be written to a folder.
fn probe(folder: &Path) -> Result<()> {
    /// More than the tables need.
    const ROOM: usize = 1 << 20;
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        let file = tempfile::tempfile_in(folder).map_err(|error| std::io::Error::from(error.kind()))?;
        std::io::Write::write_all(&mut &file, &vec![0; ROOM])?;
        file.sync_all()
    });
    written.map_err(|error| CliError::cannot_write(folder, error))
}

fn open(place: &PathBuf) -> Result<ResultsFile> {
    if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        probe(folder)?;
    }
    Ok(ResultsFile::open(place)?)
}

fn sweep(jobs: Vec<Job>, results: &mut ResultsFile, threads: usize, quiet: bool) -> Result<Report> {
    let interrupt = Interrupt::listen()?;
    let progress = SweepProgress::new(quiet, jobs.len());
    let report = run_sweep(jobs, results, threads, |event, tally| {
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
