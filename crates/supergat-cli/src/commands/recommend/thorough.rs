//! The answer of `supergat recommend` within minutes.

use crate::args::RecommendArgs;
use crate::commands::recommend::SCHEMA;
use crate::commands::recommend::figures;
use crate::commands::recommend::progress::{ThoroughProgress, summary};
use crate::config::{Resolved, Values};
use crate::error::{CliError, INTERRUPTED, Result};
use crate::files::{self, probe};
use crate::output::{self, BOLD};
use crate::process::fit::{Fit, Place};
use crate::process::interrupt::Interrupt;
use crate::run_folder::folder_name;
use crate::status_line::RESUMES;
use crate::sweep::{minutes, open, resources};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use supergat::{ClassWeight, Dataset, NodeOrderChoice};
use supergat_figure::Page;
use supergat_figure::sheet::{Sheet, csv, markdown};
use supergat_select::recommend::thorough::{
    self, Limit, ThoroughAnswer, ThoroughError, ThoroughOutcome, ThoroughPlan, ThoroughQuestion, sheet,
};
use supergat_select::recommend::{Family, MetricChoice};
use supergat_train::Resources;
use supergat_train::memory;
use toml::Value;

const PLAN: &str = "plan.json";
const BEST: &str = "best.toml";

const METHOD: &str = "\
Every family has the same search: trials with two layers and with deep blocks, in turn, of which those with the better validation metric \
are trained longer. Families that are far behind may end early. The selected settings run on several splits, and the family with the best mean test metric is compared with all others \
in pairs. The answer is the best family, or a simpler one that is hardly worse, or within one standard error of it and not \
significantly worse.";

/// Result printed by `--json`.
#[derive(Debug, Serialize)]
struct ThoroughOutput<'a> {
    schema: u32,
    folder: String,
    /// Configuration of the recommended family.
    config: Option<String>,
    plan: &'a ThoroughPlan,
    #[serde(flatten)]
    answer: &'a ThoroughAnswer,
}

