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
pub use job::weight;
pub use normalised::RowNormalised;
pub use progress::Clock;
pub use progress::{Event, Tally};
pub(crate) use pruned::{Pruned, Reached, Rung};
pub use queue::dataset_name;
pub(crate) use queue::taken;
pub use record::{Key, Record, RecordIndex};
pub use results::{DamagedLine, ResultsFile, SweepError};
pub(crate) use runner::run_given_sweep;
pub use runner::{SweepOutcome, run_sweep, run_task_sweep};
pub(crate) use weighed::WeighedClassification;

use supergat_train::task::{NodeClassification, Task};

/// Returns the task of this name, for runs by other processes.
pub fn task_named(name: &str) -> Option<Box<dyn Task>> {
    if let Some(task) = WeighedClassification::named(name) {
        return Some(Box::new(task));
    }
    if let Some(task) = Pruned::named(name) {
        return Some(Box::new(task));
    }
    if let Some(task) = RowNormalised::named(name) {
        return Some(Box::new(task));
    }
    (name == NodeClassification.name()).then(|| Box::new(NodeClassification) as Box<dyn Task>)
}
