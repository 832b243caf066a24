//! Options of the commands that train many times.

use clap::{Args, value_parser};

/// How runs are made and told of.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print everything as one JSON object on standard output, instead of tables
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}
