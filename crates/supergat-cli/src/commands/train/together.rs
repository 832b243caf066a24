//! Training by several processes together: the first one reports and writes, the others only compute.

use super::progress::{Progress, STOPPING};
use super::results::{Results, report_checkpoint};
use super::resume::{self, Resumed};
use super::start::{AttentionTable, abandoned_note, checkpoints, first_lines, run_folder};
use crate::args::TrainArgs;
use crate::config::{Choices, Resolved};
use crate::error::{CliError, Result, exit_code};
use crate::output::count;
use crate::process::interrupt::Interrupt;
use crate::process::processes;
use crate::process::resources;
use crate::run_folder::checkpoint::CheckpointFolder;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use supergat::{Choice, Dataset, SeedRun, Training};
use supergat_cluster::peers::Peers;
use supergat_data::converted::PartitionedFile;
use supergat_train::{Divided, Ensemble, Fitted, Observation, Runs, measure, metric_of};

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
    let quiet = args.sweep.quiet;
    let resources = resources(args.sweep.threads, args.sweep.device, quiet)?;
    check(&args, &choices, &resources)?;
    let file = processes::open_parts(choices.dataset(), &*peers)?;
    processes::agree(&*peers, &file)?;
    let divided = Divided::read(&file, Arc::clone(&peers))?.weigh_classes(&choices.class_weight())?;
    let outline = divided.outline();
    let choice = choices.builder(resources)?.choose(outline)?;
    let resolved = choices.resolve(&choice)?;
    let (settings, architecture) = (&resolved.settings, resolved.settings.architecture(outline));
    settings.training().check()?;
    architecture.check()?;

    let folder = is_first.then(|| run_folder(&args, saved, outline, &resolved)).transpose()?;
    let edges = (0..file.graphs()).map(|k| file.graph(k).edges()).sum();
    let attention = AttentionTable::new(edges, &architecture, args.attention);
    let interrupt = Interrupt::listen()?;
    let mut opening = first_lines(&choices, &choice, outline);
    opening.push(format!("{} processes of {} train together", peers.count(), count(resources.threads, "thread")));
    opening.extend(attention.note);
    opening.extend(folder.as_ref().and_then(abandoned_note).filter(|_| resumed.is_none()));
    let metric = metric_of(outline, settings).name();
    let progress = Progress::new(quiet, &resolved, metric, has_test_nodes(&file)?, opening, false);
    let plan = resume::plan(&args, &resolved, resources);
    let checkpoints = checkpoints(&args, resumed.as_ref(), folder.as_ref(), &plan, &progress)?;
    let kept = Kept::default();
    let observe = |observation: Observation<'_>| {
        kept.see(observation, resolved.is_ensemble());
        progress.observe(observation);
        progress.status.flow(&interrupt, STOPPING)
    };
    let (seeds, threads) = (resolved.all_seeds(), resources.threads);
    let runs = divided.run_seeds(settings, &seeds, threads, Some(&checkpoints), &observe).map_err(CliError::from);
    progress.status.finish();
    let runs = runs.inspect_err(|error| report_checkpoint(&checkpoints, error, quiet))?;
    let seconds = checkpoints.seconds();
    drop((divided, file));
    let Some(folder) = &folder else { return Ok(exit_code(runs.interrupted)) };
    let (dataset, training) = kept.training(&choices, choice, &resolved, runs)?;
    let (dataset, training, attention) = (&dataset, &training, attention.rows > 0);
    let results = Results { args: &args, resolved: &resolved, dataset, training, attention, seconds };
    results.write(folder, &checkpoints, &interrupt)
}

/// Returns whether a divided file has test nodes.
fn has_test_nodes(file: &PartitionedFile) -> Result<bool> {
    let sizes = (0..file.graphs()).map(|k| file.graph(k).split_sizes());
    Ok(sizes.collect::<supergat_data::Result<Vec<_>>>()?.iter().any(|[.., test]| *test > 0))
}

/// Results of seeds that have finished. Labels are read after the training, so these are kept until then.
#[derive(Default)]
struct Kept {
    logits: Mutex<BTreeMap<u64, Vec<Vec<f32>>>>,
    /// Models, for an ensemble.
    models: Mutex<BTreeMap<u64, Fitted>>,
}

impl Kept {
    /// Keeps the logits of a finished seed, and its model if there is an ensemble.
    fn see(&self, observation: Observation<'_>, is_ensemble: bool) {
        let Observation::Done(run, logits, model) = observation else { return };
        self.logits.lock().unwrap_or_else(PoisonError::into_inner).insert(run.seed, logits.to_vec());
        if is_ensemble {
            self.models.lock().unwrap_or_else(PoisonError::into_inner).insert(run.seed, model.clone());
        }
    }

    /// Measures all seeds on the whole dataset, which the tables and the report need too. The memory of the training must
    /// be free by now.
    fn training(
        self,
        choices: &Choices,
        choice: Choice,
        resolved: &Resolved,
        runs: Runs,
    ) -> Result<(Dataset, Training)> {
        let mut dataset = supergat::load_with(choices.dataset(), &choices.load_options()?)?;
        dataset.weigh_classes(&choices.class_weight())?;
        let logits = self.logits.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (architecture, decision) = (resolved.settings.architecture(&dataset), resolved.decision());
        let measured = |run: &SeedRun| measure(&dataset, &architecture, &logits[&run.seed], &decision);
        let metrics = runs.runs.iter().map(measured).collect::<supergat_core::Result<Vec<_>>>()?;
        let mut training = Training::of(&dataset, choice, runs, metrics)?;
        if resolved.is_ensemble() {
            let mut ensemble = Ensemble::new(*training.classifier.architecture());
            for (k, (run, metrics)) in training.runs.iter().zip(&training.metrics).enumerate() {
                ensemble.add(k, &logits[&run.seed], &metrics.decision)?;
            }
            let models = self.models.into_inner().unwrap_or_else(PoisonError::into_inner);
            training = training.with_ensemble(&dataset, ensemble, &models, &decision)?;
        }
        Ok((dataset, training))
    }
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
