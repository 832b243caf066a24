//! What can end a sweep.

use std::path::PathBuf;

/// A sweep that cannot go on. A run that fails does not end a sweep; results that cannot be kept do.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The operating system would not give the file.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The results file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The operating system would not take a line.
    #[error("cannot write {}: {source}; the lines before this one are safe", path.display())]
    Write {
        /// The results file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Somebody else writes there.
    #[error("{} is being written by another process: wait for it to end, or name another file", path.display())]
    Locked {
        /// The results file.
        path: PathBuf,
    },
    /// The threads could not be started.
    #[error("{0}")]
    Core(#[from] supergat_core::Error),
}
