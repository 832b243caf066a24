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
use crate::process::{resources, threads};
use crate::run_folder::checkpoint::{self, CheckpointFolder};
use crate::run_folder::report;
use crate::run_folder::summary::RunSummary;
use crate::run_folder::tables;
use crate::run_folder::{Contents, RunFolder};
use progress::{GPU_NOTE, Progress, STOPPING, has_gpu};
use resume::Resumed;
use std::process::ExitCode;
use std::sync::Arc;
use supergat::{Choice, Classifier, Dataset, Observation, Training};
use supergat_cluster::peers::Peers;
use supergat_train::{Checkpoints, Interval, Resources, metric_of};

/// Number of edges from which on a GPU is worth a note.
const MANY_EDGES: usize = 1_000_000;
/// Maximum number of rows of attention.csv without `--attention`.
const MAX_ROWS: usize = 1_000_000;

/// Trains a model and writes the run folder.
pub fn run(mut args: TrainArgs, peers: Arc<dyn Peers>) -> Result<ExitCode> {
    let (count, is_first) = (peers.count(), peers.rank() == 0);
    if !is_first && Mode::receive(&*peers)? == Mode::Runs {
        return processes::help(peers);
    }
    let (resumed, saved) = Resumed::open(&mut args, is_first)?.unzip();
    let options = std::mem::take(&mut args.options.0);
    let choices = Choices::new(options, args.config.as_deref())?;
    if !is_first || count > 1 && is_divided(&args, &choices, &peers)? {
        return together::run(args, choices, resumed, saved, peers);
    }
    let place = place(&args, &choices)?;
    let resources = place.resources;
    let splits = load(&choices).map_err(|error| match &resumed {
        Some(resumed) => resumed.explained(error),
        None => error,
    })?;
    let dataset = &splits[0];
    let choice = recommend::choose(&choices, dataset, resources, args.choose_seconds, args.sweep.quiet)?;
    let resolved = resolve(&choices, &choice, &splits)?;
    check(&args, &choices, &resolved, dataset, count)?;
    if args.print_config {
        output::to_stdout(|out| out.write_all(resolved.to_toml().as_bytes()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let attention = AttentionTable::of(dataset, &resolved, args.attention);
    let exact = args.estimate || args.max_memory.is_some();
    let fit = Fit::of(dataset, &resolved, &place, attention.rows, args.max_memory, exact)?;
    if args.estimate {
        return output::print_result(args.sweep.json, &fit, || fit.table());
    }
    fit.check()?;

    let folder = folder(&args, saved, dataset, &resolved)?;
    let interrupt = Interrupt::listen()?;
    let mut opening = first_lines(&choices, &choice, dataset);
    opening.extend((count > 1).then(|| format!("{count} processes train runs of their own")));
    opening.extend(attention.note.clone());
    opening.extend(abandoned_note(&folder).filter(|_| resumed.is_none()));
    let progress = progress(&args, &resolved, dataset, opening);
    let (every, plan) = (args.checkpoint_every.unwrap_or_default(), resume::plan(&args, &resolved, resources));
    let mut checkpoints = Checkpoints::created_by(every, || folder.reserve(&plan));
    if let Some(resumed) = &resumed {
        checkpoints = checkpoints.resuming(&resumed.path);
        progress.open_with(resumed.opening(&checkpoints.found()?, resolved.seeds as usize));
    }
    let checkpoints = checkpoints.report_to(|saving| progress.saving(saving, &plan));
    let training = train(&splits, &choice, &resolved, resources, &checkpoints, &progress, &interrupt);
    let training = training.inspect_err(|error| report_checkpoint(&checkpoints, error, args.sweep.quiet))?;

    let best = if resolved.all_splits { (training.runs[training.best].seed - resolved.seed) as usize } else { 0 };
    let (dataset, attention, seconds) = (&splits[best], attention.is_written, checkpoints.seconds());
    let results = Results { args: &args, resolved: &resolved, dataset, training: &training, attention, seconds };
    results.write(&folder, &checkpoints, &interrupt)
}

/// Decides how several processes train, and sends it to the others. Returns whether they train one network together; they
/// otherwise wait for runs of this process.
fn is_divided(args: &TrainArgs, choices: &Choices, peers: &Arc<dyn Peers>) -> Result<bool> {
    // Opening a file uses the thread pool.
    threads(args.sweep.threads)?;
    let mode = Mode::of(choices.dataset());
    mode.send(&**peers)?;
    if mode == Mode::Runs {
        processes::share_runs(Arc::clone(peers));
    }
    Ok(mode == Mode::Together)
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

/// Opens the run folder: that of a resumed training, the named one, or the next free one.
fn folder(
    args: &TrainArgs,
    saved: Option<CheckpointFolder>,
    dataset: &Dataset,
    resolved: &Resolved,
) -> Result<RunFolder> {
    match (saved, &args.out) {
        (Some(saved), _) => RunFolder::resumed(saved),
        (None, Some(out)) => RunFolder::named(out),
        (None, None) => RunFolder::default_for(&dataset.name, &resolved.settings.model.to_string()),
    }
}

/// Starts the progress. A note is printed if a GPU would be faster.
fn progress(args: &TrainArgs, resolved: &Resolved, dataset: &Dataset, mut opening: Vec<String>) -> Progress {
    let (is_device_open, is_large) =
        (args.sweep.device.device.is_none() && !args.sweep.quiet, edges(dataset) > MANY_EDGES);
    if is_device_open && is_large && has_gpu() {
        opening.push(GPU_NOTE.into());
    }
    let metric = metric_of(dataset, &resolved.settings).name();
    Progress::new(args.sweep.quiet, resolved, metric, opening, is_device_open && !is_large)
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
            report_checkpoint(checkpoints, &error, args.sweep.quiet);
            error
        })?;
        if !training.interrupted {
            folder.remove_checkpoint();
        }
        let printed = output::print_result(args.sweep.json, &summary, || summary.table())?;
        if !training.interrupted {
            return Ok(printed);
        }
        if let Some(command) = command(checkpoints).filter(|_| !args.sweep.quiet) {
            output::note(&format!("to continue this training: {command}"));
        }
        Ok(INTERRUPTED.into())
    }
}

/// Decision whether attention.csv is written.
struct AttentionTable {
    is_written: bool,
    /// Number of rows; 0 if it is not written.
    rows: usize,
    /// Note, if the decision may be unexpected.
    note: Option<String>,
}

impl AttentionTable {
    fn of(dataset: &Dataset, resolved: &Resolved, is_requested: bool) -> Self {
        Self::with_rows(tables::attention_rows(edges(dataset), &resolved.settings.architecture(dataset)), is_requested)
    }

    fn with_rows(rows: usize, is_requested: bool) -> Self {
        let reason = match (rows, is_requested) {
            (0, true) => Some("this model has no attention".to_owned()),
            (_, false) if rows > MAX_ROWS => Some(format!("it would have {rows} rows; --attention writes it")),
            _ => None,
        };
        let is_written = rows > 0 && reason.is_none();
        let note = reason.map(|reason| format!("note: attention.csv is not written, because {reason}"));
        Self { is_written, rows: if is_written { rows } else { 0 }, note }
    }
}

/// Returns the number of directed edges of all graphs.
fn edges(dataset: &Dataset) -> usize {
    dataset.examples.iter().map(|example| example.graph.edges()).sum()
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
