//! Ctrl-C: the first time it is noted, the second time it ends the command at once.

use crate::error::{CliError, INTERRUPTED, Result};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether Ctrl-C was pressed, and what must not stay behind when it is pressed again.
#[derive(Debug, Default)]
pub struct Interrupt {
    pressed: AtomicBool,
    /// The folder that is being written. Whoever quits keeps this locked to the end, so that nothing is published meanwhile.
    unfinished: Mutex<Option<PathBuf>>,
}

impl Interrupt {
    /// Listens from now on.
    pub fn listen() -> Result<Arc<Self>> {
        let interrupt = Arc::new(Self::default());
        let shared = Arc::clone(&interrupt);
        let press = move || {
            if shared.pressed.swap(true, Ordering::Relaxed) {
                let unfinished = shared.unfinished();
                unfinished.as_deref().into_iter().for_each(remove);
                std::process::exit(INTERRUPTED.into());
            }
        };
        ctrlc::set_handler(press).map_err(|error| CliError::job(format!("cannot listen for Ctrl-C: {error}")))?;
        Ok(interrupt)
    }

    /// Whether Ctrl-C was pressed.
    pub fn pressed(&self) -> bool {
        self.pressed.load(Ordering::Relaxed)
    }

    /// Names the folder that is being written.
    pub fn writing(&self, folder: &Path) {
        *self.unfinished() = Some(folder.to_owned());
    }

    /// Does what makes the folder complete, such as renaming it.
    pub fn publish(&self, complete: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut unfinished = self.unfinished();
        complete()?;
        *unfinished = None;
        Ok(())
    }

    /// Does not return while the command quits: what fails then fails because its folder is being removed.
    pub fn unless_quitting(&self) {
        drop(self.unfinished());
    }

    fn unfinished(&self) -> MutexGuard<'_, Option<PathBuf>> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove(folder: &Path) {
    // The writer may add a file between the listing and the removal of a folder, so once is not enough.
    let again = |error: io::Error| error.kind() == io::ErrorKind::DirectoryNotEmpty;
    while std::fs::remove_dir_all(folder).is_err_and(again) {}
}
