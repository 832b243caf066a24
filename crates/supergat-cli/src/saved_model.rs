//! The model of a run as a file: what is recorded beside its weights, and how it finds its dataset again.

use crate::error::{CliError, Result};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use supergat::{Model, checkpoint};
use supergat_data::{Dataset, LoadOptions, SplitChoice};
use supergat_lab::Runs;

/// Its name in a run folder.
pub const MODEL_FILE: &str = "model.safetensors";

const NAME: &str = "dataset";
const SOURCE: &str = "dataset_source";
const SPLIT: &str = "split";
const CLASS_NAMES: &str = "class_names";

/// A model that was read, and what was recorded with it.
#[derive(Debug)]
pub struct SavedModel {
    /// The model.
    pub model: Model<f32>,
    metadata: HashMap<String, String>,
}

/// The best model of the runs as the bytes of a file.
pub fn to_bytes(dataset: &Dataset, source: &str, split: SplitChoice, runs: &Runs) -> Vec<u8> {
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
    checkpoint::to_bytes(&runs.model, &HashMap::from(metadata))
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

    /// Loads the given dataset, else the recorded one, and makes sure that it fits. Of the recorded one the recorded split is taken when none is given.
    pub fn dataset(&self, source: Option<&str>, split: Option<SplitChoice>) -> Result<Dataset> {
        let recorded = || self.metadata.get(SOURCE).map(String::as_str);
        let recorded_split = || self.metadata.get(SPLIT).filter(|_| source.is_none())?.parse().ok();
        let options = LoadOptions { split: split.or_else(recorded_split).unwrap_or_default() };
        let source = source
            .or_else(recorded)
            .ok_or_else(|| CliError::usage("the model does not say which dataset it was trained on: name one"))?;
        let dataset = supergat_data::load_with(source, &options)?;
        for example in &dataset.examples {
            self.model.architecture().accepts(example).map_err(|error| CliError::from(error).at(source))?;
        }
        let names = self.metadata.get(CLASS_NAMES).and_then(|text| serde_json::from_str::<Vec<String>>(text).ok());
        match names {
            Some(names) if names != dataset.class_names => Err(CliError::usage(format!(
                "{source}: the model knows the classes {}, but the data has {}",
                names.join(", "),
                dataset.class_names.join(", ")
            ))),
            _ => Ok(dataset),
        }
    }
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
            to_bytes(&dataset, "random-partition", SplitChoice::Published, &runs)
        };
        let first = bytes();
        // Every hash map has its own order, so a few tries would show one that was left.
        assert!((0..4).all(|_| bytes() == first));
        let (_, metadata) = checkpoint::from_bytes(&first).unwrap();
        assert_eq!((metadata[SOURCE].as_str(), metadata["seed"].as_str()), ("random-partition", "3"));
        assert_eq!(metadata[CLASS_NAMES], "[\"0\",\"1\"]");
    }
}
