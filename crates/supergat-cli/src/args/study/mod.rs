//! The command line of `supergat study`: one file per study.

mod density;
mod grid;
mod label_agreement;
mod link_prediction;
mod sensitivity;
mod sources;
mod synthetic;
mod variance;

pub use density::DensityArgs;
pub use grid::GridArgs;
pub use label_agreement::LabelAgreementArgs;
pub use link_prediction::LinkPredictionArgs;
pub use sensitivity::SensitivityArgs;
pub use synthetic::SyntheticArgs;
pub use variance::VarianceArgs;

use clap::Subcommand;

/// A study of the paper.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// Draw degree and homophily of a graph's nodes, and find out whether it is a mixture.
    Density(DensityArgs),
    /// Which form of attention suits which graph: synthetic graphs over homophily and degree, beside the paper's 576
    /// numbers.
    Grid(GridArgs),
    /// Compare attention with the agreement of labels, for a trained model or for the paper's networks.
    LabelAgreement(LabelAgreementArgs),
    /// Hold out edges, and see how well attention predicts them as the weight of the edge losses grows.
    LinkPrediction(LinkPredictionArgs),
    /// Vary lambda_E, p_n and p_e, and see how the test metric depends on them.
    Sensitivity(SensitivityArgs),
    /// Draw small examples of the paper's synthetic graphs.
    Synthetic(SyntheticArgs),
    /// Check the paper's proposition on the variance of attention, by simulation and in a network.
    Variance(VarianceArgs),
}
