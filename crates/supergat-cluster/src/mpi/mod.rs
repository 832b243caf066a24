//! Processes that train one network together, on one machine or on many, connected by MPI.
//!
//! A launcher such as `mpirun` starts the program several times. [`connect`] returns all of these processes as
//! [`Peers`], and training uses nothing else of MPI. A program that may run in several processes
//!
//! 1. calls [`connect`] once at its start,
//! 2. lets the processes [`agree`](crate::peers::agree) on what they work on,
//! 3. works with the peers,
//! 4. calls [`finish`] at its end, or [`abort_with`] if it fails: otherwise the other processes would wait.
//!
//! ```no_run
//! use supergat_cluster::mpi;
//! use supergat_cluster::peers::{agree, gather};
//! let work = || {
//!     let peers = mpi::connect()?;
//!     agree(&*peers, &[("version", env!("CARGO_PKG_VERSION").to_owned())])?;
//!     let ranks = gather(&*peers, &[peers.rank() as u64])?;
//!     println!("process {} of {}: {ranks:?}", peers.rank(), peers.count());
//!     mpi::finish()
//! };
//! if let Err(error) = work() {
//!     mpi::abort_with(&error.to_string(), 1);
//! }
//! ```
//!
//! MPI is the cargo feature `mpi`. Without it nothing of MPI is needed to build or to run: [`connect`] returns a
//! single process, and an error if a launcher started several.

mod launcher;
#[cfg(feature = "mpi")]
mod peers;

pub use launcher::{Launch, launched};
#[cfg(feature = "mpi")]
pub use peers::MpiPeers;

use crate::peers::{Alone, Peers};
use std::sync::Arc;
use supergat_core::{Error, Result};

/// Returns the processes that a launcher started together with this one, or [`Alone`] if there is only one.
/// Later calls return the same processes.
///
/// While processes are connected, a panic in any thread ends all of them, like [`abort_with`].
pub fn connect() -> Result<Arc<dyn Peers>> {
    match launched() {
        Some(launch) => connect_launched(launch),
        None => Ok(Arc::new(Alone)),
    }
}

#[cfg(feature = "mpi")]
fn connect_launched(launch: Launch) -> Result<Arc<dyn Peers>> {
    let peers = MpiPeers::connect()?;
    launch.check_count(peers.count())?;
    Ok(peers)
}

#[cfg(not(feature = "mpi"))]
fn connect_launched(launch: Launch) -> Result<Arc<dyn Peers>> {
    Err(launch.without_mpi())
}

/// Waits until all processes call this function, and ends MPI. Every process calls it as the last of its work; one
/// that ends without this call ends all others. Does nothing in a single process.
pub fn finish() -> Result<()> {
    #[cfg(feature = "mpi")]
    peers::finish()?;
    Ok(())
}

/// Prints an error message with the number of this process, and ends all processes with an exit code.
pub fn abort_with(message: &str, code: u8) -> ! {
    #[cfg(feature = "mpi")]
    peers::abort_with(message, code);
    #[cfg(not(feature = "mpi"))]
    {
        eprintln!("error: {message}");
        std::process::exit(code.into())
    }
}

fn failed(reason: impl Into<String>) -> Error {
    Error::Peers { reason: reason.into() }
}
