//! Settings of a run: model and hyperparameters. The hyperparameters are declared in
//! [`supergat_core::hyperparameters`]; `stored.rs` is their form in files, `presets.rs` has the published values for each
//! dataset and model, `engine.rs` converts to the configuration of the engine.

mod engine;
mod presets;
mod stored;

use supergat_core::hyperparameters::{
    ClassConstraintSettings, ConstraintSettings, CorrectAndSmoothSettings, EarlyStoppingSettings, EdgeLossSettings,
    GamOptions, GlcnOptions, Group, HYPERPARAMETERS, Hyperparameter, LdsOptions, NetworkSettings, NeuralSparseOptions,
    PropagationSettings, SettingsGroup, TrainingSettings, TreeSettings, Value,
};
use supergat_core::{Contrast, ModelKind, Select, System};
use supergat_systems::Options;

/// Model and hyperparameters of a run. With the dataset and the seed, they determine the result.
///
/// Names are those of configuration files; [`supergat_core::hyperparameters`] describes them.
///
/// ```
/// use supergat_train::Settings;
/// let mut settings = Settings::published("cora", "supergat-mx".parse().unwrap()).unwrap();
/// assert_eq!((settings.network.heads, settings.training.max_epochs), (8, 490));
/// settings.set("lambda_e", 2.0)?;
/// assert_eq!(settings.edge_loss.lambda_e, 2.0);
/// assert!(settings.set("dropout", 1.5).is_err());
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Kind of model.
    pub model: ModelKind,
    /// Shape of the network. Files have it for every model.
    pub network: NetworkSettings,
    /// Optimiser and length of training. Files have it for every model.
    pub training: TrainingSettings,
    /// Edge loss of self-supervised models. Files have it for every model.
    pub edge_loss: EdgeLossSettings,
    /// Rule that stops training before the last epoch. Files have it for every model.
    pub early_stopping: EarlyStoppingSettings,
    /// Hyperparameters of the family of the model.
    pub family: FamilySettings,
    /// Correct and Smooth, if predictions are corrected and smoothed.
    pub correct_and_smooth: Option<CorrectAndSmoothSettings>,
    /// Score by which the best epoch and seed are chosen; accuracy or micro-F1 if `None`.
    pub select: Option<Select>,
    /// Index of the positive class, for metrics and thresholds; the second if `None`.
    pub positive: Option<usize>,
}

/// Hyperparameters that only the models of a family have.
///
/// ```
/// use supergat_core::ModelKind;
/// use supergat_train::{Settings, settings::FamilySettings};
/// let FamilySettings::Trees(trees) = Settings::general(ModelKind::Trees).family else { unreachable!() };
/// assert_eq!(trees.tree_depth, 6);
/// assert_eq!(Settings::general(ModelKind::Mlp).family, FamilySettings::None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FamilySettings {
    /// Attention, convolutions and perceptrons have no further hyperparameters.
    None,
    /// `cgat` models, with constraints by classes for `cgat-full-supervised`.
    Constrained(Contrast),
    /// `label-propagation`.
    Propagation(PropagationSettings),
    /// `trees`.
    Trees(TreeSettings),
    /// `glcn`, `neuralsparse`, `gcn-gam` and `lds`.
    System(Options),
}

impl FamilySettings {
    /// Creates the settings of a model with the value that `of` returns for each hyperparameter.
    fn new(model: ModelKind, of: impl Fn(&Hyperparameter) -> Value) -> Self {
        match model {
            ModelKind::Attention { .. } | ModelKind::Convolution(_) | ModelKind::Mlp => Self::None,
            ModelKind::Constrained { by_classes } => {
                let boundary = by_classes.then(|| ClassConstraintSettings::new(&of));
                Self::Constrained(Contrast { constraints: ConstraintSettings::new(of), boundary })
            }
            ModelKind::LabelPropagation => Self::Propagation(PropagationSettings::new(of)),
            ModelKind::Trees => Self::Trees(TreeSettings::new(of)),
            ModelKind::System(system) => Self::System(match system {
                System::Glcn => Options::Glcn(GlcnOptions::new(of)),
                System::NeuralSparse => Options::NeuralSparse(NeuralSparseOptions::new(of)),
                System::Gam => Options::Gam(GamOptions::new(of)),
                System::Lds => Options::Lds(LdsOptions::new(of)),
            }),
        }
    }

    fn groups_mut(&mut self) -> Vec<&mut dyn SettingsGroup> {
        match self {
            Self::None => vec![],
            Self::Constrained(Contrast { constraints, boundary: None }) => vec![constraints],
            Self::Constrained(Contrast { constraints, boundary: Some(by_classes) }) => vec![constraints, by_classes],
            Self::Propagation(settings) => vec![settings],
            Self::Trees(settings) => vec![settings],
            Self::System(Options::Glcn(options)) => vec![options],
            Self::System(Options::NeuralSparse(options)) => vec![options],
            Self::System(Options::Gam(options)) => vec![options],
            Self::System(Options::Lds(options)) => vec![options],
        }
    }
}

