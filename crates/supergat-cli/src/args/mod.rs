//! The command line.

mod device;
mod help;
mod options;
mod reading;
mod recommend;
mod reproduce;
mod study;
mod sweep;

pub use device::{DeviceArgs, DevicesArgs};
pub use options::{Options, TableArgs};
pub use reading::ReadingArgs;
pub use recommend::RecommendArgs;
pub use reproduce::{ReproduceArgs, TableChoice};
pub use study::{
    DefaultsArgs, DensityArgs, DepthArgs, GridArgs, LabelAgreementArgs, LinkPredictionArgs, SensitivityArgs,
    StudyCommand, SyntheticArgs, VarianceArgs,
};
pub use sweep::SweepArgs;

use crate::config::keys::RUN;
use crate::error::{CliError, Result};
use clap::builder::styling::Styles;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, value_parser};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use supergat::{DeviceChoice, NamedMetric};
use supergat_data::{NodeOrderChoice, SplitChoice, size};
use supergat_train::Interval;

const BOLD: anstyle::Style = anstyle::Style::new().bold();
const STYLES: Styles = Styles::styled().header(BOLD).usage(BOLD).literal(BOLD);

/// SuperGAT: self-supervised graph attention networks.
#[derive(Debug, Parser)]
#[command(name = "supergat", version, styles = STYLES, arg_required_else_help = true, after_help = help::MAIN)]
pub struct Cli {
    /// Command to run.
    #[command(subcommand)]
    pub command: Command,
    /// Read the files of datasets again; neither use nor change the cache of prepared datasets
    #[arg(long, global = true)]
    pub no_cache: bool,
}

/// Commands of `supergat`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a model on a dataset and write a run folder.
    Train(TrainArgs),
    /// Evaluate a trained model on a dataset.
    Evaluate(EvaluateArgs),
    /// Predict the class of every node, with probabilities, as CSV.
    Predict(PredictArgs),
    /// Regenerate the report of a run.
    Report(ReportArgs),
    /// Describe a dataset: size, degrees, homophily, splits.
    Inspect(InspectArgs),
    /// Recommend a model for a graph: compare families within seconds, or thoroughly within minutes.
    Recommend(RecommendArgs),
    /// Measure the time of training steps and evaluation passes.
    Profile(ProfileArgs),
    /// List the devices that can train: the CPU and GPUs
    Devices(DevicesArgs),
    /// Convert a dataset to one file that loads fast, or to a folder of tables.
    Convert(ConvertArgs),
    /// Divide a dataset into parts, for training with several processes.
    Partition(PartitionArgs),
    /// Compare two sets of runs statistically.
    Compare(CompareArgs),
    /// Search for the hyperparameters with the best validation metric.
    Tune(TuneArgs),
    /// List the published datasets and where they are on this machine.
    Datasets(DatasetsArgs),
    /// Download published datasets.
    Download(DownloadArgs),
    /// List or remove the prepared datasets in the cache.
    Cache(CacheArgs),
    /// Reproduce the paper's tables and compare them with the printed numbers.
    Reproduce(ReproduceArgs),
    /// Run a study of the paper or a further one: figures, tables and an HTML page.
    #[command(subcommand, after_help = help::STUDY)]
    Study(StudyCommand),
}

/// Work of several processes on a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// They share the parts of a dataset, or in some cases its runs.
    Parts,
    /// They share the runs.
    Runs,
    /// The command, whose name this is, needs one process.
    Nothing(&'static str),
}

impl Command {
    /// Returns whether a search for an order of nodes is reported. Commands with many runs show what they load.
    pub fn reports_searches(&self) -> bool {
        match self {
            Self::Train(args) => !args.sweep.quiet,
            Self::Tune(args) => !args.sweep.quiet,
            Self::Evaluate(_) | Self::Predict(_) | Self::Report(_) | Self::Profile(_) | Self::Convert(_) => true,
            _ => false,
        }
    }

