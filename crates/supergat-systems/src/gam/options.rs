//! Options of GAM.

use super::{AgreementConfig, AgreementWeights, GamConfig};
pub use supergat_core::hyperparameters::GamOptions;

/// Number of pairs in a step of the agreement model.
const PAIRS: usize = 128;
/// Steps of the agreement model without improvement, as a share of all steps.
const PATIENCE: usize = 4;
/// Number of rounds without a better validation metric.
const ROUNDS: usize = 5;

impl GamConfig {
    /// Returns the configuration of a training.
    pub fn new(options: &GamOptions) -> Self {
        Self {
            agreement: AgreementConfig {
                hidden: options.agreement_hidden,
                lr: options.agreement_lr,
                batch: PAIRS,
                patience: (options.agreement_steps / PATIENCE).max(1),
                max_steps: options.agreement_steps,
            },
            weights: AgreementWeights {
                labelled: options.lambda_ll,
                mixed: options.lambda_lu,
                unlabelled: options.lambda_uu,
            },
            edges: options.agreement_edges,
            new_labels: options.self_labels,
            certainty: options.self_label_certainty,
            keep_shares: options.keep_class_shares,
            rounds: options.rounds,
            round_patience: options.round_patience,
            patience: ROUNDS,
        }
    }
}
