//! Implementation of `supergat study defaults`.

use super::{METRICS_SCHEMA, with_tables, write};
use crate::args::DefaultsArgs;
use crate::error::{CliError, Result, exit_code};
use crate::files::probe;
use crate::output;
use crate::sweep;
use serde::Serialize;
use std::process::ExitCode;
use supergat_figure::sheet::{Sheet, csv, markdown};
use supergat_figure::{Axis, Page, Plot, panels};
use supergat_numerics::statistics::Interval;
use supergat_select::sweep::SweepOutcome;
use supergat_studies::defaults::{
    CANDIDATES, DefaultsPlan, DefaultsStudy, DefaultsTask, FAMILIES, RecommendTask, Rule, StudyGraph, sheet,
};
use supergat_train::task::Task;

const METHOD: &str = "\
Every graph is trained with every family of models and a few candidates for its default settings, on several splits. Defaults, and \
rules that name a family, are judged on a graph that was left out when they were chosen.";

/// Largest regret of the figure, in percentage points.
const MOST: f64 = 30.0;
/// Height of a figure.
const HEIGHT: f64 = 260.0;
/// Height of the figure of regrets, whose axis has long names.
const REGRETS_HEIGHT: f64 = 460.0;

/// Result printed by `--json`.
#[derive(Debug, Serialize)]
struct DefaultsOutput<'a> {
    schema: u32,
    interrupted: bool,
    folder: String,
    #[serde(flatten)]
    study: &'a DefaultsStudy,
}

/// Trains the missing runs, and writes tables and figures.
pub fn run(args: &DefaultsArgs) -> Result<ExitCode> {
    // The threads start before a dataset is read.
    let resources = sweep::resources_or_kind(&args.sweep, args.table_only)?;
    if !resources.kind().is_cpu() {
        return Err(CliError::usage("study defaults runs on the CPU, like label propagation and trees"));
    }
    let plan = plan(args)?;
    let path = args.out.join("results.jsonl");
    let (results, outcome) = match args.table_only {
        true => {
            probe(&args.out)?;
            (sweep::results(&path, &args.sweep, &resources, true)?, SweepOutcome::default())
        }
        false => {
            let recommend = RecommendTask::of(&plan);
            let mut tasks: Vec<(&dyn Task, Vec<_>)> = vec![(&DefaultsTask, plan.jobs())];
            tasks.extend(recommend.iter().map(|task| (task as &dyn Task, task.jobs(&plan))));
            sweep::study_of_tasks(tasks, &path, resources, &args.sweep)?
        }
    };
    let study = DefaultsStudy::new(&plan, &results);
    if study.graphs.is_empty() && !outcome.interrupted {
        return Err(CliError::job(format!("no graph has all its results; see the errors in {}", path.display())));
    }
    let sheets = [sheet::rules, sheet::defaults, sheet::costs, sheet::graphs, sheet::gains].map(|of| of(&study));
    let recipe = sheet::recipe(&study);
    let (regrets, gains) = (regrets(&study), gains(&study));
    let names = ["rules.csv", "defaults.csv", "costs.csv", "graphs.csv", "gains.csv"];
    let mut files: Vec<(&str, String)> =
        names.into_iter().zip(&sheets).map(|(name, sheet)| (name, csv(sheet))).collect();
    files.push(("table.md", format!("{}\n## Recipe\n\n```text\n{recipe}```\n", markdown(&sheets))));
    files.push(("report.html", page(&regrets, &gains, &recipe, &sheets, args.splits)));
    files.extend([("regrets.svg", regrets), ("gains.svg", gains), ("recipe.txt", recipe.clone())]);
    write(&args.out, files, args.sweep.quiet)?;
    let (folder, interrupted) = (args.out.display().to_string(), outcome.interrupted);
    let printed = DefaultsOutput { schema: METRICS_SCHEMA, interrupted, folder, study: &study };
    output::print_result(args.sweep.json, &printed, || format!("{}\n{recipe}", markdown(&sheets[..2])))?;
    Ok(exit_code(interrupted))
}

