//! Graph Agreement Models (GAM): a classifier and a model of agreement that teach each other.
//!
//! Stretcu, Viswanathan, Movshovitz-Attias, Platanios, Ravi & Tomkins, "Graph Agreement Models for Semi-Supervised
//! Learning", NeurIPS 2019. The classifier is a GCN.
//!
//! Training runs in rounds. Each round
//!
//! 1. trains the agreement model ([`AgreementModel`]) on pairs of labelled nodes;
//! 2. trains the classifier from new weights, with cross-entropy and the agreement loss ([`Regulariser`]);
//! 3. labels the nodes that the classifier is most certain of with their predicted class ([`most_certain`]).
//!
//! The first round trains the classifier alone and labels nothing, as published. The classifier of the best epoch of all
//! rounds, by its validation metric, is the result. It predicts like any other network: agreement is used in training
//! only.

mod agreement;
mod pairs;
mod regulariser;
mod self_label;
mod train;

pub use agreement::{AgreementConfig, AgreementModel};
pub use pairs::{LabelledPair, Pairs};
pub use regulariser::{Regulariser, softmax};
pub use self_label::most_certain;
pub use supergat_core::hyperparameters::GamOptions;
pub use train::GamTrainer;
