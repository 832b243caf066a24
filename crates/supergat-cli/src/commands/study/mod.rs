//! `supergat study`: one file per study.

pub mod density;
pub mod grid;
pub mod label_agreement;
pub mod link_prediction;
pub mod sensitivity;
pub mod synthetic;
pub mod variance;

use crate::args::StudyCommand;
use crate::error::{CliError, Result};
use crate::files::replace;
use crate::output;
use std::path::Path;
use std::process::ExitCode;

/// Makes a study.
pub fn run(command: &StudyCommand) -> Result<ExitCode> {
    match command {
        StudyCommand::Density(args) => density::run(args),
        StudyCommand::Grid(args) => grid::run(args),
        StudyCommand::LabelAgreement(args) => label_agreement::run(args),
        StudyCommand::LinkPrediction(args) => link_prediction::run(args),
        StudyCommand::Sensitivity(args) => sensitivity::run(args),
        StudyCommand::Synthetic(args) => synthetic::run(args),
        StudyCommand::Variance(args) => variance::run(args),
    }
}

/// Writes files of a study to its folder, each whole or not at all.
fn write<N: AsRef<str>>(folder: &Path, files: impl IntoIterator<Item = (N, String)>, quiet: bool) -> Result<()> {
    for (name, text) in files {
        let place = folder.join(name.as_ref());
        replace(&place, &text).map_err(|error| CliError::cannot_write(&place, error))?;
    }
    if !quiet {
        output::note(&format!("wrote {}", folder.join("report.html").display()));
    }
    Ok(())
}
