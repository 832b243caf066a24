//! The command line.

mod help;
mod options;
mod recommend;
mod reproduce;
mod study;
mod sweep;

pub use options::{Options, TableArgs};
pub use recommend::RecommendArgs;
pub use reproduce::{ReproduceArgs, TableChoice};
pub use study::{
    DensityArgs, GridArgs, LabelAgreementArgs, LinkPredictionArgs, SensitivityArgs, StudyCommand, SyntheticArgs,
    VarianceArgs,
};
pub use sweep::SweepArgs;

use crate::config::keys::RUN;
use crate::error::{CliError, Result};
use crate::output;
use crate::process::memory;
use clap::builder::styling::Styles;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, value_parser};
use std::path::PathBuf;
use std::process::ExitCode;
use supergat_data::SplitChoice;

const STYLES: Styles = Styles::styled().header(output::BOLD).usage(output::BOLD).literal(output::BOLD);

/// SuperGAT: self-supervised graph attention networks.
#[derive(Debug, Parser)]
#[command(name = "supergat", version, styles = STYLES, arg_required_else_help = true, after_help = help::MAIN)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a network on a dataset and write a run folder.
    Train(TrainArgs),
    /// Measure a trained model on the nodes of a dataset.
    Evaluate(EvaluateArgs),
    /// Write the class of every node, with probabilities, as CSV.
    Predict(PredictArgs),
    /// Make the report of a run folder again.
    Report(ReportArgs),
    /// Describe a dataset: size, degrees, homophily, splits.
    Inspect(InspectArgs),
    /// Say which form of attention suits a graph, how sure that is, and why.
    Recommend(RecommendArgs),
    /// Time training steps and evaluation passes.
    Bench(BenchArgs),
    /// Write a dataset as one file that loads at once, or as a folder of tables.
    Convert(ConvertArgs),
    /// Say what may be concluded from the runs of two models or settings.
    Compare(CompareArgs),
    /// Search for hyperparameters by their validation metric.
    Tune(TuneArgs),
    /// List the published datasets and where they are on this machine.
    Datasets(DatasetsArgs),
    /// Fetch published datasets.
    Download(DownloadArgs),
    /// Make the paper's tables again: run what is missing, and put our numbers beside the printed ones.
    Reproduce(ReproduceArgs),
    /// Make a study of the paper again: figures, tables and a page for a browser.
    #[command(subcommand)]
    Study(StudyCommand),
}

const OUTPUT: &str = "Output";
const SEARCH: &str = "Search";

/// Arguments of `supergat train`.
#[derive(Debug, Args)]
#[command(after_help = help::TRAIN)]
pub struct TrainArgs {
    /// Everything of the configuration that is given as an option.
    #[command(flatten)]
    pub options: Options,
    /// Read settings from a TOML file; options win over it
    #[arg(long, value_name = "FILE", help_heading = RUN)]
    pub config: Option<PathBuf>,
    /// Print the settings that this command line comes to, as a commented file for --config, and exit
    #[arg(long, help_heading = RUN)]
    pub print_config: bool,
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", help_heading = RUN, value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print how much memory this training would need, and exit
    #[arg(long, help_heading = RUN)]
    pub estimate: bool,
    /// Refuse a training that needs more memory, such as 8GiB [default: what the machine and its containers have free]
    #[arg(long, value_name = "SIZE", help_heading = RUN, value_parser = memory::parse)]
    pub max_memory: Option<u64>,
    /// Run folder to write [default: runs/<dataset>-<model>, numbered when it exists]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Write attention.csv even when it has more than a million rows
    #[arg(long, help_heading = OUTPUT)]
    pub attention: bool,
    /// Print the result as one JSON object on standard output
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,
}

/// Arguments of `supergat evaluate`.
#[derive(Debug, Args)]
#[command(after_help = help::EVALUATE)]
pub struct EvaluateArgs {
    /// Run folder, or a .safetensors file from one
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Dataset to measure on [default: the one it was trained on]
    #[arg(value_name = "DATASET")]
    pub dataset: Option<String>,
    /// Which nodes are for what: published, random, random:SEED, full-supervised, or the number of one of several splits [default: as in training]
    #[arg(long, value_name = "SPLIT")]
    pub split: Option<SplitChoice>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// How tables are read.
    #[command(flatten)]
    pub tables: TableArgs,
}

/// Arguments of `supergat predict`.
#[derive(Debug, Args)]
#[command(after_help = help::PREDICT)]
pub struct PredictArgs {
    /// Run folder, or a .safetensors file from one
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Dataset to predict on [default: the one it was trained on]
    #[arg(value_name = "DATASET")]
    pub dataset: Option<String>,
    /// The same dataset as an option
    #[arg(long = "data", value_name = "DATASET", conflicts_with = "dataset")]
    pub data: Option<String>,
    /// Which nodes are for what: published, random, random:SEED, full-supervised, or the number of one of several splits [default: as in training]
    #[arg(long, value_name = "SPLIT")]
    pub split: Option<SplitChoice>,
    /// File to write, replaced when it exists [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Draw the graph, its nodes coloured by predicted class, as an SVG file
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
    /// Print the file and its counts as one JSON object
    #[arg(long, requires = "out")]
    pub json: bool,
    /// How tables are read.
    #[command(flatten)]
    pub tables: TableArgs,
}

