//! Runs the searches and final runs of a study cell by cell, so that an interrupted study has complete cells.

use crate::depth::plan::{Cell, DepthPlan};
use crate::depth::table::CellResult;
use std::ops::ControlFlow;
use supergat_select::sweep::{Event, ResultsFile, run_sweep};
use supergat_select::tune::{Trial, TuneError, TuneEvent, tune};
use supergat_train::Resources;
use supergat_train::task::Status;

/// Event of a study, as reported to its observer.
#[derive(Debug)]
pub enum DepthEvent<'a> {
    /// A cell begins: its number from 0, and the cell.
    Cell(usize, Cell<'a>),
    /// A run finished an epoch.
    Epoch,
    /// A run of a search or a final run ended.
    Run,
    /// All trials of the current search that finished so far.
    Trials(&'a [Trial]),
    /// The final runs of a cell begin.
    Finals,
    /// A final run failed, or the dataset of a cell is unavailable, for this reason.
    Failed(&'a str),
    /// No trial of a cell succeeded, so it has no final runs.
    Hopeless,
}

/// Outcome of a study.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DepthOutcome {
    /// Number of cells that were complete in the results file.
    pub found: usize,
    /// Number of cells that this call completed.
    pub ran: usize,
    /// Number of cells with failed final runs, in which no trial succeeded, or whose dataset is unavailable.
    pub failed: usize,
    /// Whether the observer stopped the study.
    pub interrupted: bool,
}

/// Runs the cells of a plan that are not complete in the results file. `observe` is called from all threads and may stop
/// the study; finished runs are kept, and the same call resumes it.
pub fn run_depth(
    plan: &DepthPlan,
    results: &mut ResultsFile,
    resources: impl Into<Resources>,
    observe: impl Fn(DepthEvent<'_>) -> ControlFlow<()> + Sync,
) -> Result<DepthOutcome, TuneError> {
    let resources = resources.into().resolved();
    results.select(resources.kind());
    let mut outcome = DepthOutcome::default();
    let mut unavailable: Vec<&str> = Vec::new();
    for (number, cell) in plan.cells().into_iter().enumerate() {
        if is_complete(plan, cell, results) {
            outcome.found += 1;
            continue;
        }
        if unavailable.contains(&cell.graph.source.as_str()) {
            outcome.failed += 1;
            continue;
        }
        if observe(DepthEvent::Cell(number, cell)).is_break() {
            return Ok(DepthOutcome { interrupted: true, ..outcome });
        }
        let tuned = tune(&plan.search(cell, resources), results, |event| match event {
            TuneEvent::Epoch => observe(DepthEvent::Epoch),
            TuneEvent::Run => observe(DepthEvent::Run),
            TuneEvent::Trials(trials) => observe(DepthEvent::Trials(trials)),
            TuneEvent::Finals => ControlFlow::Continue(()),
        });
        let tuned = match tuned {
            Err(TuneError::Data(error)) => {
                let _ = observe(DepthEvent::Failed(&error.to_string()));
                unavailable.push(&cell.graph.source);
                outcome.failed += 1;
                continue;
            }
            tuned => tuned?,
        };
        if tuned.interrupted {
            return Ok(DepthOutcome { interrupted: true, ..outcome });
        }
        let best = tuned.best.map(|best| &tuned.trials[best]).filter(|best| best.mean() > 0.0);
        let ended = match best {
            None => observe(DepthEvent::Hopeless),
            Some(best) => {
                let task = plan.task(cell);
                let _ = observe(DepthEvent::Finals);
                let finals = plan.final_runs(cell, best.settings);
                let swept = run_sweep(&task, finals, results, resources, |event, _| match event {
                    Event::Epoch => observe(DepthEvent::Epoch),
                    Event::Done(record) => match &record.status {
                        Status::Ok { .. } => observe(DepthEvent::Run),
                        Status::Failed { reason } => observe(DepthEvent::Failed(reason)),
                    },
                    _ => ControlFlow::Continue(()),
                })?;
                if swept.interrupted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        };
        if ended.is_break() {
            return Ok(DepthOutcome { interrupted: true, ..outcome });
        }
        let done = if is_complete(plan, cell, results) { &mut outcome.ran } else { &mut outcome.failed };
        *done += 1;
    }
    Ok(outcome)
}

/// Returns whether all final runs of a cell have results.
fn is_complete(plan: &DepthPlan, cell: Cell<'_>, results: &ResultsFile) -> bool {
    CellResult::of(plan, cell, results).is_some_and(|result| result.splits.len() as u64 == plan.splits)
}
