//! Implementation of `supergat predict`.

mod picture;

use crate::args::PredictArgs;
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{self, SCHEMA};
use crate::run_folder::saved_model::SavedModel;
use crate::run_folder::tables;
use serde::Serialize;
use std::process::ExitCode;
use supergat_lab::logits;

/// Summary of the predictions, printed by `--json`.
#[derive(Debug, Serialize)]
struct PredictOutput {
    schema: u32,
    dataset: String,
    model: String,
    file: String,
    graphs: usize,
    nodes: usize,
    classes: usize,
}

/// Writes the predictions of a model.
pub fn run(args: &PredictArgs) -> Result<ExitCode> {
    let saved = SavedModel::open(&args.run)?;
    let given = args.dataset.as_deref().or(args.data.as_deref());
    let dataset = saved.dataset(given, args.split, &args.tables.0)?;
    if given.is_some() {
        dataset.notes.iter().for_each(|note| output::note(&format!("note: {note}")));
    }
    if args.picture.is_some() {
        picture::check(&dataset)?;
    }
    let logits = logits(&saved.model, &dataset)?;
    if let Some(path) = &args.picture {
        let model = saved.model.architecture().model.to_string();
        let text = picture::svg(&dataset, &model, &logits[0]);
        files::replace(path, |out| out.write_all(text.as_bytes()))
            .map_err(|error| CliError::cannot_write(path, error))?;
    }
    let Some(path) = &args.out else {
        output::to_stdout(|out| tables::predictions(out, &dataset, &logits))?;
        return Ok(ExitCode::SUCCESS);
    };
    files::replace(path, |out| tables::predictions(out, &dataset, &logits))
        .map_err(|error| CliError::cannot_write(path, error))?;
    let written = PredictOutput {
        schema: SCHEMA,
        dataset: dataset.name.clone(),
        model: saved.model.architecture().model.to_string(),
        file: path.display().to_string(),
        graphs: dataset.examples.len(),
        nodes: dataset.nodes(),
        classes: dataset.classes(),
    };
    if args.json {
        output::print_json(&written)?;
    } else {
        let nodes = output::count(written.nodes, "node");
        output::print(&format!(
            "{}: predictions of {} for {nodes} of {}\n",
            written.file, written.model, written.dataset
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
