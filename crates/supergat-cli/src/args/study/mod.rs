//! Command line of `supergat study`: one file per study.

mod defaults;
mod density;
mod depth;
mod grid;
mod label_agreement;
mod link_prediction;
mod sensitivity;
mod sources;
mod synthetic;
mod variance;

pub use defaults::DefaultsArgs;
pub use density::DensityArgs;
pub use depth::DepthArgs;
pub use grid::GridArgs;
pub use label_agreement::LabelAgreementArgs;
pub use link_prediction::LinkPredictionArgs;
pub use sensitivity::SensitivityArgs;
pub use synthetic::SyntheticArgs;
pub use variance::VarianceArgs;

use super::Sharing;
use clap::Subcommand;

/// Studies of the paper, of depth, and of defaults.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// Find default settings, and rules that name a model, which hold on graphs that were left out.
    Defaults(DefaultsArgs),
    /// Plot degree and homophily of the nodes, and test whether a graph is a mixture.
    Density(DensityArgs),
    /// Test whether self-supervision helps beyond depth: tuned networks of two layers and of deep blocks.
    Depth(DepthArgs),
    /// Find the best attention form by homophily and degree, on synthetic graphs.
    Grid(GridArgs),
    /// Compare attention with label agreement, for a trained model or the paper's models.
    LabelAgreement(LabelAgreementArgs),
    /// Predict held-out edges by attention, for several weights of the edge loss.
    LinkPrediction(LinkPredictionArgs),
    /// Measure how the test metric depends on lambda_E, p_n and p_e.
    Sensitivity(SensitivityArgs),
    /// Draw small examples of the paper's synthetic graphs.
    Synthetic(SyntheticArgs),
    /// Check the paper's proposition on the variance of attention.
    Variance(VarianceArgs),
}

impl StudyCommand {
    /// Returns what several processes do with the study.
    pub fn sharing(&self) -> Sharing {
        match self {
            Self::LabelAgreement(args) if args.run.is_some() => Sharing::Nothing("study label-agreement of a run"),
            Self::Defaults(_)
            | Self::Depth(_)
            | Self::Grid(_)
            | Self::LabelAgreement(_)
            | Self::LinkPrediction(_)
            | Self::Sensitivity(_) => Sharing::Runs,
            Self::Density(_) => Sharing::Nothing("study density"),
            Self::Synthetic(_) => Sharing::Nothing("study synthetic"),
            Self::Variance(_) => Sharing::Nothing("study variance"),
        }
    }
}
