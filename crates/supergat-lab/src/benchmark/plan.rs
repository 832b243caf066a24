//! The plan of a benchmark: numbers of trials, epochs and splits, chosen from measured times.

use crate::benchmark::BenchmarkError;
use crate::benchmark::cost::{Cost, relative_time};
use crate::benchmark::families::{FAMILIES, Family, Trial, TrialContext};
use crate::benchmark::metric::{MetricChoice, is_imbalanced};
use crate::benchmark::splits::{MOST, SplitPlan, sizes, splits};
use crate::checkpoints::dataset_hash;
use crate::device::Resources;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use supergat_core::ModelKind;
use supergat_data::Dataset;

/// Version of plan files.
const SCHEMA: u32 = 2;

/// Possible plans, the best first: trials per family, epochs of the last rung, splits.
const LADDER: [[usize; 3]; 20] = [
    [64, 500, 10],
    [48, 500, 10],
    [32, 500, 10],
    [32, 400, 10],
    [24, 400, 10],
    [16, 400, 10],
    [16, 300, 10],
    [12, 300, 10],
    [12, 200, 10],
    [8, 200, 10],
    [8, 200, 5],
    [8, 150, 5],
    [4, 150, 5],
    [4, 100, 5],
    [4, 100, 3],
    [2, 60, 3],
    [2, 30, 3],
    [1, 30, 3],
    [1, 10, 3],
    [1, 3, 3],
];
/// Position of the last plan that is better for all families than a better plan for some.
const USEFUL: usize = 14;
/// Number of families that a worse plan than [`USEFUL`] is made for.
const FEW: usize = 3;
/// Share of the time that measurements may take; families that are not measured then are left out.
const MEASURED: f64 = 0.2;
/// Share of the time that a plan may fill.
const FILLED: f64 = 0.8;
/// Share of the time of all threads that parallel runs use.
const PARALLEL: f64 = 0.7;
/// Fewest splits of the final runs.
const FEWEST: usize = 3;
/// Most rungs of a search.
const RUNGS: usize = 3;

/// The time of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    started: Instant,
    time: Duration,
}

