//! `supergat report`

use crate::args::ReportArgs;
use crate::config::Values;
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{self, BOLD, SCHEMA, count};
use crate::run_folder::report;
use crate::run_folder::saved_model::SavedModel;
use crate::run_folder::summary::RunSummary;
use crate::run_folder::{CONFIG, FIGURES, METRICS, REPORT, SUMMARY, again};
use serde::Serialize;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;
use supergat_lab::logits;
use supergat_lab::report::{EpochLine, Report};

/// What was written.
#[derive(Debug, Serialize)]
struct Written {
    schema: u32,
    report: String,
    figures: Vec<String>,
}

/// Makes the report of a run folder again.
pub fn run(args: &ReportArgs) -> Result<ExitCode> {
    let folder = &args.run;
    if !folder.is_dir() {
        return Err(CliError::usage(format!("{} is no folder: give the folder of a finished run", folder.display())));
    }
    let summary = summary(folder)?;
    let lines = lines(folder, &summary)?;
    let config = read(folder, CONFIG)?;
    let saved = SavedModel::open(folder)?;
    let dataset = saved.dataset(None, None, &Values::new())?;
    let logits = logits(&saved.model, &dataset)?;
    let report = report::make(&dataset, &saved.model, &logits, &lines, &summary)?;
    let written = write(folder, &report, &config)?;
    if args.json {
        output::print_json(&written)?;
    } else {
        let figures = format!("({} in {})", count(written.figures.len(), "figure"), folder.join(FIGURES).display());
        let title = format!("{BOLD}{} on {}{BOLD:#}\n", summary.model, summary.dataset);
        output::print(&(title + &output::row("report", &written.report, &figures)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Every file appears whole or not at all, the page last.
fn write(folder: &Path, report: &Report, config: &str) -> Result<Written> {
    let figures = folder.join(FIGURES);
    std::fs::create_dir_all(&figures).map_err(|error| CliError::cannot_write(&figures, error))?;
    let pictures = report.figures().iter().map(|(name, svg)| (format!("{name}.svg"), svg.clone()));
    let names = pictures.clone().map(|(name, _)| figures.join(name).display().to_string()).collect();
    files::write(&figures, pictures)?;
    files::write(folder, [(REPORT, report.html(&again(folder), config))])?;
    Ok(Written { schema: SCHEMA, report: folder.join(REPORT).display().to_string(), figures: names })
}

fn read(folder: &Path, name: &str) -> Result<String> {
    let path = folder.join(name);
    std::fs::read_to_string(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => CliError::usage(format!(
            "{} holds no {name}: give the folder of a finished run, or train again to make one",
            folder.display()
        )),
        _ => CliError::usage(format!("cannot read {}: {error}", path.display())),
    })
}

fn summary(folder: &Path) -> Result<RunSummary> {
    let text = read(folder, SUMMARY)?;
    let path = folder.join(SUMMARY);
    let unlike = |reason: &dyn std::fmt::Display| {
        CliError::usage(format!(
            "{}: {reason}, so this version of supergat cannot read it: train again, or use the version that wrote it",
            path.display()
        ))
    };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| unlike(&error))?;
    match value.get("schema").and_then(serde_json::Value::as_u64) {
        Some(schema) if schema == u64::from(SCHEMA) => serde_json::from_value(value).map_err(|error| unlike(&error)),
        Some(schema) => Err(unlike(&format!("its schema is {schema} instead of {SCHEMA}"))),
        None => Err(unlike(&"it has no schema")),
    }
}

/// The epochs of all seeds, those of the best among them.
fn lines(folder: &Path, summary: &RunSummary) -> Result<Vec<EpochLine>> {
    let text = read(folder, METRICS)?;
    let path = folder.join(METRICS);
    let line = |(k, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            CliError::usage(format!("{}, line {}: {error}: train again to make it anew", path.display(), k + 1))
        })
    };
    let lines: Vec<EpochLine> = text.lines().enumerate().map(line).collect::<Result<_>>()?;
    match lines.iter().any(|line| line.seed == summary.best_seed) {
        true => Ok(lines),
        false => Err(CliError::usage(format!(
            "{} has no epoch of seed {}, which {SUMMARY} calls the best: train again to make both anew",
            path.display(),
            summary.best_seed
        ))),
    }
}
