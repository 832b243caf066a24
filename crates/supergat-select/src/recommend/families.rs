//! Families of models that are compared.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::str::FromStr;
use supergat_core::words::count;
use supergat_core::{ModelKind, Norm};
use supergat_train::baselines::check_available;
use supergat_train::settings::Settings;

/// A family of models: one architecture with all its sizes and hyperparameters.
///
/// ```
/// use supergat_select::recommend::Family;
/// let family = Family::named("mlp").unwrap();
/// assert!(Family::within_minutes().any(|known| known == family) && !family.is_graph_network());
/// assert!("gnn".parse::<Family>().unwrap_err().contains("expected one of label-propagation, mlp"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// Name in questions and results.
    pub name: &'static str,
    /// Name of the model.
    model: &'static str,
    /// Whether its predictions are corrected and smoothed.
    correct_and_smooth: bool,
    /// Whether its networks have eight blocks.
    is_deep: bool,
    compared: Compared,
}

/// Comparisons that a family takes part in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Always,
    WithinSeconds,
    WithinMinutes,
}

const fn family(name: &'static str, model: &'static str) -> Family {
    Family { name, model, correct_and_smooth: false, is_deep: false, compared: Compared::Always }
}

const fn within_minutes(name: &'static str) -> Family {
    Family { compared: Compared::WithinMinutes, ..family(name, name) }
}

/// Deep GraphSAGE. The comparison within seconds has it, because depth helps much on some graphs. The one within minutes
/// searches the depth of every family instead.
pub const DEEP: Family =
    Family { is_deep: true, compared: Compared::WithinSeconds, ..family("sage-deep", "sage-root") };

/// All families, the simplest first.
pub const FAMILIES: [Family; 12] = [
    family("label-propagation", "label-propagation"),
    family("mlp", "mlp"),
    family("trees", "trees"),
    Family { correct_and_smooth: true, ..family("mlp-correct-and-smooth", "mlp") },
    family("gcn", "gcn"),
    family("sage", "sage-root"),
    family("gat-go", "gat-go"),
    within_minutes("gatv2"),
    family("supergat-sd", "supergat-sd"),
    family("supergat-mx", "supergat-mx"),
    within_minutes("supergat-v2"),
    DEEP,
];

/// A family that is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Family.
    pub family: Family,
    /// Reason.
    pub reason: String,
}

/// Lists the families that are not compared in a sentence; `None` if there are none. `words` describes a family.
pub(super) fn not_compared(left_out: &[LeftOut], words: impl Fn(Family) -> String) -> Option<String> {
    let each = left_out.iter().map(|left| format!("{} ({})", words(left.family), left.reason));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("Not compared: {}.", each.join("; ")))
}

/// Describes a model with recommended settings; `None` for its default ones.
pub(super) fn model_in_words(model: ModelKind, settings: Option<&Settings>) -> String {
    match settings {
        Some(settings) if settings.correct_and_smooth.is_some() => format!("{model} with Correct and Smooth"),
        Some(Settings { network, .. }) => {
            format!("{model} with {} and {} norm", count(network.layers, "layer"), network.norm.name())
        }
        None => model.to_string(),
    }
}

/// Parses the name of a family that is compared within minutes.
impl FromStr for Family {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::named(name).filter(|family| family.compared != Compared::WithinSeconds);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::within_minutes().map(|family| family.name).collect();
            format!("unknown family `{name}`: expected one of {}", names.join(", "))
        })
    }
}

impl Serialize for Family {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for Family {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Family {
    /// Returns the families of the comparison within seconds, the simplest first.
    pub fn within_seconds() -> impl Iterator<Item = Self> {
        FAMILIES.into_iter().filter(|family| family.compared != Compared::WithinMinutes)
    }

    /// Returns the families of the comparison within minutes, the simplest first.
    pub fn within_minutes() -> impl Iterator<Item = Self> {
        FAMILIES.into_iter().filter(|family| family.compared != Compared::WithinSeconds)
    }

