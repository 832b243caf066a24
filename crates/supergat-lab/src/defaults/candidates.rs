//! Families of models, and candidates for their default settings.

use crate::benchmark::Family;
use crate::settings::Settings;
use supergat_core::{Activation, ModelKind, Norm, Residual};

/// Families of the study, the simplest first. `gat-mx` is there to see what self-supervision adds to `supergat-mx`.
pub const FAMILIES: [&str; 10] = [
    "label-propagation",
    "mlp",
    "trees",
    "mlp-correct-and-smooth",
    "gcn",
    "sage",
    "gat-go",
    "gat-mx",
    "supergat-sd",
    "supergat-mx",
];

/// Most epochs of a run of a candidate.
const EPOCHS: usize = 500;
/// Epochs without a better validation score after which a run of a candidate stops.
const PATIENCE: usize = 100;

/// A candidate for the default settings of networks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Name in tables.
    pub name: &'static str,
    /// Number of hidden layers with a norm and a residual, before a linear output layer; `None` for two layers without
    /// them.
    blocks: Option<(usize, Norm)>,
    dropout: f64,
    lr: f64,
    lambda_2: f64,
}

/// Candidates for networks. Other models have their general settings only. The first candidate is the general settings of the
/// paper.
pub const CANDIDATES: [Candidate; 7] = [
    Candidate { name: "general", blocks: None, dropout: 0.6, lr: 0.01, lambda_2: 5e-4 },
    Candidate { name: "plain", blocks: None, dropout: 0.3, lr: 0.01, lambda_2: 5e-4 },
    Candidate { name: "layer-2", blocks: Some((2, Norm::Layer)), dropout: 0.5, lr: 0.005, lambda_2: 5e-4 },
    Candidate { name: "batch-2", blocks: Some((2, Norm::Batch)), dropout: 0.3, lr: 0.005, lambda_2: 5e-4 },
    Candidate { name: "layer-4", blocks: Some((4, Norm::Layer)), dropout: 0.5, lr: 0.005, lambda_2: 5e-5 },
    Candidate { name: "batch-4", blocks: Some((4, Norm::Batch)), dropout: 0.3, lr: 0.005, lambda_2: 5e-5 },
    Candidate { name: "batch-8", blocks: Some((8, Norm::Batch)), dropout: 0.2, lr: 0.01, lambda_2: 0.0 },
];

impl Candidate {
    /// Returns the candidates of a model.
    pub fn of(kind: ModelKind) -> &'static [Self] {
        if kind.is_network() { &CANDIDATES } else { &CANDIDATES[..1] }
    }

    /// Returns the settings of a model.
    pub fn settings(&self, kind: ModelKind) -> Settings {
        let general = Settings::general(kind);
        if !kind.is_network() || *self == CANDIDATES[0] {
            return general;
        }
        let Self { blocks, dropout, lr, lambda_2, .. } = *self;
        let common =
            Settings { dropout, lr, lambda_2, max_epochs: EPOCHS, early_stop: false, patience: PATIENCE, ..general };
        match blocks {
            None => common,
            Some((layers, norm)) => Settings {
                layers,
                heads: 4,
                hidden: 16,
                output_heads: 1,
                norm,
                residual: Residual::Linear,
                activation: Activation::Relu,
                output_layer: true,
                attention_dropout: false,
                lambda_e: 0.1,
                ..common
            },
        }
    }
}

/// Returns the family of a name; `None` if this build does not have it.
pub(super) fn family(name: &str) -> Option<(Family, ModelKind)> {
    let family = Family::named(name).or_else(|| (name == "gat-mx").then(|| Family::of_model("gat-mx")))?;
    Some((family, family.kind().ok()?))
}
