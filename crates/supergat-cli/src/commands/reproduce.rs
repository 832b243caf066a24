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
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use supergat_lab::Settings;
use supergat_lab::reproduce::{Plan, Sheet, Table, WallClock, csv, html, markdown, tables};
use supergat_lab::sweep::{Job, Report, ResultsFile, run_sweep};

/// Runs what is missing and writes the tables.
pub fn run(args: &ReproduceArgs) -> Result<ExitCode> {
    let plans = plans(args)?;
    let timed = timed(args)?;
    if args.table_only && plans.is_empty() {
        return Err(CliError::usage("--table-only: times are measured anew each time and are in no results file"));
    }
    probe(&args.out)?;
    let threads = threads(args.threads)?;
    let interrupt = Interrupt::listen()?;
    let mut sheets = Vec::new();
    let mut interrupted = false;
    if !plans.is_empty() {
        let place = args.results.clone().unwrap_or_else(|| args.out.join("results.jsonl"));
        let mut results = if args.table_only { ResultsFile::read(&place)? } else { open(&place)? };
        if !args.quiet {
            results.damage_notes().iter().for_each(|note| output::note(note));
        }
        if !args.table_only {
            let jobs = plans.iter().flat_map(Plan::jobs).collect();
            let report = sweep(jobs, &mut results, threads, args.quiet, &interrupt)?;
            interrupted = report.interrupted;
            if !args.quiet {
                output::note(&told(&report, &place));
            }
        }
        let table = |plan: &Plan| (plan.table.id.clone(), Table::new(plan, &results).sheet());
        sheets.extend(plans.iter().map(table));
    }
    if !timed.is_empty() && !interrupted {
        let (clock, whole) = wall_clock(&timed, args, threads, &interrupt)?;
        interrupted = !whole;
        sheets.push(("wall-clock".into(), clock.sheet()));
    }
    write(args, &sheets)?;
    Ok(if interrupted { INTERRUPTED.into() } else { ExitCode::SUCCESS })
}

/// The tables that are made from kept runs, with the rows and columns that are wanted.
fn plans(args: &ReproduceArgs) -> Result<Vec<Plan>> {
    let known = supergat_data::KNOWN.map(str::to_owned).to_vec();
    args.datasets.iter().try_for_each(|name| check("dataset", name, known.clone()))?;
    args.models.iter().try_for_each(|name| check("model", name, model_names()))?;
    let wanted = |id: &str| args.table == TableChoice::All || TableChoice::from_str(id, false) == Ok(args.table);
    let mut plans = Vec::new();
    for table in tables().into_iter().filter(|table| wanted(&table.id)) {
        let mut plan = Plan::new(table, args.split, args.seeds)?;
        if !args.datasets.is_empty() {
            in_table(args, &plan.table.id, &plan.table.datasets)?;
            plan.keep_datasets(&args.datasets);
        }
        if !args.models.is_empty() {
            plan.keep_models(&args.models);
        }
        if !plan.table.datasets.is_empty() {
            plans.push(plan);
        }
    }
    Ok(plans)
}

/// The datasets on which trainings are timed.
fn timed(args: &ReproduceArgs) -> Result<Vec<String>> {
    if args.table_only || !matches!(args.table, TableChoice::WallClock | TableChoice::All) {
        return Ok(Vec::new());
    }
    let mut datasets = WallClock::datasets();
    if !args.datasets.is_empty() {
        in_table(args, "wall-clock", &datasets)?;
        datasets.retain(|name| args.datasets.contains(name));
    }
    Ok(datasets)
}

fn check(what: &str, name: &str, known: Vec<String>) -> Result<()> {
    if known.iter().any(|word| word == name) {
        return Ok(());
    }
    let known = nearest_first(name, known).join(", ");
    Err(CliError::usage(format!("unknown {what} `{name}`: expected some of {known}")))
}

