//! Search spaces and trials of the families.

use crate::recommend::families::Family;
use crate::recommend::metric::MetricChoice;
use crate::tune::Space;
use supergat_core::random::{Purpose, Stream};
use supergat_core::words::count;
use supergat_core::{ModelKind, Norm, Residual};
use supergat_train::settings::Settings;

/// Settings of a trial, and how classes count in its loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trial {
    /// Model and hyperparameters.
    pub(super) settings: Settings,
    /// Whether all classes count the same in the loss.
    pub(super) balanced: bool,
}

/// Everything that determines trials, apart from their family and number.
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
    /// Returns a trial with some epochs: even numbers have two layers, odd ones have blocks. The first two have the usual
    /// settings, the fourth those of a deep network, the others random ones. Models that are not networks have one form.
    pub(super) fn trial(self, kind: ModelKind, number: usize, epochs: usize, context: &TrialContext<'_>) -> Trial {
        let is_deep = kind.is_network() && !number.is_multiple_of(2);
        let base = self.base(kind, is_deep, epochs, context);
        let settings = match (number, kind.is_network()) {
            (0, _) | (1, true) => base,
            (3, true) => self.deep().applied(base),
            _ => random(&space(kind, is_deep), &base, context.seed, number),
        };
        let balanced = context.class_weights && kind.is_network() && number / 2 % 2 == 1;
        Trial { settings, balanced }
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
    let mut words = vec![count(settings.network.layers, "layer")];
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
