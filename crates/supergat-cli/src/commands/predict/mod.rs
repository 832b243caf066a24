//! Implementation of `supergat predict`.

mod picture;

use crate::args::PredictArgs;
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{self, SCHEMA};
use crate::run_folder;
use crate::run_folder::tables;
use serde::Serialize;
use std::process::ExitCode;

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
    let given = args.dataset.as_deref().or(args.data.as_deref());
    let (model, dataset) = run_folder::open(&args.run, given, args.split, &args.tables.0)?;
    if given.is_some() {
        dataset.notes.iter().for_each(|note| output::note(&format!("note: {note}")));
    }
    if args.picture.is_some() {
        picture::check(&dataset)?;
    }
    let model = model.on(args.device)?;
    let predictions = model.predict(&dataset)?;
    if let Some(path) = &args.picture {
        let text = picture::svg(&dataset, &model.model_name(), &predictions);
        files::replace(path, |out| out.write_all(text.as_bytes()))
            .map_err(|error| CliError::cannot_write(path, error))?;
    }
    let Some(path) = &args.out else {
        output::to_stdout(|out| tables::predictions(out, &dataset, &predictions))?;
        return Ok(ExitCode::SUCCESS);
    };
    files::replace(path, |out| tables::predictions(out, &dataset, &predictions))
        .map_err(|error| CliError::cannot_write(path, error))?;
    let written = PredictOutput {
        schema: SCHEMA,
        dataset: dataset.name.clone(),
        model: model.model_name(),
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
