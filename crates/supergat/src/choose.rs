//! The choice of model and settings from the options of a builder.

use crate::builder::ClassifierBuilder;
use crate::choice::Choice;
use crate::error::{Error, Result};
use crate::model::{DEFAULT_MODEL, Model};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use supergat_core::Select;
use supergat_core::hyperparameters::{Hyperparameter, Value};
use supergat_cpu::kernels::Simd;
use supergat_data::{Dataset, KNOWN, random_partition};
use supergat_numerics::metrics::POSITIVE;
use supergat_select::recommend::quick::{QuickAnswer, QuickEvent, QuickQuestion, recommend};
use supergat_train::Settings;

impl ClassifierBuilder<'_> {
    /// Returns whether [`Self::choose`] compares networks on validation nodes. It does if neither a model nor settings are
    /// given. The datasets of the paper have a default model.
    ///
    /// ```
    /// use supergat::Classifier;
    /// let mut dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
    /// assert!(!Classifier::builder().compares_models(&dataset));
    /// dataset.preset = None;
    /// assert!(Classifier::builder().compares_models(&dataset));
    /// assert!(!Classifier::builder().model("gcn").compares_models(&dataset));
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn compares_models(&self, dataset: &Dataset) -> bool {
        let is_chosen = self.choice.is_some() || self.settings.is_some();
        let is_open = !is_chosen && matches!(self.model, None | Some(Ok(Model::Auto)));
        is_open && !has_default_model(self.preset_for(dataset))
    }

    /// Returns the settings that [`Self::train`] would use, and where they come from.
    pub fn choose(&self, dataset: &Dataset) -> Result<Choice> {
        if let Some(choice) = &self.choice {
            return Ok(choice.clone());
        }
        self.check()?;
        let model = match &self.model {
            None => None,
            Some(Ok(model)) => Some(*model),
            Some(Err(Error::UnknownModel { name, known })) => {
                return Err(Error::UnknownModel { name: name.clone(), known: known.clone() });
            }
            Some(Err(_)) => unreachable!("parsing a name fails in one way"),
        };
        let mut choice = match self.settings {
            Some(_) if model.is_some() || self.preset.is_some() => return Err(Error::ModelAndSettings),
            Some(mut settings) => {
                let unused = apply(&mut settings, &self.values)?;
                Choice { settings, published: false, recommendation: None, unused }
            }
            None => self.choose_model(dataset, model)?,
        };
        if self.select.is_some() || self.settings.is_none() {
            choice.settings.select = self.select;
        }
        if let Some(name) = &self.positive {
            choice.settings.positive = positive_class(dataset, name)?;
        }
        Ok(choice)
    }

    /// Validates the options that a training may not come to use.
    fn check(&self) -> Result<()> {
        Simd::requested()?;
        for (name, value) in &self.values {
            Hyperparameter::find(name)?.check(*value)?;
        }
        if let Some(seconds) = self.choose_seconds.filter(|seconds| !(0.0..1e7).contains(seconds)) {
            return Err(Error::ChooseSeconds(seconds));
        }
        let known = || std::iter::once(random_partition::NAME).chain(KNOWN);
        match &self.preset {
            Some(name) if !known().any(|known| known == name) => {
                let mut known: Vec<String> = known().map(str::to_owned).collect();
                known.sort_by_key(|known| strsim::osa_distance(name, known));
                Err(Error::UnknownPreset { name: name.clone(), known })
            }
            _ => Ok(()),
        }
    }

    /// Chooses a model, unless one is given, and its settings.
    fn choose_model(&self, dataset: &Dataset, model: Option<Model>) -> Result<Choice> {
        let preset = self.preset_for(dataset);
        let (model, recommendation) = match model {
            Some(Model::Kind(kind)) => (kind, None),
            None if has_default_model(preset) => (DEFAULT_MODEL, None),
            None | Some(Model::Auto) => {
                let answer = self.recommend(dataset)?;
                (answer.recommendation, Some(answer))
            }
        };
        let recommended = recommendation.as_ref().and_then(|answer: &QuickAnswer| answer.settings);
        let is_published = |dataset| Settings::published(dataset, model).is_some();
        let published = recommended.is_none() && preset.is_some_and(is_published);
        let mut settings = recommended.unwrap_or_else(|| Settings::usual(preset, model));
        let unused = apply(&mut settings, &self.values)?;
        Ok(Choice { settings, published, recommendation, unused })
    }

    /// Recommends a network: by the map for datasets of the paper, by a comparison for others.
    fn recommend(&self, dataset: &Dataset) -> Result<QuickAnswer> {
        let stopped = AtomicBool::new(false);
        let observe = |event: QuickEvent<'_>| {
            let flow = self.choice_observer.as_ref().map_or(ControlFlow::Continue(()), |observer| observer(event));
            stopped.fetch_or(flow.is_break(), Ordering::Relaxed);
            flow
        };
        let (seconds, map) = (self.choose_seconds, QuickQuestion { seconds: Some(0.0), ..QuickQuestion::default() });
        let metric = self.select.filter(|select| *select != Select::Loss).map(|select| select.to_string());
        let question = match has_default_model(self.preset_for(dataset)) {
            true => map.clone(),
            false => QuickQuestion { seconds, networks_only: true, metric, ..QuickQuestion::default() },
        };
        // An undefined metric is refused by the training.
        let answer = recommend(dataset, &question, self.resources, observe);
        let answer = answer.or_else(|_| recommend(dataset, &map, self.resources, |_| ControlFlow::Continue(())));
        match stopped.into_inner() {
            true => Err(Error::Interrupted),
            false => Ok(answer.expect("the map has an answer")),
        }
    }

    /// Returns the dataset of the paper whose settings a dataset gets, if there is one.
    fn preset_for<'d>(&'d self, dataset: &'d Dataset) -> Option<&'d str> {
        self.preset.as_deref().or(dataset.preset.as_deref())
    }
}

/// Returns whether the paper has settings of the default model for a dataset.
fn has_default_model(preset: Option<&str>) -> bool {
    preset.is_some_and(|dataset| Settings::published(dataset, DEFAULT_MODEL).is_some())
}

/// Applies values in their order, and returns the names of those that the model does not read.
fn apply(settings: &mut Settings, values: &[(String, Value)]) -> Result<Vec<&'static str>> {
    let mut unused = Vec::new();
    for (name, value) in values {
        let hyperparameter = Hyperparameter::find(name)?;
        settings.set(name, *value)?;
        if !hyperparameter.applies_to(settings.model) && !unused.contains(&hyperparameter.name) {
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

/// Returns the index of the positive class of this name; `None` if it is the one that is positive without a choice.
fn positive_class(dataset: &Dataset, name: &str) -> Result<Option<usize>> {
    let found = dataset.class_names.iter().position(|class| class == name);
    match found.filter(|_| dataset.classes() == 2 && !dataset.is_multi_label()) {
        Some(class) => Ok((class != POSITIVE).then_some(class)),
        None => Err(Error::PositiveClass {
            data: dataset.name.clone(),
            name: name.to_owned(),
            classes: dataset.class_names.clone(),
            multi_label: dataset.is_multi_label(),
        }),
    }
}
