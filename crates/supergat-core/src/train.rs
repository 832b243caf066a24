//! Training: full-batch Adam, validation after every epoch, choice of the best epoch, early stopping, resuming.

use crate::config::{EarlyStop, Select, TrainConfig};
use crate::counts::Counts;
use crate::device::{Adam, Device};
use crate::error::{Error, Result};
use crate::example::ExampleShape;
use crate::layers::Parameter;
use crate::memory::Arena;
use crate::model::{Network, StepLoss};
use crate::prepared::Prepared;
use crate::random::{Purpose, Stream};
use crate::session::Session;
use crate::train_state::{ParameterState, TrainState, refused};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
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
pub struct Trained<D: Device> {
    /// Model with the parameters of the best epoch.
    pub model: Network<D>,
    /// Scores of the best epoch.
    pub outcome: Outcome,
    /// Logits of all nodes of every example, computed by the model without dropout.
    pub logits: Vec<Vec<D::Number>>,
}

/// A training run on prepared examples.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// use supergat_core::{Prepared, TrainConfig, Trainer};
/// use supergat_cpu::Cpu;
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("gat-go".parse().unwrap(), &example);
/// let prepared = Prepared::on(&Cpu::default(), &[example], architecture, TrainConfig::default())?;
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
    selection: Selection,
    /// Number of training steps, which is also the step of the clock.
    steps: u32,
}

impl<'p, D: Device> Trainer<'p, D> {
    /// Starts a run with weights drawn from `seed`. All memory is allocated here.
    pub fn new(prepared: &'p Prepared<D>, seed: u64) -> Result<Self> {
        let (device, examples) = (prepared.device(), prepared.examples());
        check_selection(prepared)?;
        let order: Vec<usize> = (0..examples.len()).filter(|&k| examples[k].split_sizes()[0] > 0).collect();
        let network = Network::on(device, *prepared.architecture(), seed)?;
        let session = Session::new(prepared, network, seed, true)?;
        let mut arena = Arena::allocating();
        let best = session.network().parameters().map(|p| device.numbers(p.stored(), &mut arena));
        let best = best.collect::<Result<_>>()?;
        let recordings = examples.iter().map(|_| Default::default()).collect();
        let selection = Selection::new(prepared.config());
        Ok(Self { session, seed, order, best, recordings, selection, steps: 0 })
    }

    /// Runs the remaining epochs and restores the parameters of the best one. `observe` is called after every
    /// epoch and may stop the run.
    pub fn run(self, mut observe: impl FnMut(&Epoch) -> ControlFlow<()>) -> Result<Trained<D>> {
        self.run_observed(|_, epoch| Ok(observe(epoch)))
    }

    /// Runs the remaining epochs like [`Trainer::run`]. `observe` also receives the trainer, whose state it may
    /// save with [`Trainer::state`].
    pub fn run_observed(
        mut self,
        mut observe: impl FnMut(&Self, &Epoch) -> Result<ControlFlow<()>>,
    ) -> Result<Trained<D>> {
        let mut interrupted = false;
        while let Some(epoch) = self.next_epoch()? {
            if observe(&self, &epoch)?.is_break() {
                interrupted = true;
                break;
            }
        }
        let device = self.session.prepared().device();
        let mut best = self.best.iter();
        self.session.network_mut().for_each_parameter(|parameter| {
            device.copy(best.next().expect("as many as parameters"), &mut parameter.value)
        })?;
        let outcome = self.selection.outcome(interrupted);
        let mut logits = Vec::new();
        for example in 0..self.session.prepared().examples().len() {
            self.session.forward(example, false)?;
            logits.push(self.session.logits(example)?);
        }
        Ok(Trained { model: self.session.into_network(), outcome, logits })
    }

