//! Settings of a run, resolved from options, a configuration file and presets, and written back to a file.
//!
//! In order of increasing precedence: default settings, the paper's for the dataset and model, the
//! configuration file, the options.

mod contradiction;
pub mod keys;

use crate::error::{CliError, Result};
use keys::{DECISIONS, KEYS, Key, NODE_ORDER, ROW_NORMALISE, hyperparameter_value, nearest_first, shown};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use supergat::hyperparameters::Hyperparameter;
use supergat::{
    Choice, ClassWeight, Classifier, ClassifierBuilder, DEFAULT_MODEL, Dataset, DecisionOptions, FeatureChoice,
    LoadOptions, Model, NodeOrderChoice, Settings, SplitChoice, TableOptions,
};
use supergat_core::ModelKind;
use supergat_train::Resources;
use toml::{Table, Value};

const DATASET: &str = supergat_data::random_partition::NAME;

/// Values from one source, such as the options or a file, by the name of their key.
pub type Values = BTreeMap<&'static str, Value>;

/// Values given by the user, before they are resolved to settings.
#[derive(Debug)]
pub struct Choices {
    options: Values,
    file: Option<(PathBuf, Values)>,
}

/// Complete settings of a run: together they determine its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// Dataset as given by the user: a name, path or specification.
    pub dataset: String,
    /// Train/validation/test split.
    pub split: SplitChoice,
    /// Whether every split of the files is trained, each with its own seed.
    pub all_splits: bool,
    /// First seed.
    pub seed: u64,
    /// Number of seeds; with `all_splits`, of splits.
    pub seeds: u64,
    /// Model and hyperparameters.
    pub settings: Settings,
    /// Options for reading the dataset: computed features, the order of nodes, and those for tables.
    pub reading: Values,
    /// Given options for probabilities and decisions.
    pub decisions: Values,
}

impl Choices {
    /// Validates the options and reads the configuration file, if any.
    pub fn new(options: Values, config: Option<&Path>) -> Result<Self> {
        for (name, value) in &options {
            Key::named(name).expect("options are keys").check(value)?;
        }
        let file = config.map(|path| read(path).map(|values| (path.to_owned(), values))).transpose()?;
        Ok(Self { options, file })
    }

    /// Returns the dataset to load.
    pub fn dataset(&self) -> &str {
        self.text("dataset").unwrap_or(DATASET)
    }

    /// Returns whether the model is named.
    pub fn names_model(&self) -> bool {
        self.given("model").is_some()
    }

    /// Returns the choices with a named model.
    #[must_use]
    pub fn with_model(mut self, model: ModelKind) -> Self {
        self.options.insert("model", model.to_string().into());
        self
    }

    /// Fails if a model is named that the device cannot train.
    pub fn check_device(&self, resources: &Resources) -> Result<()> {
        let model = self.text("model").and_then(|name| name.parse().ok());
        Ok(model.map_or(Ok(()), |model| resources.check_model(model))?)
    }

    /// Returns the options for loading the dataset.
    pub fn load_options(&self) -> Result<LoadOptions> {
        let split = self.text("split").map_or(Ok(SplitChoice::default()), str::parse)?;
        let node_order = self.text(NODE_ORDER).map_or(Ok(NodeOrderChoice::default()), str::parse)?;
        Ok(LoadOptions { node_order, ..load_options(split, &self.reading())? })
    }

    /// Returns whether every split of the files is trained. Other choices of splits and seeds are then refused.
    pub fn all_splits(&self) -> Result<bool> {
        if self.given("splits").is_none() {
            return Ok(false);
        }
        let refused =
            [(self.load_options()?.split != SplitChoice::Published, "split"), (self.given("seeds").is_some(), "seeds")];
        match refused.into_iter().find(|(given, _)| *given) {
            Some((_, name)) => Err(CliError::usage(format!(
                "--splits all trains every split of the files once, split k with seed + k: leave out --{name}"
            ))),
            None => Ok(true),
        }
    }

    /// Refuses `splits` for a command that trains on one split.
    pub fn refuse_all_splits(&self) -> Result<()> {
        match self.given("splits") {
            Some(_) => Err(CliError::usage("--splits is an option of train: choose one split with --split")),
            None => Ok(()),
        }
    }

    /// Returns the given options for reading the dataset.
    fn reading(&self) -> Values {
        self.given_of(Key::reads_dataset)
    }

    /// Returns the given values of some keys.
    fn given_of(&self, is_wanted: impl Fn(&Key) -> bool) -> Values {
        let keys = KEYS.iter().filter(|key| is_wanted(key));
        keys.filter_map(|key| Some((key.name, self.given(key.name)?.clone()))).collect()
    }

