//! The model of a run as a file: what is recorded beside its weights, and how it finds its dataset again.

use crate::config::keys::Key;
use crate::config::{Layer, load_options};
use crate::error::{CliError, Result};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use supergat_core::{Model, checkpoint};
use supergat_data::options::Expected;
use supergat_data::{Dataset, SplitChoice};
use supergat_lab::Runs;

/// Its name in a run folder.
pub const MODEL_FILE: &str = "model.safetensors";

const NAME: &str = "dataset";
const SOURCE: &str = "dataset_source";
const SPLIT: &str = "split";
const CLASS_NAMES: &str = "class_names";
const TABLE_OPTIONS: &str = "table_options";
const FEATURE_COLUMNS: &str = "feature_columns";

/// A model that was read, and what was recorded with it.
#[derive(Debug)]
pub struct SavedModel {
    /// The model.
    pub model: Model<f32>,
    metadata: HashMap<String, String>,
}

/// The best model of the runs as the bytes of a file.
pub fn to_bytes(dataset: &Dataset, source: &str, split: SplitChoice, tables: &Layer, runs: &Runs) -> Vec<u8> {
    let best = &runs.runs[runs.best];
    // A folder must be found again from wherever the model is used.
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
    /// Reads the model of a run folder, or a model's file.
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

    /// Loads the given dataset, else the recorded one, and makes sure that it fits. Of the recorded one the recorded split is taken when none
    /// is given; options about tables win over the recorded ones.
    pub fn dataset(&self, source: Option<&str>, split: Option<SplitChoice>, tables: &Layer) -> Result<Dataset> {
        let recorded = self.metadata.get(SOURCE).map(String::as_str);
        let recorded_split = || self.metadata.get(SPLIT).filter(|_| source.is_none())?.parse().ok();
        let split = split.or_else(recorded_split).unwrap_or_default();
        let mut options = load_options(split, &self.table_options(tables))?;
        if let Some(source) = source
            && !same_place(source, recorded)
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

    /// The options that the training data was read with, changed by the given ones.
    fn table_options(&self, given: &Layer) -> Layer {
        let recorded: HashMap<String, toml::Value> =
            self.metadata.get(TABLE_OPTIONS).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let recorded = recorded.into_iter().filter_map(|(name, value)| Some((Key::named(&name)?.name, value)));
        recorded.chain(given.clone()).collect()
    }

    /// What new tables must be turned into.
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

/// Whether both name the same file or folder.
fn same_place(source: &str, recorded: Option<&str>) -> bool {
    let place = |source: &str| Path::new(source).canonicalize().ok();
    recorded.is_some_and(|recorded| recorded == source || place(source).is_some_and(|a| place(recorded) == Some(a)))
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
    fn equal_runs_give_equal_files() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=2").unwrap();
        let settings = Settings { max_epochs: 1, ..Settings::general("gat-go".parse().unwrap()) };
        let bytes = || {
            let runs = run_seeds(&dataset, &settings, &[3], 1, |_| ControlFlow::Continue(())).unwrap();
            to_bytes(&dataset, "random-partition", SplitChoice::Published, &Layer::new(), &runs)
        };
        let first = bytes();
        // Every hash map has its own order, so a few tries would show one that was left.
        assert!((0..4).all(|_| bytes() == first));
        let (_, metadata) = checkpoint::from_bytes(&first).unwrap();
        assert_eq!((metadata[SOURCE].as_str(), metadata["seed"].as_str()), ("random-partition", "3"));
        assert_eq!(metadata[CLASS_NAMES], "[\"0\",\"1\"]");
    }
}