    /// Runs one epoch: a step per training graph in shuffled order, then validation. Returns `None` after the
    /// last epoch. Allocates nothing.
    pub fn next_epoch(&mut self) -> Result<Option<Epoch>> {
        if self.is_finished() {
            return Ok(None);
        }
        let epoch = self.selection.epoch;
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
                return Err(Error::Diverged { epoch, loss: loss.total, has_edge_loss: lambda_e.is_some() });
            }
            train.label += loss.label * share;
            train.edge += loss.edge * share;
            train.total += loss.total * share;
        }
        if !validation.loss.is_finite() {
            return Err(Error::Diverged { epoch, loss: validation.loss, has_edge_loss: lambda_e.is_some() });
        }
        let best = self.selection.count(validation, test);
        if best {
            let device = self.session.prepared().device();
            let parameters = self.session.network().parameters();
            self.best.iter_mut().zip(parameters).try_for_each(|(best, p)| device.copy(&p.value, best))?;
        }
        Ok(Some(Epoch { epoch, train, validation, test, best }))
    }

    /// Returns whether there are no further epochs.
    pub fn is_finished(&self) -> bool {
        self.selection.is_finished()
    }

    /// Returns the state of the training after an epoch: everything that the following epochs depend on.
    /// `history` contains all epochs so far; panics if their number is another one.
    ///
    /// See [`TrainState`] for an example.
    pub fn state(&self, history: &[Epoch]) -> Result<TrainState<D::Number>> {
        assert_eq!(history.len(), self.selection.epoch, "one entry per epoch");
        let prepared = self.session.prepared();
        let device = prepared.device();
        let part = |(parameter, best): (&Parameter<D>, &D::Numbers)| {
            let [first, second] = parameter.moments_to_rows(device)?;
            let parts = [parameter.to_rows(device)?, first, second, parameter.rows_of(device, best)?];
            Ok(ParameterState { name: parameter.name.clone(), shape: parameter.shape, parts })
        };
        let parameters = self.session.network().parameters().zip(&self.best).map(part).collect::<Result<_>>()?;
        Ok(TrainState {
            architecture: *prepared.architecture(),
            config: *prepared.config(),
            seed: self.seed,
            steps: self.steps,
            history: history.to_vec(),
            parameters,
            metadata: HashMap::new(),
        })
    }

    /// Resumes a training from a saved state. The following epochs have the same bits as those of a training
    /// without interruption. Fails if the state belongs to another architecture or configuration.
    pub fn resume(prepared: &'p Prepared<D>, state: &TrainState<D::Number>) -> Result<Self> {
        state.check(prepared.architecture(), prepared.config())?;
        let mut trainer = Self::new(prepared, state.seed)?;
        let expected = state.history.len() as u64 * trainer.order.len() as u64;
        if u64::from(state.steps) != expected {
            return Err(refused(format!(
                "expected {expected} steps in {} epochs of {} training graphs, found {}",
                state.history.len(),
                trainer.order.len(),
                state.steps
            )));
        }
        for epoch in &state.history {
            if trainer.is_finished() {
                return Err(refused("it has epochs after the end of the training".into()));
            }
            trainer.selection.count(epoch.validation, epoch.test);
        }
        let device = prepared.device();
        let mut best = trainer.best.iter_mut();
        trainer.session.network_mut().for_each_parameter(|parameter| {
            let belongs = |saved: &&ParameterState<_>| saved.name == parameter.name && saved.shape == parameter.shape;
            let saved = state
                .parameters
                .iter()
                .find(belongs)
                .ok_or_else(|| refused(format!("it has no `{}` of this shape", parameter.name)))?;
            let [value, first, second, of_best] = &saved.parts;
            parameter.set_rows(device, value)?;
            parameter.set_moments(device, [first, second])?;
            device.upload(&parameter.stored_of(of_best), best.next().expect("as many as parameters"))
        })?;
        trainer.session.set_step(state.steps)?;
        trainer.steps = state.steps;
        Ok(trainer)
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
        self.steps += 1;
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

    /// Returns the scores of the validation and the test nodes with the current parameters, without dropout. Allocates
    /// only if there is a scorer.
    pub fn evaluate(&mut self) -> Result<[Score; 2]> {
        let Self { session, recordings, .. } = self;
        let prepared = session.prepared();
        let sizes = |k: usize| -> [usize; 2] {
            let [_, validation, test] = prepared.examples()[k].split_sizes();
            [validation, test]
        };
        let evaluated = |k: &usize| sizes(*k) != [0, 0];
        let examples = prepared.examples().len();
        let mut logits = vec![Vec::new(); if prepared.scorer().is_some() { examples } else { 0 }];
        for k in (0..examples).filter(evaluated) {
            prepared.device().replay(&mut recordings[k][1], &mut || {
                session.forward(k, false)?;
                session.evaluate(k)
            })?;
            if prepared.scorer().is_some() {
                logits[k] = session.logits(k)?;
            }
        }
        let readings = session.read()?;
        let mut sums = [(0.0, Counts::default(), 0usize); 2];
        for k in (0..examples).filter(evaluated) {
            for ((sum, nodes), (loss, counts)) in sums.iter_mut().zip(sizes(k)).zip(readings.scores[k]) {
                sum.0 += loss;
                sum.1 += counts;
                sum.2 += nodes;
            }
        }
        let score = |(loss, counts, nodes): (f64, Counts, usize)| Score {
            loss: loss / nodes.max(1) as f64,
            metric: counts.micro_f1(),
        };
        let mut scores = sums.map(score);
        if let Some(scorer) = prepared.scorer() {
            scores.iter_mut().zip(scorer.score(&logits)).for_each(|(score, metric)| score.metric = metric);
        }
        Ok(scores)
    }
}

