//! Implementation of `supergat train`.

mod progress;
mod resume;
mod together;

use crate::args::TrainArgs;
use crate::commands::recommend;
use crate::config::{Choices, Resolved};
use crate::error::{CliError, INTERRUPTED, Result};
use crate::output;
use crate::process::fit::{Fit, Place};
use crate::process::interrupt::Interrupt;
use crate::process::processes::{self, Mode};
use crate::process::{NO_TF32, is_tf32_unused, resources, threads};
use crate::run_folder::checkpoint;
use crate::run_folder::report;
use crate::run_folder::summary::RunSummary;
use crate::run_folder::tables;
use crate::run_folder::{Contents, RunFolder};
use progress::{GPU_NOTE, Progress, has_gpu};
use resume::Resumed;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use supergat::{Choice, Classifier, Dataset, Observation, Training};
use supergat_core::peers::Peers;
use supergat_train::{Checkpoints, Interval, Resources, metric_of};

/// Number of edges from which on a GPU is worth a note.
const MANY_EDGES: usize = 1_000_000;
/// Maximum number of rows of attention.csv without `--attention`.
const MAX_ROWS: usize = 1_000_000;

/// Trains a model and writes the run folder.
pub fn run(mut args: TrainArgs, peers: Arc<dyn Peers>) -> Result<ExitCode> {
    let is_first = peers.rank() == 0;
    if !is_first && Mode::receive(&*peers)? == Mode::Runs {
        return processes::help(peers);
    }
    let (resumed, saved) = Resumed::open(&mut args, is_first)?.unzip();
    let options = std::mem::take(&mut args.options.0);
    let choices = Choices::new(options, args.config.as_deref())?;
    if !is_first {
        return together::run(args, choices, resumed, saved, peers);
    }
    let count = peers.count();
    if count > 1 {
        // Opening a file uses the thread pool.
        threads(args.threads)?;
        let mode = Mode::of(choices.dataset());
        mode.send(&*peers)?;
        if mode == Mode::Together {
            return together::run(args, choices, resumed, saved, peers);
        }
        processes::share_runs(peers);
    }
    // The global thread pool can be configured only before its first use.
    let resources = resources(args.threads, args.device)?;
    choices.check_device(&resources)?;
    let place = Place::find(resources)?;
    place.check_source(choices.dataset())?;
    let splits = load(&choices).map_err(|error| match &resumed {
        Some(resumed) => resumed.explained(error),
        None => error,
    })?;
    let dataset = &splits[0];
    let choice = recommend::choose(&choices, dataset, resources, args.choose_seconds, args.quiet)?;
    let mut resolved = choices.resolve(&choice)?;
    if resolved.all_splits {
        resolved.seeds = splits.len() as u64;
    }
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
    if count > 1 && resolved.all_seeds().len() == 1 {
        let dataset = choices.dataset();
        return Err(CliError::usage(format!(
            "{dataset} is not divided into parts, so several processes cannot train one network on it: write a divided \
             file with `supergat partition {dataset} --out FILE`, or train several runs with --seeds or --splits"
        )));
    }
    if args.print_config {
        output::to_stdout(|out| out.write_all(resolved.to_toml().as_bytes()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let edges = dataset.examples.iter().map(|example| example.graph.edges()).sum();
    let rows = tables::attention_rows(edges, &settings.architecture(dataset));
    let (attention, attention_note) = writes_attention(rows, args.attention);
    let exact = args.estimate || args.max_memory.is_some();
    let fit = Fit::of(dataset, &resolved, &place, if attention { rows } else { 0 }, args.max_memory, exact)?;
    if args.estimate {
        if args.json {
            output::print_json(&fit)?
        } else {
            output::print(&fit.table())?
        }
        return Ok(ExitCode::SUCCESS);
    }
    fit.check()?;
    let folder = match (saved, &args.out) {
        (Some(saved), _) => RunFolder::resumed(saved)?,
        (None, Some(out)) => RunFolder::named(out)?,
        (None, None) => RunFolder::default_for(&dataset.name, &settings.model.to_string())?,
    };
    let interrupt = Interrupt::listen()?;
    let mut opening = first_lines(&choices, &choice, dataset);
    opening.extend(is_tf32_unused(&resources).then(|| NO_TF32.into()));
    opening.extend((count > 1).then(|| format!("{count} processes train runs of their own")));
    opening.extend(attention_note);
    opening.extend(abandoned_note(&folder).filter(|_| resumed.is_none()));
    let (is_device_open, is_large) = (args.device.device.is_none() && !args.quiet, edges > MANY_EDGES);
    if is_device_open && is_large && has_gpu() {
        opening.push(GPU_NOTE.into());
    }
    let look_for_gpu = is_device_open && !is_large;
    let progress = Progress::new(args.quiet, &resolved, metric_of(dataset, settings).name(), opening, look_for_gpu);
    let (every, plan) = (args.checkpoint_every.unwrap_or_default(), resume::plan(&args, &resolved, resources));
    let checkpoints = match &resumed {
        Some(resumed) => Checkpoints::created_by(every, || folder.reserve(&plan)).resuming(&resumed.path),
        None => Checkpoints::created_by(every, || folder.reserve(&plan)),
    };
    let checkpoints = checkpoints.report_to(|saving| progress.saving(saving, &plan));
    if let Some(resumed) = &resumed {
        progress.open_with(resumed.opening(&checkpoints.found()?, resolved.seeds as usize));
    }
    let training = train(&splits, &resolved, resources, &checkpoints, &progress, &interrupt);
    let training = training.inspect_err(|error| report_checkpoint(&checkpoints, error, args.quiet))?;
    let seconds = checkpoints.seconds();

    let split_of = |seed: u64| (seed - resolved.seed) as usize;
    let dataset = if resolved.all_splits { &splits[split_of(training.runs[training.best].seed)] } else { dataset };
    Results { args: &args, resolved: &resolved, dataset, training: &training, attention, seconds }.write(
        &folder,
        &checkpoints,
        &interrupt,
    )
}

/// A finished training, before its run folder is written.
struct Results<'a> {
    args: &'a TrainArgs,
    resolved: &'a Resolved,
    /// The dataset of the best run.
    dataset: &'a Dataset,
    training: &'a Training,
    /// Whether attention.csv is written.
    attention: bool,
    seconds: f64,
}

impl Results<'_> {
    /// Writes the run folder and prints the summary.
    fn write(&self, folder: &RunFolder, checkpoints: &Checkpoints<'_>, interrupt: &Interrupt) -> Result<ExitCode> {
        let Self { args, resolved, dataset, training, attention, seconds } = *self;
        let mut summary = RunSummary::of(dataset, &resolved.dataset, training, seconds);
        if resolved.all_splits {
            summary.splits = summary.seeds.iter().map(|&seed| (seed - resolved.seed) as usize).collect();
        }
        let lines = report::lines(&training.runs);
        let report = report::make(dataset, &training.classifier, training.predicted(), &lines, &summary)?;
        let config = resolved.to_toml();
        let texts = tables::Texts::of(args.safe_csv);
        let contents = Contents { config, dataset, training, lines: &lines, report: &report, attention, texts };
        folder.write(&contents, &mut summary, interrupt).map_err(|error| {
            interrupt.unless_quitting();
            // The training need not be repeated once the folder can be written.
            checkpoints.flush();
            if command(checkpoints).is_none() && folder.write_elsewhere(&contents, &mut summary, interrupt).is_ok() {
                let (message, place) = (error.message, &summary.run_dir);
                return CliError { message: format!("{message}; the run folder is in {place} instead"), ..error };
            }
            report_checkpoint(checkpoints, &error, args.quiet);
            error
        })?;
        if !training.interrupted {
            folder.remove_checkpoint();
        }
        if args.json {
            output::print_json(&summary)?;
        } else {
            output::print(&summary.table())?;
        }
        if !training.interrupted {
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(command) = command(checkpoints).filter(|_| !args.quiet) {
            output::note(&format!("to continue this training: {command}"));
        }
        Ok(INTERRUPTED.into())
    }
}

/// Returns whether attention.csv with so many rows is written, and a note if that may be unexpected.
fn writes_attention(rows: usize, is_wanted: bool) -> (bool, Option<String>) {
    match (rows, is_wanted) {
        (0, true) => (false, Some("note: attention.csv is not written, because this model has no attention".into())),
        (0, false) => (false, None),
        (_, false) if rows > MAX_ROWS => {
            let reason = format!("it would have {rows} rows; --attention writes it");
            (false, Some(format!("note: attention.csv is not written, because {reason}")))
        }
        _ => (true, None),
    }
}

/// Returns a note about an unfinished training that would have the same folder.
fn abandoned_note(folder: &RunFolder) -> Option<String> {
    let run = folder.abandoned()?;
    let (unfinished, command) = (checkpoint::path_of(&run), checkpoint::command(&run));
    Some(format!("note: {} has an unfinished training; continue it with {command}", unfinished.display()))
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

/// Returns the first lines of the progress: model, settings, and notes about the dataset and unused options.
fn first_lines(choices: &Choices, choice: &Choice, dataset: &Dataset) -> Vec<String> {
    let mut lines = choice.recommendation.as_ref().map(recommend::opening).unwrap_or_default();
    lines.push(format!("settings: {}", choices.origin(choice, dataset)));
    lines.extend(dataset.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(output::node_order(dataset));
    let unread = choices.unread(choice);
    if !unread.is_empty() {
        lines.push(format!("note: {} does not use {}", choice.settings.model, unread.join(", ")));
    }
    lines
}

/// Returns the command that resumes the training, if it has a checkpoint.
fn command(checkpoints: &Checkpoints<'_>) -> Option<String> {
    let run = checkpoint::run_of(&checkpoints.folder().filter(|folder| folder.is_dir())?)?;
    Some(checkpoint::command(&run))
}

/// Reports how to continue after an error, if there is a checkpoint. Wrong input would fail again.
fn report_checkpoint(checkpoints: &Checkpoints<'_>, error: &CliError, quiet: bool) {
    if let Some(command) = command(checkpoints).filter(|_| !quiet && error.code == 1) {
        output::note(&format!("note: the checkpoint is kept; to continue this training: {command}"));
    }
}

/// Trains all seeds or splits and shows the progress. Stops after the current epoch when the user presses Ctrl-C.
fn train(
    splits: &[Dataset],
    resolved: &Resolved,
    resources: Resources,
    checkpoints: &Checkpoints<'_>,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<Training> {
    let observe = |observation: Observation<'_>| {
        progress.observe(observation);
        if interrupt.requested() {
            progress.stopping();
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let builder = Classifier::builder().settings(resolved.settings).seeds(resolved.all_seeds());
    let builder = builder.decide(resolved.decision()).ensemble(resolved.is_ensemble());
    let builder = builder.resources(resources).checkpoints(checkpoints).observe(observe);
    let training = if resolved.all_splits { builder.train_splits(splits) } else { builder.train(&splits[0]) };
    progress.finish();
    Ok(training?)
}
