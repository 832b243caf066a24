//! Choice of the cache of prepared datasets.

use std::path::PathBuf;
use std::time::Duration;

/// Default size limit: 4 GiB.
const LIMIT: u64 = 4 << 30;

/// Default minimum loading time of cached datasets.
const SLOW: Duration = Duration::from_millis(500);

/// A folder with prepared datasets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// Folder with the files; created when the first dataset is stored.
    pub folder: PathBuf,
    /// Maximum total size of the files in bytes.
    pub limit: u64,
    /// Minimum loading time: datasets that load faster are not stored.
    pub slow: Duration,
}

/// Choice of a cache for loading a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CacheChoice {
    /// The user's cache; see [`Cache::user`].
    #[default]
    User,
    /// Another cache.
    In(Cache),
    /// No cache: the files are always read.
    Off,
}

impl Cache {
    /// Returns a cache in a folder, with a limit of 4 GiB, for datasets that take half a second or longer to load.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), limit: LIMIT, slow: SLOW }
    }
}
