//! The runs of a plan: repetition by repetition, all families on each; or two rounds on one repetition.

use crate::recommend::cost::RunCost;
use crate::recommend::families::LeftOut;
use crate::recommend::quick::candidates::Candidate;
use crate::recommend::quick::plan::{KEPT, QuickEvent, QuickPlan, together};
use crate::recommend::quick::setup::{Setup, Workers};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use supergat_core::Labels;
use supergat_data::Dataset;
use supergat_train::selection::scores;
use supergat_train::settings::Settings;
use supergat_train::{Observation, run_seeds};

/// Fraction of the time by which runs may be late before they are stopped.
const LATE: f64 = 0.5;

/// Scores from 0 to 1, one per repetition.
pub(super) struct Scores {
    /// Families with the settings of their runs.
    pub(super) families: Vec<(Candidate, Vec<f64>)>,
    pub(super) majority: Vec<f64>,
    /// Families without a score on every repetition.
    pub(super) failed: Vec<LeftOut>,
}

/// Fraction of the work after which the remaining time is estimated.
const KNOWN: f64 = 0.05;
/// Most epochs of a second round that fills the time.
const LONGEST: usize = 100;
/// Fraction of the remaining time that a second round fills.
const SECOND: f64 = 0.9;
/// A second round has at least this many times the epochs of the first.
const LONGER: f64 = 1.5;
/// A repetition may take this many times as long as those before it.
const SLOWER: f64 = 1.25;

/// A finished run: its score, and its seconds.
type Finished = Result<(f64, f64), String>;
/// Finished runs, by repetition and place of the family.
type Found = BTreeMap<(usize, usize), Finished>;

