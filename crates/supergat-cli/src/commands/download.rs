//! `supergat download`

use crate::args::DownloadArgs;
use crate::config::keys::nearest_first;
use crate::error::{CliError, Result};
use crate::output::{self, SCHEMA};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use supergat_data::download::{Progress, download};
use supergat_data::registry::{self, Entry};

/// The environment variable that names a mirror.
const MIRROR: &str = "SUPERGAT_MIRROR";

/// What was fetched.
#[derive(Debug, Serialize)]
struct Fetched {
    schema: u32,
    datasets: Vec<Place>,
}

/// Where a dataset is now.
#[derive(Debug, Serialize)]
struct Place {
    name: &'static str,
    place: String,
    licence: &'static str,
}

/// Fetches datasets.
pub fn run(args: &DownloadArgs) -> Result<ExitCode> {
    let entries = args.names.iter().map(|name| known(name)).collect::<Result<Vec<_>>>()?;
    let root = registry::download_root().ok_or_else(|| {
        CliError::usage("this user has no cache folder: set SUPERGAT_DATA to the folder to fetch into")
    })?;
    let mirror = args.from.clone().or_else(|| std::env::var(MIRROR).ok()).filter(|mirror| !mirror.is_empty());
    let mut datasets = Vec::new();
    for entry in entries {
        let place = fetch(entry, &root, mirror.as_deref(), args.quiet)?;
        if !args.json {
            output::print(&format!("{}: {}\n", entry.name, place.place))?;
        }
        datasets.push(place);
    }
    if args.json {
        output::print_json(&Fetched { schema: SCHEMA, datasets })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn known(name: &str) -> Result<&'static Entry> {
    registry::entry(name).ok_or_else(|| {
        let names = registry::ENTRIES.iter().map(|entry| entry.name.to_owned()).collect();
        CliError::usage(format!("unknown dataset `{name}`: expected one of {}", nearest_first(name, names).join(", ")))
    })
}

fn fetch(entry: &'static Entry, root: &Path, mirror: Option<&str>, quiet: bool) -> Result<Place> {
    let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
        let style =
            ProgressStyle::with_template("{bar:12} {bytes}/{total_bytes} {wide_msg}").expect("a valid template");
        ProgressBar::new(0).with_style(style.progress_chars("=> "))
    });
    let mut last = "";
    let place = download(entry, root, mirror, |progress: Progress<'_>| match &bar {
        Some(bar) => {
            bar.set_length(progress.total.unwrap_or(progress.bytes).max(progress.bytes));
            bar.set_message(format!("{} {}", entry.name, progress.file));
            bar.set_position(progress.bytes);
        }
        None if !quiet => {
            let file = entry.files.iter().map(|file| file.name).find(|name| *name == progress.file).unwrap_or("");
            if file != last {
                output::note(&format!("{}: {file}", entry.name));
                last = file;
            }
        }
        None => {}
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(Place { name: entry.name, place: place?.display().to_string(), licence: entry.licence })
}
