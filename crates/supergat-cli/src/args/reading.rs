//! Options for reading a dataset, which several commands share.

use crate::args::options::FileArgs;
use crate::config::{Values, load_options};
use crate::error::Result;
use clap::Args;
use supergat_data::{LoadOptions, SplitChoice};

/// Split of a dataset, and options for reading its files.
#[derive(Debug, Args)]
pub struct ReadingArgs {
    /// Train/validation/test split: published, random:SEED, random:60/20/20:SEED, full-supervised, or a split number
    #[arg(long, value_name = "SPLIT", default_value_t)]
    pub split: SplitChoice,
    #[command(flatten)]
    files: FileArgs,
}

impl ReadingArgs {
    /// Returns the options for loading the dataset, with its nodes in the given order.
    pub fn load_options(&self) -> Result<LoadOptions> {
        load_options(self.split, self.values())
    }

    /// Returns the given values of keys.
    pub fn values(&self) -> &Values {
        &self.files.0
    }
}
