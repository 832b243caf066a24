//! What a sweep tells while it goes on.

use crate::sweep::record::Record;
use supergat_core::Epoch;

/// What an observer is told.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A dataset is about to be loaded.
    Loading(&'a str),
    /// So many runs were in the file already.
    Found(usize),
    /// A dataset cannot be had, for a reason; so many runs are left out.
    Unavailable(&'a str, &'a str, usize),
    /// A run finished an epoch.
    Epoch(&'a Epoch),
    /// A run ended, well or not, and is in the file.
    Done(&'a Record),
}
