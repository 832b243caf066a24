//! `supergat study`: one file per study.

pub mod grid;

use crate::args::StudyCommand;
use crate::error::Result;
use std::process::ExitCode;

/// Makes a study.
pub fn run(command: &StudyCommand) -> Result<ExitCode> {
    match command {
        StudyCommand::Grid(args) => grid::run(args),
    }
}
