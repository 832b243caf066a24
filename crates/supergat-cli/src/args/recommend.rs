//! Command line of `supergat recommend`.

use super::{ReadingArgs, SweepArgs, help};
use clap::Args;
use std::path::PathBuf;
use supergat_select::recommend::{Family, METRICS};

/// Heading of the options of the comparison within minutes.
const MINUTES: &str = "Comparison within minutes";

/// Arguments of `supergat recommend`.
#[derive(Debug, Args)]
#[command(after_help = help::RECOMMEND)]
pub struct RecommendArgs {
    /// Dataset: a known name (cora, ...), a folder, or a generated graph such as random-partition:homophily=0.9
    #[arg(value_name = "DATASET")]
    pub dataset: String,
    /// Time for comparing families with their default settings; 0 consults the paper's map alone [default: 20]
    #[arg(long, value_name = "X")]
    pub seconds: Option<f64>,
    /// Time for searching settings and comparing families on test nodes, instead of --seconds
    #[arg(long, value_name = "X")]
    pub minutes: Option<f64>,
    /// Metric that selects and compares [default: accuracy, micro-f1 with several classes per node, auroc if one of two
    /// classes is rare]
    #[arg(long, value_name = "METRIC", value_parser = METRICS)]
    pub metric: Option<String>,
    /// Seed of resampled nodes, trials and runs [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Use the labels of training nodes only [default: training and validation nodes]; within seconds only
    #[arg(long)]
    pub training_labels: bool,
    /// Output folder. Within seconds: map.svg and report.html, overwritten if they exist [default: no files]. Within minutes: a
    /// comparison in it is resumed [default: recommendations/<dataset>-<metric>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Families to compare, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = MINUTES)]
    pub families: Vec<Family>,
    /// Use the given split for all runs, with different seeds, as splits by time need [default: resampled splits]
    #[arg(long, help_heading = MINUTES)]
    pub keep_split: bool,
    /// Follow the plan.json of an earlier comparison instead of measuring times; needs no --minutes
    #[arg(long, value_name = "FILE", help_heading = MINUTES)]
    pub plan: Option<PathBuf>,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
    /// Split, and options for reading the dataset.
    #[command(flatten)]
    pub reading: ReadingArgs,
}
