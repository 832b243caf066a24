//! Systems: networks beside a part that learns or chooses edges or labels. Each has its own step of training, and shares
//! everything else: kernels, dropout, Adam, choice of the best epoch, early stopping, files.
//!
//! To add one:
//!
//! 1. a variant of [`supergat_core::System`], with its name in [`supergat_core::ModelKind`];
//! 2. its hyperparameters in [`supergat_core::hyperparameters`], in a group of their own;
//! 3. a file in this folder with its options and a type that implements the trait `Learner` of `learner.rs`;
//! 4. a variant of [`Options`], and its place in `number.rs`.
//!
//! Systems that train a network several times have a trainer of their own instead of a `Learner`: [`gam`] and [`lds`].
//!
//! Systems run on the CPU, on one graph. All weights are saved as matrices by name.

mod convolutions;
pub mod gam;
mod glcn;
pub mod lds;
mod learned;
mod learner;
mod neural_sparse;
mod number;
mod rounds;

pub use glcn::GlcnOptions;
pub use learned::Learned;
pub use neural_sparse::NeuralSparseOptions;
pub use number::SystemNumber;
pub use rounds::LearnedGraphs;

use learner::Learner;

use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use supergat_core::checkpoint::{Weights, check_size};
use supergat_core::device::prelude::*;
use supergat_core::device::{Draw, Place, Readings};
use supergat_core::example::ExampleShape;
use supergat_core::hyperparameters::SettingsGroup;
use supergat_core::layers::Context;
use supergat_core::memory::{Arena, Buffer};
use supergat_core::selection::Selection;
use supergat_core::train::check_selection;
use supergat_core::{
    Architecture, Counts, EdgeValues, Epoch, Error, Example, ModelKind, Outcome, Prepared, Result, Score, System,
};
use supergat_cpu::Cpu;
use supergat_cpu::kernels::Primitives;

/// Options of a system, beside the architecture and the training configuration.
///
/// See [`SystemTrainer`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Options {
    /// GLCN.
    Glcn(GlcnOptions),
    /// NeuralSparse.
    NeuralSparse(NeuralSparseOptions),
    /// Graph Agreement Models.
    Gam(gam::GamOptions),
    /// LDS.
    Lds(lds::LdsOptions),
}

impl Options {
    /// Returns the system that the options belong to.
    pub fn system(&self) -> System {
        match self {
            Self::Glcn(_) => System::Glcn,
            Self::NeuralSparse(_) => System::NeuralSparse,
            Self::Gam(_) => System::Gam,
            Self::Lds(_) => System::Lds,
        }
    }

    /// Validates every number.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Glcn(options) => options.check(),
            Self::NeuralSparse(options) => options.check(),
            Self::Gam(options) => options.check(),
            Self::Lds(options) => options.check(),
        }
    }

    /// Fails if the options are those of another system.
    fn fit(&self, model: ModelKind) -> Result<()> {
        if model == ModelKind::System(self.system()) {
            return Ok(());
        }
        Err(Error::OtherArchitecture { expected: format!("{self:?}"), found: model.to_string() })
    }

    fn learner<'p, T: SystemNumber>(
        &self,
        prepared: &'p Prepared<Cpu<T>>,
        training: bool,
        arena: &mut Arena,
    ) -> Result<Box<dyn Learner<T> + 'p>> {
        self.check()?;
        let model = prepared.architecture().model;
        self.fit(model)?;
        if prepared.examples().len() != 1 {
            let reason =
                format!("is trained on one graph, but there are {}; use another model", prepared.examples().len());
            return Err(Error::Hyperparameter { name: "model", value: model.to_string(), reason });
        }
        T::learner(*self, prepared, training, arena)
    }

    /// Returns a lower bound of the number of weights that the system adds to those of its layers.
    fn least_weights(&self, architecture: &Architecture) -> u64 {
        let Architecture { input_features, edge_features, .. } = *architecture;
        let (rows, columns) = match self {
            Self::Glcn(options) => (input_features, options.graph_hidden),
            Self::NeuralSparse(options) => {
                (input_features.saturating_mul(2).saturating_add(edge_features), options.sampler_hidden)
            }
            Self::Gam(_) | Self::Lds(_) => (0, 0),
        };
        (rows as u64).saturating_mul(columns as u64)
    }

    /// Returns the number of bytes of all weights in training, with gradients, optimiser state and a copy of the best
    /// epoch, and the number of bytes of passes.
    pub fn bytes<T: SystemNumber>(&self, prepared: &Prepared<Cpu<T>>) -> Result<[u64; 2]> {
        match *self {
            Self::Gam(options) => return rounds::gam_bytes(prepared, options),
            Self::Lds(options) => return rounds::lds_bytes(prepared, options),
            Self::Glcn(_) | Self::NeuralSparse(_) => {}
        }
        let mut arena = Arena::counting();
        let mut weights = 0;
        self.learner(prepared, true, &mut arena)?.for_each_parameter(&mut |parameter| {
            weights += (parameter.stored() * (5 * size_of::<T>() + size_of::<u32>())) as u64;
        });
        Ok([weights, arena.bytes()])
    }
}

