//! Command line of `supergat study defaults`.

use super::sources::{Sources, sources};
use crate::args::SweepArgs;
use clap::{Args, value_parser};
use std::path::PathBuf;
use supergat_data::Shares;

const HELP: &str = "\
Which settings and which family of models suit a new graph? Every family is trained on many graphs, with a few candidates for its \
default settings. The graphs are real ones and variants of them: parts, fewer labels, noisy links, noisy features, other labels. Default \
settings and rules are judged on graphs that were left out when they were chosen.

Datasets that are not there are left out. Every finished run is a line of results.jsonl, so you can stop at any time with Ctrl-C and \
resume with the same command. Results of several machines are joined by joining the lines of their results files.

Examples:
  supergat study defaults
  supergat study defaults --splits 3 --only cora,citeseer
  supergat study defaults --datasets my-folder,other-folder --shares 10/20/70
  supergat study defaults --table-only

The output folder contains:
  report.html    figures and tables on one page
  regrets.svg    regret of the rules on all graphs
  gains.svg      what self-supervision adds on all graphs
  table.md       rules, defaults and their costs, families on all graphs, gains of self-supervision
  recipe.txt     the rules by traits of a graph
  *.csv          the tables with all digits; metrics are from 0 to 1
  results.jsonl  all runs

Exit codes: 0 success, 1 the job failed, 2 wrong usage or input, 130 interrupted.";

/// Arguments of `supergat study defaults`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct DefaultsArgs {
    /// Other graphs than the usual ones, separated by commas: known names, folders or generated graphs
    #[arg(long, value_name = "NAMES", value_parser = sources)]
    pub datasets: Option<Sources>,
    /// Shares of training, validation and test nodes of --datasets, in per cent
    #[arg(long, value_name = "SHARES", default_value = "60/20/20", requires = "datasets")]
    pub shares: Shares,
    /// Only graphs whose name contains one of these words, separated by commas
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Only these families, separated by commas [default: all of this build]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub families: Vec<String>,
    /// Only these candidates for default settings, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub candidates: Vec<String>,
    /// Number of splits of every graph
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(2..=100))]
    pub splits: u64,
    /// Seconds in which `recommend` answers for every graph and split, on one thread; 0 to skip it
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u64).range(0..=3600))]
    pub seconds: u64,
    /// Output folder; an interrupted study in it is resumed
    #[arg(long, value_name = "DIR", default_value = "studies/defaults")]
    pub out: PathBuf,
    /// Write tables and figures from existing results without training
    #[arg(long)]
    pub table_only: bool,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
}
