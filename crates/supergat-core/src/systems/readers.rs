//! Networks that read the neighbours which NeuralSparse chooses: a GCN, or graph attention. Both know how much y_e of every
//! edge e = (j -> i) was chosen: 1 of an edge that is kept, 0 of one that is not, and a number between in training.
//!
//! ```text
//! GCN        w_e     = y_e / sqrt(d_i d_j),  d_i = 1 + min(k, neighbours of i)      d y_e = d w_e / sqrt(d_i d_j)
//! attention  alpha_e = y_e exp(s_e) / sum of y_f exp(s_f) over the edges f of i     d y_e = d (ln y_e) / y_e
//! ```
//!
//! So attention is that of a graph whose edges have the weights y; s_e are its scores without weights. The degrees d are
//! constant, because the y_e of a node sum to their number of kept edges.

use super::convolutions::{Convolutions, per_edge};
use crate::device::{Adam, Cpu, Readings};
use crate::error::{Error, Result};
use crate::example::ExampleShape;
use crate::kernels::{Buffer, Primitives};
use crate::layers::{Draw, Parameter};
use crate::memory::Arena;
use crate::model::{EdgeValues, Model, Network, StepLoss, Workspace};
use crate::model_kind::{Convolution, ModelKind};
use crate::prepared::Prepared;
use std::fmt::Debug;

/// A network on the only example of a system, with the memory for its passes.
pub(super) trait Reader<T: Primitives>: Debug + Send {
    /// Draws all weights.
    fn initialise(&mut self, seed: u64) -> Result<()>;
    /// Computes the logits; `kept` is y_e of every edge. With a clock, dropout is that of a training step.
    fn forward(&mut self, clock: Option<&Draw>, kept: &[T]) -> Result<()>;
    /// Computes the gradients of all weights after a forward pass, and writes those of `kept` to `of_kept`.
    fn backward(&mut self, clock: &Draw, kept: &[T], of_kept: &mut [T]) -> Result<StepLoss>;
    /// Updates all weights by their gradients.
    fn update(&mut self, adam: Adam, clock: &Draw) -> Result<()>;
    /// Returns the logits of the last pass.
    fn logits(&self) -> &Buffer<T>;
    /// Returns the coefficient and the score of every edge in the last pass, in the given order of edges, by layer.
    /// `chosen` has y_e and the scores of the choice.
    fn edges(&self, chosen: [&[T]; 2]) -> Result<Vec<EdgeValues<T>>>;
    /// Calls `f` with every matrix of weights.
    fn for_each_parameter(&mut self, f: &mut dyn FnMut(&mut Parameter<Cpu<T>>));
}

/// Allocates the network inside a system that chooses at most `most` neighbours of each node.
pub(super) fn reader<'p, T: Primitives>(
    prepared: &'p Prepared<Cpu<T>>,
    most: usize,
    training: bool,
    arena: &mut Arena,
) -> Result<Box<dyn Reader<T> + 'p>> {
    match prepared.architecture().model.classifier() {
        ModelKind::Convolution(Convolution::Gcn) => Ok(Box::new(Gcn::new(prepared, most, training, arena)?)),
        ModelKind::Attention { .. } => Ok(Box::new(Attentive::new(prepared, training, arena)?)),
        _ => {
            let reason =
                "neighbours are chosen for gcn and attention only; use neuralsparse, or a gat or supergat model";
            let (value, reason) = (prepared.architecture().model.to_string(), reason.into());
            Err(Error::Hyperparameter { name: "model", value, reason })
        }
    }
}

/// A GCN.
#[derive(Debug)]
struct Gcn<'p, T: Primitives> {
    prepared: &'p Prepared<Cpu<T>>,
    convolutions: Convolutions<T>,
    /// 1 / sqrt(d) of each node.
    factors: Buffer<T>,
    /// w_e.
    weights: Buffer<T>,
}

impl<'p, T: Primitives> Gcn<'p, T> {
    fn new(prepared: &'p Prepared<Cpu<T>>, most: usize, training: bool, arena: &mut Arena) -> Result<Self> {
        let example = prepared.context(0, None).example;
        let mut factors = arena.numbers(example.nodes());
        for (node, factor) in factors.iter_mut().enumerate() {
            let kept = example.graph.degree(node).min(most);
            *factor = T::from_f64(1.0 / (1.0 + kept as f64).sqrt());
        }
        let convolutions = Convolutions::new(prepared, None, training, arena)?;
        Ok(Self { prepared, convolutions, factors, weights: arena.numbers(example.graph.edges()) })
    }
}