/// Compares the families on a dataset and writes the output folder.
pub fn run(args: &RecommendArgs) -> Result<ExitCode> {
    // A plan that is given may be followed without a time limit.
    let limit = minutes(args.minutes)?.map(Limit::minutes);
    let resources = resources(&args.sweep)?;
    Place::find(resources)?.check_source(&args.dataset)?;
    let options = args.reading.load_options()?;
    let options = supergat::LoadOptions { node_order: NodeOrderChoice::default(), ..options };
    let dataset = Arc::new(supergat_data::load_with(&args.dataset, &options)?);
    let (metric, _) = MetricChoice::new(&dataset, args.metric.as_deref()).map_err(CliError::usage)?;
    let default = || PathBuf::from("recommendations").join(folder_name(&dataset.name, &metric.name(&dataset)));
    let folder = args.out.clone().unwrap_or_else(default);
    let stored = stored(args, &folder, &dataset)?;
    probe(&folder)?;
    // Locks the folder against a second process.
    let mut results = open(&folder.join("results.jsonl"))?;
    results.damage_notes().iter().for_each(|text| args.sweep.note(text));
    let mut plan = match (stored, limit) {
        (Some(plan), _) => plan,
        (None, Some(limit)) => {
            args.sweep.note("measuring the time of every family");
            planned(args, &dataset, resources, limit)?
        }
        (None, None) => unreachable!("there is a time limit or a plan"),
    };
    save(&folder, &plan)?;
    args.sweep.note(&summary(&plan));
    let interrupt = Interrupt::listen()?;
    let progress = ThoroughProgress::new(args.sweep.quiet);
    let outcome = thorough::run(
        &dataset,
        &mut plan,
        &mut results,
        resources,
        limit,
        |plan| save(&folder, plan).map_err(|error| ThoroughError::Input(error.message)),
        |event| {
            progress.observe(&event);
            progress.status.flow(&interrupt, RESUMES)
        },
    );
    progress.status.finish();
    let ThoroughOutcome { interrupted, ran } = outcome?;
    args.sweep.note(&format!("{} in this call: {}", output::count(ran, "run"), folder.join("results.jsonl").display()));
    if interrupted {
        return Ok(INTERRUPTED.into());
    }
    let found = ThoroughAnswer::new(&plan, &results);
    write(&found, &plan, &dataset, args, &folder)?;
    let config = found.winner().map(|_| folder.join(BEST).display().to_string());
    let printed =
        ThoroughOutput { schema: SCHEMA, folder: folder.display().to_string(), config, plan: &plan, answer: &found };
    output::print_result(args.sweep.json, &printed, || {
        let again = |config| format!("\nTo train it: supergat train --config {config}\n");
        let again = printed.config.as_ref().map_or_else(String::new, again);
        let tables = markdown(&[sheet::families(&found), sheet::comparisons(&found)]);
        format!("{BOLD}{}{BOLD:#}\n\n{tables}{again}", found.answer)
    })?;
    if found.families.is_empty() {
        return Err(CliError::job(format!("no family has results; {}", found.notes.join(" "))));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the plan of the folder, or the one that is given; `None` if there is neither. Refuses plans for something else
/// than the requested comparison.
fn stored(args: &RecommendArgs, folder: &Path, dataset: &Dataset) -> Result<Option<ThoroughPlan>> {
    let read = |path: &Path| -> Result<ThoroughPlan> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))?;
        let plan = ThoroughPlan::from_json(&text).map_err(|reason| CliError::usage(reason).at(path.display()))?;
        plan.check(dataset).map_err(|error| CliError::from(error).at(path.display()))?;
        Ok(plan)
    };
    let given = args.plan.as_deref().map(read).transpose()?;
    let own = folder.join(PLAN);
    let own = own.exists().then(|| read(&own)).transpose()?;
    let has_own = own.is_some();
    let differs = |what: &str| {
        CliError::usage(match &args.plan {
            Some(plan) if !has_own => format!("{} has another {what}: leave out the option", plan.display()),
            _ => format!("{} has a comparison with another {what}: name another folder with --out", folder.display()),
        })
    };
    if let (Some(given), Some(own)) = (&given, &own) {
        let planned = |plan: &ThoroughPlan| (plan.splits.clone(), plan.seconds, plan.metric.clone(), plan.seed);
        // Rungs change when they are settled.
        let differ = given.spent.is_some() == own.spent.is_some() && given.rungs != own.rungs;
        if differ || planned(given) != planned(own) {
            return Err(differs("plan"));
        }
    }
    let Some(plan) = own.or(given) else { return Ok(None) };
    let known: Vec<Family> =
        plan.families.iter().map(|of| of.family).chain(plan.left_out.iter().map(|left| left.family)).collect();
    if args.metric.as_ref().is_some_and(|metric| *metric != plan.metric) {
        return Err(differs("metric"));
    }
    if args.seed.is_some_and(|seed| seed != plan.seed) {
        return Err(differs("seed"));
    }
    if args.plan.is_none() && args.minutes.is_some_and(|minutes| (minutes - plan.minutes).abs() > 1e-9 * minutes) {
        return Err(differs(&format!("time, {} minutes", plan.minutes)));
    }
    if args.keep_split && plan.splits.iter().any(|split| split.hash != plan.splits[0].hash) {
        return Err(differs("choice of splits"));
    }
    let is_other = known.iter().any(|family| !args.families.contains(family))
        || args.families.iter().any(|family| !known.contains(family));
    if !args.families.is_empty() && is_other {
        return Err(differs("list of families"));
    }
    Ok(Some(plan))
}

