//! Implementation of `supergat predict`.

mod picture;

use crate::args::PredictArgs;
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{self, SCHEMA};
use crate::run_folder::predicted::Predicted;
use crate::run_folder::ranking::Ranking;
use crate::run_folder::tables;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use supergat::Classifier;
use supergat_cluster::peers::Peers;

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

/// Returns which nodes `--top` lists, if it is given.
fn ranking(args: &PredictArgs, model: &Classifier) -> Result<Option<Ranking>> {
    let Some(count) = args.top else { return Ok(None) };
    let names = &model.card().class_names;
    let name = args.class.as_deref().or(model.positive_class());
    let known = || names.join(", ");
    let name = name.ok_or_else(|| CliError::usage(format!("--top: name a class with --class: {}", known())))?;
    let class = names.iter().position(|known| known == name);
    let class = class.ok_or_else(|| CliError::usage(format!("--class {name}: expected one of {}", known())))?;
    Ok(Some(Ranking { class, count: count as usize }))
}

/// Writes the predictions of a model.
pub fn run(args: &PredictArgs, peers: Arc<dyn Peers>) -> Result<ExitCode> {
    let given = args.model.dataset.as_deref().or(args.data.as_deref());
    let found = Predicted::by(&args.model, given, peers)?;
    let Some(Predicted { model, dataset, predictions }) = found else { return Ok(ExitCode::SUCCESS) };
    if given.is_some() {
        dataset.notes.iter().for_each(|note| output::note(&format!("note: {note}")));
    }
    if let Some(path) = &args.picture {
        picture::check(&dataset)?;
        let chosen = picture::chosen(&dataset, &model)?;
        let text = picture::svg(&dataset, &model.model_name(), &predictions, chosen.as_deref());
        files::replace(path, |out| out.write_all(text.as_bytes()))
            .map_err(|error| CliError::cannot_write(path, error))?;
    }
    let ranking = ranking(args, &model)?;
    let texts = tables::Texts::of(args.safe_csv);
    let write = |out: &mut dyn Write| match ranking {
        Some(ranking) => ranking.write(out, &dataset, &model, &predictions, texts),
        None => tables::predictions(out, &dataset, &predictions, texts),
    };
    let Some(path) = &args.out else {
        output::to_stdout(write)?;
        return Ok(ExitCode::SUCCESS);
    };
    files::replace(path, write).map_err(|error| CliError::cannot_write(path, error))?;
    let written = PredictOutput {
        schema: SCHEMA,
        dataset: dataset.name.clone(),
        model: model.model_name(),
        file: path.display().to_string(),
        graphs: dataset.examples.len(),
        nodes: dataset.nodes(),
        classes: dataset.classes(),
    };
    output::print_result(args.json, &written, || {
        let nodes = output::count(written.nodes, "node");
        format!("{}: predictions of {} for {nodes} of {}\n", written.file, written.model, written.dataset)
    })
}