/// Returns the given weights of edges; an empty list if all are 1.
fn edge_weights<'a, T: Primitives>(context: &Context<'a, Cpu<T>>) -> &'a [T] {
    context.example.edges.as_ref().map_or(&[], |edges| edges.weights())
}

/// A trained system.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_systems::{GlcnOptions, Options, SystemTrainer};
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels, Prepared, TrainConfig};
/// use supergat_cpu::Cpu;
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("glcn".parse().unwrap(), &example);
/// let config = TrainConfig::default().with(|c| c.training.max_epochs = 5);
/// let prepared = Prepared::on(&Cpu::default(), &[example], architecture, config)?;
/// let options = Options::Glcn(GlcnOptions {
///     graph_hidden: 4,
///     graph_lr: 0.01,
///     lambda_graph: 0.01,
///     gamma_graph: 0.01,
///     graph_from_labels: true,
///     lr_decay: 1.0,
/// });
/// let model = SystemTrainer::new(&prepared, options, 0)?.run(|_| ControlFlow::Continue(()))?.model;
/// assert_eq!((model.weights[0].name.as_str(), model.weights[0].shape), ("graph.p", [1, 4]));
/// // The weights of the incoming edges of a node sum to one.
/// let edges = model.edges(&prepared.examples()[0])?.remove(0);
/// assert!((edges.coefficients[0] + edges.coefficients[1] - 1.0).abs() < 1e-6);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SystemModel<T> {
    /// Kind and shape of the model.
    pub architecture: Architecture,
    /// Options of the system.
    pub options: Options,
    /// All weights.
    pub weights: Vec<Weights<T>>,
    /// Graphs that LDS predicts on.
    pub graphs: Option<LearnedGraphs>,
}

impl<T: SystemNumber> SystemModel<T> {
    /// Validates the architecture and the options. Fails if there are fewer weights than they need.
    pub fn check(&self) -> Result<()> {
        self.options.fit(self.architecture.model)?;
        self.options.check()?;
        let further = self.options.least_weights(&self.architecture);
        check_size(&self.architecture, further, self.weights.iter().map(|weights| weights.elements.len()).sum())
    }

    /// Returns the logits of all nodes of an example, one row of classes per node.
    pub fn predict(&self, example: &Example<T>) -> Result<Vec<T>> {
        if let Options::Gam(_) | Options::Lds(_) = self.options {
            return T::predict_rounds(self, example);
        }
        self.evaluated(example, |context, learner| {
            let logits = learner.logits()[..context.example.nodes() * self.architecture.classes].to_vec();
            context.rows_to_outer(logits, self.architecture.classes)
        })
    }

    /// Returns the weight and the score of every edge of an example, in the order of the graph's incoming lists. Models
    /// that do not weigh edges have none.
    pub fn edges(&self, example: &Example<T>) -> Result<Vec<EdgeValues<T>>> {
        if let Options::Gam(_) | Options::Lds(_) = self.options {
            return Ok(Vec::new());
        }
        self.evaluated(example, |context, learner| {
            let EdgeValues { heads, coefficients, logits } = learner.edges();
            let [coefficients, logits] = [coefficients, logits].map(|values| context.edges_to_outer(values, 1));
            vec![EdgeValues { heads, coefficients, logits }]
        })
    }