/// Measures the families and makes a plan. Families whose largest trial does not fit into memory are left out.
fn planned(args: &RecommendArgs, dataset: &Dataset, resources: Resources, limit: Limit) -> Result<ThoroughPlan> {
    let all = args.families.is_empty();
    let question = ThoroughQuestion {
        families: if all { Family::within_minutes().collect() } else { args.families.clone() },
        metric: args.metric.clone(),
        seed: args.seed.unwrap_or(0),
        keep_split: args.keep_split,
        memory: memory::free().filter(|_| resources.kind().is_cpu()),
    };
    let mut plan = thorough::plan(dataset, &question, resources, limit)?;
    let place = Place::find(resources)?;
    let (seeds, seed) = (resources.threads as u64, plan.seed);
    let fits = |settings: supergat::Settings| {
        let resolved = Resolved { seeds, ..resolved(args, settings, Values::new(), seed) };
        Fit::of(dataset, &resolved, &place, 0, None, false).and_then(|fit| fit.check())
    };
    let families: Vec<Family> = plan.families.iter().map(|of| of.family).collect();
    for family in families {
        let Some(settings) = plan.largest(family) else { continue };
        if let Err(error) = fits(settings) {
            plan.leave_out(family, error.message);
        }
    }
    plan.limit_trials(|settings| fits(*settings).is_ok());
    Ok(plan)
}

fn save(folder: &Path, plan: &ThoroughPlan) -> Result<()> {
    files::write(folder, [(PLAN, plan.to_json())])
}

/// Returns a run with some settings on the dataset.
fn resolved(args: &RecommendArgs, settings: supergat::Settings, decisions: Values, seed: u64) -> Resolved {
    Resolved {
        dataset: args.dataset.clone(),
        split: args.reading.split,
        all_splits: false,
        seed,
        seeds: 1,
        settings,
        reading: args.reading.values().clone(),
        decisions,
    }
}

/// Writes all files of the comparison.
fn write(
    found: &ThoroughAnswer,
    plan: &ThoroughPlan,
    dataset: &Dataset,
    args: &RecommendArgs,
    folder: &Path,
) -> Result<()> {
    let sheets = [sheet::families(found), sheet::comparisons(found)];
    let (families, differences) = (figures::families(found), figures::differences(found));
    let mut files = vec![
        ("table.md", format!("{}\n\n{}", found.answer, markdown(&sheets))),
        ("families.csv", csv(&sheets[0])),
        ("comparisons.csv", csv(&sheets[1])),
        ("report.html", page(found, args, &families, &differences, &sheets)),
        ("families.svg", families),
        ("differences.svg", differences),
    ];
    if let Some(winner) = found.winner() {
        let mut decisions = Values::new();
        if winner.balanced {
            decisions.insert("class_weight", Value::String(ClassWeight::Balanced.to_string()));
        }
        if plan.class_weights && dataset.classes() == 2 {
            // Classes are rare: the usual threshold would find few of them.
            decisions.insert("threshold", Value::String("f1".into()));
        }
        if let Some(class) = winner.settings.positive.and_then(|class| dataset.class_names.get(class)) {
            decisions.insert("positive", Value::String(class.clone()));
        }
        files.push((BEST, resolved(args, winner.settings, decisions, plan.seed).to_toml()));
    }
    files::write(folder, files)?;
    args.sweep.note(&format!("wrote {}", folder.join("report.html").display()));
    Ok(())
}

/// Builds the HTML page.
fn page(found: &ThoroughAnswer, args: &RecommendArgs, families: &str, differences: &str, sheets: &[Sheet]) -> String {
    let title = format!("Which model for {}?", found.dataset);
    let mut page = Page::new(title, "supergat recommend").text(&found.answer);
    if !found.families.is_empty() {
        page = page.figure(families, "Mean test metric of every family over splits, with its 95 % interval.");
    }
    if !found.comparisons.is_empty() {
        page = page.figure(differences, "Mean difference of the best family to all others, with its 95 % interval.");
    }
    page = sheets.iter().fold(page, |page, sheet| sheet.add_to(page));
    let command = format!("supergat recommend {} --plan {PLAN}", args.dataset);
    page.section("Method").text(METHOD).section("Command").code(&command).html()
}
