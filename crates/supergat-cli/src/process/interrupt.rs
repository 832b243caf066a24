//! Interruption by Ctrl-C, SIGTERM or SIGHUP: the first signal stops the work, the second ends the process.

use crate::error::{CliError, INTERRUPTED, Result};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether the command was interrupted, and which folder a second signal must remove.
#[derive(Debug, Default)]
pub struct Interrupt {
    requested: AtomicBool,
    /// Folder that is being written. The handler holds the lock until the process ends, so nothing is published
    /// after the second signal.
    unfinished: Mutex<Option<PathBuf>>,
}

impl Interrupt {
    /// Installs the signal handler. Must be called at most once.
    pub fn listen() -> Result<Arc<Self>> {
        let interrupt = Arc::new(Self::default());
        let shared = Arc::clone(&interrupt);
        let handler = move || {
            if shared.requested.swap(true, Ordering::Relaxed) {
                let unfinished = shared.unfinished();
                unfinished.as_deref().into_iter().for_each(remove);
                std::process::exit(INTERRUPTED.into());
            }
        };
        ctrlc::set_handler(handler).map_err(|error| CliError::job(format!("cannot listen for Ctrl-C: {error}")))?;
        Ok(interrupt)
    }

    /// Returns whether the work must stop.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Registers the folder that is being written.
    pub fn writing(&self, folder: &Path) {
        *self.unfinished() = Some(folder.to_owned());
    }

    /// Publishes the folder with `complete`, such as a rename, unless the process is ending.
    pub fn publish(&self, complete: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut unfinished = self.unfinished();
        complete()?;
        *unfinished = None;
        Ok(())
    }

    /// Blocks forever if the process is ending: a write that fails then fails because its folder is being removed.
    pub fn unless_quitting(&self) {
        drop(self.unfinished());
    }

    fn unfinished(&self) -> MutexGuard<'_, Option<PathBuf>> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove(folder: &Path) {
    // The writer may add a file between listing and removal, so removal is repeated.
    let not_empty = |error: io::Error| error.kind() == io::ErrorKind::DirectoryNotEmpty;
    while std::fs::remove_dir_all(folder).is_err_and(not_empty) {}
}

/// Blocks SIGXFSZ, and SIGHUP if the process was started with it ignored. Must run before any thread starts.
///
/// SIGXFSZ would end the process at the file size limit. With the signal blocked, the write fails instead, and
/// temporary files are removed. `nohup` ignores SIGHUP, but the handler of [`Interrupt`] would replace that.
#[cfg(unix)]
pub fn block_signals() {
    use nix::sys::signal::{SigSet, Signal};
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGXFSZ);
    if ignored_signals().is_some_and(|mask| mask & (1 << (Signal::SIGHUP as i32 - 1)) != 0) {
        blocked.add(Signal::SIGHUP);
    }
    // A failure is harmless: only these two cases behave differently.
    let _ = blocked.thread_block();
}

/// Does nothing, because this system has no such signals.
#[cfg(not(unix))]
pub fn block_signals() {}

/// Returns the mask of ignored signals; `None` on systems without `/proc`.
#[cfg(unix)]
fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
