//! Implementation of `supergat train`.

mod progress;

use crate::args::TrainArgs;
use crate::commands::recommend;
use crate::config::{Choices, Resolved};
use crate::error::{INTERRUPTED, Result};
use crate::output;
use crate::process::fit::{Fit, Place};
use crate::process::interrupt::Interrupt;
use crate::process::{NO_TF32, is_tf32_unused, resources};
use crate::run_folder::report;
use crate::run_folder::summary::{RunSummary, metric};
use crate::run_folder::tables;
use crate::run_folder::{Contents, RunFolder};
use progress::{GPU_NOTE, Progress, has_gpu};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Instant;
use supergat::lab::Resources;
use supergat::{Classifier, Dataset, Observation, Training};

/// Number of edges from which on a GPU is worth a note.
const MANY_EDGES: usize = 1_000_000;
/// Maximum number of rows of attention.csv without `--attention`.
const MAX_ROWS: usize = 1_000_000;

/// Trains a model and writes the run folder.
pub fn run(args: TrainArgs) -> Result<ExitCode> {
    let choices = Choices::new(args.options.0, args.config.as_deref())?;
    // The global thread pool can be configured only before its first use.
    let resources = resources(args.threads, args.device)?;
    let place = Place::find(resources)?;
    let splits = match choices.all_splits()? {
        true => supergat::load_splits(choices.dataset(), &choices.load_options()?)?,
        false => vec![supergat::load_with(choices.dataset(), &choices.load_options()?)?],
    };
    let dataset = &splits[0];
    let choice = choices.choose(dataset)?;
    let mut resolved = choices.resolve(&choice)?;
    if resolved.all_splits {
        resolved.seeds = splits.len() as u64;
    }
    let settings = &resolved.settings;
    settings.training().check()?;
    settings.architecture(dataset).check()?;
    if args.print_config {
        output::to_stdout(|out| out.write_all(resolved.to_toml().as_bytes()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows = tables::attention_rows(dataset, &settings.architecture(dataset));
    let attention = rows > 0 && (args.attention || rows <= MAX_ROWS);
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
    let folder = match &args.out {
        Some(out) => RunFolder::named(out)?,
        None => RunFolder::default_for(&dataset.name, &settings.model.to_string())?,
    };
    let interrupt = Interrupt::listen()?;
    let mut opening = Vec::from_iter(choice.recommendation.as_ref().map(recommend::opening));
    opening.push(format!("settings: {}", choices.origin(&choice, &dataset.name)));
    opening.extend(dataset.notes.iter().map(|note| format!("note: {note}")));
    let unread = choices.unread(&choice);
    if !unread.is_empty() {
        opening.push(format!("note: {} does not use {}", settings.model, unread.join(", ")));
    }

    if is_tf32_unused(&resources) {
        opening.push(NO_TF32.into());
    }
    if args.attention && rows == 0 {
        opening.push("note: attention.csv is not written, because this model has no attention".into());
    } else if !attention && rows > 0 {
        opening.push(format!(
            "note: attention.csv is not written, because it would have {rows} rows; --attention writes it"
        ));
    }

    let edges: usize = dataset.examples.iter().map(|example| example.graph.edges()).sum();
    let (is_device_open, is_large) = (args.device.device.is_none() && !args.quiet, edges > MANY_EDGES);
    if is_device_open && is_large && has_gpu() {
        opening.push(GPU_NOTE.into());
    }
    let look_for_gpu = is_device_open && !is_large;
    let started = Instant::now();
    let progress = Progress::new(args.quiet, &resolved, metric(dataset), opening, look_for_gpu);
    let training = train(&splits, &resolved, resources, &progress, &interrupt)?;
    let seconds = started.elapsed().as_secs_f64();

    let split_of = |seed: u64| (seed - resolved.seed) as usize;
    let dataset = if resolved.all_splits { &splits[split_of(training.runs[training.best].seed)] } else { dataset };
    let mut summary = RunSummary::of(dataset, &resolved.dataset, &training, seconds);
    if resolved.all_splits {
        summary.splits = summary.seeds.iter().map(|&seed| split_of(seed)).collect();
    }
    let lines = report::lines(&training.runs);
    let report = report::make(dataset, &training.classifier, &training.predictions, &lines, &summary)?;
    let config = resolved.to_toml();
    let contents = Contents { config, dataset, training: &training, lines: &lines, report: &report, attention };
    folder.write(&contents, &mut summary, &interrupt).inspect_err(|_| interrupt.unless_quitting())?;
    if args.json {
        output::print_json(&summary)?;
    } else {
        output::print(&summary.table())?;
    }
    Ok(if training.interrupted { INTERRUPTED.into() } else { ExitCode::SUCCESS })
}

/// Trains all seeds or splits and shows the progress. Stops after the current epoch when the user presses Ctrl-C.
fn train(
    splits: &[Dataset],
    resolved: &Resolved,
    resources: Resources,
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
    let Resources { threads, device, tf32 } = resources;
    let builder = builder.threads(threads).device(device).tf32(tf32).observe(observe);
    let training = if resolved.all_splits { builder.train_splits(splits) } else { builder.train(&splits[0]) };
    progress.finish();
    Ok(training?)
}
