//! Implementation of `supergat study grid`.

mod figures;

use super::{METRICS_SCHEMA, with_tables};
use crate::args::GridArgs;
use crate::config::keys::nearest_first;
use crate::error::{CliError, Result, exit_code};
use crate::files::probe;
use crate::output;
use crate::process::interrupt::Interrupt;
use crate::sweep::progress::SweepProgress;
use crate::sweep::{resources_or_kind, results, summary};
use serde::Serialize;
use std::process::ExitCode;
use supergat_core::ModelKind;
use supergat_data::RandomPartition;
use supergat_figure::Page;
use supergat_figure::sheet::{Sheet, csv, markdown};
use supergat_select::sweep::{ResultsFile, SweepOutcome};
use supergat_studies::grid::{GridPlan, GridStudy, run_grid, sheet};
use supergat_train::Resources;

const METHOD: &str = "\
Each graph is a random partition graph with 10 classes of 500 nodes, drawn once. On each graph, one run per setting \
selects by validation accuracy. The result is the mean over several seeds of the selected settings. Seeds change the \
training, never the graph.";

const RECIPE: &str = "\
The best form of attention. The side of a square grows with the square root of the gain over GAT. Dots are real graphs, \
in the colour of their best form in the paper.";

/// Result printed by `--json`.
#[derive(Debug, Serialize)]
struct GridOutput<'a> {
    schema: u32,
    coarse: bool,
    interrupted: bool,
    folder: String,
    #[serde(flatten)]
    study: &'a GridStudy,
}

/// Trains the missing runs, and writes tables and figures.
pub fn run(args: &GridArgs) -> Result<ExitCode> {
    let plan = plan(args)?;
    let path = args.results.clone().unwrap_or_else(|| args.out.join("results.jsonl"));
    let resources = resources_or_kind(&args.sweep, args.table_only)?;
    probe(&args.out)?;
    let mut results = results(&path, &args.sweep, &resources, args.table_only)?;
    let mut interrupted = false;
    if !args.table_only {
        let outcome = sweep(&plan, &mut results, resources, args)?;
        interrupted = outcome.interrupted;
        args.sweep.note(&summary(&outcome, &path));
    }
    let study = GridStudy::new(&plan, &results);
    write(&study, args)?;
    let (coarse, folder) = (study.is_coarse(), args.out.display().to_string());
    let printed = GridOutput { schema: METRICS_SCHEMA, coarse, interrupted, folder, study: &study };
    output::print_result(args.sweep.json, &printed, || markdown(&[sheet::summary(&study), sheet::confusion(&study)]))?;
    Ok(exit_code(interrupted))
}

/// Builds the requested grid.
fn plan(args: &GridArgs) -> Result<GridPlan> {
    let mut plan = if args.quick { GridPlan::coarse() } else { GridPlan::full() };
    for (given, values) in [(&args.homophilies, &mut plan.homophilies), (&args.degrees, &mut plan.degrees)] {
        if !given.is_empty() {
            *values = given.clone();
            values.sort_by(f64::total_cmp);
            values.dedup();
        }
    }
    for place in plan.points() {
        place.source(0).parse::<RandomPartition>()?;
    }
    if !args.models.is_empty() {
        let requested = args.models.iter().map(|name| model(name)).collect::<Result<Vec<_>>>()?;
        plan.models.retain(|model| requested.contains(model));
    }
    plan.seeds = args.seeds.unwrap_or(plan.seeds);
    plan.redrawn = args.redrawn;
    Ok(plan)
}

/// Finds a model of the grid by name.
fn model(name: &str) -> Result<ModelKind> {
    GridPlan::MODELS.into_iter().find(|model| model.to_string() == name).ok_or_else(|| {
        let known = nearest_first(name, GridPlan::MODELS.map(|model| model.to_string()).to_vec()).join(", ");
        CliError::usage(format!("--models {name}: expected some of {known}"))
    })
}

/// Trains the missing runs and shows the progress.
fn sweep(plan: &GridPlan, results: &mut ResultsFile, resources: Resources, args: &GridArgs) -> Result<SweepOutcome> {
    let interrupt = Interrupt::listen()?;
    let progress = SweepProgress::new(args.sweep.quiet, plan.runs());
    let outcome = run_grid(plan, results, resources, |event, tally| progress.follow(event, tally, &interrupt));
    progress.status.finish();
    Ok(outcome?)
}

/// Writes all files of the study.
fn write(study: &GridStudy, args: &GridArgs) -> Result<()> {
    let sheets = [sheet::summary(study), sheet::confusion(study), sheet::forms(study), sheet::cells(study)];
    let (gains, recipe) = (figures::gains(study), figures::recipe(study));
    let files = [
        ("table.csv", csv(&sheets[3])),
        ("table.md", markdown(&sheets)),
        ("report.html", page(study, &gains, &recipe, &sheets)),
        ("gains.svg", gains),
        ("recipe.svg", recipe),
    ];
    super::write(&args.out, files, args.sweep.quiet)
}

/// Builds the HTML page.
fn page(study: &GridStudy, gains: &str, recipe: &str, sheets: &[Sheet]) -> String {
    let (complete, graphs) = (study.complete_points(), study.plan.points().len());
    let subtitle = format!(
        "The best form of attention by homophily and degree: {complete} of {graphs} synthetic graphs{}",
        if study.is_coarse() { ", a coarse search" } else { "" }
    );
    let page = Page::new("The synthetic grid", &subtitle)
        .text(METHOD)
        .figure(gains, "Gain over GAT against the average degree, one panel per homophily.")
        .figure(recipe, RECIPE);
    with_tables(page, sheets).html()
}
