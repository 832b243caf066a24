//! Options of LDS.

use super::{InitialGraph, LdsConfig};
pub use supergat_core::hyperparameters::LdsOptions;
use supergat_core::{Architecture, TrainConfig};

impl LdsConfig {
    /// Returns the configuration of a training.
    pub fn new(options: &LdsOptions, architecture: &Architecture, training: &TrainConfig) -> Self {
        Self {
            hidden: architecture.hidden,
            dropout: architecture.dropout,
            lr: training.lr,
            lambda_2: training.lambda_2,
            graph: match options.similar_neighbours {
                0 => InitialGraph::Given,
                count => InitialGraph::Neighbours(count),
            },
            edge_lr: options.edge_lr,
            steps: options.edge_steps,
            max_steps: options.inner_steps,
            step_patience: options.inner_patience,
            samples: options.graph_samples,
            max_epochs: training.max_epochs,
            patience: options.outer_patience,
        }
    }
}
