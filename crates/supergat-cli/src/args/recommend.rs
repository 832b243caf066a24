//! Arguments of `supergat recommend`.

use super::TableArgs;
use super::help;
use clap::Args;
use std::path::PathBuf;
use supergat_data::SplitChoice;

/// Arguments of `supergat recommend`.
#[derive(Debug, Args)]
#[command(after_help = help::RECOMMEND)]
pub struct RecommendArgs {
    /// Folder of a dataset, a known name (cora, ...), or a generated graph (random-partition:homophily=0.9)
    #[arg(value_name = "DATASET")]
    pub dataset: String,
    /// Which nodes are for what: published, random, random:SEED, full-supervised, or the number of one of several splits
    #[arg(long, value_name = "SPLIT", default_value_t = SplitChoice::Published)]
    pub split: SplitChoice,
    /// Look at the labels of training nodes only, not at those of validation nodes
    #[arg(long)]
    pub training_labels: bool,
    /// Folder to write map.svg and report.html to, replaced when they exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the answer as one JSON object
    #[arg(long)]
    pub json: bool,
    /// How tables are read.
    #[command(flatten)]
    pub tables: TableArgs,
}
