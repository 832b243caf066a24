//! The task of final runs.

use crate::depth::plan::Depth;
use serde_json::Value;
use supergat_core::Result;
use supergat_data::{Dataset, FeatureChoice};
use supergat_select::sweep::Classification;
use supergat_train::fitted::Fitted;
use supergat_train::task::Task;

/// Beginning of the name of the task; depth, number of trials and the name of the other task follow.
const PREFIX: &str = "depth:";

/// A final run with the settings that a search of some trials has selected. Its name contains both, so tables find the
/// final runs of a cell without repeating the search.
#[derive(Debug)]
pub(crate) struct SelectedRun {
    task: Classification,
    name: String,
}

impl SelectedRun {
    pub(crate) fn new(depth: Depth, trials: usize, task: Classification) -> Self {
        let name = format!("{PREFIX}{}:{trials}:{}", depth.name(), task.name());
        Self { task, name }
    }

    /// Returns the task of this name, if there is one.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (depth, rest) = name.strip_prefix(PREFIX)?.split_once(':')?;
        let (trials, task) = rest.split_once(':')?;
        Some(Self::new(depth.parse().ok()?, trials.parse().ok()?, Classification::named(task)?))
    }
}

impl Task for SelectedRun {
    fn name(&self) -> &str {
        &self.name
    }

    fn features(&self) -> FeatureChoice {
        self.task.features()
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
        for inner in ["node", "row-normalised:node"] {
            let task = SelectedRun::new(Depth::Deep, 20, Classification::named(inner).unwrap());
            let found = SelectedRun::named(task.name()).unwrap();
            assert_eq!((found.name(), found.task.name()), (task.name(), inner));
            assert_eq!(crate::task_named(task.name()).unwrap().features(), task.task.features());
        }
        for wrong in ["depth:deep", "depth:deep:x:node", "depth:shallow:20:node", "depth:deep:20:nothing", "node"] {
            assert!(SelectedRun::named(wrong).is_none(), "{wrong}");
        }
    }
}
