//! Resources of this process: threads, devices, memory and signals.

pub mod fit;
pub mod interrupt;
pub mod processes;

use crate::args::DeviceArgs;
use crate::error::{CliError, Result};
use crate::output::{self, count};
use std::sync::OnceLock;
use supergat::DeviceChoice;
use supergat_train::Resources;

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
    pool.map_err(|error| CliError::job(format!("cannot start {}: {error}", count(threads, "thread"))))?;
    Ok(*STARTED.get_or_init(|| threads))
}

/// Starts the threads, see [`threads`], and the processes that train runs for this one. Returns what trainings may use.
pub fn resources(
    wanted_threads: Option<u16>,
    DeviceArgs { device, tf32 }: DeviceArgs,
    quiet: bool,
) -> Result<Resources> {
    let threads = threads(wanted_threads)?;
    let resources = Resources { device: device.unwrap_or_default(), tf32, ..Resources::from(threads) }.resolved();
    let processes = processes::start(wanted_threads, threads)?;
    if processes.is_some() && !resources.kind().is_cpu() {
        return Err(CliError::usage(
            "several processes cannot train with --device: leave it out, or start one process",
        ));
    }
    if tf32 && resources.device == DeviceChoice::Cpu && !quiet {
        output::note("note: --tf32 has no effect on the CPU");
    }
    Ok(Resources { processes, ..resources })
}
