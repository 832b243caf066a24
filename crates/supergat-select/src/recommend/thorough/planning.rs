//! The question, its time limit, and the plan that is made from measured times.

use crate::recommend::cost::fits;
use crate::recommend::families::{Family, LeftOut};
use crate::recommend::metric::{MetricChoice, is_imbalanced};
use crate::recommend::thorough::cost::Cost;
use crate::recommend::thorough::error::ThoroughError;
use crate::recommend::thorough::plan::{FamilyPlan, LARGEST_SEARCH, SCHEMA, ThoroughPlan};
use crate::recommend::thorough::splits::{MOST, sizes, splits};
use std::time::{Duration, Instant};
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_train::Resources;
use supergat_train::dataset_hash::dataset_hash;

/// Fraction of the time that measurements may take; families that are not measured then are left out.
const MEASURED: f64 = 0.2;

/// Time limit of a comparison.
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

    /// Returns whether a fraction of the time is over.
    pub(super) fn is_over(&self, fraction: f64) -> bool {
        self.used() > fraction
    }

    /// Returns the used fraction of the time.
    pub(super) fn used(&self) -> f64 {
        self.started.elapsed().as_secs_f64() / self.time.as_secs_f64().max(1e-9)
    }
}

/// A question for a comparison within minutes.
#[derive(Debug, Clone, PartialEq)]
pub struct ThoroughQuestion {
    /// Families to compare.
    pub families: Vec<Family>,
    /// Metric, one of [`METRICS`](crate::recommend::METRICS); `None` for the usual one of the dataset.
    pub metric: Option<String>,
    /// Seed of trials, runs and splits.
    pub seed: u64,
    /// Whether all runs have the given split, as splits by time need.
    pub keep_split: bool,
    /// Bytes of memory that a run on the CPU may use; `None` for any.
    pub memory: Option<u64>,
}

impl Default for ThoroughQuestion {
    fn default() -> Self {
        Self { families: Family::within_minutes().collect(), metric: None, seed: 0, keep_split: false, memory: None }
    }
}

/// Measures the families on a dataset and makes the plan that fills the time.
pub fn plan(
    dataset: &Dataset,
    question: &ThoroughQuestion,
    resources: Resources,
    limit: Limit,
) -> Result<ThoroughPlan, ThoroughError> {
    let input = ThoroughError::Input;
    let (choice, mut notes) = MetricChoice::new(dataset, question.metric.as_deref()).map_err(input)?;
    let (all, splits_are, more) = splits(dataset, choice, question.seed, question.keep_split).map_err(input)?;
    notes.extend(more);
    let mut plan = ThoroughPlan {
        schema: SCHEMA,
        dataset: dataset.name.clone(),
        preset: dataset.preset.clone(),
        content: dataset_hash(dataset),
        sizes: sizes(dataset),
        metric: choice.name(dataset),
        choice,
        seed: question.seed,
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
        most_trials: LARGEST_SEARCH,
        notes,
        search_share: 0.0,
        search_cut: None,
        splits_kept: None,
    };
    if plan.class_weights {
        plan.notes.push("Classes are imbalanced, so half of the trials have balanced class weights.".into());
    }
    for family in Family::within_minutes().filter(|known| question.families.contains(known)) {
        let measured = family.kind().and_then(|kind: ModelKind| match limit.is_over(MEASURED) {
            true => Err("there was no time to measure it".to_owned()),
            false => Cost::measure(dataset, family, kind, &plan.context(), resources, question.memory),
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
        plan.notes.push(format!("With about {:.0} minutes, all families take part in the search.", minutes.ceil()));
    }
    plan.limit_trials(|settings| fits(dataset, settings, resources.threads, question.memory).is_ok());
    Ok(plan)
}
