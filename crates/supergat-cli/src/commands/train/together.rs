//! Training by several processes together: the first one reports and writes, the others only compute.

use super::progress::{Progress, STOPPING};
use super::resume::{self, Resumed};
use super::{AttentionTable, Results, abandoned_note, first_lines, report_checkpoint};
use crate::args::TrainArgs;
use crate::config::Choices;
use crate::error::{CliError, Result};
use crate::process::interrupt::Interrupt;
use crate::process::processes;
use crate::process::resources;
use crate::run_folder::checkpoint::CheckpointFolder;
use crate::run_folder::tables;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use supergat::{Classifier, SeedRun, Training};
use supergat_cluster::peers::Peers;
use supergat_train::{Checkpoints, Divided, Ensemble, Fitted, Observation, measure, metric_of};

/// Trains a model on a dataset that is divided into parts. `resumed` and `saved` are the training to resume, if any.
pub fn run(
    mut args: TrainArgs,
    choices: Choices,
    resumed: Option<Resumed>,
    saved: Option<CheckpointFolder>,
    peers: Arc<dyn Peers>,
) -> Result<ExitCode> {
    let is_first = peers.rank() == 0;
    args.sweep.quiet |= !is_first;
    let resources = resources(args.sweep.threads, args.sweep.device, args.sweep.quiet)?;
    check(&args, &choices, &resources)?;
    let file = processes::open_parts(choices.dataset(), &*peers)?;
    processes::agree(&*peers, &file)?;
    let divided = Divided::read(&file, Arc::clone(&peers))?.weigh_classes(&choices.class_weight())?;
    let outline = divided.outline();
    let choice = choices.choose(outline, Classifier::builder().resources(resources))?;
    let resolved = choices.resolve(&choice)?;
    let settings = &resolved.settings;
    settings.training().check()?;
    settings.architecture(outline).check()?;

    let folder = is_first.then(|| super::folder(&args, saved, outline, &resolved)).transpose()?;
    let edges = (0..file.graphs()).map(|k| file.graph(k).edges()).sum();
    let rows = tables::attention_rows(edges, &settings.architecture(outline));
    let AttentionTable { is_written: attention, note: attention_note, .. } =
        AttentionTable::with_rows(rows, args.attention);
    let interrupt = Interrupt::listen()?;
    let mut opening = first_lines(&choices, &choice, outline);
    opening.push(format!("{} processes of {} threads train together", peers.count(), resources.threads));
    opening.extend(attention_note);
    opening.extend(folder.as_ref().and_then(abandoned_note).filter(|_| resumed.is_none()));
    let progress = Progress::new(args.sweep.quiet, &resolved, metric_of(outline, settings).name(), opening, false);
    let (every, plan) = (args.checkpoint_every.unwrap_or_default(), resume::plan(&args, &resolved, resources));
    let checkpoints = match (&resumed, &folder) {
        (Some(resumed), Some(folder)) => {
            Checkpoints::created_by(every, || folder.reserve(&plan)).resuming(&resumed.path)
        }
        (Some(resumed), None) => Checkpoints::in_folder(&resumed.path, every),
        (None, Some(folder)) => Checkpoints::created_by(every, || folder.reserve(&plan)),
        // Only the first process writes checkpoints.
        (None, None) => Checkpoints::created_by(every, || Err(std::io::ErrorKind::Unsupported.into())),
    };
    let checkpoints = checkpoints.report_to(|saving| progress.saving(saving, &plan));
    if let Some(resumed) = &resumed {
        progress.open_with(resumed.opening(&checkpoints.found()?, resolved.seeds as usize));
    }
    // Labels are read after the training, so the logits of every seed are kept until then.
    let logits: Mutex<BTreeMap<u64, Vec<Vec<f32>>>> = Mutex::default();
    let models: Mutex<BTreeMap<u64, Fitted>> = Mutex::default();
    let observe = |observation: Observation<'_>| {
        if let Observation::Done(run, found, model) = observation {
            logits.lock().unwrap_or_else(PoisonError::into_inner).insert(run.seed, found.to_vec());
            if resolved.is_ensemble() {
                models.lock().unwrap_or_else(PoisonError::into_inner).insert(run.seed, model.clone());
            }
        }
        progress.observe(observation);
        progress.status.flow(&interrupt, STOPPING)
    };
    let seeds = resolved.all_seeds();
    let runs = divided.run_seeds(settings, &seeds, resources.threads, Some(&checkpoints), &observe);
    progress.status.finish();
    let runs =
        runs.map_err(CliError::from).inspect_err(|error| report_checkpoint(&checkpoints, error, args.sweep.quiet))?;
    let seconds = checkpoints.seconds();
    drop((divided, file));
    let Some(folder) = &folder else {
        return Ok(if runs.interrupted { crate::error::INTERRUPTED.into() } else { ExitCode::SUCCESS });
    };
    // The tables and the report need the whole dataset; the memory of the training is free by now.
    let mut dataset = supergat::load_with(choices.dataset(), &choices.load_options()?)?;
    dataset.weigh_classes(&choices.class_weight())?;
    let logits = logits.into_inner().unwrap_or_else(PoisonError::into_inner);
    let decision = resolved.decision();
    let measured = |run: &SeedRun| measure(&dataset, &settings.architecture(&dataset), &logits[&run.seed], &decision);
    let metrics = runs.runs.iter().map(measured).collect::<supergat_core::Result<Vec<_>>>()?;
    let mut training = Training::of(&dataset, choice, runs, metrics)?;
    if resolved.is_ensemble() {
        let mut ensemble = Ensemble::new(*training.classifier.architecture());
        for (k, (run, metrics)) in training.runs.iter().zip(&training.metrics).enumerate() {
            ensemble.add(k, &logits[&run.seed], &metrics.decision)?;
        }
        let models = models.into_inner().unwrap_or_else(PoisonError::into_inner);
        training = training.with_ensemble(&dataset, ensemble, &models, &decision)?;
    }
    let results =
        Results { args: &args, resolved: &resolved, dataset: &dataset, training: &training, attention, seconds };
    results.write(folder, &checkpoints, &interrupt)
}

/// Refuses options that need one process or the whole dataset.
fn check(args: &TrainArgs, choices: &Choices, resources: &supergat_train::Resources) -> Result<()> {
    processes::refuse_other_options("train", choices, resources)?;
    if args.estimate || args.print_config || args.max_memory.is_some() {
        return Err(processes::refused(
            "train",
            "--estimate, --max-memory or --print-config",
            "use them with one process",
        ));
    }
    if !choices.names_model() {
        return Err(processes::refused("train", "a recommended model", "name one with --model"));
    }
    Ok(())
}
