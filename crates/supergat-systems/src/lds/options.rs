//! Options of LDS.

use super::{InitialGraph, LdsConfig};
use serde::{Deserialize, Serialize};
use supergat_core::hyperparameters::check;
use supergat_core::{Architecture, Result, TrainConfig};

/// Options of LDS, by the names of their hyperparameters.
///
/// ```
/// use supergat_systems::lds::LdsOptions;
/// let options = LdsOptions {
///     similar_neighbours: 0,
///     edge_lr: 1.0,
///     edge_steps: 5,
///     inner_steps: 400,
///     inner_patience: 20,
///     graph_samples: 16,
///     outer_patience: 20,
/// };
/// assert!(options.check().is_ok());
/// assert!(LdsOptions { graph_samples: 0, ..options }.check().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LdsOptions {
    /// Number of nodes with the most similar features that each node is linked with at first; 0 for the given links.
    pub similar_neighbours: usize,
    /// Learning rate of the probabilities of links.
    pub edge_lr: f64,
    /// Number of steps between two updates of the probabilities of links.
    pub edge_steps: usize,
    /// Maximum number of training steps in each epoch.
    pub inner_steps: usize,
    /// Number of steps without a smaller training loss after which an epoch ends.
    pub inner_patience: usize,
    /// Number of sampled graphs of a prediction.
    pub graph_samples: usize,
    /// Number of epochs without a better validation metric after which training ends.
    pub outer_patience: usize,
}

impl LdsOptions {
    /// Validates every number.
    pub fn check(&self) -> Result<()> {
        check("similar_neighbours", self.similar_neighbours)?;
        check("edge_lr", self.edge_lr)?;
        check("edge_steps", self.edge_steps)?;
        check("inner_steps", self.inner_steps)?;
        check("inner_patience", self.inner_patience)?;
        check("graph_samples", self.graph_samples)?;
        check("outer_patience", self.outer_patience)
    }

    /// Returns the configuration of a training.
    pub fn config(&self, architecture: &Architecture, training: &TrainConfig) -> LdsConfig {
        LdsConfig {
            hidden: architecture.hidden,
            dropout: architecture.dropout,
            lr: training.lr,
            lambda_2: training.lambda_2,
            graph: match self.similar_neighbours {
                0 => InitialGraph::Given,
                count => InitialGraph::Neighbours(count),
            },
            edge_lr: self.edge_lr,
            steps: self.edge_steps,
            max_steps: self.inner_steps,
            step_patience: self.inner_patience,
            samples: self.graph_samples,
            max_epochs: training.max_epochs,
            patience: self.outer_patience,
        }
    }
}
