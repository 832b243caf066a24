//! Many runs: any list of datasets, splits, settings and seeds, side by side, each result kept as soon as it is there.
//!
//! [`run_sweep`] runs what a [`ResultsFile`] does not hold yet. Whatever ends it, the next one goes on where it stopped. With [`run_task_sweep`] more is
//! measured than the classes of nodes.

mod clock;
mod error;
mod event;
mod index;
mod job;
mod queue;
mod record;
mod results;
mod runner;
mod task;

pub(crate) use clock::Clock;
pub use clock::Tally;
pub use error::SweepError;
pub use event::Event;
pub use index::Index;
pub use job::Job;
pub(crate) use job::weight;
pub(crate) use queue::name as dataset_name;
pub use record::{Key, Record, Status, split_hash};
pub use results::{Damage, ResultsFile};
pub use runner::{Report, run_sweep, run_task_sweep};
pub use task::{Nodes, Task};

#[cfg(test)]
pub(crate) use record::tests::line_of;
