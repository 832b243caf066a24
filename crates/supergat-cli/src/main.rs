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
mod sweep;

use args::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    process::interrupt::block_signals();
    let result = match Cli::try_parse() {
        Ok(cli) => run(cli),
        Err(error) => args::refuse(&error),
    };
    result.unwrap_or_else(|error| output::failed(&error))
}

fn run(cli: Cli) -> error::Result<ExitCode> {
    if cli.no_cache {
        supergat::data::cache::turn_off();
    }
    match cli.command {
        Command::Train(args) => commands::train::run(args),
        Command::Evaluate(args) => commands::evaluate::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Bench(args) => commands::bench::run(args),
        Command::Devices(args) => commands::devices::run(&args),
        Command::Datasets(args) => commands::datasets::run(&args),
        Command::Download(args) => commands::download::run(&args),
        Command::Cache(args) => commands::cache::run(&args),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Tune(args) => commands::tune::run(args),
        Command::Recommend(args) => commands::recommend::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Study(study) => commands::study::run(&study),
    }
}