impl<T: Primitives> Reader<T> for Gcn<'_, T> {
    fn initialise(&mut self, seed: u64) -> Result<()> {
        self.convolutions.initialise(self.prepared.device(), seed)
    }

    fn forward(&mut self, clock: Option<&Draw>, kept: &[T]) -> Result<()> {
        let context = self.prepared.context(0, clock);
        let (lists, factors) = (context.example.graph.incoming(), &self.factors);
        self.convolutions.parts.for_each(per_edge(lists, &mut self.weights), |nodes, out| {
            let first = lists.range(nodes.start).start;
            for i in nodes {
                for e in lists.range(i) {
                    out.data[e - first] = kept[e] * factors[i] * factors[lists.neighbours[e] as usize];
                }
            }
        });
        self.convolutions.forward(&context, &self.weights)
    }

    fn backward(&mut self, clock: &Draw, _: &[T], of_kept: &mut [T]) -> Result<StepLoss> {
        let context = self.prepared.context(0, Some(clock));
        let label = self.convolutions.backward(&context, &self.weights, Some(of_kept))?;
        let (lists, factors) = (context.example.graph.incoming(), &self.factors);
        self.convolutions.parts.for_each(per_edge(lists, of_kept), |nodes, of_kept| {
            let first = lists.range(nodes.start).start;
            for i in nodes {
                for e in lists.range(i) {
                    of_kept.data[e - first] *= factors[i] * factors[lists.neighbours[e] as usize];
                }
            }
        });
        Ok(StepLoss { label, edge: 0.0, total: label })
    }

    fn update(&mut self, adam: Adam, clock: &Draw) -> Result<()> {
        self.convolutions.update(self.prepared.device(), adam, clock)
    }

    fn logits(&self) -> &Buffer<T> {
        self.convolutions.logits()
    }

    /// Returns an equal weight for every kept edge of a node, 0 for the others, and the scores of the choice.
    fn edges(&self, [kept, scores]: [&[T]; 2]) -> Result<Vec<EdgeValues<T>>> {
        let context = self.prepared.context(0, None);
        let (lists, mut coefficients) = (context.example.graph.incoming(), kept.to_vec());
        for (i, factor) in self.factors.iter().enumerate() {
            coefficients[lists.range(i)].iter_mut().for_each(|kept| *kept *= *factor * *factor);
        }
        let [coefficients, logits] = [coefficients, scores.to_vec()].map(|values| context.edges_to_outer(values, 1));
        Ok(vec![EdgeValues { heads: 1, coefficients, logits }])
    }

    fn for_each_parameter(&mut self, f: &mut dyn FnMut(&mut Parameter<Cpu<T>>)) {
        self.convolutions.for_each_parameter(f);
    }
}

/// Logarithm of the weight of an edge that is not kept. Its exponential is zero, and unlike minus infinity it has a
/// difference to itself.
const LOG_OF_ZERO: f64 = -1e4;

/// Graph attention of any form, with its edge loss if it is self-supervised. The loss tells the edges of the given graph from
/// sampled non-edges, whether they are chosen or not, since it reads scores without weights.
#[derive(Debug)]
struct Attentive<T: Primitives> {
    /// The example as the network alone would have it, whose weights of edges are set before every pass.
    prepared: Prepared<Cpu<T>>,
    network: Model<T>,
    workspace: Workspace<Cpu<T>>,
    record: Readings,
    lambda_e: Option<f64>,
}

impl<T: Primitives> Attentive<T> {
    fn new(prepared: &Prepared<Cpu<T>>, training: bool, arena: &mut Arena) -> Result<Self> {
        let architecture = prepared.architecture().of_classifier();
        let mut own = match training {
            true => prepared.with_architecture(architecture)?,
            false => Prepared::for_evaluation(&prepared.examples()[0], architecture)?,
        };
        let edges = own.examples()[0].graph.edges();
        own.problem_mut(0).set_log_weights(arena.list(edges));
        let network = Model::zeros(architecture)?;
        let mut workspace = network.workspace_in(&own, own.size(training), arena)?;
        workspace.scratch_mut().set_weight_gradient(arena.numbers(if training { edges } else { 0 }));
        let lambda_e = architecture.model.is_self_supervised().then_some(own.config().lambda_e);
        Ok(Self { prepared: own, network, workspace, record: Readings::new(1), lambda_e })
    }
}

impl<T: Primitives> Reader<T> for Attentive<T> {
    fn initialise(&mut self, seed: u64) -> Result<()> {
        self.network = Network::on(self.prepared.device(), *self.network.architecture(), seed)?;
        Ok(())
    }

    fn forward(&mut self, clock: Option<&Draw>, kept: &[T]) -> Result<()> {
        for (log_weight, kept) in self.prepared.problem_mut(0).log_weights_mut().iter_mut().zip(kept) {
            *log_weight = T::from_f64(kept.to_f64().ln().max(LOG_OF_ZERO));
        }
        self.network.forward(&self.prepared.context(0, clock), &mut self.workspace)
    }

    fn backward(&mut self, clock: &Draw, kept: &[T], of_kept: &mut [T]) -> Result<StepLoss> {
        let Self { prepared, network, workspace, record, lambda_e } = self;
        T::clear_list(workspace.scratch_mut().weight_gradient_mut());
        network.backward(&prepared.context(0, Some(clock)), *lambda_e, workspace, record)?;
        let of_logs = workspace.scratch_mut().weight_gradient_mut();
        for ((of_kept, of_log), kept) in of_kept.iter_mut().zip(of_logs).zip(kept) {
            *of_kept = if *kept > T::ZERO { *of_log / *kept } else { T::ZERO };
        }
        let [label, edge] = record.losses[0];
        Ok(StepLoss { label, edge, total: label + lambda_e.unwrap_or(1.0) * edge })
    }

    fn update(&mut self, adam: Adam, clock: &Draw) -> Result<()> {
        self.network.update(adam, clock)
    }

    fn logits(&self) -> &Buffer<T> {
        self.workspace.logits()
    }

    /// Returns the attention of every layer, which is 0 of edges that are not kept.
    fn edges(&self, _: [&[T]; 2]) -> Result<Vec<EdgeValues<T>>> {
        self.network.attention_values(self.prepared.context(0, None), &self.workspace)
    }

    fn for_each_parameter(&mut self, f: &mut dyn FnMut(&mut Parameter<Cpu<T>>)) {
        let each = |parameter: &mut Parameter<Cpu<T>>| {
            f(parameter);
            Ok(())
        };
        self.network.for_each_parameter(each).expect("the function does not fail");
    }
}