impl Settings {
    /// Returns general settings in the style of the paper, on which its settings of single datasets are based.
    pub fn general(model: ModelKind) -> Self {
        Self::new(model, |hyperparameter| hyperparameter.default(model))
    }

    /// Returns the settings for graphs that the paper has none for, chosen by a study of many graphs.
    ///
    /// ```
    /// use supergat_core::{ModelKind, Norm};
    /// use supergat_train::Settings;
    /// let norms = [Settings::on_new_graphs(ModelKind::Mlp), Settings::general(ModelKind::Mlp)].map(|s| s.network.norm);
    /// assert_eq!(norms, [Norm::Layer, Norm::None]);
    /// assert_eq!(Settings::on_new_graphs(ModelKind::Trees), Settings::general(ModelKind::Trees));
    /// ```
    pub fn on_new_graphs(model: ModelKind) -> Self {
        Self::new(model, |hyperparameter| hyperparameter.default_on_new_graphs(model))
    }

    fn new(model: ModelKind, of: impl Fn(&Hyperparameter) -> Value) -> Self {
        Self {
            model,
            network: NetworkSettings::new(&of),
            training: TrainingSettings::new(&of),
            edge_loss: EdgeLossSettings::new(&of),
            early_stopping: EarlyStoppingSettings::new(&of),
            family: FamilySettings::new(model, &of),
            correct_and_smooth: None,
            select: None,
            positive: None,
        }
    }

    /// Returns a copy after a change.
    ///
    /// ```
    /// use supergat_train::Settings;
    /// let settings = Settings::general("gat-go".parse().unwrap()).with(|settings| settings.training.lr = 0.1);
    /// assert_eq!(settings.training.lr, 0.1);
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn groups_mut(&mut self) -> Vec<&mut dyn SettingsGroup> {
        let mut all: Vec<&mut dyn SettingsGroup> =
            vec![&mut self.network, &mut self.training, &mut self.edge_loss, &mut self.early_stopping];
        all.extend(self.family.groups_mut());
        all.extend(self.correct_and_smooth.as_mut().map(|group| group as &mut dyn SettingsGroup));
        all
    }

