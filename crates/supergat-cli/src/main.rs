//! The `supergat` command: trains self-supervised graph attention networks, evaluates them and predicts with them.
//!
//! This crate parses arguments, reads configurations, reports progress and writes files. All computation is in the
//! library crates.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod config;
mod error;
mod files;
mod output;
mod process;
mod run_folder;
mod status_line;
mod sweep;

use args::{Cli, Command, Sharing};
use error::CliError;
use process::processes;
use std::process::ExitCode;
use std::sync::Arc;
use supergat_cluster::peers::Peers;

fn main() -> ExitCode {
    process::interrupt::block_signals();
    let checked = supergat_cpu::kernels::Simd::requested().map_err(CliError::from);
    let result = checked.and_then(|_| processes::connect()).and_then(start).and_then(|code| {
        processes::finish()?;
        supergat_train::mpi::finish()?;
        Ok(code)
    });
    match result {
        Ok(code) => code,
        Err(error) => processes::fail(&error),
    }
}

/// Runs the command. Of several processes, the first one reports wrong arguments, and runs commands that the others
/// only train for.
fn start(peers: Arc<dyn Peers>) -> error::Result<ExitCode> {
    let cli = args::parse(std::env::args_os());
    if cli.as_ref().is_ok_and(|cli| cli.no_cache) {
        supergat_data::cache::turn_off();
    }
    let is_divided = cli.as_ref().is_ok_and(|cli| cli.command.sharing() == Sharing::Parts);
    if peers.count() > 1 && !is_divided {
        if peers.rank() > 0 {
            return processes::help(peers);
        }
        processes::share_runs(Arc::clone(&peers));
    }
    match cli {
        Ok(cli) => run(cli, peers),
        Err(error) => args::refuse(&error),
    }
}

fn run(cli: Cli, peers: Arc<dyn Peers>) -> error::Result<ExitCode> {
    if cli.command.reports_searches() {
        supergat_data::node_order::report_to(output::note);
    }
    if let (Sharing::Nothing(name), count @ 2..) = (cli.command.sharing(), peers.count()) {
        return Err(CliError::usage(format!(
            "{name} needs one process, but {count} were started: start it without a launcher, or set SUPERGAT_MPI=off"
        )));
    }
    match cli.command {
        Command::Train(args) => commands::train::run(args, peers),
        Command::Evaluate(args) => commands::evaluate::run(&args, peers),
        Command::Predict(args) => commands::predict::run(&args, peers),
        Command::Report(args) => commands::report::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Profile(args) => commands::profile::run(args, peers),
        Command::Devices(args) => commands::devices::run(&args),
        Command::Datasets(args) => commands::datasets::run(&args),
        Command::Download(args) => commands::download::run(&args),
        Command::Cache(args) => commands::cache::run(&args),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Partition(args) => commands::partition::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Tune(args) => commands::tune::run(args),
        Command::Recommend(args) => commands::recommend::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Study(study) => commands::study::run(&study),
    }
}
