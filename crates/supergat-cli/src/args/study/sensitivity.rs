//! Command line of `supergat study sensitivity`.

use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;
use supergat_core::ModelKind;

const HELP: &str = "\
Varies the weight of the edge loss (lambda_E, 8 values), the negative samples per edge (p_n, 5 values) and the fraction of sampled edges \
(p_e, 5 values). Each is varied alone, over the values of the paper's figures; all other settings are the published ones.

Every finished run is a line of results.jsonl, so you can stop at any time with Ctrl-C and resume with the same command.

Examples:
  supergat study sensitivity cora citeseer
  supergat study sensitivity pubmed --seeds 3 --out studies/pubmed
  supergat study sensitivity my-folder --model supergat-sd --json

The output folder contains:
  report.html              figures and tables on one page
  sensitivity-DATASET.svg  test metric against each hyperparameter
  table.md                 range of the test metric, and all values
  table.csv                all values with all digits
  results.jsonl            all runs

Exit codes: 0 success, 1 the job failed, 2 wrong usage or input, 130 interrupted.";

/// Arguments of `supergat study sensitivity`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct SensitivityArgs {
    /// Datasets: known names (cora, ...), folders or generated graphs
    #[arg(value_name = "DATASET", default_values = ["cora", "citeseer"])]
    pub datasets: Vec<String>,
    /// Self-supervised model [default: the paper's best: supergat-sd for ppi, supergat-mx otherwise]
    #[arg(long, value_name = "NAME")]
    pub model: Option<ModelKind>,
    /// Number of seeds per setting
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// Output folder; an interrupted study in it is resumed
    #[arg(long, value_name = "DIR", default_value = "studies/sensitivity")]
    pub out: PathBuf,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
}