/// Returns the requested study.
fn plan(args: &DefaultsArgs) -> Result<DefaultsPlan> {
    known("families", &args.families, &FAMILIES)?;
    known("candidates", &args.candidates, &CANDIDATES.map(|candidate| candidate.name))?;
    let is_wanted =
        |graph: &StudyGraph| args.only.is_empty() || args.only.iter().any(|word| graph.name().contains(word.as_str()));
    let graphs = match &args.datasets {
        Some(sources) => {
            let shares = args.shares.to_string();
            sources.0.iter().map(|source| StudyGraph::read(source, &shares)).collect::<std::result::Result<_, _>>()?
        }
        None => StudyGraph::all(),
    };
    let graphs: Vec<StudyGraph> = graphs.into_iter().filter(is_wanted).collect();
    if graphs.is_empty() {
        return Err(CliError::usage(format!("--only {}: no graph of the study has such a name", args.only.join(","))));
    }
    let mut plan = DefaultsPlan { seconds: args.seconds, ..DefaultsPlan::new(graphs, args.splits) };
    // Traits of the graphs are measured with label propagation.
    let is_kept = |name: &String| args.families.is_empty() || name == FAMILIES[0] || args.families.contains(name);
    plan.families.retain(is_kept);
    plan.candidates.retain(|name| args.candidates.is_empty() || args.candidates.contains(name));
    Ok(plan)
}

/// Checks that an option names known things.
fn known(option: &str, names: &[String], all: &[&str]) -> Result<()> {
    match names.iter().find(|name| !all.contains(&name.as_str())) {
        Some(unknown) => Err(CliError::usage(format!("--{option} {unknown}: expected some of {}", all.join(", ")))),
        None => Ok(()),
    }
}

/// Plots the regrets of the rules, one mark per graph.
fn regrets(study: &DefaultsStudy) -> String {
    let name = |rule: &Rule| match rule {
        Rule::Measured => "validation".to_owned(),
        Rule::Recommended => "recommend".to_owned(),
        Rule::Recipe => "recipe".to_owned(),
        Rule::Always(family) => family.replace("mlp-correct-and-smooth", "mlp-c&s"),
    };
    let x = Axis::categories("", study.rules.iter().map(|result| name(&result.rule)));
    let y = Axis::linear("regret (points)");
    let dots: Vec<[f64; 2]> = study
        .rules
        .iter()
        .enumerate()
        .flat_map(|(place, result)| {
            let count = result.regrets.len().max(2) as f64 - 1.0;
            let beside = move |k: usize| place as f64 + 0.5 * (k as f64 / count - 0.5);
            result.regrets.iter().enumerate().map(move |(k, regret)| [beside(k), (100.0 * regret).min(MOST)])
        })
        .collect();
    let title = format!("Regret of every rule on every graph, {MOST} at most");
    panels("Regret of the rules", 1, &[Plot::new(title, x, y).height(REGRETS_HEIGHT).dots("graph", &dots)])
}

/// Plots what self-supervision adds on every graph, against the homophily.
fn gains(study: &DefaultsStudy) -> String {
    let points: Vec<(f64, f64, Option<[f64; 2]>)> = study
        .gains
        .iter()
        .zip(&study.graphs)
        .map(|(gain, result)| {
            let interval = gain.interval.map(Interval::in_percent);
            (result.traits[2], 100.0 * gain.difference, interval.map(|found| [found.low, found.high]))
        })
        .collect();
    let intervals: Vec<[f64; 3]> =
        points.iter().filter_map(|(x, _, interval)| interval.map(|[low, high]| [*x, low, high])).collect();
    let dots: Vec<[f64; 2]> = points.iter().map(|(x, mean, _)| [*x, *mean]).collect();
    let plot = Plot::new("supergat-mx - gat-mx", Axis::linear("node homophily"), Axis::linear("gain (points)"));
    let plot = plot.height(HEIGHT).intervals("graph", &intervals).dots("graph", &dots).mark_y(0.0, "");
    panels("What self-supervision adds", 1, &[plot])
}

/// Builds the HTML page.
fn page(regrets: &str, gains: &str, recipe: &str, sheets: &[Sheet], splits: u64) -> String {
    let page = Page::new("Defaults and rules", "Which settings and which model for a new graph?")
        .text(METHOD)
        .figure(regrets, "Test metric of the best family minus that of the named one.")
        .figure(gains, "Mean gain over the same attention without self-supervision, with its 95 % interval.");
    with_tables(page, sheets)
        .section("Recipe")
        .code(recipe)
        .section("Command")
        .code(&format!("supergat study defaults --splits {splits}"))
        .html()
}
