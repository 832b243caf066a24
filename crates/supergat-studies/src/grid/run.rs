//! Runs the missing jobs of a grid point by point, so that an interrupted study has complete points.

use crate::grid::plan::{GridPlan, GridPoint};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use supergat_select::sweep::{
    Clock, Event, Job, RecordIndex, ResultsFile, SweepError, SweepOutcome, Tally, run_sweep, weight,
};
use supergat_train::Resources;
use supergat_train::task::{NODE, NodeClassification};

/// Runs the jobs of a grid that have no result in the file, like [`run_sweep`]. The tally passed to `observe`
/// counts the runs of the whole grid.
pub fn run_grid(
    plan: &GridPlan,
    results: &mut ResultsFile,
    resources: impl Into<Resources>,
    observe: impl Fn(Event<'_>, Tally) -> ControlFlow<()> + Sync,
) -> Result<SweepOutcome, SweepError> {
    let resources = resources.into().resolved();
    results.select(resources.kind());
    let mut clock = clock(plan, results, resources.workers(0, usize::MAX));
    let mut total = SweepOutcome { found: clock.settle(0, 0.0, 0.0).settled, ..SweepOutcome::default() };
    let clock = Mutex::new(clock);
    let notify = |event: Event<'_>, _: Tally| {
        let (runs, weight, seconds) = match event {
            Event::Done(record) if record.test().is_some() => {
                (1, weight(&record.dataset, &record.settings), record.seconds)
            }
            Event::Done(record) => (1, weight(&record.dataset, &record.settings), 0.0),
            _ => (0, 0.0, 0.0),
        };
        let tally = clock.lock().unwrap_or_else(PoisonError::into_inner).settle(runs, weight, seconds);
        observe(event, tally)
    };
    for point in plan.points() {
        for stage in [searches, final_runs] {
            let index = index(plan, point, results);
            let missing = missing(stage(plan, point, &index), &index);
            if missing.is_empty() {
                continue;
            }
            let outcome = run_sweep(&NodeClassification, missing, results, resources, notify)?;
            total = total.and(SweepOutcome { found: 0, ..outcome });
            if total.interrupted {
                return Ok(total);
            }
        }
    }
    Ok(total)
}

/// Indexes the records of one point.
fn index<'a>(plan: &GridPlan, point: GridPoint, results: &'a ResultsFile) -> RecordIndex<'a> {
    let sources = plan.sources(point);
    RecordIndex::new(NODE, results.records().filter(|record| sources.contains(&record.dataset)))
}

/// Returns the runs that select settings at a point.
fn searches(plan: &GridPlan, point: GridPoint, _: &RecordIndex<'_>) -> Vec<Job> {
    plan.models.iter().flat_map(|&model| plan.search(point, model)).collect()
}

/// Returns the final runs at a point, with the selected settings.
fn final_runs(plan: &GridPlan, point: GridPoint, index: &RecordIndex<'_>) -> Vec<Job> {
    let selected = plan.models.iter().filter_map(|&model| plan.selected(point, model, index));
    selected.flat_map(|settings| plan.final_runs(point, settings)).collect()
}

/// Keeps the jobs without a result.
fn missing(mut jobs: Vec<Job>, index: &RecordIndex<'_>) -> Vec<Job> {
    jobs.retain(|job| index.find(job).is_none_or(|record| record.test().is_none()));
    jobs
}

/// Creates the clock of the whole grid, with the runs in the file settled. Where settings are not selected
/// yet, the first candidate is used instead.
fn clock(plan: &GridPlan, results: &ResultsFile, workers: usize) -> Clock {
    let (mut all, mut settled) = ((0, 0.0), (0, 0.0));
    for point in plan.points() {
        let index = index(plan, point, results);
        for &model in &plan.models {
            let search = plan.search(point, model);
            let settings = plan.selected(point, model, &index).unwrap_or(search[0].settings);
            let final_runs = plan.final_runs(point, settings).into_iter().filter(|job| job.seed != search[0].seed);
            for job in search.iter().cloned().chain(final_runs) {
                let weight = job.weight();
                all = (all.0 + 1, all.1 + weight);
                if index.find(&job).is_some_and(|record| record.test().is_some()) {
                    settled = (settled.0 + 1, settled.1 + weight);
                }
            }
        }
    }
    let mut clock = Clock::new(all.0, all.1, workers);
    clock.settle(settled.0, settled.1, 0.0);
    clock
}
