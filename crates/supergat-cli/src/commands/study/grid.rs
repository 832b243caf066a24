//! `supergat study grid`

mod figures;

use crate::args::GridArgs;
use crate::config::keys::nearest_first;
use crate::error::{CliError, INTERRUPTED, Result};
use crate::files::probe;
use crate::output::{self, SCHEMA};
use crate::process::interrupt::Interrupt;
use crate::process::threads;
use crate::sweep::progress::SweepProgress;
use crate::sweep::{open, told};
use serde::Serialize;
use std::process::ExitCode;
use supergat_core::ModelKind;
use supergat_data::RandomPartition;
use supergat_figure::Page;
use supergat_lab::grid::{Plan, Study, run_grid, sheet};
use supergat_lab::sheet::{Sheet, csv, markdown};
use supergat_lab::sweep::{Report, ResultsFile};

const EXPLAINED: &str = "\
Every graph is a random partition graph of 10 classes of 500 nodes, drawn once. On each, one run of every setting \
chooses by validation accuracy, and several seeds of the choice are the result; seeds change the training, never the \
graph.";

const RECIPE: &str = "\
The best form of attention; the side of a square grows with the root of the gain over GAT. Dots are real graphs in the \
colour of their best form in the paper.";

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Printed<'a> {
    schema: u32,
    coarse: bool,
    interrupted: bool,
    folder: String,
    #[serde(flatten)]
    study: &'a Study,
}

/// Runs what is missing, and writes tables and figures.
pub fn run(args: &GridArgs) -> Result<ExitCode> {
    let plan = plan(args)?;
    probe(&args.out)?;
    let place = args.results.clone().unwrap_or_else(|| args.out.join("results.jsonl"));
    let mut results = if args.table_only { ResultsFile::read(&place)? } else { open(&place)? };
    let note = |text: &str| {
        if !args.sweep.quiet {
            output::note(text)
        }
    };
    results.damage_notes().iter().for_each(|text| note(text));
    let mut interrupted = false;
    if !args.table_only {
        let report = sweep(&plan, &mut results, args)?;
        interrupted = report.interrupted;
        note(&told(&report, &place));
    }
    let study = Study::new(&plan, &results);
    write(&study, args)?;
    if args.sweep.json {
        let folder = args.out.display().to_string();
        output::print_json(&Printed { schema: SCHEMA, coarse: study.is_coarse(), interrupted, folder, study: &study })?;
    } else {
        output::print(&markdown(&[sheet::summary(&study), sheet::confusion(&study)]))?;
    }
    Ok(if interrupted { INTERRUPTED.into() } else { ExitCode::SUCCESS })
}

/// The grid that is asked for.
fn plan(args: &GridArgs) -> Result<Plan> {
    let mut plan = if args.quick { Plan::coarse() } else { Plan::full() };
    for (given, into) in [(&args.homophilies, &mut plan.homophilies), (&args.degrees, &mut plan.degrees)] {
        if !given.is_empty() {
            *into = given.clone();
            into.sort_by(f64::total_cmp);
            into.dedup();
        }
    }
    for place in plan.places() {
        place.source(0).parse::<RandomPartition>()?;
    }
    if !args.models.is_empty() {
        let wanted = args.models.iter().map(|name| model(name)).collect::<Result<Vec<_>>>()?;
        plan.models.retain(|model| wanted.contains(model));
    }
    plan.seeds = args.seeds.unwrap_or(plan.seeds);
    plan.redrawn = args.redrawn;
    Ok(plan)
}

fn model(name: &str) -> Result<ModelKind> {
    Plan::MODELS.into_iter().find(|model| model.to_string() == name).ok_or_else(|| {
        let known = nearest_first(name, Plan::MODELS.map(|model| model.to_string()).to_vec()).join(", ");
        CliError::usage(format!("--models {name}: expected some of {known}"))
    })
}

fn sweep(plan: &Plan, results: &mut ResultsFile, args: &GridArgs) -> Result<Report> {
    let threads = threads(args.sweep.threads)?;
    let interrupt = Interrupt::listen()?;
    let progress = SweepProgress::new(args.sweep.quiet, plan.runs());
    let report = run_grid(plan, results, threads, |event, tally| progress.follow(event, tally, &interrupt));
    progress.finish();
    Ok(report?)
}

fn write(study: &Study, args: &GridArgs) -> Result<()> {
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

/// Everything on one page.
fn page(study: &Study, gains: &str, recipe: &str, sheets: &[Sheet]) -> String {
    let (whole, graphs) = (study.whole_cells(), study.plan.places().len());
    let subtitle = format!(
        "Which form of attention suits which graph: {whole} of {graphs} synthetic graphs{}",
        if study.is_coarse() { ", a coarse search" } else { "" }
    );
    let mut page = Page::new("The synthetic grid", &subtitle)
        .text(EXPLAINED)
        .figure(gains, "Gain over GAT against the average degree, a panel for each homophily.")
        .figure(recipe, RECIPE);
    for sheet in sheets {
        page = sheet.shown_on(page);
    }
    page.html()
}
