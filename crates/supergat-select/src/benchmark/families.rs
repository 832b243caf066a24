//! Families of models, their search spaces and trials.

use crate::benchmark::metric::MetricChoice;
use crate::tune::Space;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::str::FromStr;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{ModelKind, Norm, Residual};
use supergat_data::ClassWeight;
use supergat_train::baselines::check_available;
use supergat_train::settings::Settings;

/// A family of models: one architecture with all its sizes and hyperparameters.
///
/// ```
/// use supergat_select::benchmark::{FAMILIES, Family};
/// let family = Family::named("mlp").unwrap();
/// assert!(FAMILIES.contains(&family) && !family.is_graph_network());
/// assert!("gnn".parse::<Family>().unwrap_err().contains("expected one of label-propagation, mlp"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// Name on the command line and in results.
    pub name: &'static str,
    /// Name of the model.
    model: &'static str,
    /// Whether its predictions are corrected and smoothed.
    correct_and_smooth: bool,
    /// Whether its networks have eight blocks.
    is_deep: bool,
}

const fn family(name: &'static str, model: &'static str) -> Family {
    Family { name, model, correct_and_smooth: false, is_deep: false }
}

/// All families, the simplest first.
pub const FAMILIES: [Family; 11] = [
    family("label-propagation", "label-propagation"),
    family("mlp", "mlp"),
    family("trees", "trees"),
    Family { correct_and_smooth: true, ..family("mlp-correct-and-smooth", "mlp") },
    family("gcn", "gcn"),
    family("sage", "sage-root"),
    family("gat-go", "gat-go"),
    family("gatv2", "gatv2"),
    family("supergat-sd", "supergat-sd"),
    family("supergat-mx", "supergat-mx"),
    family("supergat-v2", "supergat-v2"),
];

/// Deep GraphSAGE. `recommend` compares it with the other families, because depth helps much on some graphs; `benchmark`
/// searches the depth of every family.
pub const DEEP: Family = Family { is_deep: true, ..family("sage-deep", "sage-root") };

impl FromStr for Family {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::named(name).ok_or_else(|| {
            let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
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

/// Settings of a trial, and how classes count in its loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Number of the trial in its family, from 0.
    pub number: usize,
    /// Model and hyperparameters.
    pub settings: Settings,
    /// Whether all classes count the same in the loss.
    pub balanced: bool,
}

impl Trial {
    /// Returns the weights of the classes.
    pub fn class_weight(&self) -> ClassWeight {
        if self.balanced { ClassWeight::Balanced } else { ClassWeight::None }
    }
}

/// What determines the trials of a benchmark, besides their family and number.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrialContext<'a> {
    /// Published dataset whose settings apply.
    pub(super) preset: Option<&'a str>,
    pub(super) metric: MetricChoice,
    pub(super) seed: u64,
    /// Whether every second pair of trials has balanced classes.
    pub(super) class_weights: bool,
}

/// Hyperparameters in the order of their random numbers. Trials of one number have the same values in all families that
/// search them, so families differ little by luck.
const ORDER: [&str; 11] =
    ["lr", "lambda_2", "dropout", "layers", "hidden", "heads", "norm", "residual", "lambda_e", "p_n", "p_e"];

impl Family {
    /// Returns the family of this name.
    pub fn named(name: &str) -> Option<Self> {
        FAMILIES.into_iter().find(|family| family.name == name)
    }

    /// Returns the family of a model whose settings are all its own.
    pub const fn of_model(model: &'static str) -> Self {
        family(model, model)
    }

