//! Training: full-batch Adam, validation after every epoch, choice of the best epoch, early stopping.

use crate::config::EarlyStop;
use crate::device::{Adam, Cpu, Device};
use crate::error::{Error, Result};
use crate::kernels::{Counts, Primitives};
use crate::memory::Arena;
use crate::model::{Model, Network, StepLoss};
use crate::prepared::Prepared;
use crate::random::{Purpose, Stream};
use crate::session::Session;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Mean loss and metric of a list of nodes. The metric is accuracy, or micro-F1 with several labels per node.
///
/// See [`Trainer`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Score {
    /// Mean loss.
    pub loss: f64,
    /// Accuracy or micro-F1, between 0 and 1.
    pub metric: f64,
}

/// Losses and scores of one epoch.
///
/// See [`Trainer`] for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epoch {
    /// Number of the epoch, from 0.
    pub epoch: usize,
    /// Training losses, averaged over the steps of the epoch.
    pub train: StepLoss,
    /// Score of the validation nodes.
    pub validation: Score,
    /// Score of the test nodes. It is reported only and never used for selection.
    pub test: Score,
    /// Whether this is the best validation metric so far; the later epoch wins a tie.
    pub best: bool,
}

/// Result of a training run.
///
/// See [`Trainer`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Number of epochs run.
    pub epochs: usize,
    /// Epoch with the best validation metric, from 0.
    pub best_epoch: usize,
    /// Validation score of the best epoch.
    pub validation: Score,
    /// Test score of the best epoch.
    pub test: Score,
    /// Whether the observer stopped the run.
    pub interrupted: bool,
}

/// A finished run: model, scores and predictions.
///
/// See [`Trainer`] for an example.
#[derive(Debug)]
pub struct Trained<T: Primitives> {
    /// Model with the parameters of the best epoch.
    pub model: Model<T>,
    /// Scores of the best epoch.
    pub outcome: Outcome,
    /// Logits of all nodes of every example, computed by the model without dropout.
    pub logits: Vec<Vec<T>>,
}

/// A training run on prepared examples.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// use supergat_core::{Prepared, TrainConfig, Trainer};
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("gat-go".parse().unwrap(), &example);
/// let prepared = Prepared::new(&[example], architecture, TrainConfig::default())?;
///
/// let mut trainer = Trainer::new(&prepared, 0)?;
/// let epoch = trainer.next_epoch()?.expect("max_epochs is at least 1");
/// assert_eq!((epoch.epoch, epoch.best), (0, true));
/// assert!([0.0, 1.0].contains(&epoch.validation.metric), "accuracy on one node");
/// let trained = trainer.run(|epoch| {
///     if epoch.epoch == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// })?;
/// assert_eq!((trained.outcome.epochs, trained.outcome.interrupted), (5, true));
/// assert_eq!(trained.logits[0], trained.model.predict(&prepared.examples()[0])?);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Trainer<'p, D: Device> {
    session: Session<'p, D>,
    seed: u64,
    order: Vec<usize>,
    best: Vec<D::Numbers>,
    /// Recorded training step and evaluation of each example.
    recordings: Vec<[D::Recording; 2]>,
    stopper: Option<Stopper>,
    outcome: Option<Outcome>,
    epoch: usize,
}

impl<'p, D: Device> Trainer<'p, D> {
    /// Starts a run with weights drawn from `seed`. All memory is allocated here.
    pub fn new(prepared: &'p Prepared<D>, seed: u64) -> Result<Self> {
        let (device, examples) = (prepared.device(), prepared.examples());
        let order: Vec<usize> = (0..examples.len()).filter(|&k| !examples[k].train.is_empty()).collect();
        if order.is_empty() {
            return Err(Error::EmptySplit { split: "training" });
        }
        if examples.iter().all(|example| example.validation.is_empty()) {
            return Err(Error::EmptySplit { split: "validation" });
        }
        let network = Network::on(device, *prepared.architecture(), seed)?;
        let session = Session::new(prepared, network, seed, true)?;
        let mut arena = Arena::allocating();
        let best = session.network().parameters().map(|p| device.numbers(p.stored(), &mut arena));
        let best = best.collect::<Result<_>>()?;
        let recordings = examples.iter().map(|_| Default::default()).collect();
        let config = prepared.config();
        let stopper = config.early_stop.map(|rule| Stopper::new(rule, config.max_epochs));
        Ok(Self { session, seed, order, best, recordings, stopper, outcome: None, epoch: 0 })
    }

