//! The command line of `supergat study variance`.

use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;

const HELP: &str = "\
The proposition gives the variance of GO attention before its softmax, and a lower bound of that of DP attention. Both, and the exact variance of DP, are compared \
with a simulation that draws inputs and weights anew. Then networks of four layers are trained, and the variance over all edges and heads is \
measured in each layer, before and after training.

Examples:
  supergat study variance
  supergat study variance citeseer --seeds 3 --trials 5000
  supergat study variance random-partition:homophily=0.9 --json

The folder: variance-formula.svg, variance-layers.svg, table.md, table.csv, layers.csv, report.html.";

/// Arguments of `supergat study variance`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct VarianceArgs {
    /// Dataset that four-layer networks are trained on
    #[arg(value_name = "DATASET", default_value = "cora")]
    pub dataset: String,
    /// Draws behind each simulated variance
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = value_parser!(u32).range(100..))]
    pub trials: u32,
    /// Seeds of the networks: 0, 1, ...
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// What the simulation draws with
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u64).range(..1 << 32))]
    pub seed: u64,
    /// Folder to write
    #[arg(long, value_name = "DIR", default_value = "studies/variance")]
    pub out: PathBuf,
    /// How runs are made and told of.
    #[command(flatten)]
    pub sweep: SweepArgs,
}
