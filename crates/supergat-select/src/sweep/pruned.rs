//! Runs that stop in the middle if they are hopeless.

use crate::sweep::task_named;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use supergat_core::{Epoch, Result};
use supergat_data::{Dataset, FeatureChoice};
use supergat_train::fitted::Fitted;
use supergat_train::task::Task;

/// Beginning of the name of the task; the rungs and the name of the other task follow.
const PREFIX: &str = "prune:";

/// An epoch at which runs are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rung {
    /// Number of epochs that have ended.
    pub(crate) epochs: usize,
    /// Validation metric of the best epoch so far that a run needs to continue.
    pub(crate) least: Option<f64>,
}

/// A task whose runs stop at the first rung at which the validation metric of their best epoch is below the least one.
///
/// Its name contains the rungs, so the key of a run still contains everything that determines its result, and other
/// processes stop runs at the same epochs.
#[derive(Debug)]
pub(crate) struct Pruned {
    task: Box<dyn Task>,
    rungs: Vec<Rung>,
    name: String,
}

/// Validation metrics of a run at the rungs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reached {
    /// Validation metric of the best epoch so far at every rung. A run that ended before a rung keeps its last one.
    pub(crate) reached: Vec<f64>,
    /// Number of epochs after which the run was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pruned: Option<usize>,
}

impl Pruned {
    pub(crate) fn new(task: Box<dyn Task>, rungs: Vec<Rung>) -> Self {
        let word = |rung: &Rung| match rung.least {
            Some(least) => format!("{}={least:?}", rung.epochs),
            None => rung.epochs.to_string(),
        };
        let words: Vec<String> = rungs.iter().map(word).collect();
        let name = format!("{PREFIX}{}:{}", words.join(","), task.name());
        Self { task, rungs, name }
    }

    /// Returns the task of this name, if there is one.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (rungs, task) = name.strip_prefix(PREFIX)?.split_once(':')?;
        let rung = |word: &str| {
            let (epochs, least) = match word.split_once('=') {
                Some((epochs, least)) => (epochs, Some(least.parse().ok()?)),
                None => (word, None),
            };
            Some(Rung { epochs: epochs.parse().ok()?, least })
        };
        Some(Self::new(task_named(task)?, rungs.split(',').map(rung).collect::<Option<_>>()?))
    }
}

impl Task for Pruned {
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

    fn stops_after(&self, epochs: usize, best: f64) -> bool {
        self.rungs.iter().any(|rung| rung.epochs == epochs && rung.least.is_some_and(|least| best < least))
    }

    fn measure_history(&self, history: &[Epoch]) -> Value {
        let best = |epochs: usize| {
            let best = history[..epochs.min(history.len())].iter().rev().find(|epoch| epoch.best);
            best.map_or(0.0, |epoch| epoch.validation.metric)
        };
        let epochs = history.len();
        let pruned = self.stops_after(epochs, best(epochs)).then_some(epochs);
        json!(Reached { reached: self.rungs.iter().map(|rung| best(rung.epochs)).collect(), pruned })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Score, StepLoss};

    fn rungs() -> Vec<Rung> {
        vec![Rung { epochs: 2, least: Some(0.1 + 0.2) }, Rung { epochs: 4, least: None }]
    }

    fn history(metrics: &[f64]) -> Vec<Epoch> {
        let (mut so_far, nothing) = (0.0, StepLoss { label: 0.0, edge: 0.0, total: 0.0 });
        let epoch = |(epoch, &metric): (usize, &f64)| {
            let best = metric >= so_far;
            so_far = so_far.max(metric);
            let score = |metric| Score { loss: 1.0, metric };
            Epoch { epoch, train: nothing, validation: score(metric), test: score(0.9), best }
        };
        metrics.iter().enumerate().map(epoch).collect()
    }

    #[test]
    fn is_found_by_its_name() {
        for inner in ["node", "class-weight:0=3,1=0.5"] {
            let task = Pruned::new(task_named(inner).unwrap(), rungs());
            let found = Pruned::named(task.name()).unwrap();
            assert_eq!((found.name(), &found.rungs, found.task.name()), (task.name(), &rungs(), inner));
            assert_eq!(task_named(task.name()).unwrap().name(), task.name());
        }
        for wrong in ["prune:node", "prune:2=x:node", "prune:2:nothing", "node"] {
            assert!(Pruned::named(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn stops_below_the_least_metric_at_a_rung() {
        let task = Pruned::new(task_named("node").unwrap(), rungs());
        assert!(task.stops_after(2, 0.3) && !task.stops_after(2, 0.1 + 0.2));
        assert!(!task.stops_after(1, 0.0) && !task.stops_after(4, 0.0));
        let reached = |metrics: &[f64]| serde_json::from_value(task.measure_history(&history(metrics))).unwrap();
        let found: Reached = reached(&[0.2, 0.1]);
        assert_eq!(found, Reached { reached: vec![0.2, 0.2], pruned: Some(2) });
        let found: Reached = reached(&[0.5, 0.1, 0.7, 0.6, 0.9]);
        assert_eq!(found, Reached { reached: vec![0.5, 0.7], pruned: None });
    }
}