    /// Runs the remaining epochs and restores the parameters of the best one. `observe` is called after every
    /// epoch and may stop the run.
    pub fn run(mut self, mut observe: impl FnMut(&Epoch) -> ControlFlow<()>) -> Result<Trained<D::Number>> {
        let mut interrupted = false;
        while let Some(epoch) = self.next_epoch()? {
            if observe(&epoch).is_break() {
                interrupted = true;
                break;
            }
        }
        let device = self.session.prepared().device();
        let mut best = self.best.iter();
        self.session.network_mut().for_each_parameter(|parameter| {
            device.copy(best.next().expect("as many as parameters"), &mut parameter.value)
        })?;
        let outcome = self.outcome.expect("at least one epoch was run");
        let outcome = Outcome { epochs: self.epoch, interrupted, ..outcome };
        let mut logits = Vec::new();
        for example in 0..self.session.prepared().examples().len() {
            self.session.forward(example, false)?;
            logits.push(self.session.logits(example)?);
        }
        Ok(Trained { model: self.session.network().to_device(&Cpu::default())?, outcome, logits })
    }

    /// Runs one epoch: a step per training graph in shuffled order, then validation. Returns `None` after the
    /// last epoch. Allocates nothing.
    pub fn next_epoch(&mut self) -> Result<Option<Epoch>> {
        if self.epoch >= self.session.prepared().config().max_epochs || self.stopper.as_ref().is_some_and(|s| s.stopped)
        {
            return Ok(None);
        }
        let epoch = self.epoch;
        self.order.sort_unstable();
        Stream::new(self.seed, epoch as u32, 0, Purpose::GraphOrder).shuffle(&mut self.order);
        for k in 0..self.order.len() {
            self.train_step(self.order[k])?;
        }
        let [validation, test] = self.evaluate()?;
        let (mut train, share) = (StepLoss::default(), 1.0 / self.order.len() as f64);
        let lambda_e = self.lambda_e();
        for &example in &self.order {
            let loss = self.session.step_loss(example, lambda_e);
            if !loss.total.is_finite() {
                return Err(Error::Diverged { epoch, loss: loss.total });
            }
            train.label += loss.label * share;
            train.edge += loss.edge * share;
            train.total += loss.total * share;
        }
        if !validation.loss.is_finite() {
            return Err(Error::Diverged { epoch, loss: validation.loss });
        }
        let best = self.outcome.is_none_or(|o| validation.metric >= o.validation.metric);
        if best {
            self.outcome = Some(Outcome { epochs: epoch + 1, best_epoch: epoch, validation, test, interrupted: false });
            let device = self.session.prepared().device();
            let parameters = self.session.network().parameters();
            self.best.iter_mut().zip(parameters).try_for_each(|(best, p)| device.copy(&p.value, best))?;
        }
        if let Some(stopper) = &mut self.stopper {
            stopper.see(epoch, validation);
        }
        self.epoch += 1;
        Ok(Some(Epoch { epoch, train, validation, test, best }))
    }

    /// Returns the weight of the edge loss, if the model has one.
    fn lambda_e(&self) -> Option<f64> {
        let prepared = self.session.prepared();
        prepared.architecture().model.is_self_supervised().then_some(prepared.config().lambda_e)
    }

    /// Runs the forward pass, the backward pass and the update on one example. The losses are read by
    /// [`Trainer::loss`] or at the end of the epoch.
    pub fn train_step(&mut self, example: usize) -> Result<()> {
        let lambda_e = self.lambda_e();
        let Self { session, recordings, .. } = self;
        let config = session.prepared().config();
        let adam = Adam { lr: config.lr, lambda_2: config.lambda_2 };
        session.prepared().device().replay(&mut recordings[example][0], &mut || {
            session.forward(example, true)?;
            session.backward(example, true, lambda_e)?;
            session.update(adam)?;
            session.advance()
        })
    }

