//! The command line of `supergat study density`.

use clap::Args;
use std::path::PathBuf;

const HELP: &str = "\
A node is a point: log10 of its number of neighbours, and the share of them that have its class. The density of these points is estimated on \
a grid, and a graph whose density has modes far apart looks like several graphs put together, for which the paper's recipe may fail. A mode is a peak of at \
least 0.3 of the highest, separated from higher ones by a valley below half of its height, whose slopes hold at least 2 % of the nodes; a mixture has modes whose \
homophilies differ by at least a half, one of them of at least three neighbours.

Examples:
  supergat study density cora
  supergat study density chameleon crocodile my-folder --json

The folder: density.svg, marginals.svg, table.md, table.csv, report.html.";

/// Arguments of `supergat study density`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct DensityArgs {
    /// Folders of datasets, known names (cora, ...), or generated graphs
    #[arg(value_name = "DATASET", required = true)]
    pub datasets: Vec<String>,
    /// Folder to write
    #[arg(long, value_name = "DIR", default_value = "studies/density")]
    pub out: PathBuf,
    /// Print the modes as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}
