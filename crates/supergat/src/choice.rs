//! From names and values to the settings of a training.

use crate::error::{Error, Result};
use std::ops::ControlFlow;
use supergat_core::hyperparameters::{Hyperparameter, Value};
use supergat_core::{ModelKind, Select};
use supergat_data::Dataset;
use supergat_lab::advice::{Advice, Question, advise, advise_by_size};
use supergat_lab::{Resources, Settings};

/// Name that stands for the model recommended for a graph, in [`crate::ClassifierBuilder::model`].
pub const AUTO: &str = "auto";

/// Default model for the datasets of the paper. Other datasets get the recommended one.
///
/// ```
/// assert!(supergat::model_names().contains(&supergat::DEFAULT_MODEL.to_owned()));
/// ```
pub const DEFAULT_MODEL: &str = "supergat-mx";

/// Settings of a training and where they come from, as [`crate::ClassifierBuilder::choose`] returns them.
///
/// ```
/// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
/// let choice = supergat::Classifier::builder().model("gat-go").lambda_e(2.0).lr(0.1).choose(&dataset)?;
/// assert_eq!(choice.settings.lr, 0.1);
/// assert_eq!(choice.unused, ["lambda_e"]); // gat-go has no edge loss.
/// # Ok::<(), supergat::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Choice {
    /// Model and hyperparameters.
    pub settings: Settings,
    /// Whether the paper publishes hyperparameters for this dataset and model; otherwise general defaults are the base.
    pub published: bool,
    /// Recommendation that named the model, if it was chosen automatically.
    pub recommendation: Option<Advice>,
    /// Hyperparameters that were given but that the model does not read.
    pub unused: Vec<&'static str>,
}

/// Model as requested: by name, or chosen for the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelChoice {
    Default,
    Auto,
    Kind(ModelKind),
}

/// Returns the names of all models.
///
/// ```
/// assert!(supergat::model_names().contains(&"supergat-mx".to_owned()));
/// ```
pub fn model_names() -> Vec<String> {
    ModelKind::ALL.iter().map(ToString::to_string).collect()
}

/// Checks the name of a model: one of [`model_names`], or [`AUTO`].
///
/// ```
/// assert!(supergat::check_model("gat-go").is_ok());
/// assert!(supergat::check_model("gat-og").is_err());
/// ```
pub fn check_model(name: &str) -> Result<()> {
    parse(name).map(drop)
}

pub(crate) fn parse(name: &str) -> Result<ModelChoice> {
    if name == AUTO {
        return Ok(ModelChoice::Auto);
    }
    name.parse().map(ModelChoice::Kind).map_err(|_| {
        let mut known = model_names();
        known.push(AUTO.to_owned());
        known.sort_by_key(|known| strsim::osa_distance(name, known));
        Error::UnknownModel { name: name.to_owned(), known }
    })
}

/// Returns whether the model of a dataset is chosen by comparing networks on validation nodes, unless one is named: the
/// dataset is none of the paper.
///
/// ```
/// assert!(supergat::compares_models("my-folder") && !supergat::compares_models("cora"));
/// ```
pub fn compares_models(dataset: &str) -> bool {
    let default: ModelKind = DEFAULT_MODEL.parse().expect("a model name");
    Settings::published(dataset, default).is_none()
}

/// Recommends a model: by the map for datasets of the paper, by a comparison for others. The comparison depends on the dataset
/// alone, not on time or threads.
fn advice(dataset: &Dataset, preset: &str, select: Option<Select>, resources: Resources) -> Advice {
    let map = Question { seconds: 0.0, ..Question::default() };
    let ask = || advise(dataset, &map, resources, |_| ControlFlow::Continue(())).expect("the map has an answer");
    if !compares_models(preset) {
        return ask();
    }
    let metric = select.filter(|select| *select != Select::Loss).map(|select| select.to_string());
    let question = Question { metric, ..Question::default() };
    // An undefined metric is refused by the training.
    advise_by_size(dataset, &question, resources).unwrap_or_else(|_| ask())
}

/// Chooses model and base settings for a dataset, then applies `values` in order.
pub(crate) fn choose(
    dataset: &Dataset,
    model: ModelChoice,
    preset: Option<&str>,
    values: &[(String, Value)],
    select: Option<Select>,
    resources: Resources,
) -> Result<Choice> {
    let preset = preset.unwrap_or(&dataset.name);
    let default: ModelKind = DEFAULT_MODEL.parse().expect("a model name");
    let (model, recommendation) = match model {
        ModelChoice::Kind(kind) => (kind, None),
        ModelChoice::Default if !compares_models(preset) => (default, None),
        ModelChoice::Default | ModelChoice::Auto => {
            let advice = advice(dataset, preset, select, resources);
            (advice.recommendation, Some(advice))
        }
    };
    let recommended = recommendation.as_ref().and_then(|advice: &Advice| advice.settings);
    let published = recommended.is_none() && Settings::published(preset, model).is_some();
    let mut settings = recommended.unwrap_or_else(|| Settings::usual(preset, model));
    let mut unused = Vec::new();
    for (name, value) in values {
        let hyperparameter = Hyperparameter::find(name)?;
        settings.set(name, *value)?;
        if !hyperparameter.group.applies_to(model) && !unused.contains(&hyperparameter.name) {
            unused.push(hyperparameter.name);
        }
    }
    unused.sort_unstable();
    // Who turns early stopping off wants all epochs, unless patience is given as well.
    let given = |name: &str| values.iter().rev().find(|(given, _)| given == name).map(|(_, value)| *value);
    if given("early_stop") == Some(Value::Switch(false)) && given("patience").is_none() {
        settings.patience = 0;
    }
    Ok(Choice { settings, published, recommendation, unused })
}
