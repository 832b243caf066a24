//! Sweeps: many training runs over any list of datasets, splits, settings and seeds.
//!
//! [`run_sweep`] runs in parallel the jobs that have no result in a [`ResultsFile`] yet, and appends each
//! result as soon as it is available. An interrupted sweep is resumed by running it again. [`run_task_sweep`]
//! runs a [`Task`], which may measure more than node classification.

mod job;
mod progress;
mod queue;
mod record;
mod results;
mod runner;

pub use job::Job;
pub(crate) use job::weight;
pub(crate) use progress::Clock;
pub use progress::{Event, Tally};
pub(crate) use queue::dataset_name;
pub use record::{Key, Record, RecordIndex, Status, split_hash};
pub use results::{DamagedLine, ResultsFile, SweepError};
pub use runner::{NodeClassification, SweepOutcome, Task, run_sweep, run_task_sweep};

#[cfg(test)]
pub(crate) use record::tests::line_of;