    /// Sets a hyperparameter by name. Setting any `early_stop_*` value enables early stopping, and setting a value of
    /// Correct and Smooth turns it on.
    ///
    /// Returns `false` and changes nothing if the model has no such setting. Fails if there is no
    /// hyperparameter of this name or if the value is out of range.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> supergat_core::Result<bool> {
        let hyperparameter = Hyperparameter::find(name)?;
        let (name, value) = (hyperparameter.name, hyperparameter.check(value.into())?);
        if hyperparameter.group == Group::CorrectAndSmooth {
            if hyperparameter.group.switch() == Some(name) && value == Value::Switch(false) {
                self.correct_and_smooth = None;
                return Ok(true);
            }
            let on = CorrectAndSmoothSettings { correct_and_smooth: true, ..Default::default() };
            self.correct_and_smooth.get_or_insert(on);
        }
        let has_it = self.put(name, value);
        self.early_stopping.early_stop |= has_it && name.starts_with("early_stop_");
        Ok(has_it)
    }

    /// Sets the value of a hyperparameter without a check of its range; see [`SettingsGroup::put`].
    fn put(&mut self, name: &str, value: Value) -> bool {
        self.groups_mut().into_iter().any(|group| group.put(name, value))
    }

    /// Returns a hyperparameter by name; `None` if the model has no such setting.
    pub fn get(&self, name: &str) -> Option<Value> {
        let found = Hyperparameter::named(name)?.name;
        // One list of groups serves reading and writing.
        let mut copy = *self;
        copy.groups_mut().into_iter().find_map(|group| group.get(found))
    }

    /// Returns all hyperparameters of these settings with their values, in the order of documentation.
    pub fn values(&self) -> impl Iterator<Item = (&'static Hyperparameter, Value)> {
        let settings = *self;
        HYPERPARAMETERS.iter().filter_map(move |known| Some((known, settings.get(known.name)?)))
    }

    /// Returns these settings for another model. Hyperparameters that only the new model has get their defaults, and
    /// those that only the old one has are removed.
    ///
    /// ```
    /// use supergat_train::Settings;
    /// let deep = Settings::general("gat-go".parse().unwrap()).with(|settings| settings.network.layers = 9);
    /// let constrained = deep.with_model("cgat".parse().unwrap());
    /// assert_eq!((constrained.network.layers, constrained.get("top_k")), (9, Some(4.into())));
    /// assert_eq!(constrained.with_model(deep.model), deep);
    /// ```
    pub fn with_model(self, model: ModelKind) -> Self {
        let of = |known: &Hyperparameter| self.get(known.name).unwrap_or_else(|| known.default(model));
        Self { model, family: FamilySettings::new(model, of), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value as Json;
    use supergat_core::Norm;

    fn kind(name: &str) -> ModelKind {
        name.parse().unwrap()
    }

    #[test]
    fn other_models_have_no_cgat_settings() {
        let names = |model| Settings::general(kind(model)).values().map(|(known, _)| known.name).collect::<Vec<_>>();
        let (plain, constrained) = (names("gat-go"), names("cgat"));
        let own = |all: &[&'static str], than: &[&str]| -> Vec<&str> {
            all.iter().copied().filter(|name| !than.contains(name)).collect()
        };
        assert_eq!(own(&constrained, &plain), ["top_k", "negatives_per_edge", "lambda_g", "margin_g"]);
        assert_eq!(own(&names("cgat-full-supervised"), &constrained), ["lambda_b", "margin_b"]);
        let text = serde_json::to_string(&Settings::general(kind("gcn"))).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), Settings::general(kind("gcn")));
    }

    /// Names are the same in both, and every setting can be written and read by name.
    #[test]
    fn every_hyperparameter_is_a_setting() {
        let table = supergat_core::hyperparameters::HYPERPARAMETERS;
        let models = ["cgat-full-supervised", "supergat-mx", "label-propagation", "trees", "glcn", "neuralsparse"];
        for model in models.map(kind) {
            let mut settings = Settings::general(model);
            let plain = settings;
            for switch in table.iter().filter_map(|h| h.group.switch()) {
                settings.set(switch, true).unwrap();
            }
            let Json::Object(all) = serde_json::to_value(settings).unwrap() else { unreachable!() };
            assert!(all.keys().all(|name| name == "model" || table.iter().any(|h| h.stored == name)));
            for Hyperparameter { name, .. } in table.iter().filter(|h| h.group.applies_to(model)) {
                let value = settings.get(name).unwrap_or_else(|| panic!("{name} is no setting"));
                let default = Hyperparameter::named(name).unwrap().default(model);
                let is_switch = table.iter().any(|h| h.group.switch() == Some(*name));
                assert_eq!(if is_switch { Value::Switch(true) } else { default }, value, "{name}");
                assert!(settings.set(name, value).unwrap());
            }
            for switch in table.iter().filter_map(|h| h.group.switch()) {
                settings.set(switch, false).unwrap();
            }
            assert_eq!((settings, plain), (Settings::general(model), settings));
        }
    }

    #[test]
    fn values_of_a_group_turn_its_switch_on() {
        let mut settings = Settings::general(kind("mlp"));
        assert!(settings.set("smooth_alpha", 0.7).unwrap());
        assert_eq!(settings.correct_and_smooth.map(|given| given.smooth_iterations), Some(50));
        assert!(settings.set("correct_and_smooth", true).unwrap());
        assert_eq!(
            settings.correct_and_smooth.map(|given| (given.smooth_alpha, given.correct_alpha)),
            Some((0.7, 0.0))
        );
        assert!(settings.set("correct_and_smooth", false).unwrap());
        assert_eq!(settings, Settings::general(kind("mlp")));
    }

    #[test]
    fn sets_choices_by_name() {
        let mut settings = Settings::general(kind("gat-go"));
        assert!(settings.set("norm", "batch").unwrap() && settings.set("self_loops", false).unwrap());
        assert_eq!((settings.network.norm, settings.network.self_loops), (Norm::Batch, false));
        assert_eq!(settings.get("norm"), Some(Value::Choice("batch")));
        assert_eq!(serde_json::to_value(settings).unwrap()["norm"], "batch");
        let error = settings.set("norm", "group").unwrap_err().to_string();
        assert_eq!(error, "norm = group: must be one of none, layer, batch");
    }

    #[test]
    fn reads_settings_without_options_of_deep_networks() {
        let settings = Settings::general(kind("gat-go"));
        let Json::Object(mut all) = serde_json::to_value(settings).unwrap() else { unreachable!() };
        let switches = ["input_layer", "output_layer", "self_loops", "attention_dropout", "separate_ego"];
        let others = ["residual", "norm", "activation", "label_input", "label_reuse", "patience"];
        let new: Vec<_> = others.into_iter().chain(switches).collect();
        assert!(new.iter().all(|name| all.remove(*name).is_some()));
        assert_eq!(serde_json::from_value::<Settings>(Json::Object(all)).unwrap(), settings);
    }

    #[test]
    fn setting_an_early_stopping_value_enables_early_stopping() {
        let mut settings = Settings::general(kind("gat-go")).with(|s| s.early_stopping.early_stop = false);
        assert!(settings.set("early_stop_window", 7).unwrap());
        assert_eq!((settings.early_stopping.early_stop, settings.early_stopping.early_stop_window), (true, 7));
        assert!(!settings.set("lambda_g", 7).unwrap(), "gat-go has no constraints");
        assert!(settings.set("lamda_e", 1.0).unwrap_err().to_string().contains("lambda_e"));
    }
}