    /// Returns settings of its model as the family uses them.
    pub fn applied(self, mut settings: Settings) -> Settings {
        if self.is_deep {
            let (layers, norm) = (8, Norm::Batch);
            settings = settings.with(|s| {
                s.network.layers = layers;
                s.network.norm = norm;
                s.network.dropout = 0.2;
                s.training.lr = 0.01;
                s.training.lambda_2 = 0.0;
            });
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
    pub(crate) fn has_own_settings(self) -> bool {
        self.is_deep || self.correct_and_smooth
    }

    /// Returns the kind of model; the reason if this build does not have it.
    pub fn kind(self) -> Result<ModelKind, String> {
        let reason = || format!("this build has no model {}", self.model);
        let kind = self.model.parse().map_err(|_| reason())?;
        check_available(kind).map_err(|_| reason())?;
        Ok(kind)
    }

    /// Returns the family of [`FAMILIES`] whose search contains its networks: its own, or that of its model.
    pub fn searched(self) -> Self {
        let of_model = || FAMILIES.into_iter().find(|family| family.model == self.model);
        if FAMILIES.contains(&self) { self } else { of_model().unwrap_or(self) }
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

    /// Returns a trial with some epochs: even numbers have two layers, odd ones have blocks. The first two have the usual
    /// settings, the fourth those of a deep network, the others random ones. Models that are not networks have one form.
    pub(super) fn trial(self, kind: ModelKind, number: usize, epochs: usize, context: &TrialContext<'_>) -> Trial {
        let is_deep = kind.is_network() && !number.is_multiple_of(2);
        let base = self.base(kind, is_deep, epochs, context);
        let settings = match (number, kind.is_network()) {
            (0, _) | (1, true) => base,
            (3, true) => Self { is_deep: true, ..self }.applied(base),
            _ => random(&space(kind, is_deep), &base, context.seed, number),
        };
        let balanced = context.class_weights && kind.is_network() && number / 2 % 2 == 1;
        Trial { number, settings, balanced }
    }

    /// Returns the settings that random ones are drawn around: the published ones of the dataset or the general ones, or
    /// the blocks of the defaults on new graphs.
    fn base(self, kind: ModelKind, is_deep: bool, epochs: usize, context: &TrialContext<'_>) -> Settings {
        let mut settings = match is_deep {
            true => Settings::on_new_graphs(kind),
            false => {
                let published = context.preset.and_then(|dataset| Settings::published(dataset, kind));
                published.unwrap_or_else(|| Settings::general(kind))
            }
        };
        (settings.early_stopping.early_stop, settings.early_stopping.patience) = (false, 0);
        (settings.select, settings.positive) = (context.metric.select, context.metric.positive);
        if kind.is_network() {
            settings.training.max_epochs = epochs;
        }
        self.applied(settings)
    }
}

/// Returns the search space of a form of a model.
fn space(kind: ModelKind, is_deep: bool) -> Space {
    if !kind.is_network() {
        return Space::new(kind, &Space::on_request().into_iter().map(str::to_owned).collect::<Vec<_>>());
    }
    let attends = kind.form().is_some();
    let mut given = vec![("dropout", "0,0.2,0.4,0.6,0.8")];
    match is_deep {
        true => given.extend([
            ("lr", "0.001..0.02"),
            ("lambda_2", "0.000001..0.005"),
            ("layers", "2,4,6,8,12"),
            ("hidden", "32,64"),
            ("norm", "layer,batch"),
            ("residual", "none,linear"),
        ]),
        false => given.extend([
            ("lr", "0.002..0.05"),
            ("lambda_2", "0.00001..0.05"),
            ("hidden", if attends { "8,16" } else { "32,64,128" }),
        ]),
    }
    if is_deep && attends {
        given.push(("heads", "1,2,4"));
    }
    if kind.is_self_supervised() {
        given.push(("lambda_e", "0.01..20"));
    }
    let given: Vec<(String, String)> =
        given.into_iter().map(|(name, values)| (name.to_owned(), values.to_owned())).collect();
    Space::with(kind, &[], &given).expect("the values are valid for all networks of the families")
}

/// Returns random settings of a space.
fn random(space: &Space, base: &Settings, seed: u64, number: usize) -> Settings {
    let stream = Stream::new(seed, number as u32, 0, Purpose::Search);
    space.settings(base, |dimension| {
        let place = ORDER.iter().position(|name| *name == dimension.name);
        let others = || space.dimensions().iter().position(|other| other.name == dimension.name).unwrap_or(0);
        let (low, high) = dimension.values.ends();
        low + stream.uniform(place.unwrap_or_else(|| ORDER.len() + others()) as u64) * (high - low)
    })
}

/// Describes settings in a few words, such as `supergat-mx with 6 layers and layer norm`.
pub(super) fn describe(family: Family, settings: &Settings, balanced: bool) -> String {
    if !settings.model.is_network() {
        return family.name.to_owned();
    }
    let layers =
        if settings.network.layers == 1 { "1 layer".to_owned() } else { format!("{} layers", settings.network.layers) };
    let mut words = vec![layers];
    if settings.network.norm != Norm::None {
        words.push(format!("{} norm", settings.network.norm.name()));
    }
    if settings.network.residual != Residual::None {
        words.push("residuals".to_owned());
    }
    if balanced {
        words.push("balanced class weights".to_owned());
    }
    let last = words.pop().unwrap_or_default();
    let list = if words.is_empty() { last } else { format!("{} and {last}", words.join(", ")) };
    format!("{} with {list}", family.name)
}