/// Refuses datasets that a table has not, unless all tables are asked for.
fn in_table(args: &ReproduceArgs, id: &str, columns: &[String]) -> Result<()> {
    match args.datasets.iter().find(|name| !columns.contains(name)) {
        Some(name) if args.table != TableChoice::All => {
            let columns = nearest_first(name, columns.to_vec()).join(", ");
            Err(CliError::usage(format!("the table {id} has no dataset {name}: expected some of {columns}")))
        }
        _ => Ok(()),
    }
}

/// Finds out before the first run whether files can be written to a folder, and makes it where there is none.
pub fn probe(folder: &Path) -> Result<()> {
    /// More than the tables need.
    const ROOM: usize = 1 << 20;
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        // The full error names a temporary file, which means nothing to anybody.
        let mut file = tempfile::tempfile_in(folder).map_err(|error| std::io::Error::from(error.kind()))?;
        file.write_all(&vec![0; ROOM])?;
        file.sync_all()
    });
    written.map_err(|error| CliError::cannot_write(folder, error))
}

/// Opens a results file for further lines, made with its folder where there is none.
pub fn open(place: &Path) -> Result<ResultsFile> {
    if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        probe(folder)?;
    }
    Ok(ResultsFile::open(place)?)
}

fn sweep(
    jobs: Vec<Job>,
    results: &mut ResultsFile,
    threads: usize,
    quiet: bool,
    interrupt: &Interrupt,
) -> Result<Report> {
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

/// What came of a sweep, in one line.
pub fn told(report: &Report, place: &Path) -> String {
    let Report { found, ran, failed, .. } = report;
    let failed = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
    format!("{ran} new{failed}, {found} known before: {}", place.display())
}

/// Times trainings; also whether all were timed.
fn wall_clock(
    datasets: &[String],
    args: &ReproduceArgs,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<(WallClock, bool)> {
    let mut clock = WallClock::new(threads);
    let models = if args.models.is_empty() { WallClock::models() } else { args.models.clone() };
    for name in datasets {
        let dataset = match supergat_data::load(name) {
            Ok(dataset) => dataset,
            Err(error) => {
                clock.note(format!("{name} is left out: {error}."));
                continue;
            }
        };
        for model in &models {
            let model = model.parse().map_err(CliError::usage)?;
            let settings = Settings::published(name, model).unwrap_or_else(|| Settings::general(model));
            let seeds = args.seeds.unwrap_or_else(WallClock::seeds);
            let Some(seconds) = clock.measure(&dataset, &settings, seeds, || !interrupt.pressed())? else {
                return Ok((clock, false));
            };
            if !args.quiet {
                output::note(&format!("{model} on {name}: {seconds:.2} s"));
            }
        }
    }
    Ok((clock, true))
}

/// Prints the tables and writes them to the output folder, each file whole or not at all.
fn write(args: &ReproduceArgs, tables: &[(String, Sheet)]) -> Result<()> {
    let name = args.table.to_possible_value().expect("none is hidden").get_name().to_owned();
    let sheets: Vec<Sheet> = tables.iter().map(|(_, sheet)| sheet.clone()).collect();
    let text = markdown(&sheets);
    let mut files = vec![(format!("{name}.md"), text.clone()), (format!("{name}.html"), html(&sheets))];
    files.extend(tables.iter().map(|(id, sheet)| (format!("{id}.csv"), csv(sheet))));
    output::print(&text)?;
    for (name, text) in files {
        let place = args.out.join(name);
        replace(&place, &text).map_err(|error| CliError::cannot_write(&place, error))?;
        if !args.quiet {
            output::note(&format!("wrote {}", place.display()));
        }
    }
    Ok(())
}

/// Writes beside the place, then renames.
pub fn replace(place: &Path, text: &str) -> std::io::Result<()> {
    let name = place.file_name().expect("a file in the output folder").display();
    let beside = place.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, place)
    });
    // What could not be finished is not left behind; why it could not is what matters.
    written.inspect_err(|_| drop(std::fs::remove_file(&beside)))
}
