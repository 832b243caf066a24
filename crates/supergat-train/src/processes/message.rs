//! Messages between the first process and the others: orders to train, and reports about trainings.
//!
//! A message is a frame: the number of the call, the length of the head, the length of the data, the head as JSON,
//! and the data. Numbers that may be infinite or NaN are in the data, since JSON has none.

use crate::fitted::Fitted;
use crate::results::{Finished, SeedRun, Stop};
use crate::settings::Settings;
use crate::task::Status;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use supergat_core::{Epoch, Error, Outcome, Result, Score, StepLoss};
use supergat_cpu::Checkpoint;
use supergat_data::options::Origin;
use supergat_data::{Dataset, FeatureChoice, LoadOptions, NodeOrderChoice, TableOptions};

/// An order of the first process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Train with one seed. The data is the state to resume from; empty if there is none.
    Train(TrainOrder),
    /// Train and measure a run of a task.
    Task(TaskOrder),
    /// Stop the training of a call.
    Stop(Stop),
}

/// A training with one seed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TrainOrder {
    pub(crate) source: Source,
    pub(crate) settings: Settings,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    /// Interval of the checkpoints, and duration of the run so far in seconds; `None` without checkpoints.
    pub(crate) checkpoints: Option<(String, f64)>,
}

/// A run of a task.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TaskOrder {
    /// Name of the task.
    pub(crate) task: String,
    pub(crate) source: Source,
    pub(crate) settings: Settings,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
}

/// A dataset, as another process can load it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    pub(crate) name: String,
    pub(crate) split: String,
    pub(crate) features: FeatureChoice,
    pub(crate) tables: TableOptions,
    pub(crate) node_order: NodeOrderChoice,
    /// Weights of the classes in the loss.
    pub(crate) class_weights: Option<Vec<f64>>,
    /// Hash that the loaded dataset must have.
    pub(crate) hash: String,
}

impl Source {
    /// Describes a dataset that was loaded from `origin` and has this hash.
    pub fn new(origin: &Origin, dataset: &Dataset, hash: String) -> Self {
        let Origin { source, split, features, tables, node_order } = origin.clone();
        // All graphs have the same weights.
        let weights = dataset.examples.first().and_then(|example| example.class_weights.as_deref());
        let class_weights = weights.map(<[f64]>::to_vec);
        Self { name: source, split: split.to_string(), features, tables, node_order, class_weights, hash }
    }

    /// Returns the options of loading.
    pub(crate) fn options(&self) -> Result<LoadOptions> {
        let split = self.split.parse().map_err(|_| unreadable("a split"))?;
        let (features, tables) = (self.features.clone(), self.tables.clone());
        let node_order = self.node_order;
        Ok(LoadOptions { split, features, tables, node_order, ..LoadOptions::default() })
    }
}

/// A report of another process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// An epoch has ended. The data are its numbers.
    Epoch,
    /// The data is a checkpoint. That of a finished training comes with its age in seconds and its epochs.
    Checkpoint(Option<(f64, usize)>),
    /// A training with one seed has ended.
    Trained(TrainedReport),
    /// A run of a task has ended; `None` if it was stopped.
    Recorded(Option<StatusReport>),
    /// The call failed.
    Failed(Failure),
}

/// Head of a finished training; the data are history, logits and model.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TrainedReport {
    seed: u64,
    seconds: f64,
    /// Number of logits of each graph.
    logits: Vec<usize>,
    epochs: usize,
    best_epoch: usize,
    interrupted: bool,
}

/// Head of a finished run of a task; the data are its scores.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StatusReport {
    failed: Option<String>,
    metric: String,
    epochs: usize,
    best_epoch: usize,
    measured: Value,
}

/// Reason of a failed call.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// Epoch in which the training diverged.
    diverged: Option<usize>,
    message: String,
}

/// Returns the error of a message that this version does not send.
fn unreadable(what: &str) -> Error {
    Error::Peers { reason: format!("another process sent {what} that cannot be read: use the same program everywhere") }
}

/// Appends a frame to a message.
pub(crate) fn append(message: &mut Vec<u8>, call: u64, head: &impl Serialize, data: &[u8]) {
    let head = serde_json::to_vec(head).expect("names and finite numbers");
    for number in [call, head.len() as u64, data.len() as u64] {
        message.extend(number.to_le_bytes());
    }
    message.extend(head);
    message.extend(data);
}

/// Returns the frames of a message: call, head and data.
pub(crate) fn frames<H: DeserializeOwned>(mut message: &[u8]) -> Result<Vec<(u64, H, Vec<u8>)>> {
    let mut frames = Vec::new();
    while !message.is_empty() {
        let (lengths, rest) = message.split_first_chunk::<24>().ok_or_else(|| unreadable("a message"))?;
        let [call, head, data] = [0, 1, 2].map(|k| u64::from_le_bytes(lengths.as_chunks().0[k]));
        let (head, rest) = rest.split_at_checked(head as usize).ok_or_else(|| unreadable("a message"))?;
        let (data, rest) = rest.split_at_checked(data as usize).ok_or_else(|| unreadable("a message"))?;
        let head = serde_json::from_slice(head).map_err(|_| unreadable("a message"))?;
        frames.push((call, head, data.to_vec()));
        message = rest;
    }
    Ok(frames)
}

/// Numbers of an epoch.
const EPOCH: usize = 9;