    /// Returns the weights of classes in training.
    pub fn class_weight(&self) -> ClassWeight {
        // It was checked before.
        self.text("class_weight").and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Returns a builder with all given values, which chooses model and settings for a dataset.
    pub fn builder<'a>(&self, resources: Resources) -> Result<ClassifierBuilder<'a>> {
        let mut builder = Classifier::builder().resources(resources);
        if let Some(model) = self.text("model") {
            builder = builder.model(model);
        }
        for values in self.file.iter().map(|(_, values)| values).chain([&self.options]) {
            // An explicit switch overrides the keys beside it, which turn it on.
            let is_switch = |name: &str| {
                let of_group = Hyperparameter::named(name).and_then(|known| known.group.switch());
                name == "early_stop" || of_group == Some(name)
            };
            let (switch, others): (Vec<_>, Vec<_>) = values.iter().partition(|(name, _)| is_switch(name));
            for (name, value) in others.into_iter().chain(switch) {
                if let Some(hyperparameter) = Hyperparameter::named(name)
                    && let Some(value) = hyperparameter_value(hyperparameter, value)?
                {
                    builder = builder.set(name, value);
                }
            }
        }
        if let Some(select) = self.text("select").and_then(|text| text.parse().ok()) {
            builder = builder.select(select);
        }
        if let Some(class) = self.text("positive") {
            builder = builder.positive(class);
        }
        Ok(builder)
    }

    /// Returns everything that decides a run with the chosen settings.
    pub fn resolve(&self, choice: &Choice) -> Result<Resolved> {
        let whole = |name, default| self.given(name).and_then(Value::as_integer).map_or(default, i64::unsigned_abs);
        Ok(Resolved {
            dataset: self.dataset().to_owned(),
            split: self.load_options()?.split,
            all_splits: self.all_splits()?,
            seed: whole("seed", 0),
            seeds: whole("seeds", 1),
            settings: choice.settings,
            reading: self.reading(),
            decisions: self.given_of(|key| key.heading == DECISIONS),
        })
    }

    /// Describes where the settings for a dataset come from.
    pub fn origin(&self, choice: &Choice, dataset: &Dataset) -> String {
        let model = choice.settings.model;
        let hyperparameters = || KEYS.iter().filter(|key| key.is_setting() && choice.settings.get(key.name).is_some());
        let recommended = choice.recommendation.as_ref().is_some_and(|answer| answer.settings.is_some());
        let preset = dataset.preset.as_deref().filter(|name| Settings::are_published_for(name));
        let mut parts = vec![match (preset, recommended) {
            (_, true) => "the recommended ones".to_owned(),
            (Some(name), _) if choice.published => format!("the paper's for {name} and {model}"),
            (Some(name), _) => format!("general ones (the paper has none for {name} and {model})"),
            (None, _) => "the defaults on new graphs".to_owned(),
        }];
        if let Some((path, values)) = &self.file {
            let names: Vec<&str> =
                hyperparameters().map(|key| key.name).filter(|name| values.contains_key(name)).collect();
            if names.len() == hyperparameters().count() {
                parts = vec![format!("all from {}", path.display())];
            } else if !names.is_empty() {
                parts.push(format!("{} from {}", names.join(", "), path.display()));
            }
        }
        let given = hyperparameters().filter_map(|key| Some(key.as_option(self.options.get(key.name)?)));
        let given: Vec<String> = given.collect();
        if !given.is_empty() {
            parts.push(given.join(" "));
        }
        parts.join("; ")
    }

    /// Returns the names of given options that the chosen model does not read.
    pub fn unread(&self, choice: &Choice) -> Vec<&'static str> {
        choice.unused.iter().copied().filter(|name| self.options.contains_key(name)).collect()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.given(name)?.as_str()
    }

    fn given(&self, name: &str) -> Option<&Value> {
        self.options.get(name).or_else(|| self.file.as_ref()?.1.get(name))
    }
}

impl Resolved {
    /// Returns the seeds of the run.
    pub fn all_seeds(&self) -> Vec<u64> {
        (self.seed..self.seed.saturating_add(self.seeds)).collect()
    }

    /// Returns how probabilities and decisions are made.
    pub fn decision(&self) -> DecisionOptions {
        let text = |name: &str| self.decisions.get(name).and_then(Value::as_str);
        // Both were checked before.
        DecisionOptions {
            calibrate: text("calibrate").and_then(|text| text.parse().ok()).unwrap_or_default(),
            threshold: text("threshold").and_then(|text| text.parse().ok()),
            positive: self.settings.positive,
        }
    }

