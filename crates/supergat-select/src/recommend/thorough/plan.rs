//! The plan: numbers of trials, epochs and splits of every family.

use crate::recommend::families::{Family, LeftOut};
use crate::recommend::metric::MetricChoice;
use crate::recommend::thorough::cost::{Cost, network_size};
use crate::recommend::thorough::error::ThoroughError;
use crate::recommend::thorough::splits::SplitPlan;
use crate::recommend::thorough::trials::{Trial, TrialContext};
use serde::{Deserialize, Serialize};
use supergat_data::Dataset;
use supergat_train::dataset_hash::dataset_hash;
use supergat_train::settings::Settings;

/// Version of plan files.
pub(super) const SCHEMA: u32 = 5;
/// Limits of plan files.
const MOST_RUNGS: usize = 8;
const MOST_TRIALS: usize = 1024;
const MOST_EPOCHS: usize = 1_000_000;
const MOST_SPLITS: usize = 1024;
const MOST_SECONDS: f64 = 1e12;
const MOST_THREADS: usize = 1 << 20;

/// Fraction of the time of all threads that parallel runs use.
const PARALLEL: f64 = 0.9;
/// Most trials per family that a search can grow to.
pub(super) const LARGEST_SEARCH: usize = 64;

/// A compared family and its measured times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FamilyPlan {
    /// Family.
    pub family: Family,
    /// Seconds of its runs.
    pub cost: Cost,
    /// Whether its search ended with the first rung, in which it was far behind. Its final runs have the epochs of that rung.
    pub is_stopped: bool,
}

/// A rung of the search: how many trials of each family run, for how many epochs, and on how many splits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RungPlan {
    /// Number of trials.
    pub trials: usize,
    /// Number of epochs.
    pub epochs: usize,
    /// Number of splits, whose mean validation metric counts.
    pub splits: usize,
}

/// The end of a search that was late. Later rungs are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchCut {
    /// Last rung.
    pub rung: usize,
    /// Places in this rung that count: those that all families have finished.
    pub places: Vec<usize>,
}

/// The plan of a comparison within minutes. With the dataset, it determines all results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThoroughPlan {
    /// Version of the format.
    pub schema: u32,
    /// Name of the dataset.
    pub dataset: String,
    /// Published dataset that it is, whose settings apply.
    pub preset: Option<String>,
    /// Hash of the whole dataset.
    pub content: String,
    /// Number of nodes for training, validation and testing in the given split.
    pub sizes: [usize; 3],
    /// Name of the metric.
    pub metric: String,
    /// Score that selects epochs and trials.
    pub choice: MetricChoice,
    /// Seed of trials, runs and splits.
    pub seed: u64,
    /// Minutes that the plan was made for.
    pub minutes: f64,
    /// Whether some trials have balanced classes.
    pub class_weights: bool,
    /// Families, the simplest first.
    pub families: Vec<FamilyPlan>,
    /// Families that are not compared.
    pub left_out: Vec<LeftOut>,
    /// Rungs of the search of every family.
    pub rungs: Vec<RungPlan>,
    /// Splits of the final runs, as far as there is time. The search uses the first ones.
    pub splits: Vec<SplitPlan>,
    /// Seconds for all runs, summed over the threads.
    pub seconds: f64,
    /// Number of threads of the runs; 1 on a GPU.
    pub threads: usize,
    /// Seconds of runs that the search does not use any more; `None` before its size is settled.
    pub spent: Option<f64>,
    /// Most trials per family that a larger search may have, because of memory.
    pub most_trials: usize,
    /// Description of the splits.
    pub splits_are: String,
    /// Notes on the choices.
    pub notes: Vec<String>,
    /// Estimated fraction of the time of runs that the search takes.
    pub search_share: f64,
    /// End of the search, if it was late.
    pub search_cut: Option<SearchCut>,
    /// Number of splits that count; `None` before the final runs.
    pub splits_kept: Option<usize>,
}

