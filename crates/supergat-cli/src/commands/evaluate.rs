//! Implementation of `supergat evaluate`.

use crate::args::EvaluateArgs;
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, SCHEMA};
use crate::run_folder;
use crate::run_folder::summary::metric;
use serde::Serialize;
use std::process::ExitCode;
use supergat::Evaluation;

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
    let (model, dataset) = run_folder::open(&args.run, args.dataset.as_deref(), args.split, &args.tables.0)?;
    let model = model.on(args.device)?;
    let Evaluation { train, validation, test } = model.evaluate(&dataset)?;
    let score = |split: Option<supergat::SplitScore>| {
        split.map(|supergat::SplitScore { nodes, score }| SplitScore {
            nodes,
            metric: 100.0 * score.metric,
            loss: score.loss,
        })
    };
    let evaluation = EvaluateOutput {
        schema: SCHEMA,
        dataset: dataset.name.clone(),
        model: model.model_name(),
        metric: metric(&dataset),
        train: score(train),
        validation: score(validation),
        test: score(test),
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
