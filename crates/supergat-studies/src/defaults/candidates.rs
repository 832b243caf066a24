//! Families of models, and candidates for their default settings.

use supergat_core::{Activation, ModelKind, Norm, Residual};
use supergat_select::recommend::{DEEP, Family};
use supergat_train::settings::Settings;

/// Families of the study, the simplest first. `gat-mx` is there to see what self-supervision adds to `supergat-mx`.
pub const FAMILIES: [&str; 11] = [
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
    "sage-deep",
];

/// Family of the study that is not compared by `recommend`.
const GAT_MX: Family = Family::of_model("gat-mx");

/// Most epochs of a run of a candidate.
const EPOCHS: usize = 500;
/// Epochs without a better validation score after which a run of a candidate stops.
const PATIENCE: usize = 100;

/// A candidate for the default settings of networks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Name in tables.
    pub name: &'static str,
    /// Difference from the general settings; `None` for the general settings themselves.
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
    /// Weight of the edge loss, and non-edges per edge.
    self_supervision: [f64; 2],
}

const fn changed(name: &'static str, blocks: Option<(usize, Norm)>, [dropout, lr, lambda_2]: [f64; 3]) -> Candidate {
    // Without blocks, the edge loss has its general weight.
    let lambda_e = if blocks.is_some() { 0.1 } else { 1.0 };
    Candidate { name, changes: Some(Changes { blocks, dropout, lr, lambda_2, self_supervision: [lambda_e, 0.5] }) }
}

const fn with_edge_loss(name: &'static str, of: Candidate, self_supervision: [f64; 2]) -> Candidate {
    let Some(changes) = of.changes else { return of };
    Candidate { name, changes: Some(Changes { self_supervision, ..changes }) }
}

const LAYER_2: Candidate = changed("layer-2", Some((2, Norm::Layer)), [0.5, 0.005, 5e-4]);

/// Candidates for networks: first the general settings, then others with their dropout, learning rate and weight decay.
/// Models that are not networks have their general settings only. The last two differ in the edge loss only, and are for
/// self-supervised networks.
pub const CANDIDATES: [Candidate; 9] = [
    Candidate { name: "general", changes: None },
    changed("plain", None, [0.3, 0.01, 5e-4]),
    LAYER_2,
    with_edge_loss("layer-3", changed("layer-3", Some((3, Norm::Layer)), [0.3, 0.005, 5e-4]), [1.0, 0.5]),
    changed("batch-2", Some((2, Norm::Batch)), [0.3, 0.005, 5e-4]),
    changed("batch-4", Some((4, Norm::Batch)), [0.3, 0.005, 5e-5]),
    changed("batch-8", Some((8, Norm::Batch)), [0.2, 0.01, 0.0]),
    with_edge_loss("edges-2", LAYER_2, [1.0, 0.5]),
    with_edge_loss("pairs-2", LAYER_2, [1.0, 2.0]),
];
/// Number of candidates that all networks have.
const FOR_ALL: usize = 7;

impl Candidate {
    /// Returns the candidates of a family.
    pub(super) fn of(family: Family, kind: ModelKind) -> &'static [Self] {
        match (kind.is_network(), kind.is_self_supervised()) {
            _ if family == DEEP => &CANDIDATES[FOR_ALL - 1..FOR_ALL],
            (true, true) => &CANDIDATES,
            (true, false) => &CANDIDATES[..FOR_ALL],
            (false, _) => &CANDIDATES[..1],
        }
    }

    /// Returns the settings of a model.
    pub fn settings(&self, kind: ModelKind) -> Settings {
        let general = Settings::general(kind);
        let Some(changes) = self.changes.filter(|_| kind.is_network()) else {
            return general;
        };
        let Changes { blocks, dropout, lr, lambda_2, self_supervision: [lambda_e, p_n] } = changes;
        let common = general.with(|s| {
            s.network.dropout = dropout;
            s.training.lr = lr;
            s.training.lambda_2 = lambda_2;
            s.edge_loss.lambda_e = lambda_e;
            s.edge_loss.p_n = p_n;
            s.training.max_epochs = EPOCHS;
            s.early_stopping.early_stop = false;
            s.early_stopping.patience = PATIENCE;
        });
        match blocks {
            None => common,
            Some((layers, norm)) => common.with(|s| {
                s.network.layers = layers;
                s.network.heads = 4;
                s.network.hidden = 16;
                s.network.output_heads = 1;
                s.network.norm = norm;
                s.network.residual = Residual::Linear;
                s.network.activation = Activation::Relu;
                s.network.output_layer = true;
                s.network.attention_dropout = false;
            }),
        }
    }
}

/// Returns the family of a name; `None` if this build does not have it.
pub(super) fn family(name: &str) -> Option<(Family, ModelKind)> {
    let family = Family::named(name).or_else(|| (name == GAT_MX.name).then_some(GAT_MX))?;
    Some((family, family.kind().ok()?))
}