impl ThoroughPlan {
    /// Reads a plan.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let other = || "not a plan of this version".to_owned();
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if value["schema"] != SCHEMA {
            return Err(other());
        }
        let plan: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        let is_rung = |rung: &RungPlan| {
            (1..=MOST_TRIALS).contains(&rung.trials)
                && (1..=MOST_EPOCHS).contains(&rung.epochs)
                && (1..=plan.splits.len()).contains(&rung.splits)
        };
        let costs = plan.families.iter().flat_map(|of| [of.cost.fixed, of.cost.epoch[0], of.cost.epoch[1]]);
        let mut times = costs.chain([plan.seconds, plan.search_share]).chain(plan.spent);
        let is_valid = times.all(|seconds| (0.0..=MOST_SECONDS).contains(&seconds))
            && (1..=MOST_THREADS).contains(&plan.threads)
            && plan.rungs.iter().all(is_rung)
            && (1..=MOST_RUNGS).contains(&plan.rungs.len())
            && plan.search_cut.as_ref().is_none_or(|cut| cut.rung < plan.rungs.len())
            && plan.rungs.is_sorted_by(|a, b| a.trials >= b.trials)
            && (1..=MOST_SPLITS).contains(&plan.splits.len());
        if is_valid { Ok(plan) } else { Err(other()) }
    }

    /// Returns the plan as text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("keys are strings") + "\n"
    }

    /// Fails if the plan is not one for a dataset, which has the given split.
    pub fn check(&self, dataset: &Dataset) -> Result<(), ThoroughError> {
        if self.content == dataset_hash(dataset) {
            return Ok(());
        }
        Err(ThoroughError::Input(format!(
            "the plan is for another dataset, {} with other nodes, links, features or split; choose another folder",
            self.dataset
        )))
    }

    /// Leaves out a family.
    pub fn leave_out(&mut self, family: Family, reason: String) {
        self.families.retain(|of| of.family != family);
        self.left_out.push(LeftOut { family, reason });
    }

    /// Returns the settings of the largest trial of a family; `None` if this build does not have its model.
    pub fn largest(&self, family: Family) -> Option<Settings> {
        let trials = (0..self.rungs[0].trials).filter_map(|number| self.trial(family, number, self.rungs[0].epochs));
        trials.map(|trial| trial.settings).max_by_key(network_size)
    }

    /// Limits larger searches to the trials that fit into memory.
    pub fn limit_trials(&mut self, fits: impl Fn(&Settings) -> bool) {
        let fitting = |of: &FamilyPlan| {
            let mut largest = 0;
            (0..LARGEST_SEARCH).find(|&number| {
                let trial = self.trial(of.family, number, self.rungs[0].epochs).map(|trial| trial.settings);
                trial.filter(|settings| network_size(settings) > largest).is_some_and(|settings| {
                    largest = network_size(&settings);
                    !fits(&settings)
                })
            })
        };
        self.most_trials = self.families.iter().filter_map(fitting).min().unwrap_or(LARGEST_SEARCH);
    }

    /// Returns the splits that count.
    pub fn final_splits(&self) -> &[SplitPlan] {
        &self.splits[..self.splits_kept.unwrap_or(self.splits.len()).min(self.splits.len())]
    }

    /// Returns the number of threads that are busy in the mean.
    pub(super) fn workers(&self) -> f64 {
        (PARALLEL * self.threads as f64).max(1.0)
    }

    /// Returns whether a family was stopped after the first rung.
    pub(super) fn is_stopped(&self, family: Family) -> bool {
        self.families.iter().any(|of| of.family == family && of.is_stopped)
    }

    /// Returns the last rung of a family.
    pub(super) fn last_rung(&self, family: Family) -> usize {
        if self.is_stopped(family) { 0 } else { self.rungs.len() - 1 }
    }

    /// Returns the epochs of the final runs of a family.
    pub(super) fn final_epochs(&self, family: Family) -> usize {
        self.rungs[self.last_rung(family)].epochs
    }

    /// Returns a trial of a family; `None` if this build does not have its model.
    pub(super) fn trial(&self, family: Family, number: usize, epochs: usize) -> Option<Trial> {
        Some(family.trial(family.kind().ok()?, number, epochs, &self.context()))
    }

    pub(super) fn context(&self) -> TrialContext<'_> {
        let Self { preset, choice, seed, class_weights, .. } = self;
        TrialContext { preset: preset.as_deref(), metric: *choice, seed: *seed, class_weights: *class_weights }
    }
}
