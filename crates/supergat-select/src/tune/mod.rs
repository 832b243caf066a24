//! Hyperparameter search by mean validation metric. Test nodes are never used.
//!
//! | file | contents |
//! |---|---|
//! | `space.rs` | hyperparameters of a search |
//! | `values.rs` | their ranges and choices |
//! | `search.rs` | proposal of the next settings |
//! | `objective.rs` | runs, reduced to their validation metrics |
//!
//! Trials are proposed in batches. All trials of a batch run with the first seed; those below the median of
//! earlier trials stop there. When the budget is spent, the best trials run with further seeds, because the
//! best of many noisy means is biased.
//!
//! With pruning, the first run of a trial already stops in the middle if it is below the median of earlier trials at
//! the same epoch.

mod objective;
mod search;
mod space;
mod values;

pub use search::Trial;
pub use space::{Dimension, Space};
pub use values::{Choice, Values};

use crate::sweep::{self, ResultsFile, Rung, SweepError};
use objective::{Objective, RunRequest, RunScore};
use search::{BATCH, Search};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use supergat_data::{ClassWeight, FeatureChoice, LoadOptions, NodeOrderChoice, SplitChoice};
use supergat_train::Resources;
use supergat_train::dataset_hash::split_hash;
use supergat_train::settings::Settings;

/// Usual number of trials that run with further seeds at the end.
pub const FINALISTS: usize = 5;
/// Number of further seeds.
const FINAL_SEEDS: u64 = 5;
/// Share of the time for the trials; the rest is for the finalists.
const SEARCH_SHARE: f64 = 0.85;

/// Shares of the epochs after which runs are compared.
const RUNGS: [f64; 3] = [0.125, 0.25, 0.5];

/// Budget of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// Number of trials, those of resumed searches included.
    Trials(usize),
    /// Wall time.
    Time(Duration),
}

/// Definition of a search.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// Dataset, in the form that `supergat_data::load` accepts.
    pub source: String,
    /// Train/validation/test split.
    pub split: SplitChoice,
    /// Weights of the classes in the loss.
    pub class_weight: ClassWeight,
    /// Whether the features of each node are divided by their sum.
    pub row_normalise: bool,
    /// Initial settings, used by the first trial.
    pub base: Settings,
    /// Hyperparameters that are searched.
    pub space: Space,
    /// Seed of the search, and first seed of each trial.
    pub seed: u64,
    /// Number of seeds of each trial.
    pub seeds: u64,
    /// Budget of the search.
    pub budget: Budget,
    /// Whether the first run of a trial stops in the middle if it is hopeless: if, after an eighth, a quarter or half of
    /// the epochs, the validation metric of its best epoch is below the median of earlier trials.
    pub pruning: bool,
    /// Number of the best trials that run with further seeds at the end, usually [`FINALISTS`]; with fewer than two,
    /// the best mean of the trials wins.
    pub finalists: usize,
    /// Threads and device. Results do not depend on the number of threads.
    pub resources: Resources,
}

/// Result of a search.
#[derive(Debug)]
pub struct Tuned {
    /// All finished trials.
    pub trials: Vec<Trial>,
    /// Index of the best trial.
    pub best: Option<usize>,
    /// Whether an observer stopped the search.
    pub interrupted: bool,
}

/// Event reported to an observer. No event contains test metrics.
#[derive(Debug)]
pub enum TuneEvent<'a> {
    /// A run finished an epoch.
    Epoch,
    /// A run ended.
    Run,
    /// All trials finished so far.
    Trials(&'a [Trial]),
    /// The best trials start to run with further seeds.
    Finals,
}

