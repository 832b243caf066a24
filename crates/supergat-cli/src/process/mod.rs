//! Resources of this process: threads, memory and signals.

pub mod fit;
pub mod interrupt;
pub mod memory;

use crate::error::{CliError, Result};
use std::sync::OnceLock;

/// Starts the global thread pool with `wanted` threads, or one per core, and returns their number. Commands call
/// this before they load a dataset, which uses the pool too; later calls return the same number.
pub fn threads(wanted: Option<u16>) -> Result<usize> {
    static STARTED: OnceLock<usize> = OnceLock::new();
    if let Some(threads) = STARTED.get() {
        return Ok(*threads);
    }
    let threads = wanted.map(usize::from).or_else(|| std::thread::available_parallelism().ok().map(Into::into));
    let threads = threads.unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    pool.map_err(|error| CliError::job(format!("cannot start {threads} threads: {error}")))?;
    Ok(*STARTED.get_or_init(|| threads))
}