    /// Returns the family of this name.
    pub fn named(name: &str) -> Option<Self> {
        FAMILIES.into_iter().find(|family| family.name == name)
    }

    /// Returns the family of a model whose settings are all its own.
    pub const fn of_model(model: &'static str) -> Self {
        family(model, model)
    }

    /// Returns the family with networks of eight blocks.
    pub(super) fn deep(self) -> Self {
        Self { is_deep: true, ..self }
    }

    /// Returns settings of its model as the family uses them.
    pub fn applied(self, mut settings: Settings) -> Settings {
        if self.is_deep {
            let (network, training) = (&mut settings.network, &mut settings.training);
            (network.layers, network.norm, network.dropout) = (8, Norm::Batch, 0.2);
            (training.lr, training.lambda_2) = (0.01, 0.0);
        }
        if self.correct_and_smooth {
            let is_set = settings.set("correct_and_smooth", true);
            debug_assert!(matches!(is_set, Ok(true)), "every model may be corrected");
        }
        settings
    }

    /// Returns the default settings on a dataset with this preset.
    pub fn usual(self, preset: Option<&str>, kind: ModelKind) -> Settings {
        self.applied(if self.is_deep { Settings::on_new_graphs(kind) } else { Settings::usual(preset, kind) })
    }

    /// Returns whether its settings are others than those that its model has by default.
    pub(super) fn has_own_settings(self) -> bool {
        self.is_deep || self.correct_and_smooth
    }

    /// Returns the kind of model; the reason if this build does not have it.
    pub fn kind(self) -> Result<ModelKind, String> {
        let reason = || format!("this build has no model {}", self.model);
        let kind = self.model.parse().map_err(|_| reason())?;
        check_available(kind).map_err(|_| reason())?;
        Ok(kind)
    }

    /// Describes the model of the family by its usual name and settings, such as `sage-root with 8 layers and batch norm`
    /// for the family `sage-deep`.
    ///
    /// ```
    /// use supergat_select::recommend::Family;
    /// let words = |name| Family::named(name).unwrap().model_in_words();
    /// assert_eq!(words("sage-deep"), "sage-root with 8 layers and batch norm");
    /// assert_eq!([words("mlp-correct-and-smooth"), words("gcn")], ["mlp with Correct and Smooth", "gcn"]);
    /// ```
    pub fn model_in_words(self) -> String {
        match self.kind() {
            Ok(kind) => model_in_words(kind, self.has_own_settings().then(|| self.usual(None, kind)).as_ref()),
            Err(_) => self.model.to_owned(),
        }
    }

    /// Returns the family whose search within minutes contains its networks: its own, or that of its model.
    pub fn searched(self) -> Self {
        let of_model = || Self::within_minutes().find(|family| family.model == self.model);
        if Self::within_minutes().any(|family| family == self) { self } else { of_model().unwrap_or(self) }
    }

    /// Returns the position among [`FAMILIES`]: simpler families are the first.
    pub fn rank(self) -> usize {
        FAMILIES.iter().position(|family| *family == self).unwrap_or(FAMILIES.len())
    }

    /// Returns how complex its models are: 0 if no graph network, 1 for convolution, 2 for attention, 3 for self-supervised attention.
    pub fn complexity(self) -> usize {
        match self.kind() {
            Ok(kind) if kind.is_self_supervised() => 3,
            Ok(kind) if kind.form().is_some() => 2,
            _ => usize::from(self.is_graph_network()),
        }
    }

    /// Returns whether its models are trained in epochs. A run of the others is the same in all rungs.
    pub(super) fn has_epochs(self) -> bool {
        self.kind().is_ok_and(ModelKind::is_network)
    }

    /// Returns whether its models are networks whose layers use links.
    pub fn is_graph_network(self) -> bool {
        self.kind().is_ok_and(|kind| kind.is_network() && kind != ModelKind::Mlp)
    }
}