impl Limit {
    /// Starts a time limit now.
    pub fn minutes(minutes: f64) -> Self {
        Self { started: Instant::now(), time: Duration::from_secs_f64((60.0 * minutes).clamp(0.0, 1e9)) }
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
}

/// A rung of the search: how many trials of each family run, and for how many epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RungPlan {
    /// Number of trials.
    pub trials: usize,
    /// Number of epochs.
    pub epochs: usize,
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
    /// Splits of the final runs, as far as there is time. The search uses the first.
    pub splits: Vec<SplitPlan>,
    /// Seconds for all runs, summed over the threads. What the search leaves of them is used for more trials, or for more splits.
    pub seconds: f64,
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
        let is_valid = plan.rungs.iter().all(|rung| rung.trials > 0 && rung.epochs > 0)
            && !plan.rungs.is_empty()
            && plan.rungs.is_sorted_by(|a, b| a.trials >= b.trials)
            && !plan.splits.is_empty();
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
        let settings = trials.map(|trial| trial.settings);
        settings.max_by_key(|settings| settings.layers * settings.hidden * settings.heads)
    }

    /// Returns the splits that count.
    pub fn final_splits(&self) -> &[SplitPlan] {
        &self.splits[..self.splits_kept.unwrap_or(self.splits.len()).min(self.splits.len())]
    }

    /// Returns a trial of a family; `None` if this build does not have its model.
    pub(super) fn trial(&self, family: Family, number: usize, epochs: usize) -> Option<Trial> {
        Some(family.trial(family.kind().ok()?, number, epochs, &self.context()))
    }

    fn context(&self) -> TrialContext<'_> {
        let Self { dataset, choice, seed, class_weights, .. } = self;
        TrialContext { dataset, metric: *choice, seed: *seed, class_weights: *class_weights }
    }

    /// Adds trials to a finished search if there is time for them besides the final runs, in which every family runs with one of
    /// its trials. Returns whether there is.
    pub(super) fn extend(&mut self, selected: &[(Family, usize)]) -> bool {
        let (Some(first), Some(last)) = (self.rungs.first(), self.rungs.last()) else { return false };
        let times = self.times();
        let finals = self.splits.len() as f64 * self.seconds_of_split(selected);
        let longer = LADDER.iter().map(|[trials, ..]| *trials).filter(|trials| *trials > first.trials);
        let mut rungs = longer.map(|trials| rungs(trials, last.epochs));
        let Some(found) = rungs.find(|rungs| self.seconds_of_search(rungs, &times) + finals < self.seconds) else {
            return false;
        };
        let search = self.seconds_of_search(&found, &times);
        (self.rungs, self.search_share) = (found, search / (search + finals).max(1e-9));
        true
    }

    /// Returns the number of splits that there is time for, if every family runs with one of its trials.
    pub(super) fn splits_for(&self, selected: &[(Family, usize)]) -> usize {
        let left = self.seconds - self.seconds_of_search(&self.rungs, &self.times());
        let splits = self.splits.len();
        ((left / self.seconds_of_split(selected).max(1e-9)) as usize).clamp(FEWEST.min(splits), splits)
    }

    /// Returns the estimated seconds of the final runs on a split.
    fn seconds_of_split(&self, selected: &[(Family, usize)]) -> f64 {
        let epochs = self.rungs.last().map_or(1, |rung| rung.epochs);
        let seconds = |&(family, number): &(Family, usize)| {
            let cost = self.families.iter().find(|of| of.family == family)?.cost;
            let [trial, usual] = [number, number % 2].map(|number| self.trial(family, number, epochs));
            Some(cost.of(number, relative_time(&trial?, &usual?), epochs))
        };
        selected.iter().filter_map(seconds).sum()
    }

    /// Returns the estimated seconds of the rungs of all searches.
    fn seconds_of_search(&self, rungs: &[RungPlan], times: &Times) -> f64 {
        let of = |rung: &RungPlan| rung.trials as f64 * self.mean_seconds(rungs[0].trials, rung.epochs, times);
        rungs.iter().map(of).sum()
    }

    /// Returns the estimated seconds of one run of every family, in the mean over its first trials.
    fn mean_seconds(&self, trials: usize, epochs: usize, times: &Times) -> f64 {
        let mean = |FamilyPlan { family, cost }: &FamilyPlan| {
            let times = times.get(family.name).map_or(&[][..], Vec::as_slice);
            let seconds = times.iter().enumerate().take(trials).map(|(number, &time)| cost.of(number, time, epochs));
            seconds.sum::<f64>() / trials as f64
        };
        self.families.iter().map(mean).sum()
    }

    fn times(&self) -> Times {
        let of = |FamilyPlan { family, .. }: &FamilyPlan| {
            let trial = |number| self.trial(*family, number, 1);
            let time = |number| Some(relative_time(&trial(number)?, &trial(number % 2)?));
            (family.name, (0..LADDER[0][0]).filter_map(time).collect())
        };
        self.families.iter().map(of).collect()
    }

    /// Sets the rungs to those of the ladder; returns the estimated seconds of all runs.
    fn set(&mut self, [trials, epochs, splits]: [usize; 3], times: &Times) -> f64 {
        self.rungs = rungs(trials, epochs);
        let search = self.seconds_of_search(&self.rungs, times);
        let finals = splits.min(self.splits.len()) as f64 * self.mean_seconds(trials, epochs, times);
        self.search_share = search / (search + finals).max(1e-9);
        search + finals
    }
}

/// Times of an epoch of all trials relative to the usual ones, by family.
type Times = HashMap<&'static str, Vec<f64>>;

/// Returns the rungs of a search: in each, half of the trials go on with twice the epochs.
fn rungs(trials: usize, epochs: usize) -> Vec<RungPlan> {
    let mut counts = vec![trials];
    while counts.len() < RUNGS && counts[counts.len() - 1] > 1 {
        counts.push(counts[counts.len() - 1] / 2);
    }
    let last = counts.len() - 1;
    let rung = |(k, trials): (usize, usize)| RungPlan { trials, epochs: (epochs >> (last - k)).max(1) };
    counts.into_iter().enumerate().map(rung).collect()
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
            Ok(cost) => plan.families.push(FamilyPlan { family, cost }),
            Err(reason) => plan.left_out.push(LeftOut { family, reason }),
        }
    }
    let workers = match resources.kind().is_cpu() {
        true => (PARALLEL * resources.threads as f64).max(1.0),
        false => 1.0,
    };
    let time = ((FILLED - limit.used()) * limit.time.as_secs_f64()).max(0.0) * workers;
    plan.seconds = time;
    let times = plan.times();
    loop {
        let few = plan.families.len() <= FEW;
        let steps = if few { &LADDER[..] } else { &LADDER[..=USEFUL] };
        if steps.iter().any(|&step| plan.set(step, &times) <= time) || plan.families.len() <= 1 {
            return Ok(plan);
        }
        // The family that takes most time.
        let seconds = |cost: &Cost| cost.fixed + 100.0 * (cost.epoch[0] + cost.epoch[1]);
        let longest = (0..plan.families.len())
            .max_by(|&a, &b| seconds(&plan.families[a].cost).total_cmp(&seconds(&plan.families[b].cost)));
        if let Some(longest) = longest {
            plan.leave_out(plan.families[longest].family, "there was no time for it".into());
        }
    }
}
