//! Training: full-batch Adam, validation after every epoch, resuming.

use crate::counts::Counts;
use crate::device::{Adam, Device};
use crate::error::{Error, Result};
use crate::example::ExampleShape;
use crate::layers::Parameter;
use crate::memory::Arena;
use crate::model::{Network, StepLoss};
use crate::prepared::Prepared;
use crate::random::{Purpose, Stream};
use crate::selection::{Epoch, Outcome, Score, Selection};
use crate::session::Session;
use crate::train_state::{ParameterState, TrainState, refused};
use std::collections::HashMap;
use std::ops::ControlFlow;

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
        prepared.architecture().model.is_self_supervised().then_some(prepared.config().edge_loss.lambda_e)
    }

    /// Runs the forward pass, the backward pass and the update on one example. The losses are read by
    /// [`Trainer::loss`] or at the end of the epoch.
    pub fn train_step(&mut self, example: usize) -> Result<()> {
        let lambda_e = self.lambda_e();
        self.steps += 1;
        let Self { session, recordings, .. } = self;
        let training = &session.prepared().config().training;
        let adam = Adam { lr: training.lr, lambda_2: training.lambda_2 };
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