/// Executes the runs of a plan. A repetition begins if there is time for it. If the observer stops, or runs are
/// much later than planned, only complete repetitions count, or only the families that have finished the first. If the second of two
/// rounds does not end, the first counts. The plan records what remains.
pub(super) fn run(
    setup: &Setup<'_>,
    plan: &mut QuickPlan,
    workers: Workers,
    observe: &(impl Fn(QuickEvent<'_>) -> ControlFlow<()> + Sync),
) -> Scores {
    let is_planned = |candidate: &&Candidate| plan.families.contains(&candidate.family);
    let first_epochs = plan.first_epochs.unwrap_or(plan.epochs);
    let planned: Vec<Candidate> = setup.candidates.iter().filter(is_planned).copied().collect();
    let mut candidates: Vec<Candidate> = planned.iter().map(|one| one.trained_for(first_epochs)).collect();
    let splits: Vec<Dataset> = (0..plan.repetitions).map(|repetition| setup.resampled.dataset(repetition)).collect();
    let second = if plan.first_epochs.is_some() { KEPT } else { 0 };
    let all = splits.len() * candidates.len() + second;
    let is_stopped = observe(QuickEvent::Planned(plan)).is_break() || observe(QuickEvent::Run(0, all)).is_break();
    let course = Course {
        stopped: AtomicBool::new(is_stopped),
        done: AtomicUsize::new(0),
        all,
        workers,
        started: Instant::now(),
        work: plan.work(),
        spent: Mutex::new(0.0),
        end: plan.end,
        much_later: plan.end.zip(plan.seconds).map(|(end, seconds)| end + Duration::from_secs_f64(LATE * seconds)),
        observe,
    };
    // In the order of the candidates.
    let costs = plan.costs.clone();
    let mut found = course.round(&candidates, &costs, &splits, plan.seed);
    if plan.first_epochs.is_some() {
        let best = best_networks(&candidates, &found);
        if let Some(end) = plan.end {
            let seconds: Vec<f64> =
                best.iter().filter_map(|&place| Some(found.get(&(0, place))?.as_ref().ok()?.1)).collect();
            let left = SECOND * end.saturating_duration_since(Instant::now()).as_secs_f64();
            let times = left / together(seconds, workers.count).max(1e-9);
            plan.epochs = ((times * first_epochs as f64) as usize).min(LONGEST);
        }
        let again: Vec<Candidate> = best.iter().map(|&place| planned[place].trained_for(plan.epochs)).collect();
        let is_longer = plan.epochs as f64 >= LONGER * first_epochs as f64;
        let costs: Vec<RunCost> = best.iter().map(|&place| costs[place]).collect();
        let more = if is_longer { course.round(&again, &costs, &splits, plan.seed) } else { Found::new() };
        match more.len() == again.len() && !again.is_empty() {
            true => {
                // A training that failed or diverged leaves the score of the first round.
                for ((place, candidate), run) in best.into_iter().zip(again).zip(more.into_values()) {
                    if matches!(run, Ok((score, _)) if score.is_finite()) {
                        candidates[place] = candidate;
                        found.insert((0, place), run);
                    }
                }
            }
            false => (plan.epochs, plan.first_epochs) = (first_epochs, None),
        }
    }
    let of = |repetition: usize, place: usize| found.get(&(repetition, place));
    let finished: Vec<usize> = (0..candidates.len()).filter(|&place| of(0, place).is_some()).collect();
    let is_complete = |repetition: &usize| finished.iter().all(|&place| of(*repetition, place).is_some());
    plan.repetitions = if finished.is_empty() { 0 } else { (0..splits.len()).take_while(is_complete).count() };
    let mut result = Scores { families: Vec::new(), majority: Vec::new(), failed: Vec::new() };
    for (place, candidate) in candidates.iter().enumerate() {
        let mut leave = |reason: String| result.failed.push(LeftOut { family: candidate.family, reason });
        if !finished.contains(&place) {
            leave("it has not finished in time".into());
            continue;
        }
        let scores =
            (0..plan.repetitions).filter_map(|repetition| Some(of(repetition, place)?.clone().map(|(score, _)| score)));
        match scores.collect::<Result<Vec<f64>, String>>() {
            Ok(values) if values.iter().all(|value| value.is_finite()) => result.families.push((*candidate, values)),
            Ok(_) => leave("its training diverged".into()),
            Err(reason) => leave(reason),
        }
    }
    plan.families.retain(|family| result.families.iter().any(|(kept, _)| kept.family == *family));
    let majority = splits.iter().take(plan.repetitions).map(|split| majority(split, setup));
    result.majority = majority.collect();
    result
}

/// Returns the places of the best networks of a first round, the best first.
fn best_networks(candidates: &[Candidate], found: &Found) -> Vec<usize> {
    let score = |place: usize| match found.get(&(0, place)) {
        Some(Ok((score, _))) if candidates[place].settings.model.is_network() && score.is_finite() => {
            Some((place, *score))
        }
        _ => None,
    };
    let mut scores: Vec<(usize, f64)> = (0..candidates.len()).filter_map(score).collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    scores.into_iter().take(KEPT).map(|(place, _)| place).collect()
}

/// State that all rounds share: their time and their observer.
struct Course<'a, O> {
    stopped: AtomicBool,
    /// Number of ended runs.
    done: AtomicUsize,
    /// Number of all runs, at most.
    all: usize,
    workers: Workers,
    started: Instant,
    /// Cost of all runs, at most.
    work: f64,
    /// Cost of the epochs so far.
    spent: Mutex<f64>,
    /// Time after which no repetition begins.
    end: Option<Instant>,
    /// Time at which runs stop.
    much_later: Option<Instant>,
    observe: &'a O,
}

impl<O: Fn(QuickEvent<'_>) -> ControlFlow<()> + Sync> Course<'_, O> {
    fn flow(&self, event: QuickEvent<'_>) -> ControlFlow<()> {
        let is_over = self.much_later.is_some_and(|end| Instant::now() > end);
        if self.stopped.load(Ordering::Relaxed) || (self.observe)(event).is_break() || is_over {
            self.stopped.store(true, Ordering::Relaxed);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Returns about how much time is left after further work of some cost; `None` at the beginning of a plan without an end.
    fn left_after(&self, cost: f64) -> Option<Duration> {
        if let Some(end) = self.end {
            return Some(end.saturating_duration_since(Instant::now()));
        }
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        *spent += cost;
        let share = (*spent / self.work.max(1e-9)).min(1.0);
        (share >= KNOWN).then(|| self.started.elapsed().mul_f64((1.0 - share) / share))
    }

    /// Runs all families, with the costs of their runs, on all splits, split by split.
    fn round(&self, candidates: &[Candidate], costs: &[RunCost], splits: &[Dataset], seed: u64) -> Found {
        let (families, jobs) = (candidates.len(), splits.len() * candidates.len());
        let (started, before) = (Instant::now(), self.done.load(Ordering::Relaxed));
        let (next, found) = (Mutex::new(0_usize), Mutex::new(Found::new()));
        // Begins the next job, unless it is the first of a repetition that there is no time for.
        let begin = || {
            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
            let (job, done) = (*next, self.done.load(Ordering::Relaxed) - before);
            let is_first = job > 0 && job.is_multiple_of(families);
            let each = started.elapsed().mul_f64(SLOWER * families as f64 / done.max(1) as f64);
            let is_late = is_first && self.end.is_some_and(|end| Instant::now() + each > end);
            if is_late {
                *next = jobs;
            }
            if is_late || job >= jobs || self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            *next += 1;
            Some(job)
        };
        let work = || {
            while let Some(job) = begin() {
                let repetition = job / families;
                // In later repetitions, the longest run does not begin last.
                let place = if repetition == 0 { job % families } else { families - 1 - job % families };
                let seed = seed.saturating_add(repetition as u64);
                let (split, settings) = (&splits[repetition], &candidates[place].settings);
                let began = Instant::now();
                let resources = self.workers.of_run(settings.model);
                let runs = run_seeds(split, settings, &[seed], resources, |event| match event {
                    Observation::Epoch(..) => self.flow(QuickEvent::Epoch(self.left_after(costs[place].epoch))),
                    Observation::Done(..) => {
                        self.left_after(costs[place].fixed);
                        ControlFlow::Continue(())
                    }
                });
                let score = match runs {
                    Ok(runs) if runs.interrupted => return,
                    Ok(runs) => Ok((runs.runs[0].outcome.test.metric, began.elapsed().as_secs_f64())),
                    Err(error) => Err(error.to_string()),
                };
                found.lock().unwrap_or_else(PoisonError::into_inner).insert((repetition, place), score);
                let count = self.done.fetch_add(1, Ordering::Relaxed) + 1;
                if self.flow(QuickEvent::Run(count, self.all)).is_break() {
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.workers.count.clamp(1, jobs.max(1)) {
                scope.spawn(work);
            }
        });
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the score of predicting the shares of the classes among the training nodes for every node.
fn majority(split: &Dataset, setup: &Setup<'_>) -> f64 {
    let classes = split.classes();
    let mut counts = vec![1e-9; classes];
    let mut nodes = 0.0;
    for example in &split.examples {
        for &node in &example.train {
            nodes += 1.0;
            match &example.labels {
                Labels::Single { of, .. } => counts[of[node as usize] as usize] += 1.0,
                Labels::Multi { of, .. } => {
                    let row = &of[node as usize * classes..][..classes];
                    counts.iter_mut().zip(row).for_each(|(count, label)| *count += f64::from(*label));
                }
            }
        }
    }
    let logit = |count: &f64| match split.is_multi_label() {
        true => (count / (nodes - count).max(1e-9)).ln() as f32,
        false => count.ln() as f32,
    };
    let row: Vec<f32> = counts.iter().map(logit).collect();
    let logits: Vec<Vec<f32>> = split.examples.iter().map(|example| row.repeat(example.graph.nodes())).collect();
    let mut settings = Settings::general(supergat_core::ModelKind::Mlp);
    (settings.select, settings.positive) = (setup.metric.select, setup.metric.positive);
    scores(split, &settings, &logits).map_or(f64::NAN, |[_, scored]| scored.metric)
}
