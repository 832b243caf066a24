//! The plan of a benchmark: numbers of trials, epochs and splits, chosen from measured times.

use crate::benchmark::BenchmarkError;
use crate::benchmark::cost::{Cost, fits};
use crate::benchmark::families::{FAMILIES, Family, Trial, TrialContext};
use crate::benchmark::metric::{MetricChoice, is_imbalanced};
use crate::benchmark::size;
use crate::benchmark::splits::{MOST, SplitPlan, sizes, splits};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_train::dataset_hash::dataset_hash;
use supergat_train::device::Resources;
use supergat_train::settings::Settings;

/// Version of plan files.
const SCHEMA: u32 = 5;
/// Limits of plan files.
const MOST_RUNGS: usize = 8;
const MOST_TRIALS: usize = 1024;
const MOST_EPOCHS: usize = 1_000_000;
const MOST_SPLITS: usize = 1024;
const MOST_SECONDS: f64 = 1e12;
const MOST_THREADS: usize = 1 << 20;

/// Share of the time of all threads that parallel runs use.
const PARALLEL: f64 = 0.9;
/// Share of the time that measurements may take; families that are not measured then are left out.
const MEASURED: f64 = 0.2;
/// The time of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    started: Instant,
    time: Duration,
}

impl Limit {
    /// Starts a time limit now.
    pub fn minutes(minutes: f64) -> Self {
        Self {
            started: Instant::now(),
            time: Duration::try_from_secs_f64((60.0 * minutes).clamp(0.0, 1e9)).unwrap_or_default(),
        }
    }

    /// Returns whether a share of the time is over.
    pub(super) fn is_over(&self, share: f64) -> bool {
        self.used() > share
    }

    /// Returns the share of the time that is used.
    pub(super) fn used(&self) -> f64 {
        self.started.elapsed().as_secs_f64() / self.time.as_secs_f64().max(1e-9)
    }
}

/// A requested benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Families to compare.
    pub families: Vec<Family>,
    /// Metric, one of [`METRICS`](crate::benchmark::METRICS); `None` for the usual one of the dataset.
    pub metric: Option<String>,
    /// Seed of trials, runs and splits.
    pub seed: u64,
    /// Whether all runs have the given split, as splits by time need.
    pub keep_split: bool,
    /// Bytes of memory that a run on the CPU may use; `None` for any.
    pub memory: Option<u64>,
}

impl Default for Request {
    fn default() -> Self {
        Self { families: FAMILIES.to_vec(), metric: None, seed: 0, keep_split: false, memory: None }
    }
}

/// A family that is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Family.
    pub family: Family,
    /// Reason.
    pub reason: String,
}

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

/// The plan of a benchmark. With the dataset, it determines all results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
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
    /// How the metric selects.
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
    /// What the splits are.
    pub splits_are: String,
    /// Notes on the choices.
    pub notes: Vec<String>,
    /// Estimated share of the time of runs that the search takes.
    pub search_share: f64,
    /// End of the search, if it was late.
    pub search_cut: Option<SearchCut>,
    /// Number of splits that count; `None` before the final runs.
    pub splits_kept: Option<usize>,
}

impl Plan {
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
    pub fn check(&self, dataset: &Dataset) -> Result<(), BenchmarkError> {
        if self.content == dataset_hash(dataset) {
            return Ok(());
        }
        Err(BenchmarkError::Input(format!(
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
            (0..size::MOST_TRIALS).find(|&number| {
                let trial = self.trial(of.family, number, self.rungs[0].epochs).map(|trial| trial.settings);
                trial.filter(|settings| network_size(settings) > largest).is_some_and(|settings| {
                    largest = network_size(&settings);
                    !fits(&settings)
                })
            })
        };
        self.most_trials = self.families.iter().filter_map(fitting).min().unwrap_or(size::MOST_TRIALS);
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

    fn context(&self) -> TrialContext<'_> {
        let Self { preset, choice, seed, class_weights, .. } = self;
        TrialContext { preset: preset.as_deref(), metric: *choice, seed: *seed, class_weights: *class_weights }
    }
}

/// Measures the families on a dataset and makes the plan that fills the time.
pub fn plan(dataset: &Dataset, request: &Request, resources: Resources, limit: Limit) -> Result<Plan, BenchmarkError> {
    let input = BenchmarkError::Input;
    let (choice, mut notes) = MetricChoice::new(dataset, request.metric.as_deref()).map_err(input)?;
    let (all, splits_are, more) = splits(dataset, choice, request.seed, request.keep_split).map_err(input)?;
    notes.extend(more);
    let mut plan = Plan {
        schema: SCHEMA,
        dataset: dataset.name.clone(),
        preset: dataset.preset.clone(),
        content: dataset_hash(dataset),
        sizes: sizes(dataset),
        metric: choice.name(dataset),
        choice,
        seed: request.seed,
        minutes: limit.time.as_secs_f64() / 60.0,
        class_weights: is_imbalanced(dataset),
        families: Vec::new(),
        left_out: Vec::new(),
        rungs: Vec::new(),
        splits: all[..all.len().min(MOST)].to_vec(),
        splits_are,
        seconds: 0.0,
        threads: if resources.kind().is_cpu() { resources.threads } else { 1 },
        spent: None,
        most_trials: size::MOST_TRIALS,
        notes,
        search_share: 0.0,
        search_cut: None,
        splits_kept: None,
    };
    if plan.class_weights {
        plan.notes.push("Classes are imbalanced, so half of the trials have balanced class weights.".into());
    }
    let mut families: Vec<Family> = FAMILIES.into_iter().filter(|known| request.families.contains(known)).collect();
    families.dedup();
    for family in families {
        let measured = family.kind().and_then(|kind: ModelKind| match limit.is_over(MEASURED) {
            true => Err("there was no time to measure it".to_owned()),
            false => Cost::measure(dataset, family, kind, &plan.context(), resources, request.memory),
        });
        match measured {
            Ok(cost) => plan.families.push(FamilyPlan { family, cost, is_stopped: false }),
            Err(reason) => plan.left_out.push(LeftOut { family, reason }),
        }
    }
    plan.seconds = ((1.0 - limit.used()) * limit.time.as_secs_f64()).max(0.0) * plan.workers();
    let minutes = plan.minutes + (plan.least_seconds() - plan.seconds) / (60.0 * plan.workers());
    let measured = plan.families.len();
    plan.choose();
    if plan.families.len() < measured && !limit.is_over(MEASURED) {
        plan.notes.push(format!("With about --minutes {:.0}, all families take part in the search.", minutes.ceil()));
    }
    plan.limit_trials(|settings| fits(dataset, settings, resources.threads, request.memory).is_ok());
    Ok(plan)
}

/// Returns a measure of the size of a network.
fn network_size(settings: &Settings) -> usize {
    settings.network.layers * settings.network.hidden * settings.network.heads
}
