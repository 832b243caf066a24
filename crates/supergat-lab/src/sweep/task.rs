//! What a run is for besides the classes of nodes.

use crate::sweep::record::Record;
use serde_json::Value;
use supergat_core::{Model, Result};
use supergat_data::Dataset;

/// What is done around the training of a run: with the dataset before it, with the model after it.
pub trait Task: Sync {
    /// Its name in a results file.
    fn name(&self) -> &'static str;

    /// What a seed trains on, where that is not the dataset as it was loaded.
    fn prepared(&self, _dataset: &Dataset, _seed: u64) -> Result<Option<Dataset>> {
        Ok(None)
    }

    /// What is measured on a trained model, as it is kept in a results file; null where there is nothing. The dataset is as it was loaded.
    fn measured(&self, dataset: &Dataset, seed: u64, model: &Model<f32>) -> Result<Value>;
}

/// The classes of nodes, and nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Nodes;

impl Task for Nodes {
    fn name(&self) -> &'static str {
        Record::NODE
    }

    fn measured(&self, _: &Dataset, _: u64, _: &Model<f32>) -> Result<Value> {
        Ok(Value::Null)
    }
}
