//! Node classification with the options of searches: weights of classes, normalised features, and runs that stop in the
//! middle if they are hopeless.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use supergat_core::{Epoch, Error, Result};
use supergat_data::{ClassWeight, Dataset, FeatureChoice};
use supergat_train::task::{NODE, Task};

/// Parts of names: rungs, normalised features and weights of classes. The rest of the name follows each of them.
const RUNGS: &str = "prune:";
const NORMALISED: &str = "row-normalised:";
const WEIGHTS: &str = "class-weight:";

/// An epoch at which runs are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rung {
    /// Number of epochs that have ended.
    pub(crate) epochs: usize,
    /// Validation metric of the best epoch so far that a run needs to continue.
    pub(crate) least: Option<f64>,
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

/// Node classification with options. Its name contains them, so the key of a run contains everything that determines its
/// result, and other processes run the same task.
#[derive(Debug, Clone)]
pub struct Classification {
    class_weight: ClassWeight,
    row_normalise: bool,
    /// Runs stop at the first rung at which the validation metric of their best epoch is below the least one.
    rungs: Vec<Rung>,
    name: String,
}

impl Classification {
    /// Classifies nodes with these weights of classes in the loss, and features that are divided by their sum over each node
    /// if `row_normalise` is set.
    pub fn new(class_weight: ClassWeight, row_normalise: bool) -> Self {
        Self::pruned(class_weight, row_normalise, Vec::new())
    }

    /// Classifies nodes in runs that are compared at some rungs.
    pub(crate) fn pruned(class_weight: ClassWeight, row_normalise: bool, rungs: Vec<Rung>) -> Self {
        let mut name = match &class_weight {
            ClassWeight::None => NODE.to_owned(),
            weights => format!("{WEIGHTS}{weights}"),
        };
        if row_normalise {
            name = format!("{NORMALISED}{name}");
        }
        if !rungs.is_empty() {
            let word = |rung: &Rung| match rung.least {
                Some(least) => format!("{}={least:?}", rung.epochs),
                None => rung.epochs.to_string(),
            };
            let words: Vec<String> = rungs.iter().map(word).collect();
            name = format!("{RUNGS}{}:{name}", words.join(","));
        }
        Self { class_weight, row_normalise, rungs, name }
    }

    /// Returns the task with another name.
    #[must_use]
    pub fn renamed(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Returns the task of this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        let rung = |word: &str| {
            let (epochs, least) = match word.split_once('=') {
                Some((epochs, least)) => (epochs, Some(least.parse().ok()?)),
                None => (word, None),
            };
            Some(Rung { epochs: epochs.parse().ok()?, least })
        };
        let (rungs, rest) = match name.strip_prefix(RUNGS) {
            Some(rest) => {
                let (rungs, rest) = rest.split_once(':')?;
                (rungs.split(',').map(rung).collect::<Option<_>>()?, rest)
            }
            None => (Vec::new(), name),
        };
        let (row_normalise, rest) = rest.strip_prefix(NORMALISED).map_or((false, rest), |rest| (true, rest));
        let class_weight = match rest.strip_prefix(WEIGHTS) {
            Some(weights) => weights.parse().ok()?,
            None => (rest == NODE).then_some(ClassWeight::None)?,
        };
        Some(Self::pruned(class_weight, row_normalise, rungs))
    }
}

impl Task for Classification {
    fn name(&self) -> &str {
        &self.name
    }

    fn features(&self) -> FeatureChoice {
        FeatureChoice::default().row_normalise(self.row_normalise)
    }

    fn prepare(&self, dataset: &Dataset, _: u64) -> Result<Option<Dataset>> {
        if self.class_weight == ClassWeight::None {
            return Ok(None);
        }
        let mut weighed = dataset.clone();
        weighed.weigh_classes(&self.class_weight).map_err(|error| Error::Hyperparameter {
            name: "class_weight",
            value: self.class_weight.to_string(),
            reason: error.to_string(),
        })?;
        Ok(Some(weighed))
    }

    fn stops_after(&self, epochs: usize, best: f64) -> bool {
        self.rungs.iter().any(|rung| rung.epochs == epochs && rung.least.is_some_and(|least| best < least))
    }

    fn measure_history(&self, history: &[Epoch]) -> Value {
        if self.rungs.is_empty() {
            return Value::Null;
        }
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
        for name in [
            "node",
            "class-weight:0=3,1=0.5",
            "row-normalised:node",
            "row-normalised:class-weight:balanced",
            "prune:2=0.30000000000000004,4:node",
            "prune:2,4:row-normalised:class-weight:0=3",
        ] {
            let found = Classification::named(name).unwrap();
            assert_eq!((found.name(), found.row_normalise), (name, name.contains("row")));
            assert_eq!(
                (found.rungs.len(), found.class_weight == ClassWeight::None),
                (if name.contains("prune") { 2 } else { 0 }, name.ends_with("node"))
            );
        }
        assert_eq!(Classification::named("prune:2=0.30000000000000004,4:node").unwrap().rungs, rungs());
        for wrong in ["prune:node", "prune:2=x:node", "prune:2:nothing", "class-weight:heavy", "row-normalised:x", "x"]
        {
            assert!(Classification::named(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn weighs_a_copy_of_the_dataset() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=4").unwrap();
        let weighed = |text: &str| Classification::new(text.parse().unwrap(), false).prepare(&dataset, 0);
        let found = weighed("1=4").unwrap().unwrap();
        assert_eq!(found.examples[0].class_weights.as_deref(), Some(&[1.0, 4.0][..]));
        assert!(dataset.examples[0].class_weights.is_none());
        assert!(weighed("fraud=4").unwrap_err().to_string().contains("one of the classes 0, 1"));
    }

    #[test]
    fn stops_below_the_least_metric_at_a_rung() {
        let task = Classification::pruned(ClassWeight::None, false, rungs());
        assert!(task.stops_after(2, 0.3) && !task.stops_after(2, 0.1 + 0.2));
        assert!(!task.stops_after(1, 0.0) && !task.stops_after(4, 0.0));
        let reached = |metrics: &[f64]| serde_json::from_value(task.measure_history(&history(metrics))).unwrap();
        let found: Reached = reached(&[0.2, 0.1]);
        assert_eq!(found, Reached { reached: vec![0.2, 0.2], pruned: Some(2) });
        let found: Reached = reached(&[0.5, 0.1, 0.7, 0.6, 0.9]);
        assert_eq!(found, Reached { reached: vec![0.5, 0.7], pruned: None });
    }
}