    /// Returns what several processes do with the command.
    pub fn sharing(&self) -> Sharing {
        match self {
            Self::Train(_) | Self::Evaluate(_) | Self::Predict(_) | Self::Profile(_) => Sharing::Parts,
            Self::Reproduce(args) if args.measures_times() => Sharing::Nothing("the table wall-clock of reproduce"),
            Self::Tune(_) | Self::Reproduce(_) => Sharing::Runs,
            Self::Study(study) => study.sharing(),
            Self::Report(_) => Sharing::Nothing("report"),
            Self::Inspect(_) => Sharing::Nothing("inspect"),
            Self::Recommend(_) => Sharing::Nothing("recommend"),
            Self::Devices(_) => Sharing::Nothing("devices"),
            Self::Convert(_) => Sharing::Nothing("convert"),
            Self::Partition(_) => Sharing::Nothing("partition"),
            Self::Compare(_) => Sharing::Nothing("compare"),
            Self::Datasets(_) => Sharing::Nothing("datasets"),
            Self::Download(_) => Sharing::Nothing("download"),
            Self::Cache(_) => Sharing::Nothing("cache"),
        }
    }
}

const OUTPUT: &str = "Output";
const SEARCH: &str = "Search";

/// Arguments of `supergat train`.
#[derive(Debug, Args)]
#[command(after_help = help::TRAIN)]
pub struct TrainArgs {
    /// Configuration keys given as options.
    #[command(flatten)]
    pub options: Options,
    /// TOML file with settings; options override it
    #[arg(long, value_name = "FILE", help_heading = RUN)]
    pub config: Option<PathBuf>,
    /// Print the resulting settings as a commented file for --config, and exit
    #[arg(long, help_heading = RUN)]
    pub print_config: bool,
    /// Time for comparing models, if none is named; the answer then depends on the speed of the machine
    /// [default: up to 20 s on one core, on large graphs one training]
    #[arg(long, value_name = "X", help_heading = RUN)]
    pub choose_seconds: Option<f64>,
    /// Print an estimate of the memory that training needs, and exit
    #[arg(long, help_heading = RUN)]
    pub estimate: bool,
    /// Exit with an error if training needs more memory than SIZE, such as 8GiB (memory of the GPU if the GPU trains)
    /// [default: free memory]
    #[arg(long, value_name = "SIZE", help_heading = RUN, value_parser = size::parse, allow_hyphen_values = true)]
    pub max_memory: Option<u64>,
    /// Continue an interrupted training, given its run folder or checkpoint folder; no other option is needed
    #[arg(long, value_name = "RUN", help_heading = RUN)]
    pub resume: Option<PathBuf>,
    /// Interval between checkpoints: a time such as 10m or 30s, a number of epochs such as 100e, or none [default: 10m]
    #[arg(long, value_name = "INTERVAL", help_heading = OUTPUT, allow_hyphen_values = true)]
    pub checkpoint_every: Option<Interval>,
    /// Run folder to create [default: runs/<dataset>-<model>, numbered if it exists]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Write attention.csv even if it has more than a million rows
    #[arg(long, help_heading = OUTPUT)]
    pub attention: bool,
    /// Put ' before ids and class names in CSV files that a spreadsheet would run as formulas: those that begin with
    /// = + - @, a tab or a line break
    #[arg(long, help_heading = OUTPUT)]
    pub safe_csv: bool,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
}

/// A trained model, and the data that it predicts.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// Run folder, or a model file (.safetensors) from one
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Dataset to predict or to evaluate on [default: the training dataset]
    #[arg(value_name = "DATASET")]
    pub dataset: Option<String>,
    /// Train/validation/test split: published, random:SEED, random:60/20/20:SEED, full-supervised, or a split number [default: as in training]
    #[arg(long, value_name = "SPLIT")]
    pub split: Option<SplitChoice>,
    /// Device that predicts: cpu, cuda, cuda:1, or auto (a GPU if there is one)
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub device: DeviceChoice,
    /// Options for reading tables.
    #[command(flatten)]
    pub tables: TableArgs,
}

