//! The command line of `supergat study`.

use crate::help;
use clap::{Args, Subcommand, value_parser};
use std::path::PathBuf;
use supergat::ModelKind;

/// A study.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// Draw degree and homophily of a graph's nodes, and find out whether it is a mixture.
    Density(DensityArgs),
    /// Vary lambda_E, p_n and p_e, and see how the test metric depends on them.
    Sensitivity(SensitivityArgs),
    /// Draw small examples of the paper's synthetic graphs.
    Synthetic(SyntheticArgs),
    /// Check the paper's proposition on the variance of attention, by simulation and in a network.
    Variance(VarianceArgs),
}

/// Arguments of `supergat study density`.
#[derive(Debug, Args)]
#[command(after_help = help::DENSITY)]
pub struct DensityArgs {
    /// Folders of datasets, known names (cora, ...), or generated graphs
    #[arg(value_name = "DATASET", required = true)]
    pub datasets: Vec<String>,
    /// Folder to write
    #[arg(long, value_name = "DIR", default_value = "studies/density")]
    pub out: PathBuf,
    /// Print the modes as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `supergat study sensitivity`.
#[derive(Debug, Args)]
#[command(after_help = help::SENSITIVITY)]
pub struct SensitivityArgs {
    /// Folders of datasets, known names (cora, ...), or generated graphs
    #[arg(value_name = "DATASET", default_values = ["cora", "citeseer"])]
    pub datasets: Vec<String>,
    /// A self-supervised model [default: the paper's best: supergat-sd for ppi, supergat-mx for all others]
    #[arg(long, value_name = "NAME")]
    pub model: Option<ModelKind>,
    /// Seeds behind each point: 0, 1, ...
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// Folder to write, and to go on from
    #[arg(long, value_name = "DIR", default_value = "studies/sensitivity")]
    pub out: PathBuf,
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print the curves as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `supergat study synthetic`.
#[derive(Debug, Args)]
#[command(after_help = help::SYNTHETIC)]
pub struct SyntheticArgs {
    /// What graphs and places are drawn with
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Folder to write
    #[arg(long, value_name = "DIR", default_value = "studies/synthetic")]
    pub out: PathBuf,
    /// Print what was drawn as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `supergat study variance`.
#[derive(Debug, Args)]
#[command(after_help = help::VARIANCE)]
pub struct VarianceArgs {
    /// Dataset that four-layer networks are trained on
    #[arg(value_name = "DATASET", default_value = "cora")]
    pub dataset: String,
    /// Draws behind each simulated variance
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = value_parser!(u32).range(100..))]
    pub trials: u32,
    /// Seeds of the networks: 0, 1, ...
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// What the simulation draws with
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u64).range(..1 << 32))]
    pub seed: u64,
    /// Folder to write
    #[arg(long, value_name = "DIR", default_value = "studies/variance")]
    pub out: PathBuf,
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print everything as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}
