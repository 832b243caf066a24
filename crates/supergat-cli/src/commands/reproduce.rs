//! Implementation of `supergat reproduce`.

use crate::args::{ReproduceArgs, TableChoice};
use crate::config::keys::nearest_first;
use crate::error::{CliError, Result, exit_code};
use crate::files::{self, probe};
use crate::output;
use crate::process::interrupt::Interrupt;
use crate::sweep::{self, summary, sweep};
use clap::ValueEnum;
use std::process::ExitCode;
use supergat_figure::sheet::{Sheet, csv, html, json, markdown};
use supergat_studies::reproduce::{Table, TablePlan, WallClock, tables};
use supergat_train::task::NodeClassification;
use supergat_train::{Resources, Settings};

/// Version of the object printed by `--json`. Metrics of version 1 were in percent.
const SCHEMA: u32 = 2;

/// Trains the missing runs and writes the tables.
pub fn run(args: &ReproduceArgs) -> Result<ExitCode> {
    let plans = plans(args)?;
    let timed = timed(args)?;
    if args.table_only && plans.is_empty() {
        return Err(CliError::usage(
            "--table-only: wall-clock times are not stored in a results file; run the command without it to measure them",
        ));
    }
    let resources = sweep::resources_or_kind(&args.sweep, args.table_only)?;
    probe(&args.out)?;
    let interrupt = Interrupt::listen()?;
    let mut sheets = Vec::new();
    let mut interrupted = false;
    if !plans.is_empty() {
        let path = args.results.clone().unwrap_or_else(|| args.out.join("results.jsonl"));
        let mut results = sweep::results(&path, &args.sweep, &resources, args.table_only)?;
        if !args.table_only {
            let jobs = plans.iter().flat_map(TablePlan::jobs).collect();
            let outcome = sweep(&NodeClassification, jobs, &mut results, resources, &args.sweep, &interrupt)?;
            interrupted = outcome.interrupted;
            args.sweep.note(&summary(&outcome, &path));
        }
        let table = |plan: &TablePlan| (plan.table.id.clone(), Table::new(plan, &results).sheet());
        sheets.extend(plans.iter().map(table));
    }
    if !timed.is_empty() && !interrupted {
        let (clock, complete) = wall_clock(&timed, args, resources, &interrupt)?;
        interrupted = !complete;
        sheets.push(("wall-clock".into(), clock.sheet()));
    }
    write(args, &sheets)?;
    Ok(exit_code(interrupted))
}

/// Returns the requested tables that are made from stored runs, reduced to the requested datasets and models.
fn plans(args: &ReproduceArgs) -> Result<Vec<TablePlan>> {
    let known = supergat_data::KNOWN.map(str::to_owned).to_vec();
    args.datasets.iter().try_for_each(|name| check("dataset", name, known.clone()))?;
    args.models.iter().try_for_each(|name| check("model", name, supergat::Model::names()))?;
    let requested = |id: &str| args.table == TableChoice::All || TableChoice::from_str(id, false) == Ok(args.table);
    let mut plans = Vec::new();
    for table in tables().into_iter().filter(|table| requested(&table.id)) {
        let mut plan = TablePlan::new(table, args.split, args.seeds)?;
        if !args.datasets.is_empty() {
            check_datasets(args, &plan.table.id, &plan.table.datasets)?;
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

/// Returns the datasets on which training is timed.
fn timed(args: &ReproduceArgs) -> Result<Vec<String>> {
    if !args.measures_times() {
        return Ok(Vec::new());
    }
    let mut datasets = WallClock::datasets();
    if !args.datasets.is_empty() {
        check_datasets(args, "wall-clock", &datasets)?;
        datasets.retain(|name| args.datasets.contains(name));
    }
    Ok(datasets)
}

/// Checks that a name is known.
fn check(what: &str, name: &str, known: Vec<String>) -> Result<()> {
    if known.iter().any(|word| word == name) {
        return Ok(());
    }
    let known = nearest_first(name, known).join(", ");
    Err(CliError::usage(format!("unknown {what} `{name}`: expected some of {known}")))
}

/// Checks that a table contains the requested datasets, unless all tables are requested.
fn check_datasets(args: &ReproduceArgs, id: &str, columns: &[String]) -> Result<()> {
    match args.datasets.iter().find(|name| !columns.contains(name)) {
        Some(name) if args.table != TableChoice::All => {
            let columns = nearest_first(name, columns.to_vec()).join(", ");
            Err(CliError::usage(format!("the table {id} has no dataset {name}: expected some of {columns}")))
        }
        _ => Ok(()),
    }
}

/// Measures training times. The second value is false if the user interrupted it.
fn wall_clock(
    datasets: &[String],
    args: &ReproduceArgs,
    resources: Resources,
    interrupt: &Interrupt,
) -> Result<(WallClock, bool)> {
    let mut clock = WallClock::new(resources);
    let models = if args.models.is_empty() { WallClock::models() } else { args.models.clone() };
    for name in datasets {
        let dataset = match supergat_data::load(name) {
            Ok(dataset) => dataset,
            Err(error) => {
                clock.note(format!("{name} skipped: {error}."));
                continue;
            }
        };
        for model in &models {
            let model = model.parse().map_err(CliError::usage)?;
            let settings = Settings::usual(Some(name), model);
            let seeds = args.seeds.unwrap_or_else(WallClock::seeds);
            let Some(seconds) = clock.measure(&dataset, &settings, seeds, || !interrupt.requested())? else {
                return Ok((clock, false));
            };
            args.sweep.note(&format!("{model} on {name}: {seconds:.2} s"));
        }
    }
    Ok((clock, true))
}

/// Prints the tables and writes them to the output folder, each file atomically.
fn write(args: &ReproduceArgs, tables: &[(String, Sheet)]) -> Result<()> {
    let name = args.table.to_possible_value().expect("none is hidden").get_name().to_owned();
    let sheets: Vec<Sheet> = tables.iter().map(|(_, sheet)| sheet.clone()).collect();
    let text = markdown(&sheets);
    let mut files = vec![(format!("{name}.md"), text.clone()), (format!("{name}.html"), html(&sheets))];
    files.extend(tables.iter().map(|(id, sheet)| (format!("{id}.csv"), csv(sheet))));
    let named = tables.iter().map(|(id, sheet)| (id.clone(), json(sheet))).collect::<serde_json::Map<_, _>>();
    output::print_result(args.sweep.json, &serde_json::json!({ "schema": SCHEMA, "tables": named }), || text)?;
    let names = files.iter().map(|(name, _)| args.out.join(name).display().to_string()).collect::<Vec<_>>().join(", ");
    files::write(&args.out, files)?;
    args.sweep.note(&format!("wrote {names}"));
    Ok(())
}
