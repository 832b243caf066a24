//! The runs of a plan: redraw by redraw, all families on each.

use crate::advice::contestants::Contestant;
use crate::advice::plan::MeasuringPlan;
use crate::advice::{AdviceEvent, Field};
use crate::benchmark::LeftOut;
use crate::device::Resources;
use crate::runs::{Observation, run_seeds, scores};
use crate::settings::Settings;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use supergat_core::Labels;
use supergat_data::Dataset;

/// Share of the time by which runs may be late before they are stopped.
const LATE: f64 = 0.5;

/// Scores in percent, one per redraw.
pub(super) struct Scores {
    pub(super) families: Vec<(Contestant, Vec<f64>)>,
    pub(super) majority: Vec<f64>,
    /// Families without a score on every redraw.
    pub(super) failed: Vec<LeftOut>,
}

/// Executes the runs of a plan, each on one thread. A redraw begins if there is time for it. If the observer stops, or runs are
/// much later than planned, only complete redraws count, or only the families that have finished the first. The plan records what
/// remains.
pub(super) fn run(
    field: &Field<'_>,
    plan: &mut MeasuringPlan,
    threads: usize,
    observe: &(impl Fn(AdviceEvent<'_>) -> ControlFlow<()> + Sync),
) -> Scores {
    let is_planned = |contestant: &&Contestant| plan.families.contains(&contestant.family);
    let contestants: Vec<Contestant> = field.contestants.iter().filter(is_planned).copied().collect();
    let splits: Vec<Dataset> = (0..plan.redraws).map(|redraw| field.redraws.dataset(redraw)).collect();
    let (families, jobs) = (contestants.len(), splits.len() * contestants.len());
    let started = Instant::now();
    let stopped = AtomicBool::new(observe(AdviceEvent::Planned(plan)).is_break());
    let (next, done) = (Mutex::new(0_usize), AtomicUsize::new(0));
    let found: Mutex<BTreeMap<usize, Result<f64, String>>> = Mutex::default();
    // Begins the next job, unless it is the first of a redraw that there is no time for.
    let begin = || {
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        let (job, done) = (*next, done.load(Ordering::Relaxed));
        let is_first = job > 0 && job.is_multiple_of(families);
        let each = started.elapsed().div_f64(done.max(1) as f64) * families as u32;
        let is_late = is_first && plan.end.is_some_and(|end| Instant::now() + each > end);
        if is_late {
            *next = jobs;
        }
        if is_late || job >= jobs || stopped.load(Ordering::Relaxed) {
            return None;
        }
        *next += 1;
        Some(job)
    };
    let much_later = plan.end.zip(plan.seconds).map(|(end, seconds)| end + Duration::from_secs_f64(LATE * seconds));
    let flow = |event: AdviceEvent<'_>| {
        let is_over = much_later.is_some_and(|end| Instant::now() > end);
        if stopped.load(Ordering::Relaxed) || observe(event).is_break() || is_over {
            stopped.store(true, Ordering::Relaxed);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let work = || {
        while let Some(job) = begin() {
            let redraw = job / families;
            // In later redraws, the longest run does not begin last.
            let place = if redraw == 0 { job % families } else { families - 1 - job % families };
            let settings = Settings { max_epochs: plan.epochs, ..contestants[place].settings };
            let seed = plan.seed.saturating_add(redraw as u64);
            let runs = run_seeds(&splits[redraw], &settings, &[seed], Resources::from(1), |event| match event {
                Observation::Epoch(..) => flow(AdviceEvent::Epoch),
                Observation::Done(..) => ControlFlow::Continue(()),
            });
            let score = match runs {
                Ok(runs) if runs.interrupted => return,
                Ok(runs) => Ok(100.0 * runs.runs[0].outcome.test.metric),
                Err(error) => Err(error.to_string()),
            };
            found.lock().unwrap_or_else(PoisonError::into_inner).insert(redraw * families + place, score);
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            if flow(AdviceEvent::Run(count, jobs)).is_break() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.max(1)) {
            scope.spawn(work);
        }
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let of = |redraw: usize, place: usize| found.get(&(redraw * families + place));
    let finished: Vec<usize> = (0..families).filter(|&place| of(0, place).is_some()).collect();
    let is_complete = |redraw: &usize| finished.iter().all(|&place| of(*redraw, place).is_some());
    plan.redraws = if finished.is_empty() { 0 } else { (0..splits.len()).take_while(is_complete).count() };
    let mut result = Scores { families: Vec::new(), majority: Vec::new(), failed: Vec::new() };
    for (place, contestant) in contestants.iter().enumerate() {
        let mut leave = |reason: String| result.failed.push(LeftOut { family: contestant.family, reason });
        if !finished.contains(&place) {
            leave("it has not finished in time".into());
            continue;
        }
        let scores = (0..plan.redraws).filter_map(|redraw| of(redraw, place).cloned());
        match scores.collect::<Result<Vec<f64>, String>>() {
            Ok(values) if values.iter().all(|value| value.is_finite()) => result.families.push((*contestant, values)),
            Ok(_) => leave("its training diverged".into()),
            Err(reason) => leave(reason),
        }
    }
    plan.families.retain(|family| result.families.iter().any(|(kept, _)| kept.family == *family));
    let majority = splits.iter().take(plan.redraws).map(|split| majority(split, field));
    result.majority = majority.collect();
    result
}

/// Returns the score of predicting the shares of the classes among the training nodes for every node, in percent.
fn majority(split: &Dataset, field: &Field<'_>) -> f64 {
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
    (settings.select, settings.positive) = (field.metric.select, field.metric.positive);
    scores(split, &settings, &logits).map_or(f64::NAN, |[_, scored]| 100.0 * scored.metric)
}