pub(crate) fn of_epoch(epoch: &Epoch) -> Vec<u8> {
    let Epoch { epoch, train, validation, test, best } = *epoch;
    let numbers: [f64; EPOCH] = [
        epoch as f64,
        train.label,
        train.edge,
        train.total,
        validation.loss,
        validation.metric,
        test.loss,
        test.metric,
        f64::from(u8::from(best)),
    ];
    bytes(&numbers)
}

pub(crate) fn epochs(data: &[u8]) -> Result<Vec<Epoch>> {
    let numbers = numbers(data);
    let (rows, rest) = numbers.as_chunks::<EPOCH>();
    if !rest.is_empty() {
        return Err(unreadable("an epoch"));
    }
    let epoch = |&[epoch, label, edge, total, loss, metric, test_loss, test_metric, best]: &[f64; EPOCH]| Epoch {
        epoch: epoch as usize,
        train: StepLoss { label, edge, total },
        validation: Score { loss, metric },
        test: Score { loss: test_loss, metric: test_metric },
        best: best > 0.0,
    };
    Ok(rows.iter().map(epoch).collect())
}

fn bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn numbers(data: &[u8]) -> Vec<f64> {
    data.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
}

/// Returns the report of a finished training.
pub(crate) fn of_finished(finished: Finished) -> (Report, Vec<u8>) {
    let Finished { run: SeedRun { seed, outcome, history, seconds, .. }, model, logits } = finished;
    let Outcome { epochs, best_epoch, interrupted, .. } = outcome;
    let report =
        TrainedReport { seed, seconds, logits: logits.iter().map(Vec::len).collect(), epochs, best_epoch, interrupted };
    let model = model.checkpoint(HashMap::new(), HashMap::new()).to_bytes();
    let mut data: Vec<u8> = history.iter().flat_map(of_epoch).collect();
    logits.iter().flatten().for_each(|logit| data.extend(logit.to_le_bytes()));
    data.extend(model);
    (Report::Trained(report), data)
}

/// Reads the report of a finished training. The scores of the outcome are those of the best epoch.
pub(crate) fn finished(report: TrainedReport, data: &[u8]) -> Result<Finished> {
    let TrainedReport { seed, seconds, logits: lengths, epochs: count, best_epoch, interrupted } = report;
    let incomplete = || unreadable("a training");
    let (history, data) = data.split_at_checked(count * EPOCH * size_of::<f64>()).ok_or_else(incomplete)?;
    let history = epochs(history)?;
    let logit_bytes = lengths.iter().sum::<usize>() * size_of::<f32>();
    let (mut rest, model) = data.split_at_checked(logit_bytes).ok_or_else(incomplete)?;
    let mut logits = Vec::new();
    for length in lengths {
        let (of_graph, others) = rest.split_at(length * size_of::<f32>());
        logits.push(of_graph.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect());
        rest = others;
    }
    let best = history.get(best_epoch).ok_or_else(incomplete)?;
    let (validation, test) = (best.validation, best.test);
    let outcome = Outcome { epochs: count, best_epoch, validation, test, interrupted };
    let model = Fitted::read(&mut Checkpoint::from_bytes(model)?)?;
    Ok(Finished { run: SeedRun { seed, outcome, history, seconds, correction: None }, model, logits })
}

/// Returns the report of a run of a task.
pub(crate) fn of_status(status: Option<Status>) -> (Report, Vec<u8>) {
    let Some(status) = status else { return (Report::Recorded(None), Vec::new()) };
    let (report, scores) = match status {
        Status::Ok { metric, train, validation, test, epochs, best_epoch, measured } => {
            let scores = [train, validation, test].map(|score| [score.loss, score.metric]);
            (StatusReport { failed: None, metric, epochs, best_epoch, measured }, bytes(scores.as_flattened()))
        }
        Status::Failed { reason } => {
            let metric = String::new();
            (StatusReport { failed: Some(reason), metric, epochs: 0, best_epoch: 0, measured: Value::Null }, Vec::new())
        }
    };
    (Report::Recorded(Some(report)), scores)
}

/// Reads the report of a run of a task.
pub(crate) fn status(report: StatusReport, data: &[u8]) -> Result<Status> {
    let StatusReport { failed, metric, epochs, best_epoch, measured } = report;
    if let Some(reason) = failed {
        return Ok(Status::Failed { reason });
    }
    let numbers = numbers(data);
    let ([train, validation, test], []) = numbers.as_chunks::<2>() else { return Err(unreadable("a result")) };
    let score = |&[loss, metric]: &[f64; 2]| Score { loss, metric };
    let (train, validation, test) = (score(train), score(validation), score(test));
    Ok(Status::Ok { metric, train, validation, test, epochs, best_epoch, measured })
}

/// Returns the report of an error.
pub(crate) fn of_error(error: &Error) -> (Report, Vec<u8>) {
    let (diverged, data) = match error {
        Error::Diverged { epoch, loss, has_edge_loss } => {
            (Some(*epoch), bytes(&[*loss, f64::from(u8::from(*has_edge_loss))]))
        }
        _ => (None, Vec::new()),
    };
    // The first process adds what the error of processes begins with.
    let message = match error {
        Error::Peers { reason } => reason.clone(),
        other => other.to_string(),
    };
    (Report::Failed(Failure { diverged, message }), data)
}

/// Reads the report of an error of a process.
pub(crate) fn error(process: usize, failure: Failure, data: &[u8]) -> Error {
    match (failure.diverged, &numbers(data)[..]) {
        (Some(epoch), &[loss, edge]) => Error::Diverged { epoch, loss, has_edge_loss: edge == 1.0 },
        _ => Error::Peers { reason: format!("process {process}: {}", failure.message) },
    }
}
