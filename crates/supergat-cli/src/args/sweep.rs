//! Options shared by the commands that train many times.

use crate::args::DeviceArgs;
use crate::output;
use clap::{Args, value_parser};

/// Execution and output options.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// Number of threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Device that trains.
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Print the result as one JSON object on standard output, instead of tables
    #[arg(long)]
    pub json: bool,
    /// Print errors only; no progress on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

impl SweepArgs {
    /// Writes a line to standard error, unless the command is quiet.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            output::note(text);
        }
    }
}
