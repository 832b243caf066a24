//! From names and values to the settings of a training.

use crate::error::{Error, Result};
use crate::model::{DEFAULT_MODEL, Model};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use supergat_core::Select;
use supergat_core::hyperparameters::{Hyperparameter, Value};
use supergat_data::Dataset;
use supergat_select::recommend::quick::{QuickAnswer, QuickEvent, QuickQuestion, recommend};
use supergat_train::{Resources, Settings};

/// Settings of a training and where they come from, as [`crate::ClassifierBuilder::choose`] returns them.
///
/// ```
/// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
/// let choice = supergat::Classifier::builder().model("gat-go").lambda_e(2.0).lr(0.1).choose(&dataset)?;
/// assert_eq!(choice.settings.training.lr, 0.1);
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
    pub recommendation: Option<QuickAnswer>,
    /// Hyperparameters that were given but that the model does not read.
    pub unused: Vec<&'static str>,
}

/// Returns whether the model of a dataset is chosen by comparing networks on validation nodes, unless one is named. The
/// datasets of the paper have a default model.
///
/// ```
/// let mut dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
/// assert!(!supergat::compares_models(&dataset));
/// dataset.preset = None;
/// assert!(supergat::compares_models(&dataset));
/// # Ok::<(), supergat::Error>(())
/// ```
pub fn compares_models(dataset: &Dataset) -> bool {
    !has_default_model(dataset.preset.as_deref())
}

/// Returns whether the paper has settings of the default model for a dataset.
fn has_default_model(preset: Option<&str>) -> bool {
    preset.is_some_and(|dataset| Settings::published(dataset, DEFAULT_MODEL).is_some())
}

/// How the model of a dataset is compared with others, if it is chosen automatically.
pub(crate) struct Comparison<'a> {
    /// Score that compares, if one is set.
    pub(crate) select: Option<Select>,
    /// Seconds; `None` for about as long as one training, with an answer that depends on the dataset alone.
    pub(crate) seconds: Option<f64>,
    pub(crate) resources: Resources,
    pub(crate) observer: Option<&'a ChoiceObserver<'a>>,
}

/// Observer of a comparison.
pub(crate) type ChoiceObserver<'a> = dyn Fn(QuickEvent<'_>) -> ControlFlow<()> + Sync + 'a;

impl Comparison<'_> {
    /// Recommends a network: by the map for datasets of the paper, by a comparison for others.
    fn answer(&self, dataset: &Dataset, preset: Option<&str>) -> Result<QuickAnswer> {
        let stopped = AtomicBool::new(false);
        let observe = |event: QuickEvent<'_>| {
            let flow = self.observer.map_or(ControlFlow::Continue(()), |observer| observer(event));
            stopped.fetch_or(flow.is_break(), Ordering::Relaxed);
            flow
        };
        let metric = self.select.filter(|select| *select != Select::Loss).map(|select| select.to_string());
        let map = QuickQuestion { seconds: Some(0.0), ..QuickQuestion::default() };
        let question = match has_default_model(preset) {
            true => map.clone(),
            false => QuickQuestion { seconds: self.seconds, networks_only: true, metric, ..QuickQuestion::default() },
        };
        if let Some(seconds) = self.seconds.filter(|seconds| !(0.0..1e7).contains(seconds)) {
            return Err(Error::ChooseSeconds(seconds));
        }
        // An undefined metric is refused by the training.
        let answer = recommend(dataset, &question, self.resources, observe);
        let answer = answer.or_else(|_| recommend(dataset, &map, self.resources, |_| ControlFlow::Continue(())));
        match stopped.into_inner() {
            true => Err(Error::Interrupted),
            false => Ok(answer.expect("the map has an answer")),
        }
    }
}

/// Chooses model and base settings for a dataset, then applies `values` in order.
pub(crate) fn choose(
    dataset: &Dataset,
    model: Option<Model>,
    preset: Option<&str>,
    values: &[(String, Value)],
    comparison: Comparison<'_>,
) -> Result<Choice> {
    let preset = preset.or(dataset.preset.as_deref());
    let (model, recommendation) = match model {
        Some(Model::Kind(kind)) => (kind, None),
        None if has_default_model(preset) => (DEFAULT_MODEL, None),
        None | Some(Model::Auto) => {
            let answer = comparison.answer(dataset, preset)?;
            (answer.recommendation, Some(answer))
        }
    };
    let recommended = recommendation.as_ref().and_then(|answer: &QuickAnswer| answer.settings);
    let is_published = |dataset| Settings::published(dataset, model).is_some();
    let published = recommended.is_none() && preset.is_some_and(is_published);
    let mut settings = recommended.unwrap_or_else(|| Settings::usual(preset, model));
    let unused = apply(&mut settings, values)?;
    Ok(Choice { settings, published, recommendation, unused })
}

/// Applies values in their order, and returns the names of those that the model does not read.
pub(crate) fn apply(settings: &mut Settings, values: &[(String, Value)]) -> Result<Vec<&'static str>> {
    let mut unused = Vec::new();
    for (name, value) in values {
        let hyperparameter = Hyperparameter::find(name)?;
        settings.set(name, *value)?;
        if !hyperparameter.group.applies_to(settings.model) && !unused.contains(&hyperparameter.name) {
            unused.push(hyperparameter.name);
        }
    }
    unused.sort_unstable();
    // Without early stopping, a training has all epochs, unless patience is given as well.
    let given = |name: &str| values.iter().rev().find(|(given, _)| given == name).map(|(_, value)| *value);
    if given("early_stop") == Some(Value::Switch(false)) && given("patience").is_none() {
        settings.early_stopping.patience = 0;
    }
    Ok(unused)
}
