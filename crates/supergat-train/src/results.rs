//! Results of trainings, and events while they run.

use crate::correct_and_smooth::{self, SeedCorrection};
use crate::fitted::Fitted;
use crate::selection::scores;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use supergat_core::{Epoch, Outcome, Result};
use supergat_data::Dataset;
use supergat_numerics::statistics::Summary;

/// Result of training with one seed.
///
/// See [`run_seeds`](crate::run_seeds) for an example.
#[derive(Debug, Clone)]
pub struct SeedRun {
    /// Seed of the run.
    pub seed: u64,
    /// Scores at the best validation epoch.
    pub outcome: Outcome,
    /// Losses and scores of every epoch.
    pub history: Vec<Epoch>,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// Correct and Smooth, with the scores before it; those of the outcome are after it. `None` without it.
    pub correction: Option<SeedCorrection>,
}

/// A finished run with its model and predictions.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Epochs and scores.
    pub(crate) run: SeedRun,
    /// The model of the best epoch.
    pub(crate) model: Fitted,
    /// Logits of all nodes, one list per graph.
    pub(crate) logits: Vec<Vec<f32>>,
}

impl Finished {
    /// Completes a training: corrects and smooths the predictions if the settings ask for it, and stores the labels of
    /// training nodes with a network that reads them as input.
    pub(crate) fn completed(self, dataset: &Dataset, settings: &Settings) -> Result<Self> {
        let Self { mut run, model, mut logits } = self;
        if let Some((method, corrected)) =
            correct_and_smooth::improved(dataset, settings, model.architecture(), &logits)?
        {
            let Outcome { validation, test, .. } = run.outcome;
            run.correction = Some(SeedCorrection { method, validation, test });
            [run.outcome.validation, run.outcome.test] = scores(dataset, settings, &corrected)?;
            logits = corrected;
        }
        Ok(Self { run, model: model.with_labels(dataset), logits })
    }
}

/// Results of all seeds and the best model.
///
/// See [`run_seeds`](crate::run_seeds) for an example.
#[derive(Debug)]
pub struct Runs {
    /// One result per seed, in the order of the seeds.
    pub runs: Vec<SeedRun>,
    /// Index into `runs` of the run with the best validation metric. Ties go to the earlier seed.
    pub best: usize,
    /// Model of the best run.
    pub model: Fitted,
    /// Logits of the best model for all nodes, one list per graph.
    pub logits: Vec<Vec<f32>>,
    /// Whether an observer stopped the training. Seeds may then be missing, and the last ones have fewer
    /// epochs.
    pub interrupted: bool,
}

impl Runs {
    /// Summarises the test metric of all runs.
    pub fn test(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| run.outcome.test.metric).collect())
    }

    /// Summarises the validation metric of all runs.
    pub fn validation(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| run.outcome.validation.metric).collect())
    }
}

/// An event during training, passed to the observer of [`run_seeds`](crate::run_seeds), which has an example.
#[derive(Debug, Clone, Copy)]
pub enum Observation<'a> {
    /// The run with this seed finished an epoch.
    Epoch(u64, &'a Epoch),
    /// A run finished. Its model has these logits of all nodes, one list per graph; with several processes, only the
    /// first one has any. Correct and Smooth has changed them, if the run has it.
    Done(&'a SeedRun, &'a [Vec<f32>], &'a Fitted),
}

/// Observer of several trainings, called from all threads. It is a trait object, so that only this crate compiles the
/// trainings.
pub(crate) type Observer<'a> = dyn Fn(Observation<'_>) -> ControlFlow<()> + Sync + 'a;

/// Observer of one training, called after every epoch.
pub(crate) type EpochObserver<'a> = dyn FnMut(&Epoch) -> ControlFlow<Stop> + 'a;

/// Reason why a training stops before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stop {
    /// The observer of the run stops it.
    Interrupted,
    /// Another training of the run has failed.
    Failed,
}
