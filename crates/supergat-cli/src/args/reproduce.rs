//! The command line of `supergat reproduce`.

use super::help;
use crate::args::SweepArgs;
use clap::{Args, ValueEnum, value_parser};
use std::path::PathBuf;
use supergat_lab::reproduce::Splits;

/// Arguments of `supergat reproduce`.
#[derive(Debug, Args)]
#[command(after_help = help::REPRODUCE)]
pub struct ReproduceArgs {
    /// Which table
    #[arg(value_name = "TABLE")]
    pub table: TableChoice,
    /// Datasets, separated by commas [default: all of the table]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub datasets: Vec<String>,
    /// Models, separated by commas [default: all of the table]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub models: Vec<String>,
    /// Seeds behind each number: 0, 1, ... [default: as many as the paper has, 100 or 30 or 10]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: Option<u64>,
    /// Which split the seeds train on: published (the paper's), random, random:SEED, or redrawn (seed s on random split s)
    #[arg(long, value_name = "SPLIT", default_value_t)]
    pub split: Splits,
    /// File that keeps every run, one JSON object per line [default: results.jsonl in the output folder]
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Folder for the tables
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    pub out: PathBuf,
    /// Run nothing: make the tables from what the results file holds
    #[arg(long)]
    pub table_only: bool,
    /// How runs are made and told of.
    #[command(flatten)]
    pub sweep: SweepArgs,
}

/// A table of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableChoice {
    /// Accuracy on cora, citeseer, pubmed
    Planetoid,
    /// Accuracy on thirteen further graphs
    RealWorld,
    /// Micro-F1 on the PPI graphs
    Ppi,
    /// Accuracy on cora, citeseer, pubmed with nearly all labels
    FullSupervised,
    /// Seconds of a training
    WallClock,
    /// All of them
    All,
}