    /// Runs a pass over an example without random numbers, and returns what `read` reads.
    fn evaluated<R>(
        &self,
        example: &Example<T>,
        read: impl FnOnce(&Context<'_, Cpu<T>>, &dyn Learner<T>) -> R,
    ) -> Result<R> {
        let prepared = Prepared::for_evaluation(&Cpu::default(), example, self.architecture)?;
        let mut learner = self.options.learner(&prepared, false, &mut Arena::allocating())?;
        let (device, mut missing) = (prepared.device(), None);
        learner.for_each_parameter(&mut |parameter| {
            let is_saved = |saved: &&Weights<T>| saved.name == parameter.name && saved.shape == parameter.shape;
            match self.weights.iter().find(is_saved) {
                Some(saved) => parameter.set_rows(device, &saved.elements).expect("the CPU can write its memory"),
                None => missing = Some(format!("it has no `{}` of shape {:?}", parameter.name, parameter.shape)),
            }
        });
        if let Some(reason) = missing {
            return Err(Error::Checkpoint { reason });
        }
        learner.evaluate()?;
        Ok(read(&prepared.context(0, None), &*learner))
    }
}

/// A finished training of a system.
///
/// See [`SystemTrainer`] for an example.
#[derive(Debug)]
pub struct TrainedSystem<T> {
    /// Model with the weights of the best epoch.
    pub model: SystemModel<T>,
    /// Scores of the best epoch.
    pub outcome: Outcome,
    /// Logits of all nodes, computed by the model.
    pub logits: Vec<T>,
}

/// Trains a system of any kind. `observe` is called after every epoch and may stop the training.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_systems::{Options, train};
/// use supergat_systems::lds::LdsOptions;
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels, Prepared, TrainConfig};
/// use supergat_cpu::Cpu;
/// let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], Direction::Undirected)?;
/// let features = Features::dense(6, 1, vec![1.0f32, 0.9, 0.8, -0.9, -0.8, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 0, 1, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 5], vec![1, 4], vec![2, 3]])?;
/// let architecture = Architecture::new("lds".parse().unwrap(), &example);
/// let config = TrainConfig::default().with(|c| c.training.max_epochs = 2);
/// let prepared = Prepared::on(&Cpu::default(), &[example], architecture, config)?;
/// let options = Options::Lds(LdsOptions {
///     similar_neighbours: 0,
///     edge_lr: 0.1,
///     edge_steps: 5,
///     inner_steps: 20,
///     inner_patience: 20,
///     graph_samples: 3,
///     outer_patience: 2,
/// });
/// let trained = train(&prepared, options, 0, |_| ControlFlow::Continue(()))?;
/// assert_eq!(trained.logits, trained.model.predict(&prepared.examples()[0])?);
/// assert_eq!(trained.model.graphs.unwrap().links.len(), 3);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn train<T: SystemNumber>(
    prepared: &Prepared<Cpu<T>>,
    options: Options,
    seed: u64,
    mut observe: impl FnMut(&Epoch) -> ControlFlow<()>,
) -> Result<TrainedSystem<T>> {
    options.check()?;
    options.fit(prepared.architecture().model)?;
    match options {
        Options::Gam(_) | Options::Lds(_) => T::train_rounds(options, prepared, seed, &mut observe),
        Options::Glcn(_) | Options::NeuralSparse(_) => SystemTrainer::new(prepared, options, seed)?.run(observe),
    }
}

/// A training of a system on a prepared example.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_systems::{GlcnOptions, Options, SystemTrainer};
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels, Prepared, TrainConfig};
/// use supergat_cpu::Cpu;
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("glcn".parse().unwrap(), &example);
/// let prepared = Prepared::on(&Cpu::default(), &[example], architecture, TrainConfig::default())?;
/// let options = Options::Glcn(GlcnOptions {
///     graph_hidden: 4,
///     graph_lr: 0.01,
///     lambda_graph: 0.01,
///     gamma_graph: 0.01,
///     graph_from_labels: true,
///     lr_decay: 1.0,
/// });
/// let mut trainer = SystemTrainer::new(&prepared, options, 0)?;
/// let epoch = trainer.next_epoch()?.expect("max_epochs is at least 1");
/// assert_eq!((epoch.epoch, epoch.best), (0, true));
/// let trained = trainer.run(|epoch| {
///     if epoch.epoch == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// })?;
/// assert_eq!((trained.outcome.epochs, trained.outcome.interrupted), (5, true));
/// assert_eq!(trained.logits, trained.model.predict(&prepared.examples()[0])?);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct SystemTrainer<'p, T: SystemNumber> {
    prepared: &'p Prepared<Cpu<T>>,
    options: Options,
    learner: Box<dyn Learner<T> + 'p>,
    /// Weights of the best epoch.
    best: Vec<Buffer<T>>,
    selection: Selection,
    clock: Draw,
    readings: Readings,
}

