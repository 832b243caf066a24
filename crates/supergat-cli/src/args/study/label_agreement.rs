//! The command line of `supergat study label-agreement`.

use super::sources::{Sources, sources};
use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;

const HELP: &str = "\
For every node, attention layer and head: the Kullback-Leibler divergence between attention and label agreement, the distribution over the \
neighbourhood (the node itself included) that gives all weight to neighbours of the same label; and the entropy of attention. Uniform attention is the reference.

With --datasets, GAT with GO and with DP attention is trained, two and four layers deep, with the paper's settings. Every finished run is a line of results.jsonl \
in the output folder: stop with Ctrl-C whenever you like, and the same command goes on.

Examples:
  supergat study label-agreement runs/cora-gat-go
  supergat study label-agreement --datasets cora,citeseer,pubmed,ppi
  supergat study label-agreement --datasets cora --seeds 5 --json

The folder: label-agreement.svg or label-agreement-DATASET.svg, table.md, table.csv, report.html, results.jsonl.";

/// Arguments of `supergat study label-agreement`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct LabelAgreementArgs {
    /// Run folder, or a .safetensors file from one
    #[arg(value_name = "RUN", conflicts_with = "datasets")]
    pub run: Option<PathBuf>,
    /// Instead: train the paper's networks on these datasets, separated by commas, and measure them
    #[arg(long, value_name = "NAMES", value_parser = sources)]
    pub datasets: Option<Sources>,
    /// Seeds of each network: 0, 1, ... [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "run", value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: Option<u64>,
    /// Folder to write, and to go on from
    #[arg(long, value_name = "DIR", default_value = "studies/label-agreement")]
    pub out: PathBuf,
    /// How runs are made and told of.
    #[command(flatten)]
    pub sweep: SweepArgs,
}
