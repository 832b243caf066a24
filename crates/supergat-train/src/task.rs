//! Runs of a task: a model is trained on a dataset, and measured. Sweeps and other processes run tasks by their names.

use crate::device::DeviceKind;
use crate::fitted::Fitted;
use crate::jobs::Finished;
use crate::runs::{prepare, score, train};
use crate::selection::metric_of;
use crate::settings::Settings;
use crate::{baselines, correct_and_smooth};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use supergat_core::{Epoch, Prepared, Score};
use supergat_cpu::Cpu;
use supergat_data::{Dataset, FeatureChoice};

/// Purpose of a run: how the dataset is prepared before training, and what is measured on the
/// model after it.
pub trait Task: fmt::Debug + Sync {
    /// Returns the name of the task in results files.
    fn name(&self) -> &str;

    /// Returns what is done with the features of a dataset when it is loaded.
    fn features(&self) -> FeatureChoice {
        FeatureChoice::default()
    }

    /// Prepares the dataset that a seed trains on; `None` to train on the loaded dataset.
    fn prepare(&self, _dataset: &Dataset, _seed: u64) -> supergat_core::Result<Option<Dataset>> {
        Ok(None)
    }

    /// Measures a trained model on the loaded dataset. The value is written to the results file; null if
    /// there is nothing to measure.
    fn measure(&self, dataset: &Dataset, seed: u64, model: &Fitted) -> supergat_core::Result<Value>;

    /// Returns whether a run ends after this number of epochs, given the validation metric of its best epoch so far.
    fn stops_after(&self, _epochs: usize, _best: f64) -> bool {
        false
    }

    /// Measures the epochs of a run. If the value is not null, it is written to the results file instead of that of
    /// [`Self::measure`].
    fn measure_history(&self, _history: &[Epoch]) -> Value {
        Value::Null
    }
}

/// Name of plain node classification.
pub const NODE: &str = "node";

/// Plain node classification, without further measurements.
#[derive(Debug, Clone, Copy)]
pub struct NodeClassification;

impl Task for NodeClassification {
    fn name(&self) -> &'static str {
        NODE
    }

    fn measure(&self, _: &Dataset, _: u64, _: &Fitted) -> supergat_core::Result<Value> {
        Ok(Value::Null)
    }
}

/// Returns the task of a name, for runs by other processes.
pub type TaskNamed = fn(&str) -> Option<Box<dyn Task>>;

/// Result or failure of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Status {
    /// The run finished. All scores are from the epoch with the best validation metric; metrics are between 0
    /// and 1.
    Ok {
        /// `accuracy` or `micro-f1`.
        metric: String,
        /// Score of the training nodes, without dropout.
        train: Score,
        /// Score of the validation nodes.
        validation: Score,
        /// Score of the test nodes.
        test: Score,
        /// Number of epochs run.
        epochs: usize,
        /// Epoch with the best validation metric, counted from 0.
        best_epoch: usize,
        /// Further measurements of the task; null if there are none.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        measured: Value,
    },
    /// The run failed.
    Failed {
        /// Error message.
        reason: String,
    },
}

/// A dataset, with what all runs on it share.
#[derive(Debug)]
pub struct Ready {
    /// The dataset.
    pub dataset: Arc<Dataset>,
    /// Training state of the CPU; `None` on a GPU, where every thread has its own, and for models that are not networks.
    pub prepared: supergat_core::Result<Option<Prepared<Cpu<f32>>>>,
}

impl Ready {
    /// Prepares a dataset for runs with these settings.
    pub fn new(dataset: Arc<Dataset>, settings: &Settings, device: DeviceKind) -> Self {
        let is_prepared = device.is_cpu() && settings.model.is_network();
        let prepared = is_prepared.then(|| prepare(&dataset, settings)).transpose();
        Self { dataset, prepared }
    }
}

/// Trains and measures a model on the CPU; `None` if the observer stopped the run.
pub fn run_on_cpu(
    task: &dyn Task,
    ready: &Ready,
    settings: &Settings,
    seed: u64,
    mut observe: impl FnMut(&Epoch) -> ControlFlow<()>,
) -> supergat_core::Result<Option<Status>> {
    let own = task.prepare(&ready.dataset, seed)?;
    let mut watch = Watch::new(task);
    let observe = |epoch: &Epoch| {
        let flow = observe(epoch);
        watch.after(epoch, flow)
    };
    let finished = match (&own, &ready.prepared) {
        _ if !settings.model.is_network() => {
            baselines::train(own.as_ref().unwrap_or(&ready.dataset), settings, seed, observe)?
        }
        (None, Ok(Some(prepared))) => train(prepared, seed, observe)?,
        (None, Err(error)) => return Err(error.clone()),
        (own, _) => train(&prepare(own.as_ref().unwrap_or(&ready.dataset), settings)?, seed, observe)?,
    };
    measured(task, &ready.dataset, own.as_ref(), settings, seed, watch.ended(finished))
}

/// Lets a task stop a run.
pub struct Watch<'a> {
    task: &'a dyn Task,
    /// Validation metric of the best epoch so far.
    best: f64,
    /// Whether the task has stopped the run.
    stopped: bool,
}

impl<'a> Watch<'a> {
    /// Starts before the first epoch.
    pub fn new(task: &'a dyn Task) -> Self {
        Self { task, best: 0.0, stopped: false }
    }

    /// Returns whether a run continues after an epoch, given the decision of its observer.
    pub fn after(&mut self, epoch: &Epoch, flow: ControlFlow<()>) -> ControlFlow<()> {
        if epoch.best {
            self.best = epoch.validation.metric;
        }
        self.stopped = flow.is_continue() && self.task.stops_after(epoch.epoch + 1, self.best);
        if self.stopped { ControlFlow::Break(()) } else { flow }
    }

    /// Returns a run; one that the task has stopped counts as finished.
    pub fn ended(self, mut finished: Finished) -> Finished {
        finished.run.outcome.interrupted &= !self.stopped;
        finished
    }
}

/// Measures a model that was trained on the dataset of a job, or on the task's `own`; `None` if the training was
/// stopped.
pub fn measured(
    task: &dyn Task,
    dataset: &Dataset,
    own: Option<&Dataset>,
    settings: &Settings,
    seed: u64,
    finished: Finished,
) -> supergat_core::Result<Option<Status>> {
    let trained_on = own.unwrap_or(dataset);
    if finished.run.outcome.interrupted {
        return Ok(None);
    }
    let Finished { run, logits, model } =
        correct_and_smooth::finish(trained_on, settings, finished.with_labels(trained_on))?;
    let outcome = run.outcome;
    let measured = match task.measure_history(&run.history) {
        Value::Null => task.measure(dataset, seed, &model)?,
        value => value,
    };
    Ok(Some(Status::Ok {
        metric: metric_of(trained_on, settings).to_string(),
        train: score(trained_on, &logits, |example| &example.train),
        validation: outcome.validation,
        test: outcome.test,
        epochs: outcome.epochs,
        best_epoch: outcome.best_epoch,
        measured,
    }))
}
