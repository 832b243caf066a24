//! Implementation of `supergat report`.

use crate::args::ReportArgs;
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{self, BOLD, SCHEMA, count};
use crate::run_folder::report;
use crate::run_folder::summary::RunSummary;
use crate::run_folder::{CONFIG, FIGURES, METRICS, REPORT, SUMMARY, again, read};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use supergat::Classifier;
use supergat_studies::report::{EpochLine, Report};

/// Written files, printed by `--json`.
#[derive(Debug, Serialize)]
struct ReportOutput {
    schema: u32,
    report: String,
    figures: Vec<String>,
}

/// Regenerates the report of a run folder.
pub fn run(args: &ReportArgs) -> Result<ExitCode> {
    let folder = &args.run;
    if !folder.is_dir() {
        return Err(CliError::usage(format!(
            "{} is not a folder: give the folder of a finished run",
            folder.display()
        )));
    }
    let summary = RunSummary::read(folder)?;
    let lines = lines(folder, &summary)?;
    let config = read(folder, CONFIG)?;
    let model = Classifier::load(folder)?;
    let dataset = model.training_data()?;
    let report = report::make(&dataset, &model, &model.predict(&dataset)?, &lines, &summary)?;
    let written = write(folder, &report, &config)?;
    output::print_result(args.json, &written, || {
        let figures = format!("({} in {})", count(written.figures.len(), "figure"), folder.join(FIGURES).display());
        let title = format!("{BOLD}{} on {}{BOLD:#}\n", summary.model, summary.dataset);
        title + &output::row("report", &written.report, &figures)
    })
}

/// Writes the figures and then the page, each file atomically.
fn write(folder: &Path, report: &Report, config: &str) -> Result<ReportOutput> {
    let figures = folder.join(FIGURES);
    files::create_folder_entry(&figures).map_err(|error| CliError::cannot_write(&figures, error))?;
    let svgs = report.figures().iter().map(|(name, svg)| (format!("{name}.svg"), svg.clone()));
    let names = svgs.clone().map(|(name, _)| figures.join(name).display().to_string()).collect();
    files::write(&figures, svgs)?;
    files::write(folder, [(REPORT, report.html(&again(folder), config))])?;
    Ok(ReportOutput { schema: SCHEMA, report: folder.join(REPORT).display().to_string(), figures: names })
}

/// Reads the epochs of all seeds. The best seed must be among them.
fn lines(folder: &Path, summary: &RunSummary) -> Result<Vec<EpochLine>> {
    let text = read(folder, METRICS)?;
    let path = folder.join(METRICS);
    let line = |(k, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            CliError::usage(format!("{}, line {}: {error}: train again to rewrite it", path.display(), k + 1))
        })
    };
    let lines: Vec<EpochLine> = text.lines().enumerate().map(line).collect::<Result<_>>()?;
    match lines.iter().any(|line| line.seed == summary.best_seed) {
        true => Ok(lines),
        false => Err(CliError::usage(format!(
            "{} has no epoch of seed {}, the best seed in {SUMMARY}: train again to rewrite both files",
            path.display(),
            summary.best_seed
        ))),
    }
}
