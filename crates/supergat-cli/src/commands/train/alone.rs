//! Training by one process, which other processes may help with runs of their own.

use super::progress::{GPU_NOTE, Progress, STOPPING, has_gpu};
use super::results::{Results, report_checkpoint};
use super::resume::{self, Resumed};
use super::start::{AttentionTable, abandoned_note, checkpoints, first_lines, run_folder};
use crate::args::TrainArgs;
use crate::commands::recommend;
use crate::config::{Choices, Resolved};
use crate::error::{CliError, Result};
use crate::output;
use crate::process::fit::{Fit, Place};
use crate::process::interrupt::Interrupt;
use crate::process::resources;
use crate::run_folder::checkpoint::CheckpointFolder;
use crate::run_folder::folder::RunFolder;
use std::process::ExitCode;
use supergat::{Choice, Classifier, Dataset, Observation, Training};
use supergat_train::{Checkpoints, Interval, Resources, metric_of};

/// Number of edges from which on a GPU is worth a note.
const MANY_EDGES: usize = 1_000_000;

/// Trains a model. `resumed` and `saved` are the training to resume, if any; `processes` is the number of processes that
/// train its runs.
pub fn run(
    args: &TrainArgs,
    choices: &Choices,
    resumed: Option<&Resumed>,
    saved: Option<CheckpointFolder>,
    processes: usize,
) -> Result<ExitCode> {
    if let (Some(out), None, false) = (&args.out, &saved, args.print_config || args.estimate) {
        // Before models are compared, which may take long.
        RunFolder::check_name(out)?;
    }
    let place = place(args, choices)?;
    let resources = place.resources;
    let splits = load(choices).map_err(|error| match resumed {
        Some(resumed) => resumed.explained(error),
        None => error,
    })?;
    let dataset = &splits[0];
    let choice = recommend::choose(choices, dataset, resources, args.choose_seconds, args.sweep.quiet)?;
    let resolved = resolve(choices, &choice, &splits)?;
    check(args, choices, &resolved, dataset, processes)?;
    if args.print_config {
        output::to_stdout(|out| out.write_all(resolved.to_toml().as_bytes()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let attention = AttentionTable::new(edges(dataset), &resolved.settings.architecture(dataset), args.attention);
    let exact = args.estimate || args.max_memory.is_some();
    let fit = Fit::of(dataset, &resolved, &place, attention.rows, args.max_memory, exact)?;
    if args.estimate {
        return output::print_result(args.sweep.json, &fit, || fit.table());
    }
    fit.check()?;

    let folder = run_folder(args, saved, dataset, &resolved)?;
    let interrupt = Interrupt::listen()?;
    let mut opening = first_lines(choices, &choice, dataset);
    opening.extend((processes > 1).then(|| format!("{processes} processes train runs of their own")));
    opening.extend(attention.note);
    opening.extend(abandoned_note(&folder).filter(|_| resumed.is_none()));
    let progress = progress(args, &resolved, &splits, opening);
    let plan = resume::plan(args, &resolved, resources);
    let checkpoints = checkpoints(args, resumed, Some(&folder), &plan, &progress)?;
    let training = train(&splits, &choice, &resolved, resources, &checkpoints, &progress, &interrupt);
    let training = training.inspect_err(|error| report_checkpoint(&checkpoints, error, args.sweep.quiet))?;

    let best = if resolved.all_splits { (training.runs[training.best].seed - resolved.seed) as usize } else { 0 };
    let (dataset, attention, seconds) = (&splits[best], attention.rows > 0, checkpoints.seconds());
    let results = Results { args, resolved: &resolved, dataset, training: &training, attention, seconds };
    results.write(&folder, &checkpoints, &interrupt)
}

/// Finds the threads and the device, and checks that a generated graph fits into their memory.
fn place(args: &TrainArgs, choices: &Choices) -> Result<Place> {
    // The global thread pool can be configured only before its first use.
    let resources = resources(args.sweep.threads, args.sweep.device, args.sweep.quiet)?;
    choices.check_device(&resources)?;
    let place = Place::find(resources)?;
    place.check_source(choices.dataset())?;
    Ok(place)
}

/// Loads the dataset, once for each split that is trained.
fn load(choices: &Choices) -> Result<Vec<Dataset>> {
    let mut splits = match choices.all_splits()? {
        true => supergat::load_splits(choices.dataset(), &choices.load_options()?)?,
        false => vec![supergat::load_with(choices.dataset(), &choices.load_options()?)?],
    };
    for split in &mut splits {
        split.weigh_classes(&choices.class_weight())?;
    }
    Ok(splits)
}

/// Returns the settings of the training, with one seed per split if all splits are trained.
fn resolve(choices: &Choices, choice: &Choice, splits: &[Dataset]) -> Result<Resolved> {
    let mut resolved = choices.resolve(choice)?;
    if resolved.all_splits {
        resolved.seeds = splits.len() as u64;
    }
    Ok(resolved)
}

/// Checks that settings, options and number of processes fit together.
fn check(args: &TrainArgs, choices: &Choices, resolved: &Resolved, dataset: &Dataset, processes: usize) -> Result<()> {
    let settings = &resolved.settings;
    settings.check(dataset)?;
    if let (Some(every), false) = (args.checkpoint_every, settings.model.is_network())
        && every != Interval::Never
    {
        return Err(CliError::usage(format!(
            "--checkpoint-every {every}: {} has no checkpoints, and an interrupted training starts again; leave the option out",
            settings.model
        )));
    }
    if processes > 1 && resolved.all_seeds().len() == 1 {
        let dataset = choices.dataset();
        return Err(CliError::usage(format!(
            "{dataset} is not divided into parts, so several processes cannot train one network on it: write a divided \
             file with `supergat partition {dataset} --out FILE`, or train several runs with --seeds or --splits"
        )));
    }
    Ok(())
}

/// Starts the progress. A note is printed if a GPU would be faster.
fn progress(args: &TrainArgs, resolved: &Resolved, splits: &[Dataset], mut opening: Vec<String>) -> Progress {
    let dataset = &splits[0];
    let (is_device_open, is_large) =
        (args.sweep.device.device.is_none() && !args.sweep.quiet, edges(dataset) > MANY_EDGES);
    if is_device_open && is_large && has_gpu() {
        opening.push(GPU_NOTE.into());
    }
    let metric = metric_of(dataset, &resolved.settings).name();
    let has_test_nodes = splits.iter().all(Dataset::has_test_nodes);
    Progress::new(args.sweep.quiet, resolved, metric, has_test_nodes, opening, is_device_open && !is_large)
}

/// Returns the number of directed edges of all graphs.
fn edges(dataset: &Dataset) -> usize {
    dataset.examples.iter().map(|example| example.graph.edges()).sum()
}

/// Trains all seeds or splits and shows the progress. Stops after the current epoch when the user presses Ctrl-C.
fn train(
    splits: &[Dataset],
    choice: &Choice,
    resolved: &Resolved,
    resources: Resources,
    checkpoints: &Checkpoints<'_>,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<Training> {
    let observe = |observation: Observation<'_>| {
        progress.observe(observation);
        progress.status.flow(interrupt, STOPPING)
    };
    let builder = Classifier::builder().chosen(choice.clone()).seeds(resolved.all_seeds());
    let builder = builder.decide(resolved.decision()).ensemble(resolved.is_ensemble());
    let builder = builder.resources(resources).checkpoints(checkpoints).observe(observe);
    let training = if resolved.all_splits { builder.train_splits(splits) } else { builder.train(&splits[0]) };
    progress.status.finish();
    Ok(training?)
}
