//! Settings of a run, resolved from options, a configuration file and presets, and written back to a file.
//!
//! In order of increasing precedence: general defaults, the paper's preset for the dataset and model, the
//! configuration file, the options.

pub mod keys;

use crate::error::{CliError, Result};
use keys::{KEYS, Key, Kind, TABLES, nearest_first, shown};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use supergat_core::ModelKind;
use supergat_data::{Dataset, LoadOptions, SplitChoice};
use supergat_lab::Settings;
use supergat_lab::recipe::{Known, Recommendation, recommend};
use toml::{Table, Value};

const DATASET: &str = supergat_data::random_partition::NAME;
/// Default model for the datasets of the paper.
pub const MODEL: &str = "supergat-mx";
/// Name that selects the model recommended by the recipe; the default for all other datasets.
const AUTO: &str = "auto";

/// Values from one source, such as the options or a file, by the name of their key.
pub type Values = BTreeMap<&'static str, Value>;

/// Values given by the user, before they are resolved to settings.
#[derive(Debug)]
pub struct Choices {
    options: Values,
    file: Option<(PathBuf, Values)>,
    /// Model recommended by the recipe, if it was asked.
    recommended: Option<ModelKind>,
}

/// Complete settings of a run: together they determine its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// Dataset as given by the user: a name, path or specification.
    pub dataset: String,
    /// Train/validation/test split.
    pub split: SplitChoice,
    /// First seed.
    pub seed: u64,
    /// Number of seeds.
    pub seeds: u64,
    /// Model and hyperparameters.
    pub settings: Settings,
    /// Options for reading tables.
    pub tables: Values,
}

impl Choices {
    /// Validates the options and reads the configuration file, if any.
    pub fn new(options: Values, config: Option<&Path>) -> Result<Self> {
        for (name, value) in &options {
            Key::named(name).expect("options are keys").check(value)?;
        }
        let file = config.map(|path| read(path).map(|values| (path.to_owned(), values))).transpose()?;
        Ok(Self { options, file, recommended: None })
    }

    /// Returns the dataset to load.
    pub fn dataset(&self) -> &str {
        self.given("dataset").and_then(Value::as_str).unwrap_or(DATASET)
    }

    /// Returns the options for loading the dataset.
    pub fn load_options(&self) -> Result<LoadOptions> {
        let split = self.given("split").and_then(Value::as_str).map_or(Ok(SplitChoice::default()), str::parse)?;
        load_options(split, &self.tables())
    }

    /// Returns the given options for reading tables.
    fn tables(&self) -> Values {
        let keys = KEYS.iter().filter(|key| key.heading == TABLES);
        keys.filter_map(|key| Some((key.name, self.given(key.name)?.clone()))).collect()
    }

    /// Asks the recipe for a model if the user gave `auto`, or gave none and the paper has no preset.
    /// Returns the recommendation, if one was made.
    pub fn choose_model(&mut self, dataset: &Dataset) -> Option<Recommendation> {
        let open = match self.given("model").and_then(Value::as_str) {
            Some(name) => name == AUTO,
            None => Settings::published(&dataset.name, parse_model(MODEL).ok()?).is_none(),
        };
        let recommendation = open.then(|| recommend(dataset, Known::TrainingAndValidation))?;
        self.recommended = Some(recommendation.recommendation);
        Some(recommendation)
    }

    /// Resolves the settings for the dataset called `name`.
    pub fn resolve(&self, name: &str) -> Result<Resolved> {
        let model = self.model()?;
        let base = Settings::published(name, model).unwrap_or_else(|| Settings::general(model));
        let mut table = Table::try_from(base).expect("settings are a table");
        for values in self.file.iter().map(|(_, values)| values).chain([&self.options]) {
            // Setting any early-stopping option enables early stopping.
            if values.keys().any(|name| name.starts_with("early_stop_")) {
                table.insert("early_stop".into(), Value::Boolean(true));
            }
            // Settings that the model does not have are skipped.
            for (name, value) in values.iter().filter(|(name, _)| Key::named(name).is_some_and(Key::is_setting)) {
                if let Some(setting) = table.get_mut(*name) {
                    *setting = value.clone();
                }
            }
        }
        let whole = |name, default| self.given(name).and_then(Value::as_integer).map_or(default, i64::unsigned_abs);
        Ok(Resolved {
            dataset: self.dataset().to_owned(),
            split: self.load_options()?.split,
            seed: whole("seed", 0),
            seeds: whole("seeds", 1),
            settings: table.try_into().map_err(|e: toml::de::Error| CliError::usage(e.message()))?,
            tables: self.tables(),
        })
    }

