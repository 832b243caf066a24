//! The command line of `supergat study synthetic`.

use clap::Args;
use std::path::PathBuf;

const HELP: &str = "\
Six graphs of five classes with 100 nodes each: delta is 0.025 or 0.2, which makes about 2.5 or 20 neighbours, and p_in, the probability of a \
link within a class, is 0.1, 0.5 or 0.9 of it. Nodes lie where t-SNE puts their features.

Examples:
  supergat study synthetic
  supergat study synthetic --seed 3 --out studies/synthetic-3 --json

The folder: synthetic.svg, table.md, table.csv, report.html.";

/// Arguments of `supergat study synthetic`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct SyntheticArgs {
    /// What graphs and places are drawn with
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Folder to write
    #[arg(long, value_name = "DIR", default_value = "studies/synthetic")]
    pub out: PathBuf,
    /// Print what was drawn as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}
