//! Command line of `supergat study depth`.

use super::sources::{Sources, sources};
use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;
use supergat_core::ModelKind;
use supergat_studies::depth::Depth;

const HELP: &str = "\
Does self-supervision help beyond depth, where, and how much? Each cell is a dataset, a model and a depth: two layers as published, or deep \
blocks with norms and residuals. In every cell, a search with the same number of trials selects settings by the validation metric of split \
0; hopeless runs stop in the middle. The selected settings then run on ten splits: the published ones of minesweeper (AUROC) and \
chameleon-filtered, otherwise random ones with 60/20/20 % of the nodes. Paired t-tests with Holm's correction compare self-supervised \
models with the same attention without self-supervision, with gat-go, and deep blocks with the published depth. Test nodes are never used \
to select.

Every finished run is a line of results.jsonl, so you can stop at any time with Ctrl-C and resume with the same command. Parts of the study \
may run one after the other in one output folder, with other --datasets, --models or --depths; --table-only then writes the tables of all. \
Results of several machines are joined by joining the lines of their results files. Other --trials or --max-epochs are another study.

Examples:
  supergat study depth --datasets photo --models gat-mx,supergat-mx --trials 12 --device cuda
  supergat study depth --datasets minesweeper --depths deep --device cuda --minutes 9
  supergat study depth --table-only

The output folder contains:
  report.html      figures and tables on one page
  depth.svg        test metric of every model at both depths
  gains.svg        gain of self-supervision at both depths
  table.md         answers, comparisons, and all cells with their settings
  cells.csv        all cells with all digits
  comparisons.csv  all comparisons with all digits
  results.jsonl    all runs

Exit codes: 0 success, 1 the job failed, 2 wrong usage or input, 130 interrupted.";

/// Arguments of `supergat study depth`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct DepthArgs {
    /// Datasets, separated by commas: known names, folders or generated graphs
    #[arg(long, value_name = "NAMES", default_value = "minesweeper,chameleon-filtered,photo,computers,cs,physics", value_parser = sources)]
    pub datasets: Sources,
    /// Models, separated by commas
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "gat-go,gat-sd,gat-mx,gatv2,supergat-sd,supergat-mx,supergat-v2"
    )]
    pub models: Vec<ModelKind>,
    /// Depths, separated by commas: published, deep
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "published,deep")]
    pub depths: Vec<Depth>,
    /// Number of trials of the search in every cell
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u32).range(1..=100_000))]
    pub trials: u32,
    /// Number of splits with final runs
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u64).range(1..=10))]
    pub splits: u64,
    /// Most epochs of a run [default: those of the published settings]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub max_epochs: Option<u32>,
    /// Stop after X minutes; the same command resumes
    #[arg(long, value_name = "X")]
    pub minutes: Option<f64>,
    /// Results file with one JSON object per run [default: results.jsonl in the output folder]
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Output folder; an interrupted study in it is resumed
    #[arg(long, value_name = "DIR", default_value = "studies/depth")]
    pub out: PathBuf,
    /// Write tables and figures from existing results without training
    #[arg(long)]
    pub table_only: bool,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
}
