//! Implementation of `supergat evaluate`.

use crate::args::EvaluateArgs;
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, SCHEMA};
use crate::run_folder::saved_model::SavedModel;
use crate::run_folder::summary::metric;
use serde::Serialize;
use std::process::ExitCode;
use supergat_core::{Example, Score};
use supergat_data::Dataset;
use supergat_lab::logits;

/// Scores of a model on a dataset, printed by `--json`.
#[derive(Debug, Serialize)]
struct EvaluateOutput {
    schema: u32,
    dataset: String,
    model: String,
    metric: &'static str,
    /// `None` if the split has no nodes.
    train: Option<SplitScore>,
    validation: Option<SplitScore>,
    test: Option<SplitScore>,
}

/// Score of a model on the nodes of a split.
#[derive(Debug, Serialize)]
struct SplitScore {
    nodes: usize,
    /// Metric in percent.
    metric: f64,
    loss: f64,
}

/// Evaluates a model.
pub fn run(args: &EvaluateArgs) -> Result<ExitCode> {
    let saved = SavedModel::open(&args.run)?;
    let dataset = saved.dataset(args.dataset.as_deref(), args.split, &args.tables.0)?;
    let logits = logits(&saved.model, &dataset)?;
    let score = |list: fn(&Example<f32>) -> &[u32]| score(&dataset, &logits, list);
    let evaluation = EvaluateOutput {
        schema: SCHEMA,
        dataset: dataset.name.clone(),
        model: saved.model.architecture().model.to_string(),
        metric: metric(&dataset),
        train: score(|example| &example.train),
        validation: score(|example| &example.validation),
        test: score(|example| &example.test),
    };
    if [&evaluation.train, &evaluation.validation, &evaluation.test].iter().all(|score| score.is_none()) {
        let name = &evaluation.dataset;
        return Err(CliError::usage(format!(
            "no node of {name} has a label to compare with; use `supergat predict` to predict their classes"
        )));
    }
    if args.json {
        output::print_json(&evaluation)?;
    } else {
        output::print(&table(&evaluation))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn score(dataset: &Dataset, logits: &[Vec<f32>], list: fn(&Example<f32>) -> &[u32]) -> Option<SplitScore> {
    let nodes = dataset.examples.iter().map(|example| list(example).len()).sum();
    let Score { loss, metric } = supergat_lab::score(dataset, logits, list);
    (nodes > 0).then_some(SplitScore { nodes, metric: 100.0 * metric, loss })
}

fn table(evaluation: &EvaluateOutput) -> String {
    let EvaluateOutput { dataset, model, metric, .. } = evaluation;
    let mut text =
        format!("{BOLD}{model} on {dataset}{BOLD:#}\n  {:<12}{:>8}{metric:>12}{:>10}\n", "", "nodes", "loss");
    let splits = [("train", &evaluation.train), ("validation", &evaluation.validation), ("test", &evaluation.test)];
    for (name, score) in splits {
        if let Some(SplitScore { nodes, metric, loss }) = score {
            text += &format!("  {name:<12}{nodes:>8}{metric:>10.2} %{loss:>10.4}\n");
        }
    }
    text
}
