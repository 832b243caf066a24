//! Sweeps: many training runs over any list of datasets, splits, settings and seeds.
//!
//! [`run_sweep`] runs in parallel the jobs that have no result in a [`ResultsFile`] yet, and appends each
//! result as soon as it is available. An interrupted sweep is resumed by running it again. [`run_sweep`]
//! runs a [`Task`](supergat_train::task::Task), which may measure more than node classification.

mod classification;
mod job;
mod progress;
mod queue;
mod record;
mod results;
mod runner;

pub use classification::Classification;
pub(crate) use classification::{Reached, Rung};
pub use job::{Job, weight};
pub use progress::{Clock, Event, Tally};
pub use queue::dataset_name;
pub(crate) use queue::taken;
pub use record::{Key, Record, RecordIndex};
pub use results::{DamagedLine, ResultsFile, SweepError};
pub(crate) use runner::run_given_sweep;
pub use runner::{SweepOutcome, run_sweep};
