//! Learning Discrete Structures (LDS): a GCN, and the probability of every edge of its graph.
//!
//! Franceschi, Niepert, Pontil & He, "Learning Discrete Structures for Graph Neural Networks", ICML 2019.
//!
//! Two problems are solved together. The inner one trains the weights of a GCN of two layers by Adam, on a graph that is
//! sampled anew in every step. The outer one changes the probabilities of edges so that the trained network has a smaller
//! loss on one half of the validation nodes: after every few steps, its gradient is passed back through them
//! (`hypergradient.rs`). The other half of the validation nodes selects the best epoch, which is one whole training of the
//! weights, and stops early. Predictions are mean probabilities over several sampled graphs, which are stored with the
//! model. So it predicts nodes of the graph that it was trained on.
//!
//! Time and memory grow with the square of the number of nodes.
//!
//! The implementation was written from the paper's description; nothing was copied from the authors' code.

mod gcn;
mod hypergradient;
mod model;
mod sampled;
#[cfg(test)]
mod tests;
mod train;

pub use model::LearnedGraphs;
pub(super) use model::predict;
pub use sampled::MOST_NODES;

use super::TrainedSystem;
use std::ops::ControlFlow;
use supergat_core::hyperparameters::LdsOptions;
use supergat_core::{Epoch, Prepared, Result};
use supergat_cpu::Cpu;
use train::LdsTrainer;

/// Trains a network and its edges.
pub(super) fn train(
    prepared: &Prepared<Cpu<f32>>,
    options: LdsOptions,
    seed: u64,
    observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>,
) -> Result<TrainedSystem> {
    LdsTrainer::new(prepared, options, seed)?.run(observe)
}

/// Returns the bytes of weights and of passes. Fails for graphs that are too large.
pub(super) fn bytes(prepared: &Prepared<Cpu<f32>>, options: LdsOptions) -> Result<[u64; 2]> {
    let of_example = |example| LdsTrainer::bytes(example, prepared.architecture().network.hidden, &options);
    let passes = prepared.examples().iter().map(of_example).sum::<Result<u64>>()?;
    Ok([prepared.architecture().parameter_bytes::<f32>(), passes])
}