/// Arguments of `supergat evaluate`.
#[derive(Debug, Args)]
#[command(after_help = help::EVALUATE)]
pub struct EvaluateArgs {
    /// Model and dataset.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `supergat predict`.
#[derive(Debug, Args)]
#[command(after_help = help::PREDICT)]
pub struct PredictArgs {
    /// Model and dataset.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Dataset to predict on, given as an option
    #[arg(long = "data", value_name = "DATASET", conflicts_with = "dataset")]
    pub data: Option<String>,
    /// CSV file to write; overwritten if it exists [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// SVG file to draw the graph to, with nodes coloured by predicted class; for neuralsparse, only with the links that it keeps
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
    /// List only the N nodes with the highest probability of a class, without those of training and validation, and the
    /// neighbours that they attend to
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Put ' before ids and class names that a spreadsheet would run as formulas: those that begin with = + - @, a tab or
    /// a line break
    #[arg(long)]
    pub safe_csv: bool,
    /// Class of --top [default: the positive class]
    #[arg(long, value_name = "CLASS", requires = "top")]
    pub class: Option<String>,
    /// Print the file name and its counts as one JSON object
    #[arg(long, requires = "out")]
    pub json: bool,
}

/// Arguments of `supergat report`.
#[derive(Debug, Args)]
#[command(after_help = help::REPORT)]
pub struct ReportArgs {
    /// Run folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Print the written files as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `supergat inspect`.
#[derive(Debug, Args)]
#[command(after_help = help::INSPECT)]
pub struct InspectArgs {
    /// Dataset: a known name (cora, ...), a folder, or a generated graph such as random-partition:homophily=0.9
    #[arg(value_name = "DATASET")]
    pub dataset: String,
    /// Print the statistics as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Split, and options for reading the dataset.
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// Arguments of `supergat profile`.
#[derive(Debug, Args)]
#[command(after_help = help::PROFILE, mut_arg("seeds", |arg| arg.hide(true)), mut_arg("splits", |arg| arg.hide(true)))]
#[command(mut_arg("calibrate", |arg| arg.hide(true)), mut_arg("threshold", |arg| arg.hide(true)), mut_arg("ensemble", |arg| arg.hide(true)))]
#[command(mut_arg("model", |arg| arg.help("Model such as supergat-mx, or auto (recommended for the graph) [default: supergat-mx]")))]
pub struct ProfileArgs {
    /// Configuration keys given as options.
    #[command(flatten)]
    pub options: Options,
    /// Random graph instead of a dataset: nodes, mean degree, features, classes and, for hubs, a skew above 1
    #[arg(long, value_name = "N,D,F,C[,S]", help_heading = RUN, conflicts_with = "dataset")]
    pub random: Option<String>,
    /// Number of training steps and evaluation passes to time
    #[arg(long, value_name = "N", help_heading = RUN, default_value_t = 30, value_parser = value_parser!(u32).range(1..))]
    pub epochs: u32,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Device that trains.
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `supergat convert`.
#[derive(Debug, Args)]
#[command(after_help = help::CONVERT)]
pub struct ConvertArgs {
    /// Dataset: a known name, a folder, a generated graph, or a converted file
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// File to write (ends in .safetensors), or a new folder for tables
    #[arg(value_name = "DEST")]
    pub dest: PathBuf,
    /// Order of the nodes to store in a .safetensors file, for the engine: given; local, with neighbours close; or
    /// auto, which is local for large graphs where it helps
    #[arg(long, value_name = "ORDER", default_value_t)]
    pub node_order: NodeOrderChoice,
    /// Divide the nodes into this number of parts, as `supergat partition` does
    #[arg(long, value_name = "N")]
    pub parts: Option<usize>,
    /// Print the path and the size of the dataset as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Split, and options for reading the dataset.
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// Arguments of `supergat partition`.
#[derive(Debug, Args)]
#[command(after_help = help::PARTITION)]
pub struct PartitionArgs {
    /// Dataset: a known name, a folder, a generated graph, or a converted file
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// File to write; its name ends in .safetensors
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Number of parts: at least the number of processes, better eight times as many
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub parts: usize,
    /// Print sizes and quality of the parts as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Split, and options for reading the dataset.
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// Arguments of `supergat compare`.
#[derive(Debug, Args)]
#[command(after_help = help::COMPARE)]
pub struct CompareArgs {
    /// First set of runs: a run folder, or runs of a results file such as results.jsonl:cora/gat-go
    #[arg(value_name = "A")]
    pub a: String,
    /// Second set of runs
    #[arg(value_name = "B")]
    pub b: String,
    /// Metric to compare, such as macro-f1, precision-at-100, or f1:CLASS for one class; for run folders [default: accuracy or micro-f1]
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<NamedMetric>,
    /// Print the comparison as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `supergat tune`.
#[derive(Debug, Args)]
#[command(mut_arg("splits", |arg| arg.hide(true)), mut_arg("calibrate", |arg| arg.hide(true)), mut_arg("threshold", |arg| arg.hide(true)), mut_arg("ensemble", |arg| arg.hide(true)))]
#[command(after_help = help::TUNE, mut_arg("seeds", |arg| arg.help("Number of seeds per trial [default: 3]")))]
pub struct TuneArgs {
    /// Configuration keys given as options.
    #[command(flatten)]
    pub options: Options,
    /// TOML file with initial settings; options override it
    #[arg(long, value_name = "FILE", help_heading = RUN)]
    pub config: Option<PathBuf>,
    /// Further settings to search at their usual values, separated by commas, such as lr,dropout,layers,norm
    #[arg(long, value_name = "NAMES", help_heading = SEARCH, value_delimiter = ',')]
    pub also: Vec<String>,
    /// Values of a setting to search: a range such as layers=2..8, or a list such as norm=layer,batch; may be repeated
    #[arg(long, value_name = "NAME=VALUES", help_heading = SEARCH)]
    pub search: Vec<String>,
    /// Stop hopeless runs in the middle: those below the median of earlier trials at the same epoch
    #[arg(long, help_heading = SEARCH)]
    pub prune: bool,
    /// Stop after N trials, including those already in the folder [default: 40]
    #[arg(long, value_name = "N", help_heading = SEARCH, value_parser = value_parser!(u32).range(1..=100_000))]
    pub trials: Option<u32>,
    /// Stop after X minutes instead of a number of trials
    #[arg(long, value_name = "X", help_heading = SEARCH, conflicts_with = "trials")]
    pub minutes: Option<f64>,
    /// Time for comparing models, if none is named; the answer then depends on the speed of the machine
    /// [default: up to 20 s on one core, on large graphs one training]
    #[arg(long, value_name = "X", help_heading = RUN)]
    pub choose_seconds: Option<f64>,
    /// Output folder; an interrupted search in it is resumed [default: tune/<dataset>-<model>]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Execution and output options.
    #[command(flatten)]
    pub sweep: SweepArgs,
}

/// Arguments of `supergat datasets`.
#[derive(Debug, Args)]
#[command(after_help = help::DATASETS)]
pub struct DatasetsArgs {
    /// Print the list as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `supergat download`.
#[derive(Debug, Args)]
#[command(after_help = help::DOWNLOAD)]
pub struct DownloadArgs {
    /// Names of datasets; `supergat datasets` lists them
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Mirror to download from; files are at URL/NAME/FILE [default: the publishers' addresses]
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
    /// Print the downloaded datasets as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print errors only; no progress on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `supergat cache`.
#[derive(Debug, Args)]
#[command(after_help = help::CACHE)]
pub struct CacheArgs {
    /// Action; without one, the datasets are listed.
    #[command(subcommand)]
    pub action: Option<CacheAction>,
    /// Print the result as one JSON object
    #[arg(long, global = true)]
    pub json: bool,
}

/// Actions of `supergat cache`.
#[derive(Debug, Subcommand)]
pub enum CacheAction {
    /// Remove all prepared datasets.
    Clear,
}

/// Parses a command line, whose first word is the name of the program.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> std::result::Result<Cli, clap::Error> {
    let mut command = with_negative_values(Cli::command());
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Lets all options take negative numbers as values, so that their own checks explain what is wrong. Without it, the
/// parser takes them for unknown options.
fn with_negative_values(command: clap::Command) -> clap::Command {
    let with = |arg: clap::Arg| match arg.get_action().takes_values() && !arg.is_positional() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    command.mut_args(with).mut_subcommands(with_negative_values)
}

/// Returns the error of an option whose value is a negative number that its parser refuses.
fn negative(error: &clap::Error) -> Option<String> {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (option, value) = (word(ContextKind::InvalidArg)?.split(' ').next()?, word(ContextKind::InvalidValue)?);
    let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_negative = error.kind() == ErrorKind::ValueValidation && number.parse::<f64>().is_ok_and(|x| x < 0.0);
    let rule = if ["--seed", "--seconds"].contains(&option) { "must not be negative" } else { "must be positive" };
    is_negative.then(|| format!("{option} {value}: {rule}"))
}

/// Handles an error of the parser: prints help and version, and turns everything else into a usage error of one line.
pub fn refuse(error: &clap::Error) -> Result<ExitCode> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // A closed pipe is not an error.
            let _ = error.print();
            Ok(if error.use_stderr() { 2.into() } else { ExitCode::SUCCESS })
        }
        _ => Err(CliError::usage(negative(error).unwrap_or_else(|| one_line(&error.render().to_string())))),
    }
}

/// Returns the message and the tip of the parser's error in one line, without the usage.
fn one_line(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let kept = text.split("\n\n").enumerate().filter(|(k, part)| *k == 0 || part.trim_start().starts_with("tip:"));
    kept.map(|(_, part)| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_definitions_are_valid() {
        Cli::command().debug_assert();
    }

    fn refused(words: &[&str]) -> String {
        let error = parse(["supergat"].iter().chain(words).map(OsString::from)).unwrap_err();
        refuse(&error).unwrap_err().message
    }

    #[test]
    fn negative_values_are_explained_by_every_option() {
        fn check(command: &clap::Command, path: &[&str]) -> usize {
            let mut checked = 0;
            for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values() && !arg.is_positional()) {
                let option = format!("--{}", arg.get_long().unwrap());
                let words = [path, &[&option, "-3"]].concat();
                if let Err(error) = parse(["supergat"].iter().chain(&words).map(OsString::from)) {
                    let message = refuse(&error).unwrap_err().message;
                    let is_fine = !message.contains("-- -3") && !message.contains("invalid digit");
                    assert!(is_fine, "{words:?}: {message}");
                    checked += usize::from(message.contains("must"));
                }
            }
            let subcommands = command.get_subcommands();
            checked + subcommands.map(|sub| check(sub, &[path, &[sub.get_name()]].concat())).sum::<usize>()
        }
        assert!(check(&Cli::command(), &[]) > 20, "every option that counts something refuses -3");
        assert_eq!(refused(&["profile", "x", "--epochs", "-3"]), "--epochs -3: must be positive");
        assert_eq!(refused(&["partition", "x", "--out", "y", "--parts", "-3"]), "--parts -3: must be positive");
        assert_eq!(refused(&["train", "x", "--max-memory", "-3GiB"]), "--max-memory -3GiB: must be positive");
        assert_eq!(refused(&["recommend", "x", "--seed", "-1"]), "--seed -1: must not be negative");
    }

    #[test]
    fn parser_errors_become_one_line() {
        let error = Cli::try_parse_from(["supergat", "train", "--sedes", "3"]).unwrap_err();
        assert_eq!(
            one_line(&error.render().to_string()),
            "unexpected argument '--sedes' found; tip: a similar argument exists: '--seeds'"
        );
        let error = Cli::try_parse_from(["supergat", "evaluate"]).unwrap_err();
        assert_eq!(one_line(&error.render().to_string()), "the following required arguments were not provided: <RUN>");
    }
}
