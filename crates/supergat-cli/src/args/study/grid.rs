//! The command line of `supergat study grid`.

use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;

const HELP: &str = "\
Every graph is a random partition graph of 10 classes of 500 nodes, drawn once (seed 0), or anew for every run with --redrawn. On the first, one run of every setting chooses lambda_2 from \
1e-7, 1e-5, 1e-3 and, of the SuperGATs, lambda_E from 1e-5, 1e-4, ..., 100, by validation accuracy; further seeds of the choice are the result. That is \
70 runs of a graph and 10,080 of the whole grid, about 40 hours of one core: from 4 minutes for a graph of degree 1 to an hour for one of degree 100.

Graphs are done one after the other, those of low degree first, so that what was stopped has whole graphs. Every finished run is a line of the results \
file and is never made again: stop with Ctrl-C whenever you like, start the same command again, and it goes on. While it runs, the same command \
with --table-only shows what there is.

Examples:
  supergat study grid --quick
  supergat study grid --homophilies 0.1,0.5,0.9 --degrees 2.5,10,40
  supergat study grid --quick --table-only

The folder:
  report.html        figures and tables on one page
  gains.svg          gains over GAT against the degree, by homophily
  recipe.svg         the best form of attention in the plane of degree and homophily
  table.md           shares of agreement, best forms, and every number beside the paper's
  table.csv          every number with all digits
  results.jsonl      every run";

/// Arguments of `supergat study grid`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
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
    /// A graph of its own for every run of the chosen settings, which all models share; else all runs are on one graph, as in the paper
    #[arg(long)]
    pub redrawn: bool,
    /// File that keeps every run, one JSON object per line [default: results.jsonl in the output folder]
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Folder for tables and figures
    #[arg(long, value_name = "DIR", default_value = "studies/grid")]
    pub out: PathBuf,
    /// Run nothing: make tables and figures from what the results file holds
    #[arg(long)]
    pub table_only: bool,
    /// How runs are made and told of.
    #[command(flatten)]
    pub sweep: SweepArgs,
}