    /// Describes where the settings come from.
    pub fn origin(&self, name: &str) -> Result<String> {
        let model = self.model()?;
        let has = Table::try_from(Settings::general(model)).expect("settings are a table");
        let hyperparameters = || KEYS.iter().filter(|key| key.is_setting() && has.contains_key(key.name));
        let mut parts = vec![match Settings::published(name, model) {
            Some(_) => format!("the paper's for {name} and {model}"),
            None => format!("general ones (the paper has none for {name} and {model})"),
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
        let given = hyperparameters().filter_map(|key| {
            let value = self.options.get(key.name)?;
            Some(if key.kind == Kind::Switch {
                format!("--{}", key.option())
            } else {
                format!("--{} {}", key.option(), shown(value))
            })
        });
        let given: Vec<String> = given.collect();
        if !given.is_empty() {
            parts.push(given.join(" "));
        }
        Ok(parts.join("; "))
    }

    /// Returns the names of given options that `model` does not use.
    pub fn unread(&self, model: ModelKind) -> Vec<&'static str> {
        let has = Table::try_from(Settings::general(model)).expect("settings are a table");
        let is_read = |name| match name {
            "lambda_e" | "p_n" | "p_e" => model.is_self_supervised(),
            name => has.contains_key(name),
        };
        self.options
            .keys()
            .copied()
            .filter(|name| Key::named(name).is_some_and(Key::is_setting) && !is_read(name))
            .collect()
    }

    fn model(&self) -> Result<ModelKind> {
        match (self.recommended, self.given("model").and_then(Value::as_str)) {
            (Some(recommended), _) => Ok(recommended),
            (None, given) => parse_model(given.unwrap_or(MODEL)),
        }
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

    /// Returns a commented configuration file that resolves to these settings.
    pub fn to_toml(&self) -> String {
        let mut values = Table::try_from(self.settings).expect("settings are a table");
        values.insert("dataset".into(), self.dataset.clone().into());
        values.insert("split".into(), self.split.to_string().into());
        values.insert("seed".into(), Value::Integer(self.seed as i64));
        values.insert("seeds".into(), Value::Integer(self.seeds as i64));
        values.extend(self.tables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
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

/// Builds the options for loading a dataset from the split and the given table options.
pub fn load_options(split: SplitChoice, tables: &Values) -> Result<LoadOptions> {
    let table: Table = tables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let tables = table.try_into().map_err(|error: toml::de::Error| CliError::usage(error.message()))?;
    Ok(LoadOptions { split, tables })
}

/// Returns the default value of a key where the paper has no preset; `None` if the key then has no value.
pub fn default_value(key: &Key) -> Option<String> {
    // This model has the most settings; the settings that it shares with other models have the same defaults.
    let general = Settings::general(ModelKind::Constrained { by_classes: true });
    match key.name {
        "dataset" => Some(DATASET.to_owned()),
        "model" => Some(format!("{MODEL} for the paper's datasets, {AUTO} for others")),
        "split" => Some(SplitChoice::default().to_string()),
        "seed" | "split_seed" => Some("0".to_owned()),
        "seeds" => Some("1".to_owned()),
        name => Table::try_from(general).expect("settings are a table").get(name).map(shown),
    }
}

/// Returns the names of all models.
pub fn model_names() -> Vec<String> {
    ModelKind::ALL.iter().map(ToString::to_string).collect()
}

fn parse_model(name: &str) -> Result<ModelKind> {
    name.parse().map_err(|_| {
        let all = nearest_first(name, model_names().into_iter().chain([AUTO.to_owned()]).collect());
        CliError::usage(format!("unknown model `{name}`: expected one of {}", all.join(", ")))
    })
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
        let value = table.remove(key.name).expect("both forms have the same keys");
        let checked = key.check(&value).and_then(|()| match (key.name, value.as_str()) {
            ("model", Some(AUTO)) => Ok(()),
            ("model", Some(name)) => parse_model(name).map(drop),
            ("split", Some(text)) => Ok(text.parse::<SplitChoice>().map(drop)?),
            _ => Ok(()),
        });
        checked.map_err(|error| error.at(&at))?;
        values.insert(key.name, value);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(file: &str, options: &[(&'static str, Value)]) -> Result<Choices> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        std::fs::write(&path, file).unwrap();
        Choices::new(options.iter().cloned().collect(), Some(&path))
    }

    #[test]
    fn printed_file_parses_back() {
        let odd = Settings {
            lr: 1.0 / 3.0,
            lambda_2: 5e-324,
            lambda_e: 1e22,
            p_e: 1.0,
            dropout: 0.1 + 0.2,
            early_stop: false,
            early_stop_loss_change: 1.473_032_707_822_838_8e-5,
            ..Settings::general("gat-dp".parse().unwrap())
        };
        let cgat = Settings::published("cora", "cgat-full-supervised".parse().unwrap()).unwrap();
        for settings in [odd, cgat, Settings::published("cora", MODEL.parse().unwrap()).unwrap()] {
            let (split, dataset) = (SplitChoice::Random { seed: 5 }, "a \"b\" \\ c\n#".into());
            let tables = Values::from([("delimiter", "\t".into()), ("directed", true.into())]);
            let resolved = Resolved { dataset, split, seed: 7, seeds: 3, settings, tables };
            let back = choices(&resolved.to_toml(), &[]).unwrap().resolve("cora").unwrap();
            // The early-stopping keys in the same file must not override an explicit switch.
            assert_eq!(back, resolved);
        }
    }

    #[test]
    fn options_override_the_file_and_the_file_overrides_presets() {
        let options = [("lr", Value::Float(0.5)), ("seed", Value::Integer(9))];
        let choices = choices("lr = 1\np_e = 0.3\nseed = 2\nseeds = 4\nmodel = 'supergat-mx'", &options).unwrap();
        let resolved = choices.resolve("cora").unwrap();
        assert_eq!((resolved.settings.lr, resolved.settings.p_e), (0.5, 0.3));
        assert_eq!(resolved.settings.lambda_e, 11.346574532931719);
        assert_eq!(resolved.all_seeds(), [9, 10, 11, 12]);
        let origin = choices.origin("cora").unwrap();
        assert!(origin.starts_with("the paper's for cora and supergat-mx; lr, p_e from "), "{origin}");
        assert!(origin.ends_with("run.toml; --lr 0.5"), "{origin}");
        assert_eq!(choices.resolve("karate").unwrap().settings.lambda_e, 1.0);
        assert!(choices.origin("karate").unwrap().starts_with("general ones (the paper has none for karate"));
    }

    #[test]
    fn ignores_settings_of_other_models() {
        let options = [("lambda_g", Value::Float(0.5)), ("lambda_b", Value::Integer(2)), ("p_e", Value::Float(0.4))];
        let of = |model: &str| choices(&format!("model = '{model}'"), &options).unwrap();
        let settings = |model: &str| of(model).resolve("x").unwrap().settings;
        assert_eq!(settings("gat-go"), Settings { p_e: 0.4, ..Settings::general("gat-go".parse().unwrap()) });
        assert_eq!((settings("cgat").lambda_g, settings("cgat").lambda_b), (Some(0.5), None));
        assert_eq!(settings("cgat-full-supervised").lambda_b, Some(2.0));
        let unread = |model: &str| of(model).unread(model.parse().unwrap());
        assert_eq!(unread("gat-go"), ["lambda_b", "lambda_g", "p_e"]);
        assert_eq!((unread("supergat-mx"), unread("cgat")), (vec!["lambda_b", "lambda_g"], vec!["lambda_b", "p_e"]));
        assert_eq!(unread("cgat-full-supervised"), ["p_e"]);
        assert_eq!(of("cgat").origin("x").unwrap().matches("--lambda").count(), 1);
    }

    #[test]
    fn any_early_stopping_option_enables_early_stopping() {
        let on = |file: &str, options: &[_]| choices(file, options).unwrap().resolve("x").unwrap().settings.early_stop;
        assert!(!on("early_stop = false", &[]));
        assert!(on("early_stop = false", &[("early_stop_window", Value::Integer(5))]));
        assert!(!on("early_stop_patience = 3", &[("early_stop", Value::Boolean(false))]));
    }

    #[test]
    fn errors_in_a_file_name_the_line() {
        for (file, expected) in [
            ("lr = 1\n\nlearning = 2", "line 3: unknown key `learning`: expected one of "),
            ("[network]\nlayers = 2", "line 1: unknown key `network`"),
            ("\nlr = 'fast'", "line 2: lr = \"fast\": must be a number"),
            ("split = 'randon'", "line 1: `split randon`: expected published, random, random:SEED"),
            ("layers = 2.5", "line 1: layers = 2.5: must be a whole number from 0 to 100000000"),
            ("model = 'supergat'", "line 1: unknown model `supergat`: expected one of supergat-"),
            ("lr = 1\nlr = 2", "line 2: duplicate key"),
            ("lr = ", "line 1: "),
        ] {
            let error = choices(file, &[]).unwrap_err().message;
            assert!(error.contains(expected), "{file:?} gave {error}");
        }
    }
}