    /// Reads the losses of the last step on an example.
    pub fn loss(&mut self, example: usize) -> Result<StepLoss> {
        let lambda_e = self.lambda_e();
        self.session.loss(example, lambda_e)
    }

    /// Returns the scores of the validation and the test nodes with the current parameters, without dropout.
    pub fn evaluate(&mut self) -> Result<[Score; 2]> {
        let Self { session, recordings, .. } = self;
        let prepared = session.prepared();
        let lists = |k: usize| [&prepared.examples()[k].validation, &prepared.examples()[k].test];
        let evaluated = |k: &usize| lists(*k).iter().any(|list| !list.is_empty());
        let examples = prepared.examples().len();
        for k in (0..examples).filter(evaluated) {
            prepared.device().replay(&mut recordings[k][1], &mut || {
                session.forward(k, false)?;
                session.evaluate(k)
            })?;
        }
        let readings = session.read()?;
        let mut sums = [(0.0, Counts::default(), 0usize); 2];
        for k in (0..examples).filter(evaluated) {
            for ((sum, list), (loss, counts)) in sums.iter_mut().zip(lists(k)).zip(readings.scores[k]) {
                sum.0 += loss;
                sum.1 += counts;
                sum.2 += list.len();
            }
        }
        let score = |(loss, counts, nodes): (f64, Counts, usize)| Score {
            loss: loss / nodes.max(1) as f64,
            metric: counts.micro_f1(),
        };
        Ok(sums.map(score))
    }
}

/// State of [`EarlyStop`] during a run.
#[derive(Debug)]
struct Stopper {
    rule: EarlyStop,
    recent: VecDeque<Score>,
    stopped: bool,
}

impl Stopper {
    fn new(rule: EarlyStop, max_epochs: usize) -> Self {
        Self { rule, recent: VecDeque::with_capacity(rule.window.min(max_epochs) + 1), stopped: false }
    }

    /// Records the validation score of an epoch and decides whether to stop.
    fn see(&mut self, epoch: usize, score: Score) {
        if epoch > self.rule.patience && !self.recent.is_empty() {
            let mean = |f: fn(&Score) -> f64| self.recent.iter().map(f).sum::<f64>() / self.recent.len() as f64;
            let settled = |mean: f64, value: f64, threshold: f64| (mean - value).abs() / mean < threshold;
            self.stopped = settled(mean(|s| s.loss), score.loss, self.rule.loss_change)
                || settled(mean(|s| s.metric), score.metric, self.rule.metric_change);
        }
        if self.recent.len() == self.rule.window {
            self.recent.pop_front();
        }
        self.recent.push_back(score);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops_at(rule: EarlyStop, scores: &[(f64, f64)]) -> Option<usize> {
        let mut stopper = Stopper::new(rule, scores.len());
        scores.iter().enumerate().find_map(|(epoch, &(loss, metric))| {
            stopper.see(epoch, Score { loss, metric });
            stopper.stopped.then_some(epoch)
        })
    }

    #[test]
    fn stops_when_loss_or_metric_is_close_to_its_mean() {
        let rule = EarlyStop { patience: 2, window: 2, loss_change: 0.1, metric_change: 0.0 };
        // Training cannot stop up to epoch 2. Epoch 3 compares the loss 1.0 with the mean 1.75 of 2.0 and
        // 1.5; epoch 4 compares 1.2 with the mean 1.25.
        let falling = [(4.0, 0.1), (2.0, 0.2), (1.5, 0.3), (1.0, 0.4), (1.2, 0.5), (1.1, 0.6)];
        assert_eq!(stops_at(rule, &falling), Some(4));
        let by_metric = EarlyStop { loss_change: 0.0, metric_change: 0.25, ..rule };
        assert_eq!(stops_at(by_metric, &[(1.0, 0.5), (0.5, 0.5), (0.2, 0.5), (0.1, 0.8), (0.05, 0.7)]), Some(4));
        assert_eq!(stops_at(EarlyStop { patience: 9, ..rule }, &falling), None);
    }
}