/// Arguments of `supergat report`.
#[derive(Debug, Args)]
#[command(after_help = help::REPORT)]
pub struct ReportArgs {
    /// Run folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Print what was written as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `supergat inspect`.
#[derive(Debug, Args)]
#[command(after_help = help::INSPECT)]
pub struct InspectArgs {
    /// Folder of a dataset, a known name (cora, ...), or a generated graph (random-partition:homophily=0.9)
    #[arg(value_name = "DATASET")]
    pub dataset: String,
    /// Which nodes are for what: published, random, random:SEED, full-supervised, or the number of one of several splits
    #[arg(long, value_name = "SPLIT", default_value_t = SplitChoice::Published)]
    pub split: SplitChoice,
    /// Print the measures as one JSON object
    #[arg(long)]
    pub json: bool,
    /// How tables are read.
    #[command(flatten)]
    pub tables: TableArgs,
}

/// Arguments of `supergat bench`.
#[derive(Debug, Args)]
#[command(after_help = help::BENCH)]
pub struct BenchArgs {
    /// Everything of the configuration that is given as an option.
    #[command(flatten)]
    pub options: Options,
    /// Random graph instead of a dataset: nodes,degree,features,classes and optionally a skew above 1 for hubs
    #[arg(long, value_name = "N,D,F,C[,S]", help_heading = RUN, conflicts_with = "dataset")]
    pub random: Option<String>,
    /// Steps and evaluations to time
    #[arg(long, value_name = "N", help_heading = RUN, default_value_t = 30, value_parser = value_parser!(u32).range(1..))]
    pub epochs: u32,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N", help_heading = RUN, value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

/// Arguments of `supergat convert`.
#[derive(Debug, Args)]
#[command(after_help = help::CONVERT)]
pub struct ConvertArgs {
    /// Folder of a dataset, a known name, a generated graph, or a converted file
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// File that ends in .safetensors, or a new folder for tables
    #[arg(value_name = "DEST")]
    pub dest: PathBuf,
    /// Which nodes are for what: published, random, random:SEED, full-supervised, or the number of one of several splits
    #[arg(long, value_name = "SPLIT", default_value_t)]
    pub split: SplitChoice,
    /// Print what was written as one JSON object
    #[arg(long)]
    pub json: bool,
    /// How tables are read.
    #[command(flatten)]
    pub tables: TableArgs,
}

/// Arguments of `supergat compare`.
#[derive(Debug, Args)]
#[command(after_help = help::COMPARE)]
pub struct CompareArgs {
    /// Run folder, or a results file with what to take of it, such as results.jsonl:cora/gat-go
    #[arg(value_name = "A")]
    pub a: String,
    /// The same for the other side
    #[arg(value_name = "B")]
    pub b: String,
    /// Print everything as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `supergat tune`.
#[derive(Debug, Args)]
#[command(after_help = help::TUNE)]
pub struct TuneArgs {
    /// Everything of the configuration that is given as an option.
    #[command(flatten)]
    pub options: Options,
    /// Read the settings to start from from a TOML file; options win over it
    #[arg(long, value_name = "FILE", help_heading = RUN)]
    pub config: Option<PathBuf>,
    /// Search these as well: lr, dropout
    #[arg(long, value_name = "NAMES", help_heading = SEARCH, value_delimiter = ',')]
    pub also: Vec<String>,
    /// End after so many trials, those found in the folder included [default: 40]
    #[arg(long, value_name = "N", help_heading = SEARCH, value_parser = value_parser!(u32).range(1..=100_000))]
    pub trials: Option<u32>,
    /// End after so many minutes
    #[arg(long, value_name = "X", help_heading = SEARCH, conflicts_with = "trials")]
    pub minutes: Option<f64>,
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", help_heading = RUN, value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Folder to write, and to go on from [default: tune/<dataset>-<model>]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Print the result as one JSON object on standard output
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,
}

/// Arguments of `supergat datasets`.
#[derive(Debug, Args)]
pub struct DatasetsArgs {
    /// Print the list as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `supergat download`.
#[derive(Debug, Args)]
#[command(after_help = help::DOWNLOAD)]
pub struct DownloadArgs {
    /// Names of datasets, as `supergat datasets` lists them
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Fetch from a mirror, where the files are at URL/NAME/FILE [default: the publisher's addresses]
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
    /// Print what was fetched as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Say nothing on standard error except errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// What the parser did not take: help and version are printed, everything else becomes one line.
pub fn refuse(error: &clap::Error) -> Result<ExitCode> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // A reader that has gone away is no error.
            let _ = error.print();
            Ok(if error.use_stderr() { 2.into() } else { ExitCode::SUCCESS })
        }
        _ => Err(CliError::usage(one_line(&error.render().to_string()))),
    }
}

/// The message and the tip of the parser's error, without the usage that follows.
fn one_line(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let wanted = text.split("\n\n").enumerate().filter(|(k, part)| *k == 0 || part.trim_start().starts_with("tip:"));
    wanted.map(|(_, part)| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_parsers_errors_become_one_line() {
        let error = Cli::try_parse_from(["supergat", "train", "--sedes", "3"]).unwrap_err();
        assert_eq!(
            one_line(&error.render().to_string()),
            "unexpected argument '--sedes' found; tip: a similar argument exists: '--seeds'"
        );
        let error = Cli::try_parse_from(["supergat", "evaluate"]).unwrap_err();
        assert_eq!(one_line(&error.render().to_string()), "the following required arguments were not provided: <RUN>");
    }
}
