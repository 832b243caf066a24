//! Runs on datasets whose features are divided by their sum over each node.

use crate::sweep::task_named;
use serde_json::Value;
use supergat_core::Result;
use supergat_data::{Dataset, FeatureChoice};
use supergat_train::fitted::Fitted;
use supergat_train::task::Task;

/// Beginning of the name of the task; the name of the other task follows.
const PREFIX: &str = "row-normalised:";

/// A task on datasets whose features are divided by their sum over each node.
#[derive(Debug)]
pub struct RowNormalised {
    task: Box<dyn Task>,
    name: String,
}

impl RowNormalised {
    /// Runs a task on features divided by their sum over each node.
    pub fn new(task: Box<dyn Task>) -> Self {
        let name = format!("{PREFIX}{}", task.name());
        Self { task, name }
    }

    /// Returns the task of this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        task_named(name.strip_prefix(PREFIX)?).map(Self::new)
    }
}

impl Task for RowNormalised {
    fn name(&self) -> &str {
        &self.name
    }

    fn features(&self) -> FeatureChoice {
        self.task.features().row_normalise(true)
    }

    fn prepare(&self, dataset: &Dataset, seed: u64) -> Result<Option<Dataset>> {
        self.task.prepare(dataset, seed)
    }

    fn measure(&self, dataset: &Dataset, seed: u64, model: &Fitted) -> Result<Value> {
        self.task.measure(dataset, seed, model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_found_by_its_name() {
        for inner in ["node", "class-weight:0=3"] {
            let task = RowNormalised::new(task_named(inner).unwrap());
            let found = task_named(task.name()).unwrap();
            assert_eq!((found.name(), found.features()), (task.name(), FeatureChoice::default().row_normalise(true)));
        }
        assert!(RowNormalised::named("row-normalised:nothing").is_none() && RowNormalised::named("node").is_none());
    }
}