/// Number of epochs since the last better validation score.
#[derive(Debug, Default)]
struct Waiting {
    best: Option<Score>,
    epochs: usize,
}

impl Waiting {
    /// Counts an epoch. Of two equal metrics, the one with the smaller loss is better: a network that predicts one class
    /// for all nodes has a constant metric, and may still learn.
    fn see(&mut self, select: Option<Select>, score: Score) {
        let is_better = self.best.is_none_or(|best| match select {
            Some(Select::Loss) => score.loss < best.loss,
            _ => score.metric > best.metric || (score.metric == best.metric && score.loss < best.loss),
        });
        if is_better {
            *self = Self { best: Some(score), epochs: 0 };
        } else {
            self.epochs += 1;
        }
    }
}

/// Fails if no example has training or validation nodes, or if the metric that selects needs a scorer.
pub fn check_selection<D: Device>(prepared: &Prepared<D>) -> Result<()> {
    for (k, split) in ["training", "validation"].into_iter().enumerate() {
        if prepared.examples().iter().all(|example| example.split_sizes()[k] == 0) {
            return Err(Error::EmptySplit { split });
        }
    }
    if let Some(select) = prepared.config().select.filter(|select| select.needs_scorer())
        && prepared.scorer().is_none()
    {
        return Err(Error::Hyperparameter {
            name: "select",
            value: select.to_string(),
            reason: "is not computed by this device; choose accuracy or loss".into(),
        });
    }
    Ok(())
}

/// Choice of the best epoch, and early stopping.
#[derive(Debug)]
pub struct Selection {
    select: Option<Select>,
    max_epochs: usize,
    stopper: Option<Stopper>,
    patience: usize,
    waiting: Waiting,
    outcome: Option<Outcome>,
    /// Number of epochs so far.
    pub epoch: usize,
}

impl Selection {
    /// Starts a selection before the first epoch.
    pub fn new(config: &TrainConfig) -> Self {
        let &TrainConfig { select, max_epochs, early_stop, patience, .. } = config;
        let stopper = early_stop.map(|rule| Stopper::new(rule, max_epochs));
        Self { select, max_epochs, stopper, patience, waiting: Waiting::default(), outcome: None, epoch: 0 }
    }

    /// Returns whether there are no further epochs.
    pub fn is_finished(&self) -> bool {
        let is_tired = self.patience > 0 && self.waiting.epochs >= self.patience;
        self.epoch >= self.max_epochs || is_tired || self.stopper.as_ref().is_some_and(|stopper| stopper.stopped)
    }

    /// Counts an epoch with these scores, and returns whether it is the best one so far.
    pub fn count(&mut self, validation: Score, test: Score) -> bool {
        let epoch = self.epoch;
        self.waiting.see(self.select, validation);
        let best = self.outcome.is_none_or(|o| match self.select {
            Some(Select::Loss) => validation.loss <= o.validation.loss,
            _ => validation.metric >= o.validation.metric,
        });
        if best {
            self.outcome = Some(Outcome { epochs: epoch + 1, best_epoch: epoch, validation, test, interrupted: false });
        }
        if let Some(stopper) = &mut self.stopper {
            stopper.see(epoch, validation);
        }
        self.epoch += 1;
        best
    }

    /// Returns the scores of the best epoch. Panics before the first one.
    pub fn outcome(&self, interrupted: bool) -> Outcome {
        Outcome { epochs: self.epoch, interrupted, ..self.outcome.expect("at least one epoch was run") }
    }
}

