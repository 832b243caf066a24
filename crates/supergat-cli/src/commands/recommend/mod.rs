//! Implementation of `supergat recommend`.

mod choose;
mod figures;
mod progress;
mod quick;
mod thorough;

pub use choose::{choose, opening};

use crate::args::RecommendArgs;
use crate::error::{CliError, Result};
use std::process::ExitCode;

/// Version of the objects printed by `--json`. Metrics of version 1 were in percent.
const SCHEMA: u32 = 2;

/// Recommends a model for a dataset: within minutes if `--minutes` or `--plan` is given, else within seconds.
pub fn run(args: &RecommendArgs) -> Result<ExitCode> {
    let is_thorough = args.minutes.is_some() || args.plan.is_some();
    let options = match is_thorough {
        true => [("--seconds", args.seconds.is_some()), ("--training-labels", args.training_labels)],
        false => [("--families", !args.families.is_empty()), ("--keep-split", args.keep_split)],
    };
    match (options.iter().find(|(_, is_given)| *is_given), is_thorough) {
        (Some((name, _)), true) => {
            Err(CliError::usage(format!("{name} is for the comparison within seconds: leave out --minutes and --plan")))
        }
        (Some((name, _)), false) => Err(CliError::usage(format!(
            "{name} is for the comparison within minutes: add --minutes, such as --minutes 10"
        ))),
        (None, true) => thorough::run(args),
        (None, false) => quick::run(args),
    }
}
