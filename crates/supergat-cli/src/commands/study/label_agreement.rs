//! Implementation of `supergat study label-agreement`.

mod pictures;
mod tables;

use super::{METRICS_SCHEMA, with_tables, write};
use crate::args::LabelAgreementArgs;
use crate::error::{CliError, Result, exit_code};
use crate::files::probe;
use crate::output::{self, SCHEMA};
use crate::sweep;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use supergat::Classifier;
use supergat_figure::Page;
use supergat_figure::sheet::{Sheet, csv, markdown};
use supergat_studies::SeededRuns;
use supergat_studies::agreement::{Agreement, LabelAgreement, Network, Profile, networks, plan};
use supergat_train::Resources;

const TITLE: &str = "Label agreement";
const CAPTION: &str = "Boxes contain the middle half of all nodes and heads; whiskers reach from 5 % to 95 %. A small divergence means \
    that attention goes to neighbours with the same label. Uniform attention is on the right.";

/// Result for a run, printed by `--json`.
#[derive(Debug, Serialize)]
struct RunOutput<'a> {
    schema: u32,
    dataset: &'a str,
    model: String,
    nodes: usize,
    left_out: usize,
    profile: &'a Profile,
    folder: String,
}

/// Result for the paper's models, printed by `--json`.
#[derive(Debug, Serialize)]
struct NetworksOutput<'a> {
    schema: u32,
    networks: &'a [Network],
    interrupted: bool,
    folder: String,
}

/// Measures a run, or trains and measures the paper's models.
pub fn run(args: &LabelAgreementArgs) -> Result<ExitCode> {
    let resources = sweep::resources(&args.sweep)?;
    match (&args.run, &args.datasets) {
        (Some(run), _) => one_run(args, run),
        (None, Some(sources)) => published(args, resources, &sources.0),
        (None, None) => Err(CliError::usage("name a run folder, or --datasets")),
    }
}

/// Measures the model of a run.
fn one_run(args: &LabelAgreementArgs, run: &Path) -> Result<ExitCode> {
    let saved = Classifier::load(run)?;
    if saved.architecture().weights_per_edge() == 0 {
        let model = saved.architecture().model;
        return Err(CliError::usage(format!(
            "{}: {model} has no attention; name a run of a gat, supergat or cgat model",
            run.display()
        )));
    }
    probe(&args.out)?;
    let dataset = saved.training_data()?;
    let agreement = Agreement::of(saved.engine(), &dataset)?;
    let profile = Profile::of(&agreement).ok_or_else(|| {
        CliError::usage(format!("no node of {} has a label, and neighbours with labels, to compare with", dataset.name))
    })?;
    let model = saved.model_name();
    let mut sheet = tables::layers(&[(dataset.name.as_str(), model.as_str(), &profile)]);
    if agreement.left_out > 0 {
        let left_out = output::count(agreement.left_out, "node");
        sheet.notes.push(format!("{left_out} skipped, because the label of the node or of a neighbour is unknown."));
    }
    let svg = pictures::run_figure(&format!("{model} on {}", dataset.name), &model, &profile);
    let page = Page::new(TITLE, &format!("{model} on {}", dataset.name)).figure(&svg, CAPTION);
    let command = format!("supergat study label-agreement {}", run.display());
    let files = [("label-agreement.svg".to_owned(), svg)];
    let printed = RunOutput {
        schema: SCHEMA,
        dataset: &dataset.name,
        model,
        nodes: agreement.nodes,
        left_out: agreement.left_out,
        profile: &profile,
        folder: args.out.display().to_string(),
    };
    finish(args, files, &[sheet], page, &command, &printed)
}

/// Trains and measures the paper's models.
fn published(args: &LabelAgreementArgs, resources: Resources, sources: &[String]) -> Result<ExitCode> {
    let seeds = args.seeds.unwrap_or(1);
    let plans = sources.iter().map(|source| plan(source, seeds));
    let plans: Vec<SeededRuns> = plans.collect::<supergat_data::Result<_>>()?;
    let path = args.out.join("results.jsonl");
    let jobs = plans.iter().flat_map(SeededRuns::jobs).collect();
    let (results, outcome) = sweep::study(&LabelAgreement, jobs, &path, resources, &args.sweep)?;
    let networks: Vec<Network> = plans.iter().flat_map(|plan| networks(plan, &results)).collect();
    if networks.is_empty() && !outcome.interrupted {
        return Err(CliError::job(format!("no model could be measured; see the errors in {}", path.display())));
    }
    let sheets = [tables::closer_form(&networks), tables::all_layers(&networks)];
    let mut page = Page::new(TITLE, "GAT models with GO and DP attention, two and four layers deep");
    let mut files = Vec::new();
    for group in networks.chunk_by(|a, b| a.dataset == b.dataset) {
        let (name, svg) = pictures::dataset_figure(group);
        page = page.section(&group[0].dataset).figure(&svg, CAPTION);
        files.push((name, svg));
    }
    let command = format!("supergat study label-agreement --datasets {} --seeds {seeds}", sources.join(","));
    let (interrupted, folder) = (outcome.interrupted, args.out.display().to_string());
    let printed = NetworksOutput { schema: METRICS_SCHEMA, networks: &networks, interrupted, folder };
    finish(args, files, &sheets, page, &command, &printed)?;
    Ok(exit_code(interrupted))
}

/// Writes all files, with the last table as CSV, and prints `result` as JSON or as the first table.
fn finish(
    args: &LabelAgreementArgs,
    figures: impl IntoIterator<Item = (String, String)>,
    sheets: &[Sheet],
    page: Page,
    command: &str,
    result: &impl Serialize,
) -> Result<ExitCode> {
    let mut files: Vec<(String, String)> = figures.into_iter().collect();
    files.push(("table.md".into(), markdown(sheets)));
    files.extend(sheets.last().map(|sheet| ("table.csv".into(), csv(sheet))));
    files.push(("report.html".into(), with_tables(page, sheets).section("Command").code(command).html()));
    write(&args.out, files, args.sweep.quiet)?;
    output::print_result(args.sweep.json, result, || markdown(&sheets[..1]))
}
