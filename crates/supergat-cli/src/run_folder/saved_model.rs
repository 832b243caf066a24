//! Saved model of a run: its weights, and metadata to load its dataset again.

use crate::config::keys::Key;
use crate::config::{Values, load_options};
use crate::error::{CliError, Result};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use supergat_core::{Model, checkpoint};
use supergat_data::options::Expected;
use supergat_data::{Dataset, SplitChoice};
use supergat_lab::Runs;

/// Name of the model file in a run folder.
pub const MODEL_FILE: &str = "model.safetensors";

const NAME: &str = "dataset";
const SOURCE: &str = "dataset_source";
const SPLIT: &str = "split";
const CLASS_NAMES: &str = "class_names";
const TABLE_OPTIONS: &str = "table_options";
const FEATURE_COLUMNS: &str = "feature_columns";

/// Model with its metadata, read from a file.
#[derive(Debug)]
pub struct SavedModel {
    /// Trained model.
    pub model: Model<f32>,
    metadata: HashMap<String, String>,
}

/// Serialises the best model of the runs with its metadata.
pub fn to_bytes(dataset: &Dataset, source: &str, split: SplitChoice, tables: &Values, runs: &Runs) -> Vec<u8> {
    let best = &runs.runs[runs.best];
    // The path is absolute so that the model can be used from any working directory.
    let folder = Path::new(source).is_dir().then(|| std::path::absolute(source).ok()).flatten();
    let source = folder.map_or_else(|| source.to_owned(), |folder| folder.display().to_string());
    let metadata = [
        (NAME, dataset.name.clone()),
        (SOURCE, source),
        (SPLIT, split.to_string()),
        (CLASS_NAMES, Value::from(dataset.class_names.clone()).to_string()),
        ("seed", best.seed.to_string()),
        ("best_epoch", best.outcome.best_epoch.to_string()),
        ("supergat_version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value));
    let mut metadata = HashMap::from(metadata);
    if !tables.is_empty() {
        metadata.insert(TABLE_OPTIONS.to_owned(), json(tables));
    }
    if let Some(schema) = &dataset.schema {
        metadata.insert(FEATURE_COLUMNS.to_owned(), json(schema));
    }
    checkpoint::to_bytes(&runs.model, &metadata)
}

impl SavedModel {
    /// Reads the model of a run folder, or a model file.
    pub fn open(run: &Path) -> Result<Self> {
        let advice = "give the folder of a finished run, or a .safetensors file from one";
        let shown = run.display();
        let path = if run.is_dir() { run.join(MODEL_FILE) } else { run.to_owned() };
        if !run.exists() {
            return Err(CliError::usage(format!("{shown} not found: {advice}")));
        }
        if !path.exists() {
            return Err(CliError::usage(format!("{shown} holds no {MODEL_FILE}: {advice}")));
        }
        let bytes = std::fs::read(&path)
            .map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))?;
        let (model, metadata) =
            checkpoint::from_bytes(&bytes).map_err(|error| CliError::from(error).at(path.display()))?;
        Ok(Self { model, metadata })
    }

    /// Loads the given dataset, or the one that the model was trained on, and checks that it fits the model.
    ///
    /// The recorded dataset is loaded with the recorded split unless `split` is given. The given table options
    /// override the recorded ones.
    pub fn dataset(&self, source: Option<&str>, split: Option<SplitChoice>, tables: &Values) -> Result<Dataset> {
        let recorded = self.metadata.get(SOURCE).map(String::as_str);
        let recorded_split = || self.metadata.get(SPLIT).filter(|_| source.is_none())?.parse().ok();
        let split = split.or_else(recorded_split).unwrap_or_default();
        let mut options = load_options(split, &self.table_options(tables))?;
        if let Some(source) = source
            && !same_path(source, recorded)
        {
            options.tables.expected = Some(self.expected());
        }
        let source = source
            .or(recorded)
            .ok_or_else(|| CliError::usage("the model does not say which dataset it was trained on: name one"))?;
        let dataset = supergat_data::load_with(source, &options)?;
        for example in &dataset.examples {
            self.model.architecture().accepts(example).map_err(|error| CliError::from(error).at(source))?;
        }
        match self.class_names() {
            Some(names) if names != dataset.class_names => Err(CliError::usage(format!(
                "{source}: the model knows the classes {}, but the data has {}",
                names.join(", "),
                dataset.class_names.join(", ")
            ))),
            _ => Ok(dataset),
        }
    }

    /// Returns the table options of the training data, overridden by the given ones.
    fn table_options(&self, given: &Values) -> Values {
        let recorded: HashMap<String, toml::Value> =
            self.metadata.get(TABLE_OPTIONS).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let recorded = recorded.into_iter().filter_map(|(name, value)| Some((Key::named(&name)?.name, value)));
        recorded.chain(given.clone()).collect()
    }

    /// Returns the features and classes that new tables must have.
    fn expected(&self) -> Expected {
        let architecture = self.model.architecture();
        Expected {
            features: architecture.input_features,
            schema: self.metadata.get(FEATURE_COLUMNS).and_then(|text| serde_json::from_str(text).ok()),
            classes: self.class_names().unwrap_or_else(|| (0..architecture.classes).map(|k| k.to_string()).collect()),
            several: architecture.multi_label,
        }
    }

    fn class_names(&self) -> Option<Vec<String>> {
        self.metadata.get(CLASS_NAMES).and_then(|text| serde_json::from_str(text).ok())
    }
}

/// Returns whether both paths refer to the same file or folder.
fn same_path(source: &str, recorded: Option<&str>) -> bool {
    let path = |source: &str| Path::new(source).canonicalize().ok();
    recorded.is_some_and(|recorded| recorded == source || path(source).is_some_and(|a| path(recorded) == Some(a)))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("names and plain values")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use supergat_lab::Settings;
    use supergat_lab::run_seeds;

    #[test]
    fn equal_runs_give_equal_bytes() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=2").unwrap();
        let settings = Settings { max_epochs: 1, ..Settings::general("gat-go".parse().unwrap()) };
        let bytes = || {
            let runs = run_seeds(&dataset, &settings, &[3], 1, |_| ControlFlow::Continue(())).unwrap();
            to_bytes(&dataset, "random-partition", SplitChoice::Published, &Values::new(), &runs)
        };
        let first = bytes();
        // Each hash map has its own order, so several attempts would show output that depends on it.
        assert!((0..4).all(|_| bytes() == first));
        let (_, metadata) = checkpoint::from_bytes(&first).unwrap();
        assert_eq!((metadata[SOURCE].as_str(), metadata["seed"].as_str()), ("random-partition", "3"));
        assert_eq!(metadata[CLASS_NAMES], "[\"0\",\"1\"]");
    }
}
