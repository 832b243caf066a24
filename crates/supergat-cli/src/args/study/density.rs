//! Command line of `supergat study density`.

use clap::Args;
use std::path::PathBuf;

const HELP: &str = "\
Each node is a point: log10 of its degree, and its homophily (the share of its neighbours that have its class). The density of these \
points is estimated on a grid. If it has modes that lie far apart, the graph looks like a mixture of several graphs, and the \
recommendation of `supergat recommend` may be wrong.

A mode is a peak with at least 0.3 of the maximum density. The valley between it and a higher peak must be below half its height, and \
its slopes must contain at least 2 % of the nodes. A graph is a mixture if the homophilies of its modes differ by at least 0.5 and one \
of these modes has a degree of at least 3.

Examples:
  supergat study density cora
  supergat study density chameleon crocodile my-folder --json

The output folder contains:
  report.html    figures and tables on one page
  density.svg    density over degree and homophily
  marginals.svg  densities of degree and of homophily
  table.md       modes of every dataset
  table.csv      modes with all digits";

/// Arguments of `supergat study density`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct DensityArgs {
    /// Datasets: known names (cora, ...), folders or generated graphs
    #[arg(value_name = "DATASET", required = true)]
    pub datasets: Vec<String>,
    /// Output folder
    #[arg(long, value_name = "DIR", default_value = "studies/density")]
    pub out: PathBuf,
    /// Print the modes as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Print errors only; no progress on standard error
    #[arg(short, long)]
    pub quiet: bool,
}
