//! The command line of `supergat study`.

use crate::help;
use clap::{Args, Subcommand, value_parser};
use std::path::PathBuf;
use supergat::ModelKind;

/// A study.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// How the test metric depends on lambda_E, p_n and p_e.
    Sensitivity(SensitivityArgs),
}

/// Arguments of `supergat study sensitivity`.
#[derive(Debug, Args)]
#[command(after_help = help::SENSITIVITY)]
pub struct SensitivityArgs {
    /// Folders of datasets, known names (cora, ...), or generated graphs
    #[arg(value_name = "DATASET", default_values = ["cora", "citeseer"])]
    pub datasets: Vec<String>,
    /// A self-supervised model [default: the paper's best: supergat-sd for ppi, supergat-mx for all others]
    #[arg(long, value_name = "NAME")]
    pub model: Option<ModelKind>,
    /// Seeds behind each point: 0, 1, ...
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// Folder to write, and to go on from
    #[arg(long, value_name = "DIR", default_value = "studies/sensitivity")]
    pub out: PathBuf,
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print the curves as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}
