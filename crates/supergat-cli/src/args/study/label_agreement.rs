//! Command line of `supergat study label-agreement`.

use super::sources::{Sources, sources};
use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;

const HELP: &str = "\
Label agreement distributes attention over a node's neighbourhood (the node itself included) in proportion to the number of shared \
labels. With one label per node, it is equal for all nodes with the same label and 0 for the others. For every node, layer and head, this \
study measures the Kullback-Leibler divergence between attention and label agreement, and the entropy of attention. Uniform attention is the baseline.

With --datasets, GAT models with GO and DP attention, two and four layers deep, are trained with the paper's settings. Every finished run \
is a line of results.jsonl, so you can stop at any time with Ctrl-C and resume with the same command.

Examples:
  supergat study label-agreement runs/cora-gat-go
  supergat study label-agreement --datasets cora,citeseer,pubmed,ppi
  supergat study label-agreement --datasets cora --seeds 5 --json

The output folder contains:
  report.html                  figures and tables on one page
  label-agreement.svg          figure of a run
  label-agreement-DATASET.svg  figure of the models on a dataset, with --datasets
  table.md                     divergences and entropy by layer
  table.csv                    divergences and entropy with all digits
  results.jsonl                all runs, with --datasets

Exit codes: 0 success, 1 the job failed, 2 wrong usage or input, 130 interrupted.";

/// Arguments of `supergat study label-agreement`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct LabelAgreementArgs {
    /// Run folder, or a model file (.safetensors) from one
    #[arg(value_name = "RUN", conflicts_with = "datasets")]
    pub run: Option<PathBuf>,
    /// Datasets to train the paper's models on, separated by commas, instead of measuring a run
    #[arg(long, value_name = "NAMES", value_parser = sources)]
    pub datasets: Option<Sources>,
    /// Number of seeds per model [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "run", value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: Option<u64>,
    /// Output folder; an interrupted study in it is resumed
    #[arg(long, value_name = "DIR", default_value = "studies/label-agreement")]
    pub out: PathBuf,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
}
