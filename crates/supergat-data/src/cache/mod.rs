//! Cache of prepared datasets.
//!
//! Principal components, TF-IDF weights and the parsing of large tables take up to a minute. A dataset whose
//! loading took long is therefore stored as one file and taken from there the next time, with the same bits in
//! every field. Orders of nodes are stored alike (`orders.rs`).
//!
//! The name of a file contains a hash of everything that determines the dataset (`key.rs`): contents of the
//! input files, reader, options and version. So a file is never out of date, and there is nothing to refresh.
//! Files are written atomically, verified before they are used, and removed when the cache exceeds its limit,
//! the least recently used first (`files.rs`). Nothing that goes wrong in the cache stops the loading of a
//! dataset.

mod files;
mod key;
mod orders;

pub use files::Entry;
pub(crate) use orders::order;

use crate::converted;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files::size;
use crate::options::{Cache, CacheChoice, LoadOptions};
use crate::registry;
use files::DATASETS;
use key::{Inputs, Key};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Environment variable with the size limit of the user's cache, such as `8GiB`; `0` turns the cache off.
pub const SIZE_VARIABLE: &str = "SUPERGAT_CACHE_SIZE";
/// Environment variable with the minimum loading time of cached datasets, in seconds.
pub const SECONDS_VARIABLE: &str = "SUPERGAT_CACHE_SECONDS";
/// Environment variable that turns the user's cache off, unless it is empty or `0`.
pub const OFF_VARIABLE: &str = "SUPERGAT_NO_CACHE";

static OFF: AtomicBool = AtomicBool::new(false);

/// Turns the user's cache off in this process, as the option `--no-cache` does.
pub fn turn_off() {
    OFF.store(true, Ordering::Relaxed);
}

/// Takes the dataset at `path` from the cache, or reads it and stores it if that took long.
///
/// `format` is the name of the reader. An error of the cache becomes a note of the dataset.
pub(crate) fn load(
    format: &str,
    path: &Path,
    options: &LoadOptions,
    read: impl FnOnce() -> Result<Dataset>,
) -> Result<Dataset> {
    match chosen(&options.cache)?.and_then(|cache| Some((cache, Inputs::of(path)?))) {
        Some((cache, inputs)) => cache.load(&inputs, format, path, options, read),
        None => read(),
    }
}

/// Returns the chosen cache; `None` if it is off.
fn chosen(choice: &CacheChoice) -> Result<Option<Cache>> {
    match choice {
        CacheChoice::User if is_off() => Ok(None),
        CacheChoice::User => Cache::user(),
        CacheChoice::In(cache) => Ok(Some(cache.clone())),
        CacheChoice::Off => Ok(None),
    }
}

fn is_off() -> bool {
    OFF.load(Ordering::Relaxed) || variable(OFF_VARIABLE).is_some_and(|value| value != "0")
}

/// Returns the value of an environment variable that is set and not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

impl Cache {
    /// Returns the user's cache: the folder `prepared` in the user's cache folder, with the limits set by
    /// environment variables. Returns `None` if the user has no cache folder or the limit is 0.
    pub fn user() -> Result<Option<Self>> {
        let Some(folder) = registry::cache() else { return Ok(None) };
        let mut cache = Self::new(folder.join("prepared"));
        let invalid = |name: &str, value: &str, expected: &str| Error::spec(format!("{name}={value}"), expected, value);
        match variable(SIZE_VARIABLE).as_deref() {
            Some("0") => return Ok(None),
            Some(value) => {
                cache.limit = size::parse(value).map_err(|_| invalid(SIZE_VARIABLE, value, "a size such as 8GiB"))?;
            }
            None => {}
        }
        if let Some(value) = variable(SECONDS_VARIABLE) {
            let seconds = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            cache.slow = seconds.ok_or_else(|| invalid(SECONDS_VARIABLE, &value, "a number of seconds such as 0.5"))?;
        }
        Ok(Some(cache))
    }

    fn load(
        &self,
        inputs: &Inputs,
        format: &str,
        path: &Path,
        options: &LoadOptions,
        read: impl FnOnce() -> Result<Dataset>,
    ) -> Result<Dataset> {
        let name = key::name(path);
        // Hashing large files takes time, so it is omitted if the cache has no dataset of this name.
        let known = if self.has(&name) { inputs.key(format, path, options) } else { None };
        let read_stored = |key: Key| {
            let path = self.path(&name, &key, DATASETS);
            self.read(&path, &key, |file, length| converted::parse_part(&path, file, length).ok())
        };
        if let Some(dataset) = known.and_then(read_stored) {
            return Ok(dataset);
        }
        let start = Instant::now();
        let mut dataset = read()?;
        // A file holds one split. Formats with several are quick to read.
        if start.elapsed() < self.slow || !dataset.splits.is_empty() {
            return Ok(dataset);
        }
        // If the files changed meanwhile, it is unknown which of their contents were read.
        if let Some(key) = known.or_else(|| inputs.key(format, path, options))
            && Inputs::of(path).as_ref() == Some(inputs)
            && let Err(error) =
                self.write(&self.path(&name, &key, DATASETS), &key, |out| converted::write(&dataset, out))
        {
            dataset.notes.push(format!("not stored in the cache {}: {error}", self.folder.display()));
        }
        Ok(dataset)
    }
}
