//! The end of a training: its run folder, the printed summary, and how to continue after an interruption or an error.

use crate::args::TrainArgs;
use crate::config::Resolved;
use crate::error::{CliError, INTERRUPTED, Result};
use crate::output;
use crate::process::interrupt::Interrupt;
use crate::run_folder::checkpoint;
use crate::run_folder::folder::{Contents, RunFolder};
use crate::run_folder::report;
use crate::run_folder::summary::RunSummary;
use crate::run_folder::tables;
use std::process::ExitCode;
use supergat::{Dataset, Training};
use supergat_train::Checkpoints;

/// A finished training, before its run folder is written.
#[derive(Debug)]
pub struct Results<'a> {
    /// Arguments of the command.
    pub args: &'a TrainArgs,
    /// Settings of the training.
    pub resolved: &'a Resolved,
    /// The dataset of the best run.
    pub dataset: &'a Dataset,
    /// Result of every seed, and the best model.
    pub training: &'a Training,
    /// Whether attention.csv is written.
    pub attention: bool,
    /// Duration of the training.
    pub seconds: f64,
}

impl Results<'_> {
    /// Writes the run folder and prints the summary.
    pub fn write(&self, folder: &RunFolder, checkpoints: &Checkpoints<'_>, interrupt: &Interrupt) -> Result<ExitCode> {
        let Self { args, resolved, dataset, training, attention, seconds } = *self;
        let mut summary = RunSummary::of(dataset, &resolved.dataset, training, seconds);
        if resolved.all_splits {
            summary.splits = summary.seeds.iter().map(|&seed| (seed - resolved.seed) as usize).collect();
        }
        let lines = report::lines(training);
        let config = resolved.to_toml();
        let texts = tables::Texts::of(args.safe_csv);
        let contents = Contents { config, dataset, training, lines: &lines, attention, texts };
        folder.write(&contents, &mut summary, interrupt).map_err(|error| {
            interrupt.unless_quitting();
            // The training need not be repeated once the folder can be written.
            checkpoints.flush();
            if command(checkpoints).is_none() && folder.write_elsewhere(&contents, &mut summary, interrupt).is_ok() {
                let (message, place) = (error.message, &summary.run_dir);
                return CliError { message: format!("{message}; the run folder is in {place} instead"), ..error };
            }
            report_checkpoint(checkpoints, &error, args.sweep.quiet);
            error
        })?;
        if !training.interrupted {
            folder.remove_checkpoint();
        }
        let printed = output::print_result(args.sweep.json, &summary, || summary.table())?;
        if !training.interrupted {
            return Ok(printed);
        }
        if let Some(command) = command(checkpoints).filter(|_| !args.sweep.quiet) {
            output::note(&format!("to continue this training: {command}"));
        }
        Ok(INTERRUPTED.into())
    }
}

/// Returns the command that resumes the training, if it has a checkpoint.
fn command(checkpoints: &Checkpoints<'_>) -> Option<String> {
    let run = checkpoint::run_of(&checkpoints.folder().filter(|folder| folder.is_dir())?)?;
    Some(checkpoint::command(&run))
}

/// Reports how to continue after an error, if there is a checkpoint. Wrong input would fail again.
pub fn report_checkpoint(checkpoints: &Checkpoints<'_>, error: &CliError, quiet: bool) {
    if let Some(command) = command(checkpoints).filter(|_| !quiet && error.code == 1) {
        output::note(&format!("note: the checkpoint is kept; to continue this training: {command}"));
    }
}
