//! Implementation of `supergat tune`.

mod folder;
mod picture;
mod progress;

use crate::args::TuneArgs;
use crate::commands::recommend;
use crate::config::keys::{NODE_ORDER, nearest_first};
use crate::config::{Choices, Resolved};
use crate::error::{CliError, Result, exit_code};
use crate::output;
use crate::process::fit::{Fit, Place};
use crate::process::interrupt::Interrupt;
use crate::process::resources;
use crate::run_folder::folder_name;
use crate::status_line::RESUMES;
use crate::sweep;
use folder::TuneFolder;
use progress::TuneProgress;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use supergat_core::ModelKind;
use supergat_select::tune::{Budget, FINALISTS, Space, Tuning, tune};
use supergat_train::{Resources, metric_of};
use toml::Value;

/// Default number of seeds per trial, as in the paper.
const SEEDS: i64 = 3;
/// Default number of trials.
const TRIALS: usize = 40;

/// Searches for hyperparameters and writes the output folder.
pub fn run(args: TuneArgs) -> Result<ExitCode> {
    let mut options = args.options.0;
    options.entry("seeds").or_insert(Value::Integer(SEEDS));
    let ranges = ranges(&args.search)?;
    let mut choices = Choices::new(options, args.config.as_deref())?;
    if let Some(model) = first_model(&ranges).filter(|_| !choices.names_model()) {
        choices = choices.with_model(model);
    }
    choices.refuse_all_splits()?;
    check_also(&args.also)?;
    let budget = budget(args.trials, args.minutes)?;
    let resources = resources(args.sweep.threads, args.sweep.device, args.sweep.quiet)?;
    choices.check_device(&resources)?;
    resources.check()?;
    let place = Place::find(resources)?;
    place.check_source(choices.dataset())?;
    let load_options = choices.load_options()?;
    let resources = Resources { node_order: load_options.node_order, ..resources };
    let mut dataset = supergat_data::load_with(choices.dataset(), &load_options)?;
    dataset.weigh_classes(&choices.class_weight())?;
    let choice = recommend::choose(&choices, &dataset, resources, args.choose_seconds, args.sweep.quiet)?;
    let resolved = choices.resolve(&choice)?;
    let names: Vec<&str> = resolved.reading.keys().copied().filter(|name| *name != NODE_ORDER).collect();
    if !names.is_empty() {
        return Err(CliError::usage(format!(
            "tune does not read {}: convert the dataset with these options first, then tune the file: supergat convert {} FILE.safetensors",
            names.join(", "),
            resolved.dataset
        )));
    }
    let settings = resolved.settings;
    settings.check(&dataset)?;
    let space = Space::with(settings.model, &args.also, &ranges)?;
    // The largest network of the space must fit as well.
    let largest = Resolved { settings: space.largest(&settings), ..resolved.clone() };
    Fit::of(&dataset, &largest, &place, 0, None, false)?.check()?;
    let default = || PathBuf::from("tune").join(folder_name(&dataset.name, &settings.model.to_string()));
    let folder = TuneFolder::open(
        args.out.clone().unwrap_or_else(default),
        metric_of(&dataset, &choice.settings).name(),
        &space,
        args.prune,
    )?;
    let mut opening = choice.recommendation.as_ref().map(recommend::opening).unwrap_or_default();
    opening.push(format!("starting from: {}", choices.origin(&choice, &dataset)));
    opening.extend(output::node_order(&dataset));
    // Each run loads the dataset itself.
    drop(dataset);
    let tuning = Tuning {
        source: resolved.dataset.clone(),
        split: resolved.split,
        class_weight: choices.class_weight(),
        base: settings,
        space,
        seed: resolved.seed,
        seeds: resolved.seeds,
        budget,
        pruning: args.prune,
        finalists: FINALISTS,
        row_normalise: false,
        resources,
    };
    search(&tuning, &resolved, folder, &opening, args.sweep.quiet, args.sweep.json)
}

/// Runs the search, writes its files and prints the summary.
fn search(
    tuning: &Tuning,
    resolved: &Resolved,
    mut folder: TuneFolder,
    opening: &[String],
    quiet: bool,
    json: bool,
) -> Result<ExitCode> {
    let interrupt = Interrupt::listen()?;
    let progress = TuneProgress::new(quiet, tuning);
    opening.iter().for_each(|text| progress.status.line(text));
    folder.results().damage_notes().iter().for_each(|text| progress.status.line(text));
    let tuned = tune(tuning, folder.results(), |event| {
        progress.observe(event);
        progress.status.flow(&interrupt, RESUMES)
    });
    progress.status.finish();
    let tuned = tuned?;
    let summary = folder.write(&tuned, resolved)?;
    output::print_result(json, &summary, || summary.table())?;
    Ok(exit_code(tuned.interrupted))
}

/// Returns the budget of the search, from `--trials` or `--minutes`.
fn budget(trials: Option<u32>, minutes: Option<f64>) -> Result<Budget> {
    Ok(match sweep::minutes(minutes)? {
        None => Budget::Trials(trials.map_or(TRIALS, |trials| trials as usize)),
        Some(minutes) => Budget::Time(Duration::from_secs_f64(60.0 * minutes)),
    })
}

/// Splits the values of `--search`, such as `layers=2..8`.
fn ranges(given: &[String]) -> Result<Vec<(String, String)>> {
    let range = |text: &String| match text.split_once('=') {
        Some((name, values)) => Ok((name.replace('-', "_"), values.to_owned())),
        None => Err(CliError::usage(format!(
            "--search {text}: expected NAME=VALUES, such as layers=2..8 or norm=layer,batch"
        ))),
    };
    given.iter().map(range).collect()
}

/// Returns the first model of `--search model=A,B`: the search starts from it if no model is named. Wrong names are
/// reported with the other values.
fn first_model(ranges: &[(String, String)]) -> Option<ModelKind> {
    let (_, models) = ranges.iter().find(|(name, _)| name == "model")?;
    models.split(',').next()?.trim().parse().ok()
}

/// Checks the names given to `--also`.
fn check_also(names: &[String]) -> Result<()> {
    let known: Vec<String> = Space::on_request().into_iter().map(str::to_owned).collect();
    match names.iter().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let known = nearest_first(name, known).join(", ");
            Err(CliError::usage(format!(
                "--also {name}: expected some of {known}; the other hyperparameters are always searched"
            )))
        }
    }
}
