//! The published study: AUC and node metric against the weight of the edge loss, for several attention forms.

use crate::SeededRuns;
use crate::link_prediction::{LinkPrediction, LinkScore};
use serde::Serialize;
use supergat_core::{Form, ModelKind};
use supergat_numerics::statistics::Summary;
use supergat_select::sweep::{Record, ResultsFile};
use supergat_train::settings::Settings;
use supergat_train::task::Task;

/// Results of one dataset, model and weight of the edge loss over seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkPredictionResult {
    /// Dataset.
    pub dataset: String,
    /// Model.
    pub model: ModelKind,
    /// Weight of the edge loss.
    pub lambda_e: f64,
    /// Seeds with a result; all values are in this order.
    pub seeds: Vec<u64>,
    /// Area under the ROC curve of the held-out edges.
    pub auc: Summary,
    /// Average precision of the held-out edges.
    pub average_precision: Summary,
    /// Test metric of the nodes.
    pub test: Summary,
}

/// Plans every model with every weight of the edge loss on a dataset, which is loaded to recognise it.
pub fn plan(source: &str, models: &[ModelKind], lambdas: &[f64], seeds: u64) -> supergat_data::Result<SeededRuns> {
    let dataset = supergat_data::load(source)?;
    let preset = dataset.preset.as_deref().unwrap_or_default();
    let all = models.iter().flat_map(|&model| lambdas.iter().map(move |&lambda_e| settings(preset, model, lambda_e)));
    Ok(SeededRuns::new(source, &dataset, all.collect(), seeds))
}

/// Returns the results in a file by model and weight; those without a run are omitted.
pub fn points(runs: &SeededRuns, results: &ResultsFile) -> Vec<LinkPredictionResult> {
    runs.settings.iter().filter_map(|settings| point(runs, settings, results)).collect()
}

fn point(runs: &SeededRuns, settings: &Settings, results: &ResultsFile) -> Option<LinkPredictionResult> {
    let records = runs.records(LinkPrediction.name(), settings, results);
    let found: Vec<(u64, [f64; 3])> = records.into_iter().filter_map(numbers).collect();
    let summary = |k: usize| Summary::of(found.iter().map(|(_, numbers)| numbers[k]).collect());
    (!found.is_empty()).then(|| LinkPredictionResult {
        dataset: runs.dataset.clone(),
        model: settings.model,
        lambda_e: settings.edge_loss.lambda_e,
        seeds: found.iter().map(|(seed, _)| *seed).collect(),
        auc: summary(0),
        average_precision: summary(1),
        test: summary(2),
    })
}

/// Returns seed, AUC, average precision and test metric of a run; `None` if it failed or has no scores.
fn numbers(record: &Record) -> Option<(u64, [f64; 3])> {
    let test = record.test()?.metric;
    let LinkScore { auc, average_precision } = record.measured()?;
    Some((record.seed, [auc, average_precision, test]))
}

/// Returns the published settings of the task, with all edges as positives and equally many negatives. SD has
/// no published settings on the citation graphs and uses those of DP. Graphs that are not in the paper use
/// the general settings.
fn settings(dataset: &str, model: ModelKind, lambda_e: f64) -> Settings {
    let published = |model| Settings::published_for("link", dataset, model);
    let dp = ModelKind::Attention { form: Form::Dp, self_supervised: true };
    let substitute = if model.form() == Some(Form::Sd) { published(dp) } else { None };
    let settings = published(model).or(substitute).unwrap_or_else(|| Settings::general(model));
    settings.with(|s| {
        s.model = model;
        s.edge_loss.lambda_e = lambda_e;
        s.edge_loss.p_e = 1.0;
        s.edge_loss.p_n = 1.0;
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_select::sweep::Job;

    fn kind(name: &str) -> ModelKind {
        name.parse().unwrap()
    }

    #[test]
    fn uses_published_settings() {
        let of = |name| settings("cora", kind(name), 0.1);
        assert_eq!((of("supergat-go").training.lambda_2, of("supergat-dp").training.lambda_2), (0.015, 0.015));
        assert_eq!((of("supergat-sd").training.lambda_2, of("supergat-sd").training.max_epochs), (0.015, 450));
        assert_eq!(
            (of("supergat-mx").training.lambda_2, of("supergat-mx").training.max_epochs),
            (0.008228864972965771, 490)
        );
        assert_eq!(settings("ppi", kind("supergat-sd"), 0.1).training.max_epochs, 399);
        let unknown = settings("karate", kind("supergat-go"), 3.0);
        assert_eq!(
            (unknown.edge_loss.lambda_e, unknown.edge_loss.p_e, unknown.edge_loss.p_n, unknown.model),
            (3.0, 1.0, 1.0, kind("supergat-go"))
        );
    }

    #[test]
    fn combines_every_model_with_every_weight() {
        let source = "random-partition:classes=2,nodes=180,degree=2";
        let plan = plan(source, &[kind("supergat-go"), kind("supergat-sd")], &[0.1, 1.0], 3).unwrap();
        let jobs = plan.jobs();
        let one = |job: &&Job| job.settings.model == kind("supergat-sd") && job.settings.edge_loss.lambda_e == 1.0;
        assert_eq!((jobs.len(), jobs.iter().filter(one).map(|job| job.seed).collect::<Vec<_>>()), (12, vec![0, 1, 2]));
        assert_eq!((plan.dataset.as_str(), plan.metric), (source, "accuracy"));
    }
}
