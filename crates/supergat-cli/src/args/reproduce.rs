//! Command line of `supergat reproduce`.

use super::help;
use crate::args::SweepArgs;
use clap::{Args, ValueEnum, value_parser};
use std::path::PathBuf;
use supergat_studies::reproduce::Splits;

/// Arguments of `supergat reproduce`.
#[derive(Debug, Args)]
#[command(after_help = help::REPRODUCE)]
pub struct ReproduceArgs {
    /// Table to reproduce
    #[arg(value_name = "TABLE")]
    pub table: TableChoice,
    /// Datasets, separated by commas [default: all in the table]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub datasets: Vec<String>,
    /// Models, separated by commas [default: all in the table]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub models: Vec<String>,
    /// Number of seeds per table entry [default: as many as in the paper: 100, 30 or 10]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: Option<u64>,
    /// Train/validation/test split: published (the paper's), random, random:SEED, or redrawn (seed N uses split random:N)
    #[arg(long, value_name = "SPLIT", default_value_t)]
    pub split: Splits,
    /// Results file with one JSON object per run [default: results.jsonl in the output folder]
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Output folder for the tables
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    pub out: PathBuf,
    /// Write the tables from existing results without training
    #[arg(long)]
    pub table_only: bool,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
}

/// A table of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableChoice {
    /// Accuracy on cora, citeseer and pubmed
    Planetoid,
    /// Accuracy on thirteen further graphs
    RealWorld,
    /// Micro-F1 on the PPI graphs
    Ppi,
    /// Accuracy on cora, citeseer and pubmed, trained with nearly all labels
    FullSupervised,
    /// Training time in seconds
    WallClock,
    /// All tables
    All,
}

impl ReproduceArgs {
    /// Returns whether the command measures times.
    pub fn measures_times(&self) -> bool {
        !self.table_only && matches!(self.table, TableChoice::WallClock | TableChoice::All)
    }
}