    /// Returns whether predictions.csv has the mean probabilities of all seeds.
    pub fn is_ensemble(&self) -> bool {
        self.decisions.get("ensemble").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns a commented configuration file that resolves to these settings.
    pub fn to_toml(&self) -> String {
        let model = self.settings.model;
        let is_read = |known: &Hyperparameter| model.is_network() || known.group.applies_to(model);
        let mut values: Table = self
            .settings
            .values()
            .filter(|(known, _)| is_read(known))
            .map(|(known, value)| (known.name.to_owned(), Value::try_from(value).expect("a plain value")))
            .collect();
        values.insert("model".into(), model.to_string().into());
        values.extend(self.settings.select.map(|select| ("select".to_owned(), select.to_string().into())));
        values.insert("dataset".into(), self.dataset.clone().into());
        values.insert("split".into(), self.split.to_string().into());
        values.insert("seed".into(), Value::Integer(self.seed as i64));
        if self.all_splits {
            values.insert("splits".into(), "all".into());
        } else {
            values.insert("seeds".into(), Value::Integer(self.seeds as i64));
        }
        values.extend(
            self.decisions.iter().chain(&self.reading).map(|(name, value)| ((*name).to_owned(), value.clone())),
        );
        let mut text = String::from("# A run of supergat. To repeat it: supergat train --config FILE\n");
        let mut heading = "";
        for key in KEYS.iter().filter(|key| values.contains_key(key.name)) {
            if key.heading != heading {
                heading = key.heading;
                text += &format!("\n## {heading}\n");
            }
            text += &format!("\n# {}\n{} = {}\n", key.description, key.name, shown(&values[key.name]));
        }
        text
    }
}

/// Builds the options for loading a dataset from the split and the given options for reading it. Its nodes keep the
/// given order, which is enough where nothing is trained.
pub fn load_options(split: SplitChoice, reading: &Values) -> Result<LoadOptions> {
    let mut tables = reading.clone();
    let mut list = |key: &str| tables.remove(key).and_then(|value| value.as_str().map(str::to_owned));
    let features = match (list("features"), list("add_features")) {
        (Some(_), Some(_)) => {
            return Err(CliError::usage(
                "--features and --add-features exclude each other: list all kinds in one of them",
            ));
        }
        (Some(list), None) => FeatureChoice::replace(&list)?,
        (None, Some(list)) => FeatureChoice::add(&list)?,
        (None, None) => FeatureChoice::default(),
    };
    let row_normalise = tables.remove(ROW_NORMALISE).and_then(|value| value.as_bool()).unwrap_or(false);
    let features = features.row_normalise(row_normalise);
    tables.remove(NODE_ORDER);
    Ok(LoadOptions {
        split,
        features,
        node_order: NodeOrderChoice::Given,
        tables: table_options(TableOptions::default(), &tables)?,
        ..LoadOptions::default()
    })
}

/// Returns table options in which the given values replace those of `base`.
pub fn table_options(base: TableOptions, given: &Values) -> Result<TableOptions> {
    let mut table = Table::try_from(base).expect("options are a table");
    table.extend(given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    table.try_into().map_err(|error: toml::de::Error| CliError::usage(error.message()))
}

/// Returns the default value of a key; `None` if the key has no value unless one is given. Published settings of single
/// datasets differ.
pub fn default_value(key: &Key) -> Option<String> {
    let model = DEFAULT_MODEL;
    match key.name {
        "dataset" => Some(DATASET.to_owned()),
        "model" => Some(format!("{DEFAULT_MODEL} for the paper's datasets, {} for others", Model::Auto)),
        "split" => Some(SplitChoice::default().to_string()),
        "seed" | "split_seed" => Some("0".to_owned()),
        "missing" => Some("mean".to_owned()),
        "duplicates" => Some("sum".to_owned()),
        "select" => Some("accuracy, or micro-f1 with several labels per node".to_owned()),
        "positive" => Some("the second".to_owned()),
        "calibrate" => Some("temperature if there are 50 validation nodes".to_owned()),
        "seeds" => Some("1".to_owned()),
        NODE_ORDER => Some(NodeOrderChoice::default().to_string()),
        name => Hyperparameter::named(name).map(|hyperparameter| {
            let [paper, new] = [hyperparameter.default(model), hyperparameter.default_on_new_graphs(model)];
            if paper == new { paper.to_string() } else { format!("{new}; {paper} for the paper's datasets") }
        }),
    }
}

/// Reads a configuration file. Errors name the line.
fn read(path: &Path) -> Result<Values> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))?;
    let place = |start: usize| {
        let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
        format!("{}, line {line}", path.display())
    };
    let syntax = |error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        CliError::usage(error.message()).at(place(start))
    };
    // Only this form of the parsed file contains the positions of its keys.
    let spans = toml::de::DeTable::parse(&text).map_err(syntax)?;
    let mut table: Table = text.parse().map_err(syntax)?;
    let mut names: Vec<_> = spans.get_ref().keys().collect();
    names.sort_by_key(|name| name.span().start);
    let mut values = Values::new();
    for name in names {
        let at = place(name.span().start);
        let Some(key) = Key::named(name.get_ref()) else {
            let known = nearest_first(name.get_ref(), KEYS.iter().map(|key| key.name.to_owned()).collect());
            let message = format!("unknown key `{}`: expected one of {}", name.get_ref(), known.join(", "));
            return Err(CliError::usage(message).at(at));
        };
        let value = table.remove(name.get_ref().as_ref()).expect("both forms have the same keys");
        let checked = key.check(&value).and_then(|()| match (key.name, value.as_str()) {
            ("model", Some(name)) => Ok(name.parse::<Model>().map(drop)?),
            ("split", Some(text)) => Ok(text.parse::<SplitChoice>().map(drop)?),
            (NODE_ORDER, Some(text)) => Ok(text.parse::<NodeOrderChoice>().map(drop)?),
            ("features" | "add_features", Some(list)) => Ok(FeatureChoice::replace(list).map(drop)?),
            _ => Ok(()),
        });
        checked.map_err(|error| error.at(&at))?;
        values.insert(key.name, value);
    }
    Ok(values)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A graph with the presets of a dataset.
    fn dataset(name: &str) -> Dataset {
        Dataset {
            preset: Some(name.into()),
            ..supergat::load("random-partition:classes=2,nodes=170,degree=2").unwrap()
        }
    }

    fn choose(choices: &Choices, name: &str) -> Result<Choice> {
        Ok(choices.builder(1.into())?.choose(&dataset(name))?)
    }

    fn settings(choices: &Choices, name: &str) -> Settings {
        choose(choices, name).unwrap().settings
    }

    pub(crate) fn choices(file: &str, options: &[(&'static str, Value)]) -> Result<Choices> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        std::fs::write(&path, file).unwrap();
        Choices::new(options.iter().cloned().collect(), Some(&path))
    }

    #[test]
    fn printed_file_parses_back() {
        let odd = Settings::general("gat-dp".parse().unwrap()).with(|s| {
            s.training.lr = 1.0 / 3.0;
            s.training.lambda_2 = 5e-324;
            s.edge_loss.lambda_e = 1e22;
            s.edge_loss.p_e = 1.0;
            s.network.dropout = 0.1 + 0.2;
            s.early_stopping.early_stop = false;
            s.early_stopping.early_stop_loss_change = 1.473_032_707_822_838_8e-5;
        });
        let cgat = Settings::published("cora", "cgat-full-supervised".parse().unwrap()).unwrap();
        for settings in [odd, cgat, Settings::published("cora", DEFAULT_MODEL).unwrap()] {
            let (split, source) = (SplitChoice::Random { seed: 5 }, "a \"b\" \\ c\n#".into());
            let reading = [("delimiter", "\t".into()), ("directed", true.into()), ("features", "spectral:9".into())];
            let resolved = Resolved {
                dataset: source,
                split,
                all_splits: false,
                seed: 7,
                seeds: 3,
                settings,
                reading: reading.into(),
                decisions: [("threshold", "recall=0.8".into()), ("ensemble", true.into())].into(),
            };
            let choices = choices(&resolved.to_toml(), &[]).unwrap();
            let back = choices.resolve(&choose(&choices, "cora").unwrap()).unwrap();
            // The early-stopping keys in the same file must not override an explicit switch.
            assert_eq!(back, resolved);
        }
    }

    #[test]
    fn options_override_the_file_and_the_file_overrides_presets() {
        let options = [("lr", Value::Float(0.5)), ("seed", Value::Integer(9))];
        let choices = choices("lr = 1\np_e = 0.3\nseed = 2\nseeds = 4\nmodel = 'supergat-mx'", &options).unwrap();
        let choice = choose(&choices, "cora").unwrap();
        let resolved = choices.resolve(&choice).unwrap();
        assert_eq!((resolved.settings.training.lr, resolved.settings.edge_loss.p_e), (0.5, 0.3));
        assert_eq!(resolved.settings.edge_loss.lambda_e, 11.346574532931719);
        assert_eq!(resolved.all_seeds(), [9, 10, 11, 12]);
        let origin = choices.origin(&choice, &dataset("cora"));
        assert!(origin.starts_with("the paper's for cora and supergat-mx; lr, p_e from "), "{origin}");
        assert!(origin.ends_with("run.toml; --lr 0.5"), "{origin}");
        let choice = choose(&choices, "karate").unwrap();
        assert_eq!(choice.settings.edge_loss.lambda_e, 1.0);
        assert!(choices.origin(&choice, &dataset("karate")).starts_with("the defaults on new graphs; lr, p_e from "));
    }

    #[test]
    fn all_splits_exclude_other_splits_and_seeds() {
        let all = choices("splits = 'all'\nseed = 4", &[]).unwrap();
        let resolved = all.resolve(&choose(&all, "x").unwrap()).unwrap();
        assert!(resolved.all_splits && all.refuse_all_splits().is_err());
        let text = resolved.to_toml();
        assert!(text.contains("\nsplits = \"all\"\n") && !text.contains("\nseeds ="), "{text}");
        assert!(choices(&text, &[]).unwrap().all_splits().unwrap());
        for (file, part) in [("split = '3'", "leave out --split"), ("seeds = 2", "leave out --seeds")] {
            let error = choices(&format!("splits = 'all'\n{file}"), &[]).unwrap().all_splits().unwrap_err().message;
            assert!(error.ends_with(part), "{error}");
        }
        assert!(choices("splits = 'some'", &[]).unwrap_err().message.ends_with("must be all"));
    }

    #[test]
    fn ignores_settings_of_other_models() {
        let options = [("lambda_g", Value::Float(0.5)), ("lambda_b", Value::Integer(2)), ("p_e", Value::Float(0.4))];
        let of = |model: &str| choices(&format!("model = '{model}'"), &options).unwrap();
        let settings = |model: &str| settings(&of(model), "x");
        assert_eq!(
            settings("gat-go"),
            Settings::on_new_graphs("gat-go".parse().unwrap()).with(|s| s.edge_loss.p_e = 0.4)
        );
        let values = |model: &str| ["lambda_g", "lambda_b"].map(|name| settings(model).get(name));
        assert_eq!(values("cgat"), [Some(0.5.into()), None]);
        assert_eq!(values("cgat-full-supervised"), [Some(0.5.into()), Some(2.0.into())]);
        let choice = |model: &str| choose(&of(model), "x").unwrap();
        let unread = |model: &str| of(model).unread(&choice(model));
        assert_eq!(unread("gat-go"), ["lambda_b", "lambda_g", "p_e"]);
        assert_eq!((unread("supergat-mx"), unread("cgat")), (vec!["lambda_b", "lambda_g"], vec!["lambda_b", "p_e"]));
        assert_eq!(unread("cgat-full-supervised"), ["p_e"]);
        assert_eq!(of("cgat").origin(&choice("cgat"), &dataset("x")).matches("--lambda").count(), 1);
    }

    #[test]
    fn any_early_stopping_option_enables_early_stopping() {
        let on = |file: &str, options: &[_]| settings(&choices(file, options).unwrap(), "x").early_stopping.early_stop;
        assert!(!on("early_stop = false", &[]));
        assert!(on("early_stop = false", &[("early_stop_window", Value::Integer(5))]));
        assert!(!on("early_stop_after = 3", &[("early_stop", Value::Boolean(false))]));
        assert!(on("early_stop_patience = 3", &[]), "files of earlier versions have another name")
    }

    #[test]
    fn errors_in_a_file_name_the_line() {
        for (file, expected) in [
            ("lr = 1\n\nlearning = 2", "line 3: unknown key `learning`: expected one of "),
            ("[network]\nlayers = 2", "line 1: unknown key `network`"),
            ("\nlr = 'fast'", "line 2: lr = \"fast\": must be a number"),
            ("split = 'randon'", "line 1: `split randon`: expected published, random, random:SEED"),
            ("\nfeatures = 'degree'", "line 2: `computed features`: expected structural, spectral:COUNT"),
            ("layers = 2.5", "line 1: layers = 2.5: must be a whole number from 1 to 1000"),
            ("model = 'supergat'", "line 1: unknown model `supergat`: expected one of supergat-"),
            ("lr = 1\nlr = 2", "line 2: duplicate key"),
            ("lr = ", "line 1: "),
        ] {
            let error = choices(file, &[]).unwrap_err().message;
            assert!(error.contains(expected), "{file:?} gave {error}");
        }
    }
}
