//! Thread pools of trainings.

use rayon::{ThreadPool, ThreadPoolBuilder};
use supergat_core::{Error, Result};

/// Builds a dedicated thread pool.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool> {
    let threads = threads.max(1);
    let started = ThreadPoolBuilder::new().num_threads(threads).build();
    started.map_err(|error| Error::Threads { threads, reason: error.to_string() })
}

/// Calls `work` once per worker, in parallel. Each worker has a dedicated thread pool, so that no run waits for
/// the work of another one.
pub fn in_parallel(threads: usize, workers: usize, work: impl Fn(&ThreadPool) + Sync) -> Result<()> {
    let pools = (0..workers).map(|_| pool(threads / workers)).collect::<Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| work(pool));
        }
    });
    Ok(())
}
