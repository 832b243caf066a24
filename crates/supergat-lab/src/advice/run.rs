//! The runs of a plan: redraw by redraw, all families on each.

use crate::advice::contestants::Contestant;
use crate::advice::plan::MeasuringPlan;
use crate::advice::{AdviceEvent, Field};
use crate::benchmark::{Family, LeftOut};
use crate::device::Resources;
use crate::runs::{Observation, run_seeds, scores};
use crate::settings::Settings;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use supergat_core::Labels;
use supergat_data::Dataset;

/// Scores in percent, one per redraw.
pub(super) struct Scores {
    pub(super) families: Vec<(Contestant, Vec<f64>)>,
    pub(super) majority: Vec<f64>,
    /// Families without a score on every redraw.
    pub(super) failed: Vec<LeftOut>,
}

/// Executes the runs of a plan, each on one thread. If the time is over or the observer stops, redraws that are not complete
/// are left out, and the plan records how many remain.
pub(super) fn run(
    field: &Field<'_>,
    plan: &mut MeasuringPlan,
    threads: usize,
    observe: &(impl Fn(AdviceEvent<'_>) -> ControlFlow<()> + Sync),
) -> Scores {
    let is_planned = |contestant: &&Contestant| plan.families.contains(&contestant.family);
    let contestants: Vec<Contestant> = field.contestants.iter().filter(is_planned).copied().collect();
    let splits: Vec<Dataset> = (0..plan.redraws).map(|redraw| field.redraws.dataset(redraw)).collect();
    let jobs = splits.len() * contestants.len();
    let stopped = AtomicBool::new(observe(AdviceEvent::Planned(plan)).is_break());
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let found: Mutex<BTreeMap<usize, Result<f64, String>>> = Mutex::default();
    let is_over = |redraw: usize| redraw > 0 && plan.end.is_some_and(|end| Instant::now() > end);
    let flow = |event: AdviceEvent<'_>, redraw: usize| {
        if stopped.load(Ordering::Relaxed) || observe(event).is_break() || is_over(redraw) {
            stopped.store(true, Ordering::Relaxed);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let work = || {
        loop {
            // The longest runs of a redraw, those of the last families, begin first.
            let job = next.fetch_add(1, Ordering::Relaxed);
            let redraw = job / contestants.len().max(1);
            if job >= jobs || stopped.load(Ordering::Relaxed) || is_over(redraw) {
                return;
            }
            let place = contestants.len() - 1 - job % contestants.len();
            let settings = Settings { max_epochs: plan.epochs, ..contestants[place].settings };
            let seed = plan.seed.saturating_add(redraw as u64);
            let runs = run_seeds(&splits[redraw], &settings, &[seed], Resources::from(1), |event| match event {
                Observation::Epoch(..) => flow(AdviceEvent::Epoch, redraw),
                Observation::Done(..) => ControlFlow::Continue(()),
            });
            let score = match runs {
                Ok(runs) if runs.interrupted => return,
                Ok(runs) => Ok(100.0 * runs.runs[0].outcome.test.metric),
                Err(error) => Err(error.to_string()),
            };
            found.lock().unwrap_or_else(PoisonError::into_inner).insert(redraw * contestants.len() + place, score);
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            if flow(AdviceEvent::Run(count, jobs), redraw).is_break() {
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
    let complete = |redraw: &usize| {
        let first = redraw * contestants.len();
        (first..first + contestants.len()).all(|job| found.contains_key(&job))
    };
    plan.redraws = (0..splits.len()).take_while(complete).count();
    let mut result = Scores { families: Vec::new(), majority: Vec::new(), failed: Vec::new() };
    for (place, contestant) in contestants.iter().enumerate() {
        let of_family = (0..plan.redraws).map(|redraw| found[&(redraw * contestants.len() + place)].clone());
        match of_family.collect::<Result<Vec<f64>, String>>() {
            Ok(values) if values.iter().all(|value| value.is_finite()) => result.families.push((*contestant, values)),
            Ok(_) => result.failed.push(left_out(contestant.family, "its training diverged".into())),
            Err(reason) => result.failed.push(left_out(contestant.family, reason)),
        }
    }
    plan.families.retain(|family| result.families.iter().any(|(kept, _)| kept.family == *family));
    let majority = splits.iter().take(plan.redraws).map(|split| majority(split, field));
    result.majority = majority.collect();
    result
}

fn left_out(family: Family, reason: String) -> LeftOut {
    LeftOut { family, reason }
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
