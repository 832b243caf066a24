//! Implementation of `supergat download`.

use crate::args::DownloadArgs;
use crate::config::keys::nearest_first;
use crate::error::{CliError, Result};
use crate::output::{self, SCHEMA};
use crate::status_line::StatusLine;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use supergat_data::registry::download::{Progress, download};
use supergat_data::registry::{self, Entry};

/// Environment variable with the address of a mirror.
const MIRROR: &str = "SUPERGAT_MIRROR";

/// Downloaded datasets, printed by `--json`.
#[derive(Debug, Serialize)]
struct DownloadOutput {
    schema: u32,
    datasets: Vec<DownloadedDataset>,
}

/// Downloaded dataset and its folder.
#[derive(Debug, Serialize)]
struct DownloadedDataset {
    name: &'static str,
    place: String,
    licence: &'static str,
}

/// Downloads datasets.
pub fn run(args: &DownloadArgs) -> Result<ExitCode> {
    let entries = args.names.iter().map(|name| published(name)).collect::<Result<Vec<_>>>()?;
    let root = registry::download_root().ok_or_else(|| {
        CliError::usage("this user has no cache folder: set SUPERGAT_DATA to the folder to download to")
    })?;
    let mirror = args.from.clone().or_else(|| std::env::var(MIRROR).ok()).filter(|mirror| !mirror.is_empty());
    let mut datasets = Vec::new();
    for entry in entries {
        let dataset = fetch(entry, &root, mirror.as_deref(), args.quiet)?;
        if !args.json {
            output::print(&format!("{}: {}\n", entry.name, dataset.place))?;
        }
        datasets.push(dataset);
    }
    if args.json {
        output::print_json(&DownloadOutput { schema: SCHEMA, datasets })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds a published dataset by name.
fn published(name: &str) -> Result<&'static Entry> {
    registry::entry(name).ok_or_else(|| {
        let names = registry::all().map(|entry| entry.name.to_owned()).collect();
        CliError::usage(format!("unknown dataset `{name}`: expected one of {}", nearest_first(name, names).join(", ")))
    })
}

/// Downloads a dataset and shows the progress on standard error.
fn fetch(entry: &'static Entry, root: &Path, mirror: Option<&str>, quiet: bool) -> Result<DownloadedDataset> {
    let status = StatusLine::with_bar(quiet, "{bar:12} {bytes}/{total_bytes} {wide_msg}", 0);
    let mut last = "";
    let folder = download(entry, root, mirror, |progress: Progress<'_>| match status.bar() {
        Some(bar) => {
            bar.set_length(progress.total.unwrap_or(progress.bytes).max(progress.bytes));
            bar.set_message(format!("{} {}", entry.name, progress.file));
            bar.set_position(progress.bytes);
        }
        None => {
            let file = entry.files.iter().map(|file| file.name).find(|name| *name == progress.file).unwrap_or("");
            if file != last {
                status.line(&format!("{}: {file}", entry.name));
                last = file;
            }
        }
    });
    status.finish();
    Ok(DownloadedDataset { name: entry.name, place: folder?.display().to_string(), licence: entry.licence })
}
