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
    /// What differs from the general settings; `None` for the general settings themselves.
    changes: Option<Changes>,
}

/// Settings of a candidate that differ from the general ones.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Changes {
    /// Number of hidden layers with a norm and a residual, before a linear output layer; `None` for two layers without
    /// them.
    blocks: Option<(usize, Norm)>,
    dropout: f64,
    lr: f64,
    lambda_2: f64,
}

const fn changed(name: &'static str, blocks: Option<(usize, Norm)>, [dropout, lr, lambda_2]: [f64; 3]) -> Candidate {
    Candidate { name, changes: Some(Changes { blocks, dropout, lr, lambda_2 }) }
}

/// Candidates for networks: first the general settings, then others with their dropout, learning rate and weight decay.
/// Models that are not networks have their general settings only.
pub const CANDIDATES: [Candidate; 7] = [
    Candidate { name: "general", changes: None },
    changed("plain", None, [0.3, 0.01, 5e-4]),
    changed("layer-2", Some((2, Norm::Layer)), [0.5, 0.005, 5e-4]),
    changed("batch-2", Some((2, Norm::Batch)), [0.3, 0.005, 5e-4]),
    changed("layer-4", Some((4, Norm::Layer)), [0.5, 0.005, 5e-5]),
    changed("batch-4", Some((4, Norm::Batch)), [0.3, 0.005, 5e-5]),
    changed("batch-8", Some((8, Norm::Batch)), [0.2, 0.01, 0.0]),
];

impl Candidate {
    /// Returns the candidates of a model.
    pub fn of(kind: ModelKind) -> &'static [Self] {
        if kind.is_network() { &CANDIDATES } else { &CANDIDATES[..1] }
    }

    /// Returns the settings of a model.
    pub fn settings(&self, kind: ModelKind) -> Settings {
        let general = Settings::general(kind);
        let Some(Changes { blocks, dropout, lr, lambda_2 }) = self.changes.filter(|_| kind.is_network()) else {
            return general;
        };
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
