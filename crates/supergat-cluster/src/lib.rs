//! The CPUs of several processes as one device of [`supergat_core`].
//!
//! - [`Cluster`] implements [`Device`](supergat_core::Device). Every process has the rows of its nodes and all weights.
//! - [`peers`] describes processes that work together and exchange messages.
//! - [`mpi`] connects the processes that a launcher such as `mpirun` started, on one machine or on many.

mod device;
pub mod mpi;
pub mod peers;

pub use device::{Cluster, ClusterProblem, ClusterRecord, ClusterScratch, Partition, Share, ShareEdges, ShareRows};