/// Error of a search.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The dataset is unavailable.
    #[error("{0}")]
    Data(#[from] supergat_data::Error),
    /// The runs failed.
    #[error("{0}")]
    Sweep(#[from] SweepError),
}

/// Runs a search, resumed from the results file. `observe` is called from all threads and may stop the
/// search; finished runs are kept.
pub fn tune(
    tuning: &Tuning,
    results: &mut ResultsFile,
    observe: impl Fn(TuneEvent<'_>) -> ControlFlow<()> + Sync,
) -> Result<Tuned, TuneError> {
    let started = Instant::now();
    let (dataset, split_hash) = {
        // Names and splits only.
        let node_order = NodeOrderChoice::Given;
        let features = FeatureChoice::default().row_normalise(tuning.row_normalise);
        let options = LoadOptions { split: tuning.split, features, node_order, ..LoadOptions::default() };
        let mut dataset = supergat_data::load_with(&tuning.source, &options)?;
        // Wrong weights are refused before the first run.
        dataset.weigh_classes(&tuning.class_weight)?;
        (sweep::dataset_name(&tuning.source, &dataset), split_hash(&dataset))
    };
    let resources = tuning.resources.resolved();
    results.select(resources.kind());
    let objective = Objective { tuning, results, dataset, split_hash, resources };
    let space = tuning.space.clone();
    let search = Search { space, base: tuning.base, seed: tuning.seed, trials: Vec::new() };
    let mut course = Course { tuning, started, objective, search, interrupted: false, observe };
    course.trials()?;
    let finalists = course.finals()?;
    let trials = course.search.trials;
    let best = best(&trials, &finalists, tuning.seeds as usize);
    Ok(Tuned { best, trials, interrupted: course.interrupted })
}

/// State of a running search.
struct Course<'a, F> {
    tuning: &'a Tuning,
    started: Instant,
    objective: Objective<'a>,
    search: Search,
    interrupted: bool,
    observe: F,
}

impl<F: Fn(TuneEvent<'_>) -> ControlFlow<()> + Sync> Course<'_, F> {
    /// Runs batches until the budget is spent.
    fn trials(&mut self) -> Result<(), TuneError> {
        loop {
            let done = self.search.trials.len();
            let count = match self.tuning.budget {
                Budget::Trials(all) => BATCH.min(all.saturating_sub(done)),
                Budget::Time(_) => BATCH,
            };
            if count == 0 || !self.batch(count)? {
                return Ok(());
            }
            if (self.observe)(TuneEvent::Trials(&self.search.trials)).is_break() {
                self.interrupted = true;
                return Ok(());
            }
        }
    }

    /// Runs the next trials; returns `false` if they were stopped.
    fn batch(&mut self, count: usize) -> Result<bool, TuneError> {
        let (first, end) = (self.tuning.seed, self.tuning.seed.saturating_add(self.tuning.seeds));
        let proposals = self.search.propose(count);
        let requests: Vec<RunRequest> = proposals.iter().map(|&settings| (settings, first)).collect();
        let Some(firsts) = self.scores(&requests, &self.rungs(), SEARCH_SHARE)? else { return Ok(false) };
        let stop_below = median(self.search.trials.iter().map(|trial| trial.scores[0]).collect());
        let more = |score: &RunScore| {
            let is_hopeless = score.pruned.is_some() || stop_below.is_some_and(|median| score.validation < median);
            if is_hopeless { first + 1 } else { end }
        };
        let rest = |k: usize| (first + 1..more(&firsts[k])).map(move |seed| (k, seed));
        let rest: Vec<(usize, u64)> = (0..count).flat_map(rest).collect();
        let requests: Vec<RunRequest> = rest.iter().map(|&(k, seed)| (proposals[k], seed)).collect();
        let Some(more) = self.scores(&requests, &[], SEARCH_SHARE)? else { return Ok(false) };
        let number = self.search.trials.len();
        for (k, (settings, RunScore { validation, reached, pruned })) in proposals.into_iter().zip(firsts).enumerate() {
            let further = rest.iter().zip(&more).filter(|((of, _), _)| *of == k).map(|(_, score)| score.validation);
            let scores = std::iter::once(validation).chain(further).collect();
            self.search.trials.push(Trial { reached, pruned, ..Trial::new(number + k, settings, scores) });
        }
        Ok(true)
    }

    /// Returns the epochs at which the first runs of the next trials are compared with earlier trials; none without
    /// pruning.
    fn rungs(&self) -> Vec<Rung> {
        if !self.tuning.pruning {
            return Vec::new();
        }
        let all = self.tuning.base.training.max_epochs;
        let mut epochs = RUNGS.map(|share| (share * all as f64) as usize).to_vec();
        epochs.retain(|&epochs| epochs > 0);
        epochs.dedup();
        let reached = |k: usize| self.search.trials.iter().map(|trial| trial.reached[k]).collect();
        epochs.into_iter().enumerate().map(|(k, epochs)| Rung { epochs, least: median(reached(k)) }).collect()
    }

    /// Runs the best trials with further seeds and returns their indices; empty if there was no time.
    fn finals(&mut self) -> Result<Vec<usize>, TuneError> {
        let seeds = self.tuning.seeds as usize;
        let trials = &self.search.trials;
        let mut finalists: Vec<usize> = (0..trials.len()).filter(|&k| trials[k].is_complete(seeds)).collect();
        finalists.sort_by(|&a, &b| trials[b].mean().total_cmp(&trials[a].mean()));
        finalists.truncate(self.tuning.finalists);
        if self.interrupted || finalists.len() < 2 || (self.observe)(TuneEvent::Finals).is_break() {
            return Ok(Vec::new());
        }
        let from = self.tuning.seed.saturating_add(self.tuning.seeds);
        let further: Vec<u64> = (from..from.saturating_add(FINAL_SEEDS)).collect();
        let requests: Vec<RunRequest> =
            finalists.iter().flat_map(|&k| further.iter().map(move |&seed| (trials[k].settings, seed))).collect();
        let Some(scores) = self.scores(&requests, &[], 1.0)? else { return Ok(Vec::new()) };
        if further.is_empty() {
            return Ok(Vec::new());
        }
        for (&k, scores) in finalists.iter().zip(scores.chunks(further.len())) {
            self.search.trials[k].finals = scores.iter().map(|score| score.validation).collect();
        }
        Ok(finalists)
    }

    /// Returns the scores of some runs, compared at some epochs; `None` if they were stopped, or took longer than a
    /// share of the time budget.
    fn scores(
        &mut self,
        requests: &[RunRequest],
        rungs: &[Rung],
        share: f64,
    ) -> Result<Option<Vec<RunScore>>, TuneError> {
        let deadline = match self.tuning.budget {
            Budget::Time(time) => Some(self.started + time.mul_f64(share)),
            Budget::Trials(_) => None,
        };
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let stopped = std::sync::atomic::AtomicBool::new(false);
        let scores = self.objective.scores(requests, rungs, |event| {
            if (self.observe)(event).is_break() {
                stopped.store(true, std::sync::atomic::Ordering::Relaxed);
                return ControlFlow::Break(());
            }
            if is_late() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        self.interrupted |= stopped.into_inner();
        Ok(scores)
    }
}

/// Returns the finalist with the best mean of all seeds; without finalists, the trial with the best mean.
/// Ties go to the earlier trial.
fn best(trials: &[Trial], finalists: &[usize], seeds: usize) -> Option<usize> {
    let all: Vec<usize> = match finalists {
        [] => (0..trials.len()).filter(|&k| trials[k].is_complete(seeds)).collect(),
        some => some.to_vec(),
    };
    all.into_iter().max_by(|&a, &b| trials[a].mean_of_all().total_cmp(&trials[b].mean_of_all()).then(b.cmp(&a)))
}

/// Returns the median; the lower one of two middle values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}
