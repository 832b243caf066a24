//! `supergat study`: one file per study.

pub mod label_agreement;
pub mod link_prediction;

use crate::args::StudyCommand;
use crate::commands::reproduce::replace;
use crate::error::{CliError, Result};
use crate::output;
use std::path::Path;
use std::process::ExitCode;

/// Runs a study.
pub fn run(command: &StudyCommand) -> Result<ExitCode> {
    match command {
        StudyCommand::LabelAgreement(args) => label_agreement::run(args),
        StudyCommand::LinkPrediction(args) => link_prediction::run(args),
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