impl<'p, T: SystemNumber> SystemTrainer<'p, T> {
    /// Starts a training with weights drawn from `seed`. All memory is allocated here.
    pub fn new(prepared: &'p Prepared<Cpu<T>>, options: Options, seed: u64) -> Result<Self> {
        check_selection(prepared)?;
        let mut arena = Arena::allocating();
        let mut learner = options.learner(prepared, true, &mut arena)?;
        learner.initialise(seed)?;
        let mut best = Vec::new();
        learner.for_each_parameter(&mut |parameter| best.push(arena.numbers(parameter.stored())));
        let (selection, clock) = (Selection::new(prepared.config()), Draw { seed, step: 0 });
        Ok(Self { prepared, options, learner, best, selection, clock, readings: Readings::new(1) })
    }

    /// Runs the remaining epochs and restores the weights of the best one. `observe` is called after every epoch and may
    /// stop the run.
    pub fn run(mut self, mut observe: impl FnMut(&Epoch) -> ControlFlow<()>) -> Result<TrainedSystem<T>> {
        let mut interrupted = false;
        while let Some(epoch) = self.next_epoch()? {
            if observe(&epoch).is_break() {
                interrupted = true;
                break;
            }
        }
        let Self { prepared, learner, best, .. } = &mut self;
        let (device, mut weights, mut best) = (prepared.device(), Vec::new(), best.iter());
        learner.for_each_parameter(&mut |parameter| {
            parameter.value.copy_from_slice(best.next().expect("as many as parameters"));
            let elements = parameter.to_rows(device).expect("the CPU can read its memory");
            weights.push(Weights { name: parameter.name.clone(), shape: parameter.shape, elements });
        });
        learner.evaluate()?;
        let logits = self.outer_logits();
        let model =
            SystemModel { architecture: *self.prepared.architecture(), options: self.options, weights, graphs: None };
        Ok(TrainedSystem { model, outcome: self.selection.outcome(interrupted), logits })
    }

    /// Runs one epoch: a step, then validation. Returns `None` after the last epoch. Allocates nothing, unless there is a
    /// scorer.
    pub fn next_epoch(&mut self) -> Result<Option<Epoch>> {
        if self.selection.is_finished() {
            return Ok(None);
        }
        let epoch = self.selection.epoch;
        let train = self.learner.differentiate(&self.clock)?;
        if !train.total.is_finite() {
            return Err(Error::Diverged { epoch, loss: train.total, has_edge_loss: false });
        }
        self.learner.update(&self.clock)?;
        self.clock.step += 1;
        let [validation, test] = self.evaluate()?;
        if !validation.loss.is_finite() {
            return Err(Error::Diverged { epoch, loss: validation.loss, has_edge_loss: false });
        }
        let best = self.selection.count(validation, test);
        if best {
            let mut copies = self.best.iter_mut();
            self.learner.for_each_parameter(&mut |parameter| {
                copies.next().expect("as many as parameters").copy_from_slice(&parameter.value);
            });
        }
        Ok(Some(Epoch { epoch, train, validation, test, best }))
    }

    /// Returns the scores of the validation and the test nodes.
    fn evaluate(&mut self) -> Result<[Score; 2]> {
        self.learner.evaluate()?;
        let context = self.prepared.context(0, None);
        let place = Place { record: &mut self.readings, example: 0 };
        context.device.evaluate(context.problem, self.learner.logits(), place)?;
        let [_, validation, test] = context.example.split_sizes();
        let score = |((loss, counts), nodes): ((f64, Counts), usize)| Score {
            loss: loss / nodes.max(1) as f64,
            metric: counts.micro_f1(),
        };
        let [of_validation, of_test] = self.readings.scores[0];
        let mut scores = [(of_validation, validation), (of_test, test)].map(score);
        if let Some(scorer) = self.prepared.scorer() {
            let metrics = scorer.score(&[self.outer_logits()]);
            scores.iter_mut().zip(metrics).for_each(|(score, metric)| score.metric = metric);
        }
        Ok(scores)
    }

    /// Returns the logits of the last pass, in the given order of nodes.
    fn outer_logits(&self) -> Vec<T> {
        let (context, classes) = (self.prepared.context(0, None), self.prepared.architecture().classes);
        context.rows_to_outer(self.learner.logits()[..context.example.nodes() * classes].to_vec(), classes)
    }
}

#[cfg(test)]
mod tests;
