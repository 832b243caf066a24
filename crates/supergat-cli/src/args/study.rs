//! The command line of `supergat study`.

use crate::help;
use clap::{Args, Subcommand, value_parser};
use std::path::PathBuf;

/// A study of the paper.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// Which form of attention suits which graph: synthetic graphs over homophily and degree, beside the paper's 576
    /// numbers.
    Grid(GridArgs),
}

/// Arguments of `supergat study grid`.
#[derive(Debug, Args)]
#[command(after_help = help::STUDY_GRID)]
pub struct GridArgs {
    /// Homophilies of the graphs, from 0 to 1, separated by commas [default: 0.1, 0.2, ..., 0.9]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub homophilies: Vec<f64>,
    /// Average degrees of the graphs, separated by commas [default: the paper's 16 from 1 to 100]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub degrees: Vec<f64>,
    /// Models, separated by commas [default: gcn,gat-go,supergat-sd,supergat-mx]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub models: Vec<String>,
    /// Runs of the chosen settings [default: 5]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: Option<u64>,
    /// A coarse grid that takes minutes: nine graphs, three runs, one weight decay, three weights of the edge losses
    #[arg(long)]
    pub quick: bool,
    /// File that keeps every run, one JSON object per line [default: results.jsonl in the output folder]
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Folder for tables and figures
    #[arg(long, value_name = "DIR", default_value = "studies/grid")]
    pub out: PathBuf,
    /// Run nothing: make tables and figures from what the results file holds
    #[arg(long)]
    pub table_only: bool,
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}
