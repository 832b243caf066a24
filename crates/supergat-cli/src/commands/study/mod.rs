//! Implementation of `supergat study`: one file per study.

pub mod defaults;
pub mod density;
pub mod depth;
pub mod grid;
pub mod label_agreement;
pub mod link_prediction;
pub mod sensitivity;
pub mod synthetic;
pub mod variance;

use crate::args::StudyCommand;
use crate::error::Result;
use crate::{files, output};
use std::path::Path;
use std::process::ExitCode;
use supergat_figure::Page;
use supergat_figure::sheet::Sheet;

/// Version of the objects printed by `--json` that contain metrics. Metrics of version 1 were in percent.
const METRICS_SCHEMA: u32 = 2;

/// Runs a study.
pub fn run(command: &StudyCommand) -> Result<ExitCode> {
    match command {
        StudyCommand::Defaults(args) => defaults::run(args),
        StudyCommand::Density(args) => density::run(args),
        StudyCommand::Depth(args) => depth::run(args),
        StudyCommand::Grid(args) => grid::run(args),
        StudyCommand::LabelAgreement(args) => label_agreement::run(args),
        StudyCommand::LinkPrediction(args) => link_prediction::run(args),
        StudyCommand::Sensitivity(args) => sensitivity::run(args),
        StudyCommand::Synthetic(args) => synthetic::run(args),
        StudyCommand::Variance(args) => variance::run(args),
    }
}

/// Writes the files of a study and prints the path of its page.
fn write<N: AsRef<str>>(folder: &Path, files: impl IntoIterator<Item = (N, String)>, quiet: bool) -> Result<()> {
    files::write(folder, files)?;
    if !quiet {
        output::note(&format!("wrote {}", folder.join("report.html").display()));
    }
    Ok(())
}

/// Adds sections with tables to a page.
fn with_tables(page: Page, sheets: &[Sheet]) -> Page {
    sheets.iter().fold(page, |page, sheet| sheet.add_to(page))
}
