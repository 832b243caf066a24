//! Options of GAM.

use super::{AgreementConfig, AgreementWeights, GamConfig};
use serde::{Deserialize, Serialize};
use supergat_core::Result;
use supergat_core::hyperparameters::check;

/// Options of GAM, by the names of their hyperparameters.
///
/// ```
/// use supergat_systems::gam::GamOptions;
/// let options = GamOptions {
///     agreement_hidden: 128,
///     agreement_lr: 0.001,
///     agreement_steps: 2000,
///     agreement_edges: 512,
///     lambda_ll: 0.0,
///     lambda_lu: 100.0,
///     lambda_uu: 50.0,
///     self_labels: 200,
///     self_label_certainty: 0.4,
///     keep_class_shares: true,
///     rounds: 30,
///     round_patience: 200,
/// };
/// assert!(options.check().is_ok());
/// assert!(GamOptions { rounds: 0, ..options }.check().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GamOptions {
    /// Number of hidden features of the agreement model.
    pub agreement_hidden: usize,
    /// Learning rate of the agreement model.
    pub agreement_lr: f64,
    /// Maximum number of training steps of the agreement model in each round.
    pub agreement_steps: usize,
    /// Number of links of each kind that a step samples.
    pub agreement_edges: usize,
    /// Weight of the agreement loss between labelled nodes.
    pub lambda_ll: f64,
    /// Weight of the agreement loss between a labelled and an unlabelled node.
    pub lambda_lu: f64,
    /// Weight of the agreement loss between unlabelled nodes.
    pub lambda_uu: f64,
    /// Maximum number of nodes that are labelled after each round.
    pub self_labels: usize,
    /// Smallest probability of a predicted class that becomes a label.
    pub self_label_certainty: f64,
    /// Whether new labels have the classes in the shares of the training nodes.
    pub keep_class_shares: bool,
    /// Maximum number of rounds.
    pub rounds: usize,
    /// Number of epochs without a better validation metric after which a round ends.
    pub round_patience: usize,
}

/// Number of pairs in a step of the agreement model.
const PAIRS: usize = 128;
/// Steps of the agreement model without improvement, as a share of all steps.
const PATIENCE: usize = 4;
/// Number of rounds without a better validation metric.
const ROUNDS: usize = 5;

impl GamOptions {
    /// Validates every number.
    pub fn check(&self) -> Result<()> {
        check("agreement_hidden", self.agreement_hidden)?;
        check("agreement_lr", self.agreement_lr)?;
        check("agreement_steps", self.agreement_steps)?;
        check("agreement_edges", self.agreement_edges)?;
        check("lambda_ll", self.lambda_ll)?;
        check("lambda_lu", self.lambda_lu)?;
        check("lambda_uu", self.lambda_uu)?;
        check("self_labels", self.self_labels)?;
        check("self_label_certainty", self.self_label_certainty)?;
        check("rounds", self.rounds)?;
        check("round_patience", self.round_patience)
    }

    /// Returns the configuration of a training.
    pub fn config(&self) -> GamConfig {
        GamConfig {
            agreement: AgreementConfig {
                hidden: self.agreement_hidden,
                lr: self.agreement_lr,
                batch: PAIRS,
                patience: (self.agreement_steps / PATIENCE).max(1),
                max_steps: self.agreement_steps,
            },
            weights: AgreementWeights { labelled: self.lambda_ll, mixed: self.lambda_lu, unlabelled: self.lambda_uu },
            edges: self.agreement_edges,
            new_labels: self.self_labels,
            certainty: self.self_label_certainty,
            keep_shares: self.keep_class_shares,
            rounds: self.rounds,
            round_patience: self.round_patience,
            patience: ROUNDS,
        }
    }
}
