//! Systems: networks beside a part that learns or chooses edges or labels. Each has its own step of training, and shares
//! everything else: kernels, dropout, Adam, choice of the best epoch, early stopping, files.
//!
//! To add one:
//!
//! 1. a variant of [`supergat_core::System`], with its name in [`supergat_core::ModelKind`];
//! 2. its hyperparameters in [`supergat_core::hyperparameters`], in a group of their own;
//! 3. a file in this folder with a type that implements the trait `Learner` of `learner.rs`;
//! 4. a variant of [`Options`].
//!
//! Systems that train a network several times have a trainer of their own instead of a `Learner`: `gam` and `lds`.
//!
//! Systems run on the CPU, on one graph. All weights are saved as matrices by name. Inside the crate, systems are generic
//! over the type of numbers, because tests check gradients in double precision. The public functions are not, so no other
//! crate compiles them again.

mod convolutions;
mod gam;
mod glcn;
mod lds;
mod learned;
mod learner;
mod neural_sparse;

pub use lds::{LearnedGraphs, MOST_NODES as MOST_NODES_OF_LDS};

use learner::{Learner, outer_logits, train_learner};

use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use supergat_core::checkpoint::{Weights, check_size};
use supergat_core::hyperparameters::{GamOptions, GlcnOptions, LdsOptions, NeuralSparseOptions, SettingsGroup};
use supergat_core::layers::{Context, Parameter};
use supergat_core::memory::Arena;
use supergat_core::train::check_selection;
use supergat_core::{Architecture, EdgeValues, Epoch, Error, Example, ModelKind, Outcome, Prepared, Result, System};
use supergat_cpu::Cpu;
use supergat_cpu::kernels::Primitives;

/// Options of a system, beside the architecture and the training configuration.
///
/// See [`train`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Options {
    /// GLCN.
    Glcn(GlcnOptions),
    /// NeuralSparse.
    NeuralSparse(NeuralSparseOptions),
    /// Graph Agreement Models.
    Gam(GamOptions),
    /// LDS.
    Lds(LdsOptions),
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

    /// Places GLCN or NeuralSparse on the only example of `prepared`.
    fn learner<'p, T: Primitives>(
        &self,
        prepared: &'p Prepared<Cpu<T>>,
        training: bool,
        arena: &mut Arena,
    ) -> Result<Box<dyn Learner<T> + 'p>> {
        let model = prepared.architecture().model;
        self.check()?;
        self.fit(model)?;
        if prepared.examples().len() != 1 {
            let reason =
                format!("is trained on one graph, but there are {}; use another model", prepared.examples().len());
            return Err(Error::Hyperparameter { name: "model", value: model.to_string(), reason });
        }
        Ok(match *self {
            Self::Glcn(options) => Box::new(glcn::Glcn::new(prepared, options, training, arena)?),
            Self::NeuralSparse(options) => {
                Box::new(neural_sparse::NeuralSparse::new(prepared, options, training, arena)?)
            }
            Self::Gam(_) | Self::Lds(_) => unreachable!("{model} has a trainer of its own"),
        })
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
    pub fn bytes(&self, prepared: &Prepared<Cpu<f32>>) -> Result<[u64; 2]> {
        match *self {
            Self::Gam(options) => return gam::bytes(prepared, options),
            Self::Lds(options) => return lds::bytes(prepared, options),
            Self::Glcn(_) | Self::NeuralSparse(_) => {}
        }
        let (mut arena, mut weights) = (Arena::counting(), 0);
        self.learner(prepared, true, &mut arena)?.for_each_parameter(&mut |parameter| {
            weights += (parameter.stored() * (5 * size_of::<f32>() + size_of::<u32>())) as u64;
            Ok(())
        })?;
        Ok([weights, arena.bytes()])
    }
}

/// Returns the given weights of edges; an empty list if all are 1.
fn edge_weights<'a, T: Primitives>(context: &Context<'a, Cpu<T>>) -> &'a [T] {
    context.example.edges.as_ref().map_or(&[], |edges| edges.weights())
}

/// A trained system. See [`train`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemModel {
    /// Kind and shape of the model.
    pub architecture: Architecture,
    /// Options of the system.
    pub options: Options,
    /// All weights.
    pub weights: Vec<Weights<f32>>,
    /// Graphs that LDS predicts on.
    pub graphs: Option<LearnedGraphs>,
}

