//! Command line of `supergat study synthetic`.

use clap::Args;
use std::path::PathBuf;

const HELP: &str = "\
Draws six graphs of five classes with 100 nodes each. delta is 0.025 or 0.2, which gives about 2.5 or 20 neighbours per node. p_in, the \
probability of a link within a class, is 0.1, 0.5 or 0.9 times delta. Nodes are placed by t-SNE of their features.

Examples:
  supergat study synthetic
  supergat study synthetic --seed 3 --out studies/synthetic-3 --json

The output folder contains:
  report.html    figure and table on one page
  synthetic.svg  the six graphs
  table.md       expected and actual degree and homophily
  table.csv      degree and homophily with all digits";

/// Arguments of `supergat study synthetic`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct SyntheticArgs {
    /// Random seed of graphs and t-SNE
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Output folder
    #[arg(long, value_name = "DIR", default_value = "studies/synthetic")]
    pub out: PathBuf,
    /// Print the statistics of the graphs as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Print errors only; no progress on standard error
    #[arg(short, long)]
    pub quiet: bool,
}