/// State of [`EarlyStop`] during a run.
#[derive(Debug)]
struct Stopper {
    rule: EarlyStop,
    recent: VecDeque<Score>,
    /// Metric of the first epoch, while that of every epoch is the same.
    constant: Option<f64>,
    stopped: bool,
}

impl Stopper {
    fn new(rule: EarlyStop, max_epochs: usize) -> Self {
        let recent = VecDeque::with_capacity(rule.window.min(max_epochs) + 1);
        Self { rule, recent, constant: None, stopped: false }
    }

    /// Records the validation score of an epoch and decides whether to stop.
    fn see(&mut self, epoch: usize, score: Score) {
        if epoch == 0 {
            self.constant = Some(score.metric);
        }
        self.constant = self.constant.filter(|metric| *metric == score.metric);
        // A network that predicts one class for all nodes has a constant metric, and may still learn more.
        let says_nothing = self.constant.is_some_and(|metric| metric < 1.0);
        if epoch > self.rule.after && !self.recent.is_empty() {
            let mean = |f: fn(&Score) -> f64| self.recent.iter().map(f).sum::<f64>() / self.recent.len() as f64;
            let settled = |mean: f64, value: f64, threshold: f64| (mean - value).abs() / mean < threshold;
            self.stopped = settled(mean(|s| s.loss), score.loss, self.rule.loss_change)
                || (!says_nothing && settled(mean(|s| s.metric), score.metric, self.rule.metric_change));
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

    #[test]
    fn patience_counts_epochs_without_a_better_score() {
        let waits = |select, scores: &[(f64, f64)]| {
            let mut waiting = Waiting::default();
            scores.iter().for_each(|&(loss, metric)| waiting.see(select, Score { loss, metric }));
            waiting.epochs
        };
        assert_eq!(waits(None, &[(1.0, 0.5), (0.9, 0.6), (0.8, 0.6), (0.7, 0.5)]), 1, "a smaller loss breaks ties");
        assert_eq!(waits(None, &[(1.0, 0.5), (0.9, 0.6), (0.9, 0.6), (1.0, 0.6)]), 2);
        assert_eq!(waits(Some(Select::Loss), &[(1.0, 0.5), (1.1, 0.9), (0.9, 0.1), (0.9, 1.0)]), 1);
    }

    fn stops_at(rule: EarlyStop, scores: &[(f64, f64)]) -> Option<usize> {
        let mut stopper = Stopper::new(rule, scores.len());
        scores.iter().enumerate().find_map(|(epoch, &(loss, metric))| {
            stopper.see(epoch, Score { loss, metric });
            stopper.stopped.then_some(epoch)
        })
    }

    #[test]
    fn stops_when_loss_or_metric_is_close_to_its_mean() {
        let rule = EarlyStop { after: 2, window: 2, loss_change: 0.1, metric_change: 0.0 };
        // Training cannot stop up to epoch 2. Epoch 3 compares the loss 1.0 with the mean 1.75 of 2.0 and
        // 1.5; epoch 4 compares 1.2 with the mean 1.25.
        let falling = [(4.0, 0.1), (2.0, 0.2), (1.5, 0.3), (1.0, 0.4), (1.2, 0.5), (1.1, 0.6)];
        assert_eq!(stops_at(rule, &falling), Some(4));
        let by_metric = EarlyStop { loss_change: 0.0, metric_change: 0.25, ..rule };
        assert_eq!(stops_at(by_metric, &[(1.0, 0.5), (0.5, 0.5), (0.2, 0.5), (0.1, 0.8), (0.05, 0.7)]), Some(4));
        assert_eq!(stops_at(EarlyStop { after: 9, ..rule }, &falling), None);
    }

    #[test]
    fn a_metric_that_never_changed_does_not_stop() {
        let rule = EarlyStop { after: 1, window: 2, loss_change: 0.0, metric_change: 0.1 };
        let with = |metrics: [f64; 5]| stops_at(rule, &metrics.map(|metric| (1.0, metric)));
        assert_eq!(with([0.8; 5]), None);
        assert_eq!(with([0.2, 0.8, 0.8, 0.8, 0.8]), Some(3));
        assert_eq!(with([1.0; 5]), Some(2), "a perfect metric cannot become better");
        let by_loss = EarlyStop { loss_change: 0.1, ..rule };
        assert_eq!(stops_at(by_loss, &[(1.0, 0.8); 5]), Some(2));
    }
}