impl SystemModel {
    /// Validates the architecture and the options. Fails if there are fewer weights than they need.
    pub fn check(&self) -> Result<()> {
        self.options.fit(self.architecture.model)?;
        self.options.check()?;
        let further = self.options.least_weights(&self.architecture);
        check_size(&self.architecture, further, self.weights.iter().map(|weights| weights.elements.len()).sum())
    }

    /// Returns the logits of all nodes of an example, one row of classes per node.
    pub fn predict(&self, example: &Example<f32>) -> Result<Vec<f32>> {
        match self.options {
            Options::Gam(_) => gam::predict(self, example),
            Options::Lds(_) => lds::predict(self, example),
            Options::Glcn(_) | Options::NeuralSparse(_) => self.evaluated(example, outer_logits),
        }
    }

    /// Returns the weight and the score of every edge of an example, in the order of the graph's incoming lists. Models
    /// that do not weigh edges have none.
    pub fn edges(&self, example: &Example<f32>) -> Result<Vec<EdgeValues<f32>>> {
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
        example: &Example<f32>,
        read: impl FnOnce(&Context<'_, Cpu<f32>>, &dyn Learner<f32>) -> R,
    ) -> Result<R> {
        let prepared = Prepared::for_evaluation(&Cpu::default(), example, self.architecture)?;
        let mut learner = self.options.learner(&prepared, false, &mut Arena::allocating())?;
        learner.for_each_parameter(&mut |parameter| self.restore(parameter))?;
        learner.evaluate()?;
        Ok(read(&prepared.context(0, None), &*learner))
    }

    /// Sets a matrix of weights to the saved one.
    fn restore(&self, parameter: &mut Parameter<Cpu<f32>>) -> Result<()> {
        let is_saved = |saved: &&Weights<f32>| saved.name == parameter.name && saved.shape == parameter.shape;
        let saved = self.weights.iter().find(is_saved).ok_or_else(|| Error::Checkpoint {
            reason: format!("it has no `{}` of shape {:?}", parameter.name, parameter.shape),
        })?;
        parameter.set_rows(&Cpu::default(), &saved.elements)
    }
}

/// Returns a matrix of weights as it is saved.
fn saved(parameter: &Parameter<Cpu<f32>>) -> Result<Weights<f32>> {
    let elements = parameter.to_rows(&Cpu::default())?;
    Ok(Weights { name: parameter.name.clone(), shape: parameter.shape, elements })
}

/// A finished training of a system. See [`train`] for an example.
#[derive(Debug)]
pub struct TrainedSystem {
    /// Model with the weights of the best epoch.
    pub model: SystemModel,
    /// Scores of the best epoch. Those of the validation nodes of LDS are of the half that selects.
    pub outcome: Outcome,
    /// Logits of all nodes, computed by the model.
    pub logits: Vec<f32>,
}

/// Trains a system with weights drawn from `seed`. `observe` is called after every epoch and may stop the training.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_core::hyperparameters::GlcnOptions;
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels, Prepared, TrainConfig};
/// use supergat_cpu::Cpu;
/// use supergat_systems::{Options, train};
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
/// let trained = train(&prepared, options, 0, &mut |epoch| {
///     if epoch.epoch == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// })?;
/// assert_eq!((trained.outcome.epochs, trained.outcome.interrupted), (5, true));
/// let (model, example) = (trained.model, &prepared.examples()[0]);
/// assert_eq!(trained.logits, model.predict(example)?);
/// assert_eq!((model.weights[0].name.as_str(), model.weights[0].shape), ("graph.p", [1, 4]));
/// // The weights of the incoming edges of a node sum to one.
/// let edges = model.edges(example)?.remove(0);
/// assert!((edges.coefficients[0] + edges.coefficients[1] - 1.0).abs() < 1e-6);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn train(
    prepared: &Prepared<Cpu<f32>>,
    options: Options,
    seed: u64,
    observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>,
) -> Result<TrainedSystem> {
    options.check()?;
    options.fit(prepared.architecture().model)?;
    check_selection(prepared)?;
    match options {
        Options::Gam(options) => gam::train(prepared, options, seed, observe),
        Options::Lds(options) => lds::train(prepared, options, seed, observe),
        Options::Glcn(_) | Options::NeuralSparse(_) => train_learner(prepared, options, seed, observe),
    }
}

#[cfg(test)]
mod tests;
