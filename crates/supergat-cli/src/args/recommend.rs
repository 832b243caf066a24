//! Command line of `supergat recommend`.

use super::ReadingArgs;
use super::help;
use clap::Args;
use std::path::PathBuf;
use supergat::data::SplitChoice;

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
    /// Use the labels of training nodes only [default: training and validation nodes]
    #[arg(long)]
    pub training_labels: bool,
    /// Output folder for map.svg and report.html, overwritten if they exist [default: no files]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the recommendation as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Options for reading the dataset.
    #[command(flatten)]
    pub reading: ReadingArgs,
}
