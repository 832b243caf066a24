//! Command line of `supergat study variance`.

use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;

const HELP: &str = "\
The proposition gives the variance of GO attention before its softmax, and a lower bound for DP attention. Both, and the exact variance \
of DP attention, are compared with a simulation that draws new inputs and weights in every trial. Then models with four layers are \
trained, and the variance over all edges and heads is measured in each layer, before and after training.

Examples:
  supergat study variance
  supergat study variance citeseer --seeds 3 --trials 5000
  supergat study variance random-partition:homophily=0.9 --json

The output folder contains:
  report.html           figures and tables on one page
  variance-formula.svg  simulation and formulas
  variance-layers.svg   variance by layer
  table.md              both tables
  table.csv             the simulation with all digits
  layers.csv            the layers with all digits";

/// Arguments of `supergat study variance`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct VarianceArgs {
    /// Dataset for the models with four layers
    #[arg(value_name = "DATASET", default_value = "cora")]
    pub dataset: String,
    /// Number of trials per simulated variance
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = value_parser!(u32).range(100..))]
    pub trials: u32,
    /// Number of seeds per model
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// Random seed of the simulation
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u64).range(..1 << 32))]
    pub seed: u64,
    /// Output folder
    #[arg(long, value_name = "DIR", default_value = "studies/variance")]
    pub out: PathBuf,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
}
