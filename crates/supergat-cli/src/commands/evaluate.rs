//! Implementation of `supergat evaluate`.

use crate::args::EvaluateArgs;
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, SCHEMA};
use crate::run_folder::predicted::Predicted;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use supergat::{ClassMetrics, Evaluation, Metric, Metrics};
use supergat_cluster::peers::Peers;

/// Scores of a model on a dataset, printed by `--json`.
#[derive(Debug, Serialize)]
struct EvaluateOutput<'a> {
    schema: u32,
    dataset: String,
    model: String,
    metric: &'static str,
    /// `None` if the split has no nodes.
    train: Option<SplitScore<'a>>,
    validation: Option<SplitScore<'a>>,
    test: Option<SplitScore<'a>>,
}

/// Score of a model on the nodes of a split.
#[derive(Debug, Serialize)]
struct SplitScore<'a> {
    nodes: usize,
    /// Metric.
    metric: f64,
    loss: f64,
    /// All metrics by name, with the temperature and the threshold of the model.
    metrics: BTreeMap<String, Option<f64>>,
    /// Metrics of every class, in the order of the classes.
    classes: Vec<ClassScore<'a>>,
}

/// Metrics of one class.
#[derive(Debug, Serialize)]
struct ClassScore<'a> {
    class: &'a str,
    #[serde(flatten)]
    metrics: ClassMetrics,
}

/// Evaluates a model.
pub fn run(args: &EvaluateArgs, peers: Arc<dyn Peers>) -> Result<ExitCode> {
    let found = Predicted::by(&args.model, args.model.dataset.as_deref(), peers)?;
    let Some(Predicted { model, dataset, predictions }) = found else { return Ok(ExitCode::SUCCESS) };
    let Evaluation { train, validation, test } = model.evaluate_predictions(&dataset, &predictions)?;
    let score = |split: Option<supergat::SplitScore>| {
        split.map(|supergat::SplitScore { nodes, score, metrics }| SplitScore {
            nodes,
            metric: score.metric,
            loss: score.loss,
            metrics: named(&metrics),
            classes: model.class_names().iter().zip(metrics.classes).map(class_score).collect(),
        })
    };
    let evaluation = EvaluateOutput {
        schema: SCHEMA,
        dataset: dataset.name.clone(),
        model: model.model_name(),
        metric: if dataset.is_multi_label() { "micro-f1" } else { "accuracy" },
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
    output::print_result(args.json, &evaluation, || table(&evaluation))
}

fn class_score((class, metrics): (&String, ClassMetrics)) -> ClassScore<'_> {
    ClassScore { class, metrics }
}

fn table(evaluation: &EvaluateOutput<'_>) -> String {
    let EvaluateOutput { dataset, model, metric, .. } = evaluation;
    let mut text =
        format!("{BOLD}{model} on {dataset}{BOLD:#}\n  {:<12}{:>8}{metric:>12}{:>10}\n", "", "nodes", "loss");
    let splits = [("train", &evaluation.train), ("validation", &evaluation.validation), ("test", &evaluation.test)];
    for (name, score) in splits {
        if let Some(SplitScore { nodes, metric, loss, .. }) = score {
            text += &format!("  {name:<12}{nodes:>8}{:>10.2} %{loss:>10.4}\n", 100.0 * metric);
        }
    }
    let measured: Vec<(&str, &SplitScore<'_>)> =
        splits.iter().filter_map(|(name, score)| score.as_ref().map(|score| (*name, score))).collect();
    let head: String = measured.iter().map(|(name, _)| format!("{name:>14}")).collect();
    text += &format!("\n  {:<20}{head}\n", "");
    for metric in Metric::ALL {
        // Two classes have precisions of the first nodes, for as many nodes as there are.
        let is_first = matches!(metric, Metric::PrecisionAt10 | Metric::PrecisionAt100 | Metric::PrecisionAt1000);
        if is_first && measured.iter().all(|(_, score)| score.metrics[&metric.key()].is_none()) {
            continue;
        }
        let value = |(_, score): &(&str, &SplitScore<'_>)| match score.metrics[&metric.key()] {
            Some(value) if metric.is_share() => format!("{:>12.2} %", 100.0 * value),
            Some(value) => format!("{value:>14.4}"),
            None => format!("{:>14}", "-"),
        };
        let values: String = measured.iter().map(value).collect();
        text += &format!("  {metric:<20}{values}\n");
    }
    text + &measured.last().map_or_else(String::new, |(name, score)| class_table(name, &score.classes))
}

/// Formats the metrics of every class as a table.
fn class_table(split: &str, classes: &[ClassScore<'_>]) -> String {
    let title = format!("{split} nodes by class");
    let names: Vec<String> = classes.iter().map(|score| output::visible(score.class)).collect();
    let width = names.iter().map(|name| name.chars().count()).chain([title.len()]).max().unwrap_or(0);
    let mut text = format!(
        "\n  {title:<width$}{:>10}{:>13}{:>12}{:>12}{:>12}\n",
        "nodes", "predictions", "precision", "recall", "f1"
    );
    let percent = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.2} %", 100.0 * share));
    for (class, score) in names.iter().zip(classes) {
        let ClassMetrics { nodes, predictions, precision, recall, f1 } = score.metrics;
        let [precision, recall, f1] = [precision, recall, f1].map(percent);
        text += &format!("  {class:<width$}{nodes:>10}{predictions:>13}{precision:>12}{recall:>12}{f1:>12}\n");
    }
    text
}

/// Returns all metrics by name.
fn named(metrics: &Metrics) -> BTreeMap<String, Option<f64>> {
    Metric::ALL.into_iter().map(|metric| (metric.key(), metrics.get(metric))).collect()
}
