//! What a training needs before its first epoch: its folder, first lines and checkpoints.

use super::progress::Progress;
use super::resume::Resumed;
use crate::args::TrainArgs;
use crate::commands::recommend;
use crate::config::{Choices, Resolved};
use crate::error::Result;
use crate::output;
use crate::run_folder::checkpoint::{self, CheckpointFolder, Plan};
use crate::run_folder::folder::RunFolder;
use crate::run_folder::tables;
use std::io;
use supergat::{Choice, Dataset};
use supergat_core::Architecture;
use supergat_train::Checkpoints;

/// Maximum number of rows of attention.csv without `--attention`.
const MAX_ROWS: usize = 1_000_000;

/// Opens the run folder: that of a resumed training, the named one, or the next free one.
pub fn run_folder(
    args: &TrainArgs,
    saved: Option<CheckpointFolder>,
    dataset: &Dataset,
    resolved: &Resolved,
) -> Result<RunFolder> {
    match (saved, &args.out) {
        (Some(saved), _) => RunFolder::resumed(saved),
        (None, Some(out)) => RunFolder::named(out),
        (None, None) => RunFolder::default_for(&dataset.name, &resolved.settings.model.to_string()),
    }
}

/// Decision whether attention.csv is written.
#[derive(Debug)]
pub struct AttentionTable {
    /// Number of rows; 0 if it is not written.
    pub rows: usize,
    /// Note, if the decision may be unexpected.
    pub note: Option<String>,
}

impl AttentionTable {
    /// Decides for a dataset with this number of directed edges. `is_requested` is `--attention`.
    pub fn new(edges: usize, architecture: &Architecture, is_requested: bool) -> Self {
        let rows = tables::attention_rows(edges, architecture);
        let reason = match (rows, is_requested) {
            (0, true) => Some("this model has no attention".to_owned()),
            (_, false) if rows > MAX_ROWS => Some(format!("it would have {rows} rows; --attention writes it")),
            _ => None,
        };
        let rows = if reason.is_none() { rows } else { 0 };
        Self { rows, note: reason.map(|reason| format!("note: attention.csv is not written, because {reason}")) }
    }
}

/// Returns a note about an unfinished training that would have the same folder.
pub fn abandoned_note(folder: &RunFolder) -> Option<String> {
    let run = folder.abandoned()?;
    let (unfinished, command) = (checkpoint::path_of(&run), checkpoint::command(&run));
    Some(format!("note: {} has an unfinished training; continue it with {command}", unfinished.display()))
}

/// Returns the first lines of the progress: model, settings, and notes about the dataset and unused options.
pub fn first_lines(choices: &Choices, choice: &Choice, dataset: &Dataset) -> Vec<String> {
    let mut lines = choice.recommendation.as_ref().map(recommend::opening).unwrap_or_default();
    lines.push(format!("settings: {}", choices.origin(choice, dataset)));
    lines.extend(dataset.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(output::node_order(dataset));
    let unread = choices.unread(choice);
    if !unread.is_empty() {
        lines.push(format!("note: {} does not use {}", choice.settings.model, unread.join(", ")));
    }
    lines
}

/// Returns the checkpoints of a training, and adds a resumed one to the first lines of the progress. Of several processes
/// that train together, only the first has a run folder, and writes checkpoints.
pub fn checkpoints<'a>(
    args: &TrainArgs,
    resumed: Option<&Resumed>,
    folder: Option<&'a RunFolder>,
    plan: &'a Plan,
    progress: &'a Progress,
) -> Result<Checkpoints<'a>> {
    let create = move || match folder {
        Some(folder) => folder.reserve(plan),
        None => Err(io::ErrorKind::Unsupported.into()),
    };
    let checkpoints = Checkpoints::created_by(args.checkpoint_every.unwrap_or_default(), create);
    let mut checkpoints = checkpoints.report_to(|saving| progress.saving(saving, plan));
    if let Some(resumed) = resumed {
        checkpoints = checkpoints.resuming(&resumed.path);
        progress.open_with(resumed.opening(&checkpoints.found()?, progress.seeds()));
    }
    Ok(checkpoints)
}
