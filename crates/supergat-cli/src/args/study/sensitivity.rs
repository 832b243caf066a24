//! The command line of `supergat study sensitivity`.

use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;
use supergat_core::ModelKind;

const HELP: &str = "\
Varies the weight of the edge loss (lambda_E), the negatives per edge (p_n) and the share of sampled edges (p_e), each alone around the published \
settings, over the values of the paper's figures: 18 settings and the published ones. Every finished run is a line of results.jsonl in the output folder: \
stop with Ctrl-C whenever you like, and the same command goes on.

Examples:
  supergat study sensitivity cora citeseer
  supergat study sensitivity pubmed --seeds 3 --out studies/pubmed
  supergat study sensitivity my-folder --model supergat-sd --json

The folder: sensitivity-DATASET.svg, table.md, table.csv, report.html, results.jsonl.";

/// Arguments of `supergat study sensitivity`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct SensitivityArgs {
    /// Folders of datasets, known names (cora, ...), or generated graphs
    #[arg(value_name = "DATASET", default_values = ["cora", "citeseer"])]
    pub datasets: Vec<String>,
    /// A self-supervised model [default: the paper's best: supergat-sd for ppi, supergat-mx for all others]
    #[arg(long, value_name = "NAME")]
    pub model: Option<ModelKind>,
    /// Seeds behind each point: 0, 1, ...
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// Folder to write, and to go on from
    #[arg(long, value_name = "DIR", default_value = "studies/sensitivity")]
    pub out: PathBuf,
    /// How runs are made and told of.
    #[command(flatten)]
    pub sweep: SweepArgs,
}
