//! Baselines: classifiers that are not networks.
//!
//! A baseline is fitted in one call, and returns logits like a network. Everything after the logits is the same for
//! both: calibration, metrics, selection of the best seed, run folders, sweeps, predictions. To add one:
//!
//! 1. a variant of [`supergat_core::ModelKind`], with its name, for which `is_network` is false;
//! 2. its hyperparameters in [`supergat_core::hyperparameters`], in a group of their own, and in [`Settings`];
//! 3. a file in this folder with its type: `fit`, `logits`, `store` and `restore`;
//! 4. a variant of [`Baseline`].

mod label_propagation;
mod trees;

pub use label_propagation::LabelPropagation;
pub use trees::Trees;
pub(crate) use trees::width as tree_width;

use crate::device::{DeviceChoice, Resources};
use crate::fitted::Fitted;
use crate::jobs::{Finished, Stop};
use crate::runs::{SeedRun, score, scores};
use crate::settings::Settings;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Instant;
use supergat_core::checkpoint::Checkpoint;
use supergat_core::{Architecture, Epoch, Error, ModelKind, Outcome, Result, StepLoss};
use supergat_data::Dataset;

/// A fitted model that is not a network.
///
/// See [`Fitted`] for an example.
#[derive(Debug)]
pub enum Baseline {
    /// Label propagation.
    LabelPropagation(LabelPropagation),
    /// Gradient-boosted trees.
    Trees(Trees),
}

impl Baseline {
    /// Fits the model that the settings name. Labels of test nodes are not read; those of validation nodes only select, such
    /// as the number of trees. A model with random numbers takes them from streams of the seed.
    fn fit(dataset: &Dataset, settings: &Settings, seed: u64) -> Result<Self> {
        match settings.model {
            ModelKind::LabelPropagation => LabelPropagation::fit(dataset, settings).map(Self::LabelPropagation),
            ModelKind::Trees => Trees::fit(dataset, settings, seed).map(Self::Trees),
            network => unreachable!("{network} is a network"),
        }
    }

    /// Returns the kind of the model and its classes. The shape of a network in it has no meaning.
    pub fn architecture(&self) -> &Architecture {
        match self {
            Self::LabelPropagation(model) => model.architecture(),
            Self::Trees(model) => model.architecture(),
        }
    }

    /// Returns the logits of all nodes, one list per graph.
    pub fn logits(&self, dataset: &Dataset) -> Result<Vec<Vec<f32>>> {
        match self {
            Self::LabelPropagation(model) => model.logits(dataset),
            Self::Trees(model) => model.logits(dataset),
        }
    }

    /// Adds the model to the metadata and lists of a model file.
    pub(crate) fn store(&self, metadata: &mut HashMap<String, String>, lists: &mut HashMap<String, Vec<u32>>) {
        match self {
            Self::LabelPropagation(model) => model.store(metadata, lists),
            Self::Trees(model) => model.store(lists),
        }
    }

    /// Takes the model out of the content of a model file.
    pub(crate) fn restore(checkpoint: &mut Checkpoint) -> Result<Self> {
        match checkpoint.architecture.model {
            ModelKind::LabelPropagation => LabelPropagation::restore(checkpoint).map(Self::LabelPropagation),
            ModelKind::Trees => Trees::restore(checkpoint).map(Self::Trees),
            network => unreachable!("{network} is a network"),
        }
    }
}

/// Fails if this build cannot train a model, for want of a cargo feature.
pub(crate) fn check_available(model: ModelKind) -> Result<()> {
    if model == ModelKind::Trees && cfg!(not(feature = "trees")) {
        let reason = "this build does not train it; install supergat with `cargo install --profile dist --path \
                      crates/supergat-cli --features trees`";
        return Err(Error::Hyperparameter { name: "model", value: model.to_string(), reason: reason.into() });
    }
    Ok(())
}

/// Fits a model that is not a network. Its history is one epoch.
pub(crate) fn fit(dataset: &Dataset, settings: &Settings, seed: u64) -> Result<Finished> {
    let started = Instant::now();
    check_available(settings.model)?;
    for (split, is_empty) in [
        ("training", dataset.examples.iter().all(|example| example.train.is_empty())),
        ("validation", dataset.examples.iter().all(|example| example.validation.is_empty())),
    ] {
        if is_empty {
            return Err(Error::EmptySplit { split });
        }
    }
    let baseline = Baseline::fit(dataset, settings, seed)?;
    let logits = baseline.logits(dataset)?;
    let [validation, test] = scores(dataset, settings, &logits)?;
    let loss = score(dataset, &logits, |example| &example.train).loss;
    let train = StepLoss { label: loss, edge: 0.0, total: loss };
    let history = vec![Epoch { epoch: 0, train, validation, test, best: true }];
    let outcome = Outcome { epochs: 1, best_epoch: 0, validation, test, interrupted: false };
    let run = SeedRun { seed, outcome, history, seconds: started.elapsed().as_secs_f64(), correction: None };
    Ok(Finished { run, model: Fitted::Baseline(baseline), logits })
}

/// Fits a model that is not a network, and reports its only epoch. The observer may stop the run after it.
pub(crate) fn train(
    dataset: &Dataset,
    settings: &Settings,
    seed: u64,
    observe: &mut dyn FnMut(&Epoch) -> ControlFlow<Stop>,
) -> Result<Finished> {
    let mut finished = fit(dataset, settings, seed)?;
    finished.run.outcome.interrupted = observe(&finished.run.history[0]).is_break();
    Ok(finished)
}

/// Returns how many models are fitted at once. Fails if the device is a GPU and the model is not a network.
pub(crate) fn workers(resources: &Resources, settings: &Settings, jobs: usize) -> Result<usize> {
    match resources.device.resolved() {
        DeviceChoice::Cuda(_) if !settings.model.is_network() => Err(Error::Device {
            message: format!("{} runs on the CPU only: use --device cpu, or another model", settings.model),
        }),
        _ => Ok(resources.threads.clamp(1, jobs.max(1))),
    }
}
