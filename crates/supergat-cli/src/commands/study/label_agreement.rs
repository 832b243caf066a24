//! `supergat study label-agreement`

mod pictures;
mod tables;

use super::write;
use crate::args::LabelAgreementArgs;
use crate::error::{CliError, INTERRUPTED, Result};
use crate::files::probe;
use crate::output::{self, SCHEMA};
use crate::process::threads;
use crate::run_folder::saved_model::SavedModel;
use crate::sweep;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use supergat_figure::Page;
use supergat_lab::agreement::{Agreement, LabelAgreement, Network, Plan, Profile};
use supergat_lab::sheet::{Sheet, csv, markdown};

const TITLE: &str = "Label agreement";
const CAPTION: &str = "Boxes hold the middle half of all nodes and heads, whiskers reach from 5 % to 95 %. Smaller divergence: \
    attention goes to neighbours of the same label. Uniform attention stands at the right.";

/// What `--json` prints of a run.
#[derive(Debug, Serialize)]
struct OfRun<'a> {
    schema: u32,
    dataset: &'a str,
    model: String,
    nodes: usize,
    left_out: usize,
    profile: &'a Profile,
    folder: String,
}

/// What `--json` prints of the paper's networks.
#[derive(Debug, Serialize)]
struct OfNetworks<'a> {
    schema: u32,
    networks: &'a [Network],
    interrupted: bool,
    folder: String,
}

/// Measures a run, or trains and measures the paper's networks.
pub fn run(args: &LabelAgreementArgs) -> Result<ExitCode> {
    match (&args.run, &args.datasets) {
        (Some(run), _) => one_run(args, run),
        (None, Some(sources)) => published(args, &sources.0),
        (None, None) => Err(CliError::usage("name a run folder, or --datasets")),
    }
}

fn one_run(args: &LabelAgreementArgs, run: &Path) -> Result<ExitCode> {
    let saved = SavedModel::open(run)?;
    if saved.model.architecture().model.form().is_none() {
        let model = saved.model.architecture().model;
        return Err(CliError::usage(format!(
            "{}: {model} has no attention; name a run of a gat, supergat or cgat model",
            run.display()
        )));
    }
    probe(&args.out)?;
    threads(args.sweep.threads)?;
    let dataset = saved.dataset(None, None, &Default::default())?;
    let agreement = Agreement::of(&saved.model, &dataset)?;
    let profile = Profile::of(&agreement).ok_or_else(|| {
        CliError::usage(format!("no node of {} has a label, and neighbours with labels, to compare with", dataset.name))
    })?;
    let model = saved.model.architecture().model.to_string();
    let mut sheet = tables::layers(&[(dataset.name.as_str(), model.as_str(), &profile)]);
    if agreement.left_out > 0 {
        let left_out = output::count(agreement.left_out, "node");
        sheet.notes.push(format!("{left_out} left out, whose label or a neighbour's is unknown."));
    }
    let svg = pictures::of_run(&format!("{model} on {}", dataset.name), &model, &profile);
    let page = Page::new(TITLE, &format!("{model} on {}", dataset.name)).figure(&svg, CAPTION);
    let command = format!("supergat study label-agreement {}", run.display());
    let files = [("label-agreement.svg".to_owned(), svg)];
    finish(args, files, &[sheet], page, &command)?;
    if args.sweep.json {
        output::print_json(&OfRun {
            schema: SCHEMA,
            dataset: &dataset.name,
            model,
            nodes: agreement.nodes,
            left_out: agreement.left_out,
            profile: &profile,
            folder: args.out.display().to_string(),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn published(args: &LabelAgreementArgs, sources: &[String]) -> Result<ExitCode> {
    let seeds = args.seeds.unwrap_or(1);
    let plans = sources.iter().map(|source| Plan::new(source, seeds));
    let plans: Vec<Plan> = plans.collect::<supergat_data::Result<_>>()?;
    let place = args.out.join("results.jsonl");
    let jobs = plans.iter().flat_map(Plan::jobs).collect();
    let (results, report) = sweep::study(&LabelAgreement, jobs, &place, args.sweep.threads, args.sweep.quiet)?;
    let networks: Vec<Network> = plans.iter().flat_map(|plan| plan.networks(&results)).collect();
    if networks.is_empty() && !report.interrupted {
        return Err(CliError::job(format!("no network could be measured: {} says why", place.display())));
    }
    let sheets = [tables::nearer(&networks), tables::of_networks(&networks)];
    let mut page = Page::new(TITLE, "GAT with GO and DP attention, two and four layers deep");
    let mut files = Vec::new();
    for of_dataset in networks.chunk_by(|a, b| a.dataset == b.dataset) {
        let (name, svg) = pictures::of_dataset(of_dataset);
        page = page.section(&of_dataset[0].dataset).figure(&svg, CAPTION);
        files.push((name, svg));
    }
    let command = format!("supergat study label-agreement --datasets {} --seeds {seeds}", sources.join(","));
    finish(args, files, &sheets, page, &command)?;
    if args.sweep.json {
        let (interrupted, folder) = (report.interrupted, args.out.display().to_string());
        output::print_json(&OfNetworks { schema: SCHEMA, networks: &networks, interrupted, folder })?;
    }
    Ok(if report.interrupted { INTERRUPTED.into() } else { ExitCode::SUCCESS })
}

/// Writes all files, the last table as CSV, and prints the first one unless JSON is wanted.
fn finish(
    args: &LabelAgreementArgs,
    figures: impl IntoIterator<Item = (String, String)>,
    sheets: &[Sheet],
    mut page: Page,
    command: &str,
) -> Result<()> {
    for sheet in sheets {
        page = sheet.shown_on(page);
    }
    let mut files: Vec<(String, String)> = figures.into_iter().collect();
    files.push(("table.md".into(), markdown(sheets)));
    files.extend(sheets.last().map(|sheet| ("table.csv".into(), csv(sheet))));
    files.push(("report.html".into(), page.section("Command").code(command).html()));
    write(&args.out, files, args.sweep.quiet)?;
    if args.sweep.json { Ok(()) } else { output::print(&markdown(&sheets[..1])) }
}
