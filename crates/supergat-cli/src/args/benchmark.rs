//! Command line of `supergat benchmark`.

use super::{ReadingArgs, SweepArgs, help};
use clap::Args;
use std::path::PathBuf;
use supergat_data::SplitChoice;
use supergat_select::benchmark::{Family, METRICS};

/// Arguments of `supergat benchmark`.
#[derive(Debug, Args)]
#[command(after_help = help::BENCHMARK)]
pub struct BenchmarkArgs {
    /// Dataset: a known name (cora, ...), a folder, or a generated graph such as random-partition:homophily=0.9
    #[arg(value_name = "DATASET")]
    pub dataset: String,
    /// Time for measurements, searches and final runs [default: 10; none with --plan]
    #[arg(long, value_name = "X")]
    pub minutes: Option<f64>,
    /// Metric that selects and compares [default: accuracy, micro-f1 with several classes per node, auroc if one of two
    /// classes is rare]
    #[arg(long, value_name = "METRIC", value_parser = METRICS)]
    pub metric: Option<String>,
    /// Families to compare, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub families: Vec<Family>,
    /// Seed of trials, runs and splits
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Split whose sizes redrawn splits have: published, random:SEED, random:60/20/20:SEED, full-supervised, or a split number
    #[arg(long, value_name = "SPLIT", default_value_t = SplitChoice::Published)]
    pub split: SplitChoice,
    /// Use the split itself for all runs, with different seeds, as splits by time need
    #[arg(long)]
    pub keep_split: bool,
    /// Follow the plan of an earlier benchmark, the plan.json of its folder, instead of measuring times
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Output folder; a benchmark in it is resumed by its plan [default: benchmarks/<dataset>-<metric>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
    /// Options for reading the dataset.
    #[command(flatten)]
    pub reading: ReadingArgs,
}
