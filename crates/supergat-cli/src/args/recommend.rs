//! Command line of `supergat recommend`.

use super::help;
use super::{DeviceArgs, ReadingArgs};
use clap::Args;
use std::path::PathBuf;
use supergat_data::SplitChoice;
use supergat_select::benchmark::METRICS;

/// Arguments of `supergat recommend`.
#[derive(Debug, Args)]
#[command(after_help = help::RECOMMEND)]
pub struct RecommendArgs {
    /// Dataset: a known name (cora, ...), a folder, or a generated graph such as random-partition:homophily=0.9
    #[arg(value_name = "DATASET")]
    pub dataset: String,
    /// Train/validation/test split: published, random:SEED, random:60/20/20:SEED, full-supervised, or a split number
    #[arg(long, value_name = "SPLIT", default_value_t = SplitChoice::Published)]
    pub split: SplitChoice,
    /// Time for comparing families of models on held-out labelled nodes; 0 consults the paper's map alone
    #[arg(long, value_name = "X", default_value_t = 20.0)]
    pub seconds: f64,
    /// Metric that compares [default: accuracy, micro-f1 with several classes per node, auroc if one of two classes is rare]
    #[arg(long, value_name = "METRIC", value_parser = METRICS)]
    pub metric: Option<String>,
    /// Seed of redrawn nodes and of runs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Use the labels of training nodes only [default: training and validation nodes]
    #[arg(long)]
    pub training_labels: bool,
    /// Output folder for map.svg and report.html, overwritten if they exist [default: no files]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Device that trains networks.
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Print the recommendation as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print errors only; no progress on standard error
    #[arg(short, long)]
    pub quiet: bool,
    /// Options for reading the dataset.
    #[command(flatten)]
    pub reading: ReadingArgs,
}
