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
use crate::error::{INTERRUPTED, Result};
use crate::{files, output};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use supergat_figure::Page;
use supergat_figure::sheet::Sheet;

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

/// Adds tables to a page.
fn with_tables(page: Page, sheets: &[Sheet]) -> Page {
    sheets.iter().fold(page, |page, sheet| sheet.add_to(page))
}

/// Prints the result of a study, as one JSON object or as text, and returns the exit code.
fn finish(json: bool, result: &impl Serialize, text: impl FnOnce() -> String, interrupted: bool) -> Result<ExitCode> {
    let printed = output::print_result(json, result, text)?;
    Ok(if interrupted { INTERRUPTED.into() } else { printed })
}

/// Writes the files of a study and prints the path of its page.
fn write<N: AsRef<str>>(folder: &Path, files: impl IntoIterator<Item = (N, String)>, quiet: bool) -> Result<()> {
    files::write(folder, files)?;
    if !quiet {
        output::note(&format!("wrote {}", folder.join("report.html").display()));
    }
    Ok(())
}
