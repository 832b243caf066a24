//! Run folder: written under a temporary name, beside its destination or in the folder of its checkpoints, and renamed
//! when it is complete. This file has the names of its files, and what they have in common.

pub mod checkpoint;
pub mod folder;
pub mod predicted;
mod publish;
pub mod ranking;
pub mod report;
pub mod summary;
pub mod tables;

use crate::error::{CliError, Result};
use crate::output::quoted;
use std::fs;
use std::io;
use std::path::Path;

/// Name of the configuration file.
pub const CONFIG: &str = "config.toml";
/// Name of the file with the epochs of all seeds.
pub const METRICS: &str = "metrics.jsonl";
/// Name of the file with the result.
pub const SUMMARY: &str = "summary.json";
/// Name of the report.
pub const REPORT: &str = "report.html";
/// Name of the folder with the figures of the report.
pub const FIGURES: &str = "figures";

/// Returns a file name made of the names of a dataset and a model.
pub fn folder_name(dataset: &str, model: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    format!("{dataset}-{model}").chars().map(plain).collect()
}

fn temporary(parent: &Path) -> io::Result<tempfile::TempDir> {
    // The full error names the temporary folder, which is of no use to the user.
    tempfile::Builder::new().prefix(".supergat-").tempdir_in(parent).map_err(|error| error.kind().into())
}

/// Reads a file of a run folder.
pub fn read(folder: &Path, name: &str) -> Result<String> {
    let path = folder.join(name);
    fs::read_to_string(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CliError::usage(format!(
            "{} contains no {name}: give the folder of a finished run, or train again",
            folder.display()
        )),
        _ => CliError::usage(format!("cannot read {}: {error}", path.display())),
    })
}

/// Returns the command that reproduces the run of a folder.
pub fn again(folder: &Path) -> String {
    format!("supergat train --config {}", quoted(&folder.join(CONFIG).display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_commands_for_shells() {
        assert_eq!(again(Path::new("runs/cora-mlp")), "supergat train --config runs/cora-mlp/config.toml");
    }
}
