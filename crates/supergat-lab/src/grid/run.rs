//! Makes the runs of a grid that are missing: cell after cell, so that a stopped study has whole cells.

use crate::grid::plan::{Place, Plan};
use crate::sweep::{Clock, Event, Index, Job, Report, ResultsFile, SweepError, Tally, run_sweep, weight};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// Runs what the file does not hold, on `threads` threads, as [`run_sweep`] does. The tally that `observe` gets is that
/// of the whole grid.
pub fn run_grid(
    plan: &Plan,
    results: &mut ResultsFile,
    threads: usize,
    observe: impl Fn(Event<'_>, Tally) -> ControlFlow<()> + Sync,
) -> Result<Report, SweepError> {
    let mut clock = clock(plan, results, threads);
    let mut total = Report { found: clock.settle(0, 0.0, 0.0).settled, ..Report::default() };
    let clock = Mutex::new(clock);
    let tell = |event: Event<'_>, _: Tally| {
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
    for place in plan.places() {
        for stage in [searches, finals] {
            let index = index(plan, place, results);
            let missing = missing(stage(plan, place, &index), &index);
            if missing.is_empty() {
                continue;
            }
            let report = run_sweep(missing, results, threads, tell)?;
            total.ran += report.ran;
            total.failed += report.failed;
            total.unavailable.extend(report.unavailable);
            if report.interrupted {
                return Ok(Report { interrupted: true, ..total });
            }
        }
    }
    Ok(total)
}

/// The records of one cell.
fn index<'a>(plan: &Plan, place: Place, results: &'a ResultsFile) -> Index<'a> {
    let sources = plan.sources(place);
    Index::new(results.records().filter(|record| sources.contains(&record.dataset)))
}

/// The runs that choose.
fn searches(plan: &Plan, place: Place, _: &Index<'_>) -> Vec<Job> {
    plan.models.iter().flat_map(|&model| plan.search(place, model)).collect()
}

/// The runs of what was chosen.
fn finals(plan: &Plan, place: Place, index: &Index<'_>) -> Vec<Job> {
    let chosen = plan.models.iter().filter_map(|&model| plan.chosen(place, model, index));
    chosen.flat_map(|settings| plan.finals(place, settings)).collect()
}

fn missing(mut jobs: Vec<Job>, index: &Index<'_>) -> Vec<Job> {
    jobs.retain(|job| index.find(job).is_none_or(|record| record.test().is_none()));
    jobs
}

/// Knows all runs of the grid, those that are in the file as settled. What will be chosen is not known yet and taken to
/// be the first of the settings.
fn clock(plan: &Plan, results: &ResultsFile, threads: usize) -> Clock {
    let (mut all, mut settled) = ((0, 0.0), (0, 0.0));
    for place in plan.places() {
        let index = index(plan, place, results);
        for &model in &plan.models {
            let search = plan.search(place, model);
            let settings = plan.chosen(place, model, &index).unwrap_or(search[0].settings);
            let finals = plan.finals(place, settings).into_iter().filter(|job| job.seed != search[0].seed);
            for job in search.iter().cloned().chain(finals) {
                let weight = job.weight();
                all = (all.0 + 1, all.1 + weight);
                if index.find(&job).is_some_and(|record| record.test().is_some()) {
                    settled = (settled.0 + 1, settled.1 + weight);
                }
            }
        }
    }
    let mut clock = Clock::new(all.0, all.1, threads);
    clock.settle(settled.0, settled.1, 0.0);
    clock
}
