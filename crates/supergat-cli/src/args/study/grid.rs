//! Command line of `supergat study grid`.

use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;

const HELP: &str = "\
Each graph is a random partition graph with 10 classes of 500 nodes. On each graph, one run per setting selects the weight decay \
(lambda_2: 1e-7, 1e-5 or 1e-3) and, for SuperGAT models, the weight of the edge loss (lambda_E: 1e-5, 1e-4, ..., 100) by validation \
accuracy. The result is the mean over further seeds of the selected settings, next to the paper's 576 numbers.

All graphs are drawn with seed 0. With --redrawn, each run of the selected settings uses a new graph.

This takes 70 runs per graph and 10,080 runs in total: about 40 hours on one core, from 4 minutes for a graph of degree 1 to an hour for \
one of degree 100. Graphs of low degree run first, one graph after the other. Every finished run is a line of the results file, so you \
can stop at any time with Ctrl-C and resume with the same command. While it runs, the same command with --table-only writes the results \
so far.

Examples:
  supergat study grid --quick
  supergat study grid --homophilies 0.1,0.5,0.9 --degrees 2.5,10,40
  supergat study grid --quick --table-only

The output folder contains:
  report.html    figures and tables on one page
  gains.svg      gain over GAT against the degree, by homophily
  recipe.svg     the best form of attention by degree and homophily
  table.md       agreement with the paper, best forms, and all numbers
  table.csv      all numbers with all digits
  results.jsonl  all runs

Exit codes: 0 success, 1 the job failed, 2 wrong usage or input, 130 interrupted.";

/// Arguments of `supergat study grid`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct GridArgs {
    /// Homophilies of the graphs, from 0 to 1, separated by commas [default: 0.1, 0.2, ..., 0.9]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub homophilies: Vec<f64>,
    /// Average degrees of the graphs, separated by commas [default: the paper's 16, from 1 to 100]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub degrees: Vec<f64>,
    /// Models, separated by commas [default: gcn,gat-go,supergat-sd,supergat-mx]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub models: Vec<String>,
    /// Number of runs of the selected settings [default: 5]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: Option<u64>,
    /// Use a coarse grid that takes minutes: 9 graphs, 3 runs, 1 weight decay, 3 weights of the edge loss
    #[arg(long)]
    pub quick: bool,
    /// Draw a new graph, shared by all models, for each run of the selected settings [default: one graph, as in the paper]
    #[arg(long)]
    pub redrawn: bool,
    /// Results file with one JSON object per run [default: results.jsonl in the output folder]
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Output folder for tables and figures
    #[arg(long, value_name = "DIR", default_value = "studies/grid")]
    pub out: PathBuf,
    /// Write tables and figures from existing results without training
    #[arg(long)]
    pub table_only: bool,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
}
