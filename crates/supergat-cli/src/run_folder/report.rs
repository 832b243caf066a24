//! Report of a run, built after training or from a run folder.

use crate::error::{CliError, Result};
use crate::output::count;
use crate::run_folder::summary::{RunSummary, percent};
use supergat::{Classifier, Dataset, Predictions, SeedMetrics, SeedRun, Training};
use supergat_studies::report::{EpochLine, Report, Run};

/// Returns the epochs of all runs. Runs without test nodes have no test metrics.
pub fn lines(training: &Training) -> Vec<EpochLine> {
    let of_run = |(run, metrics): (&SeedRun, &SeedMetrics)| {
        let line = |epoch| match EpochLine::new(run.seed, epoch) {
            line if metrics.test.is_some() => line,
            line => EpochLine { test_metric: None, ..line },
        };
        run.history.iter().map(line).collect::<Vec<_>>()
    };
    training.runs.iter().zip(&training.metrics).flat_map(of_run).collect()
}

/// Builds the report of a run from the predictions of its model.
pub fn make(
    dataset: &Dataset,
    model: &Classifier,
    predictions: &Predictions,
    lines: &[EpochLine],
    summary: &RunSummary,
) -> Result<Report> {
    let best = summary.seeds.iter().position(|seed| *seed == summary.best_seed);
    let of_best = |list: &[usize]| best.and_then(|best| list.get(best).copied());
    let (Some(epoch), Some(epochs)) = (of_best(&summary.best_epochs), of_best(&summary.epochs)) else {
        return Err(CliError::usage("the summary does not list its best seed"));
    };
    let (model, decision, logits) = (model.engine(), &model.card().decision, predictions.logits());
    let (seed, metric) = (summary.best_seed, &summary.metric);
    let run = Run { dataset, model, logits, decision, lines, seed, epoch, metric };
    Ok(Report::of(&run, &facts(dataset, summary, epoch, epochs))?)
}

/// Returns the facts at the beginning of the report. `epoch` and `epochs` are those of the best seed.
fn facts(dataset: &Dataset, summary: &RunSummary, epoch: usize, epochs: usize) -> Vec<(String, String)> {
    let RunSummary { metric, seeds, best_seed, .. } = summary;
    let best_split = seeds.iter().position(|seed| seed == best_seed).and_then(|best| summary.splits.get(best));
    let best_split = best_split.map(|split| *split as u64);
    let seed = match seeds.len() {
        1 => best_seed.to_string(),
        many => format!("{many}, best {}", best_split.unwrap_or(*best_seed)),
    };
    let warnings = summary.warnings.iter().map(|warning| ("warning".to_owned(), warning.clone()));
    let mut facts: Vec<(String, String)> = warnings.collect();
    facts.extend(summary.test.iter().map(|test| (format!("test {metric}"), percent(test))));
    facts.extend([
        (format!("validation {metric}"), percent(&summary.validation)),
        (if seeds.len() == 1 { summary.unit().to_owned() } else { format!("{}s", summary.unit()) }, seed),
        ("best epoch (from 0)".into(), format!("{epoch} of {epochs}")),
        ("time of training".into(), format!("{:.1} s", summary.seconds)),
        ("graph".into(), format!("{}, {}", count(dataset.nodes(), "node"), links(dataset))),
    ]);
    if let Some(correction) = &summary.correct_and_smooth {
        let before = correction.test_before.iter();
        facts.extend(before.map(|test| (format!("test {metric} before Correct and Smooth"), percent(test))));
        if correction.uses_validation_labels {
            facts.push(("validation labels".into(), "used by Correct and Smooth for other nodes".into()));
        }
    }
    if summary.interrupted {
        facts.push(("ended".into(), "interrupted".into()));
    }
    facts
}

fn links(dataset: &Dataset) -> String {
    count(usize::try_from(dataset.listed_links).unwrap_or(usize::MAX), "link")
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_numerics::statistics::Summary;

    #[test]
    fn shows_the_epochs_of_the_best_seed() {
        let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=2").unwrap();
        let summary = RunSummary {
            schema: 1,
            dataset: "x".into(),
            source: "x".into(),
            model: "mlp".into(),
            metric: "accuracy".into(),
            seeds: vec![3, 4],
            splits: Vec::new(),
            test: Some(Summary::of(vec![80.0, 81.0])),
            validation: Summary::of(vec![80.0, 81.0]),
            best_seed: 4,
            epochs: vec![308, 143],
            best_epochs: vec![300, 36],
            seconds: 1.0,
            node_order: "given".into(),
            interrupted: false,
            run_dir: String::new(),
            warnings: vec!["the model is useless".into()],
            notes: Vec::new(),
            metrics: Default::default(),
            correct_and_smooth: None,
            calibration: None,
            threshold: None,
            ensemble: None,
        };
        let model = Classifier::builder().model("mlp").max_epochs(1).fit(&dataset).unwrap();
        let predictions = model.predict(&dataset).unwrap();
        let report = make(&dataset, &model, &predictions, &[], &summary).unwrap();
        let page = report.html("", "");
        assert!(page.contains("36 of 143") && page.contains("the model is useless"));
    }
}
