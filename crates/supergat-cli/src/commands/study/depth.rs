//! Implementation of `supergat study depth`.

mod figures;
mod progress;

use super::{METRICS_SCHEMA, with_tables};
use crate::args::DepthArgs;
use crate::error::{CliError, Result, exit_code};
use crate::files::probe;
use crate::output;
use crate::process::interrupt::Interrupt;
use crate::status_line::RESUMES;
use crate::sweep::{minutes, resources_or_kind, results};
use progress::DepthProgress;
use serde::Serialize;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use supergat_core::ModelKind;
use supergat_figure::Page;
use supergat_figure::sheet::{Sheet, csv, markdown};
use supergat_select::sweep::ResultsFile;
use supergat_studies::depth::{DepthGraph, DepthOutcome, DepthPlan, DepthStudy, run_depth, sheet};
use supergat_train::Resources;

const METHOD: &str = "\
In every cell (dataset, model, depth), a search with the same number of trials selects settings by the validation metric of \
split 0. The selected settings run on all splits. Comparisons are paired over splits.";

/// Result printed by `--json`.
#[derive(Debug, Serialize)]
struct DepthOutput<'a> {
    schema: u32,
    interrupted: bool,
    folder: String,
    #[serde(flatten)]
    study: &'a DepthStudy,
}

/// Runs the missing cells, and writes tables and figures.
pub fn run(args: &DepthArgs) -> Result<ExitCode> {
    check(args)?;
    let resources = resources_or_kind(&args.sweep, args.table_only)?;
    let plan = plan(args)?;
    probe(&args.out)?;
    let path = args.results.clone().unwrap_or_else(|| args.out.join("results.jsonl"));
    let mut results = results(&path, &args.sweep, &resources, args.table_only)?;
    let mut is_interrupted = false;
    let mut outcome = DepthOutcome::default();
    if !args.table_only {
        let interrupt = Interrupt::listen()?;
        outcome = sweep(&plan, &mut results, resources, args, &interrupt)?;
        is_interrupted = interrupt.requested();
        let DepthOutcome { found, ran, failed, .. } = &outcome;
        let failed = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
        args.sweep.note(&format!("{ran} new cells{failed}, {found} already done: {}", path.display()));
        if outcome.interrupted && !is_interrupted {
            args.sweep.note("the time is over; the same command resumes");
        }
    }
    let study = DepthStudy::new(&plan, &results);
    if study.cells.is_empty() && outcome.failed > 0 {
        return Err(CliError::job(format!("no cell has results; see the errors above and in {}", path.display())));
    }
    write(&study, args)?;
    let folder = args.out.display().to_string();
    let printed = DepthOutput { schema: METRICS_SCHEMA, interrupted: outcome.interrupted, folder, study: &study };
    output::print_result(args.sweep.json, &printed, || markdown(&[sheet::summary(&study), sheet::cells(&study)]))?;
    Ok(exit_code(is_interrupted))
}

/// Refuses models without attention and invalid times.
fn check(args: &DepthArgs) -> Result<()> {
    let is_attention = |model: &&ModelKind| matches!(model, ModelKind::Attention { .. });
    if let Some(model) = args.models.iter().find(|model| !is_attention(model)) {
        return Err(CliError::usage(format!("--models {model}: expected gat and supergat models")));
    }
    minutes(args.minutes).map(drop)
}

/// Builds the requested study.
fn plan(args: &DepthArgs) -> Result<DepthPlan> {
    let graphs = args.datasets.0.iter().map(|source| DepthGraph::new(source));
    Ok(DepthPlan {
        graphs: graphs.collect::<supergat_data::Result<_>>()?,
        depths: args.depths.clone(),
        models: args.models.clone(),
        trials: args.trials as usize,
        splits: args.splits,
        max_epochs: args.max_epochs.map(|epochs| epochs as usize),
    })
}

/// Runs the missing cells and shows the progress.
fn sweep(
    plan: &DepthPlan,
    results: &mut ResultsFile,
    resources: Resources,
    args: &DepthArgs,
    interrupt: &Interrupt,
) -> Result<DepthOutcome> {
    let deadline = args.minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(60.0 * minutes));
    let progress = DepthProgress::new(args.sweep.quiet, plan);
    let outcome = run_depth(plan, results, resources, |event| {
        progress.observe(event);
        if interrupt.requested() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            progress.status.stopping(RESUMES);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    progress.status.finish();
    outcome.map_err(Into::into)
}

/// Writes all files of the study.
fn write(study: &DepthStudy, args: &DepthArgs) -> Result<()> {
    let sheets = [sheet::summary(study), sheet::comparisons(study), sheet::cells(study)];
    let (depth, gains) = (figures::depth(study), figures::gains(study));
    let files = [
        ("table.md", markdown(&sheets)),
        ("comparisons.csv", csv(&sheets[1])),
        ("cells.csv", csv(&sheets[2])),
        ("report.html", page(study, &depth, &gains, &sheets)),
        ("depth.svg", depth),
        ("gains.svg", gains),
    ];
    super::write(&args.out, files, args.sweep.quiet)
}

/// Builds the HTML page.
fn page(study: &DepthStudy, depth: &str, gains: &str, sheets: &[Sheet]) -> String {
    let page = Page::new("Self-supervision and depth", "Does self-supervision help beyond depth, where, and how much?")
        .text(METHOD)
        .figure(
            gains,
            "Mean gain over the same attention without self-supervision, with its 95 % interval over splits.",
        )
        .figure(depth, "Mean test metric over splits, with its 95 % interval.");
    with_tables(page, sheets).section("Command").code(&command(study)).html()
}

/// Returns the command of the study.
fn command(study: &DepthStudy) -> String {
    let DepthPlan { graphs, depths, models, trials, splits, max_epochs } = &study.plan;
    let join = |words: Vec<String>| words.join(",");
    let epochs = max_epochs.map_or_else(String::new, |epochs| format!(" --max-epochs {epochs}"));
    format!(
        "supergat study depth --datasets {} --models {} --depths {} --trials {trials} --splits {splits}{epochs}",
        join(graphs.iter().map(|graph| graph.source.clone()).collect()),
        join(models.iter().map(ToString::to_string).collect()),
        join(depths.iter().map(|depth| depth.name().to_owned()).collect()),
    )
}
