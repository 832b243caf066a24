//! Implementation of `supergat cache`.

use crate::args::{CacheAction, CacheArgs};
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, SCHEMA};
use serde::Serialize;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use supergat_data::Cache;
use supergat_data::cache::Entry;
use supergat_data::size::text;

/// Contents of the cache, printed by `--json`.
#[derive(Debug, Serialize)]
struct CacheOutput {
    schema: u32,
    folder: String,
    datasets: Vec<CachedDataset>,
    bytes: u64,
    limit: u64,
}

/// A prepared dataset.
#[derive(Debug, Serialize)]
struct CachedDataset {
    dataset: String,
    bytes: u64,
    /// Time of the last use, in seconds since 1970.
    used: u64,
    file: String,
}

/// Removed datasets, printed by `clear --json`.
#[derive(Debug, Serialize)]
struct ClearOutput {
    schema: u32,
    folder: String,
    removed: usize,
    bytes: u64,
}

/// Lists or removes the prepared datasets.
pub fn run(args: &CacheArgs) -> Result<ExitCode> {
    let cache = Cache::user()?.ok_or_else(|| {
        CliError::usage("there is no cache: SUPERGAT_CACHE_SIZE is 0, or this user has no cache folder; set HOME")
    })?;
    match args.action {
        None => list(&cache, args.json),
        Some(CacheAction::Clear) => clear(&cache, args.json),
    }
}

fn list(cache: &Cache, json: bool) -> Result<ExitCode> {
    let entries = cache.entries();
    let (bytes, datasets) = (total(&entries), entries.iter().map(CachedDataset::from).collect());
    let folder = cache.folder.display().to_string();
    let found = CacheOutput { schema: SCHEMA, folder, datasets, bytes, limit: cache.limit };
    output::print_result(json, &found, || table(&found, &entries))
}

fn table(found: &CacheOutput, entries: &[Entry]) -> String {
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0).max("dataset".len());
    let mut table = format!("{BOLD}{:<width$}  {:>11}  last used{BOLD:#}\n", "dataset", "size");
    for Entry { name, bytes, used, .. } in entries {
        let ago = ago(SystemTime::now().duration_since(*used).unwrap_or_default());
        table += &format!("{name:<width$}  {:>11}  {ago}\n", text(*bytes));
    }
    let (count, folder) = (output::count(entries.len(), "dataset"), &found.folder);
    table + &format!("{count}, {} of at most {}, in {folder}\n", text(found.bytes), text(found.limit))
}

fn clear(cache: &Cache, json: bool) -> Result<ExitCode> {
    let folder = cache.folder.display().to_string();
    let removed =
        cache.clear().map_err(|error| CliError::job(format!("cannot remove the datasets in {folder}: {error}")))?;
    let (bytes, removed) = (total(&removed), removed.len());
    let done = ClearOutput { schema: SCHEMA, folder, removed, bytes };
    output::print_result(json, &done, || {
        format!("{} removed, {}, from {}\n", output::count(removed, "dataset"), text(bytes), done.folder)
    })
}

fn total(entries: &[Entry]) -> u64 {
    entries.iter().map(|entry| entry.bytes).sum()
}

impl From<&Entry> for CachedDataset {
    fn from(Entry { name, path, bytes, used }: &Entry) -> Self {
        let used = used.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        Self { dataset: name.clone(), bytes: *bytes, used, file: path.display().to_string() }
    }
}

/// Formats the time since an event in its largest unit.
fn ago(time: Duration) -> String {
    let seconds = time.as_secs();
    let units = [(24 * 60 * 60, "day"), (60 * 60, "hour"), (60, "minute")];
    match units.into_iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) => format!("{} ago", output::count((seconds / unit) as usize, name)),
        None => "just now".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_the_largest_unit() {
        for (seconds, expected) in
            [(0, "just now"), (60, "1 minute ago"), (7200, "2 hours ago"), (200_000, "2 days ago")]
        {
            assert_eq!(ago(Duration::from_secs(seconds)), expected);
        }
    }
}
