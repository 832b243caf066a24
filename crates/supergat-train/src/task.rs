//! Tasks: the purpose of a run, and its result. Sweeps and other processes run tasks by their names.

use crate::fitted::Fitted;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use supergat_core::{Epoch, Result, Score};
use supergat_data::{Dataset, FeatureChoice};

/// Purpose of a run: how the dataset is prepared before training, and what is measured on the
/// model after it.
pub trait Task: fmt::Debug + Sync {
    /// Returns the name of the task in results files.
    fn name(&self) -> &str;

    /// Returns what is done with the features of a dataset when it is loaded.
    fn features(&self) -> FeatureChoice {
        FeatureChoice::default()
    }

    /// Prepares the dataset that a seed trains on; `None` to train on the loaded dataset.
    fn prepare(&self, _dataset: &Dataset, _seed: u64) -> Result<Option<Dataset>> {
        Ok(None)
    }

    /// Measures a trained model on the loaded dataset. The value is written to the results file; null if
    /// there is nothing to measure.
    fn measure(&self, _dataset: &Dataset, _seed: u64, _model: &Fitted) -> Result<Value> {
        Ok(Value::Null)
    }

    /// Returns whether a run ends after this number of epochs, given the validation metric of its best epoch so far.
    fn stops_after(&self, _epochs: usize, _best: f64) -> bool {
        false
    }

    /// Measures the epochs of a run. If the value is not null, it is written to the results file instead of that of
    /// [`Self::measure`].
    fn measure_history(&self, _history: &[Epoch]) -> Value {
        Value::Null
    }
}

/// Name of plain node classification.
pub const NODE: &str = "node";

/// Plain node classification, without further measurements.
#[derive(Debug, Clone, Copy)]
pub struct NodeClassification;

impl Task for NodeClassification {
    fn name(&self) -> &'static str {
        NODE
    }
}

/// Returns the task of a name, for runs by other processes.
pub type TaskNamed = fn(&str) -> Option<Box<dyn Task>>;

/// Result or failure of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Status {
    /// The run finished. All scores are from the epoch with the best validation metric; metrics are between 0
    /// and 1.
    Ok {
        /// `accuracy` or `micro-f1`.
        metric: String,
        /// Score of the training nodes, without dropout.
        train: Score,
        /// Score of the validation nodes.
        validation: Score,
        /// Score of the test nodes.
        test: Score,
        /// Number of epochs run.
        epochs: usize,
        /// Epoch with the best validation metric, counted from 0.
        best_epoch: usize,
        /// Further measurements of the task; null if there are none.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        measured: Value,
    },
    /// The run failed.
    Failed {
        /// Error message.
        reason: String,
    },
}
