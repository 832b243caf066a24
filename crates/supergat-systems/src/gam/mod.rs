//! Graph Agreement Models (GAM): a classifier and a model of agreement that teach each other.
//!
//! Stretcu, Viswanathan, Movshovitz-Attias, Platanios, Ravi & Tomkins, "Graph Agreement Models for Semi-Supervised
//! Learning", NeurIPS 2019. The classifier is a GCN.
//!
//! Training runs in rounds. Each round
//!
//! 1. trains the agreement model (`agreement.rs`) on pairs of labelled nodes;
//! 2. trains the classifier from new weights, with cross-entropy and the agreement loss (`regulariser.rs`);
//! 3. labels the nodes that the classifier is most certain of with their predicted class (`self_label.rs`).
//!
//! The first round trains the classifier alone and labels nothing, as published. The classifier of the best epoch of all
//! rounds, by its validation metric, is the result. It predicts like any other network: agreement is used in training
//! only.

mod agreement;
mod pairs;
mod regulariser;
mod self_label;
mod train;

pub(super) use regulariser::softmax;

use super::{Options, SystemModel, TrainedSystem, saved};
use std::ops::ControlFlow;
use supergat_core::hyperparameters::GamOptions;
use supergat_core::{Architecture, Convolution, Epoch, Example, ModelKind, Prepared, Result, Trained};
use supergat_cpu::{Cpu, Model};
use train::GamTrainer;

/// Trains a GCN by GAM.
pub(super) fn train(
    prepared: &Prepared<Cpu<f32>>,
    options: GamOptions,
    seed: u64,
    observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>,
) -> Result<TrainedSystem> {
    let network = prepared.with_architecture(of_gcn(prepared.architecture()))?;
    let Trained { model, outcome, mut logits } = GamTrainer::new(&network, options, seed)?.run(observe)?;
    let weights = model.parameters().map(saved).collect::<Result<_>>()?;
    let (architecture, options) = (*prepared.architecture(), Options::Gam(options));
    let model = SystemModel { architecture, options, weights, graphs: None };
    Ok(TrainedSystem { model, outcome, logits: logits.pop().expect("one graph") })
}

/// Returns the logits of a model that GAM trained.
pub(super) fn predict(model: &SystemModel, example: &Example<f32>) -> Result<Vec<f32>> {
    let mut network = Model::zeros(of_gcn(&model.architecture))?;
    network.for_each_parameter(|parameter| model.restore(parameter))?;
    network.predict(example)
}

/// Returns the bytes of weights and of passes.
pub(super) fn bytes(prepared: &Prepared<Cpu<f32>>, options: GamOptions) -> Result<[u64; 2]> {
    let network = prepared.with_architecture(of_gcn(prepared.architecture()))?;
    let workspace = Model::<f32>::zeros(*network.architecture())?.workspace_bytes(&network, true)?;
    let own: u64 = network.examples().iter().map(|example| GamTrainer::bytes(example, &options)).sum();
    Ok([network.architecture().parameter_bytes::<f32>(), workspace + own])
}

/// Returns the architecture of the GCN that GAM trains.
fn of_gcn(architecture: &Architecture) -> Architecture {
    Architecture { model: ModelKind::Convolution(Convolution::Gcn), ..*architecture }
}
