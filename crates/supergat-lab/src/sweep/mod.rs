//! Sweeps: many training runs over any list of datasets, splits, settings and seeds.
//!
//! [`run_sweep`] runs in parallel the jobs that have no result in a [`ResultsFile`] yet, and appends each
//! result as soon as it is available. An interrupted sweep is resumed by running it again. [`run_task_sweep`]
//! runs a [`Task`], which may measure more than node classification.

mod job;
mod normalised;
mod progress;
mod pruned;
mod queue;
mod record;
mod results;
mod runner;
mod weighed;

pub use job::Job;
pub(crate) use job::weight;
pub(crate) use normalised::RowNormalised;
pub(crate) use progress::Clock;
pub use progress::{Event, Tally};
pub(crate) use pruned::{Pruned, Reached, Rung};
pub(crate) use queue::{Ready, dataset_name, taken};
pub use record::{Key, Record, RecordIndex, Status, split_hash};
pub use results::{DamagedLine, ResultsFile, SweepError};
pub use runner::{NodeClassification, SweepOutcome, Task, run_sweep, run_task_sweep};
pub(crate) use runner::{run_given_sweep, run_on_cpu};
pub(crate) use weighed::WeighedClassification;

use crate::agreement::LabelAgreement;
use crate::defaults::DefaultsTask;
use crate::depth::SelectedRun;
use crate::link_prediction::LinkPrediction;

/// Returns the task of this name, for runs by other processes.
pub(crate) fn task_named(name: &str) -> Option<Box<dyn Task>> {
    if let Some(task) = WeighedClassification::named(name) {
        return Some(Box::new(task));
    }
    if let Some(task) = Pruned::named(name) {
        return Some(Box::new(task));
    }
    if let Some(task) = RowNormalised::named(name) {
        return Some(Box::new(task));
    }
    if let Some(task) = SelectedRun::named(name) {
        return Some(Box::new(task));
    }
    let tasks: [Box<dyn Task>; 4] =
        [Box::new(NodeClassification), Box::new(LabelAgreement), Box::new(LinkPrediction), Box::new(DefaultsTask)];
    tasks.into_iter().find(|task| task.name() == name)
}

#[cfg(test)]
pub(crate) use record::tests::line_of;
