//! Resources of this process: threads, memory and signals.

pub mod fit;
pub mod interrupt;
pub mod memory;

use crate::error::{CliError, Result};

/// Starts the global thread pool with `wanted` threads, or one per core, and returns their number.
pub fn threads(wanted: Option<u16>) -> Result<usize> {
    let threads = wanted.map(usize::from).or_else(|| std::thread::available_parallelism().ok().map(Into::into));
    let threads = threads.unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    pool.map_err(|error| CliError::job(format!("cannot start {threads} threads: {error}")))?;
    Ok(threads)
}
