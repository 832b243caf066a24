//! The published study: AUC and the metric of the nodes against the weight of the edge losses, for several forms of attention.

use crate::link_prediction::{LinkPrediction, LinkScore};
use crate::settings::Settings;
use crate::statistics::Summary;
use crate::sweep::{Job, Record, ResultsFile, Task, dataset_name};
use serde::Serialize;
use supergat_core::{Form, ModelKind};

/// The runs on one dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    source: String,
    /// What the dataset is called in results.
    pub dataset: String,
    /// What the nodes are measured by.
    pub metric: &'static str,
    settings: Vec<Settings>,
    seeds: u64,
}

/// What the seeds of one dataset, model and weight came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The dataset.
    pub dataset: String,
    /// The model.
    pub model: ModelKind,
    /// Weight of the edge losses.
    pub lambda_e: f64,
    /// The seeds there are runs of; all values are in their order.
    pub seeds: Vec<u64>,
    /// Area under the ROC curve of the held-out edges.
    pub auc: Summary,
    /// Average precision of the same.
    pub average_precision: Summary,
    /// Test metric of the nodes, in percent.
    pub test: Summary,
}

impl Plan {
    /// Every model with every weight of the edge losses. The dataset is read once to learn its name.
    pub fn new(source: &str, models: &[ModelKind], lambdas: &[f64], seeds: u64) -> supergat_data::Result<Self> {
        let dataset = supergat_data::load(source)?;
        let all = models.iter().flat_map(|&model| lambdas.iter().map(move |&lambda_e| (model, lambda_e)));
        Ok(Self {
            source: source.to_owned(),
            dataset: dataset_name(source, &dataset),
            metric: if dataset.is_multi_label() { "micro-f1" } else { "accuracy" },
            settings: all.map(|(model, lambda_e)| settings(&dataset.name, model, lambda_e)).collect(),
            seeds,
        })
    }

    /// All runs: seeds 0, 1, ...
    pub fn jobs(&self) -> Vec<Job> {
        Job::of_seeds(&self.source, &self.settings, self.seeds)
    }

    /// What came out, from what a results file holds; points without a run are left out.
    pub fn points(&self, results: &ResultsFile) -> Vec<Point> {
        self.settings.iter().filter_map(|settings| self.point(settings, results)).collect()
    }

    fn point(&self, settings: &Settings, results: &ResultsFile) -> Option<Point> {
        let wanted = |record: &&Record| {
            (record.task.as_str(), &record.dataset, &record.settings)
                == (LinkPrediction.name(), &self.dataset, settings)
                && record.seed < self.seeds
        };
        let mut runs: Vec<(u64, [f64; 3])> = results.records().filter(wanted).filter_map(numbers).collect();
        runs.sort_by_key(|(seed, _)| *seed);
        let summary = |k: usize| Summary::of(runs.iter().map(|(_, numbers)| numbers[k]).collect());
        (!runs.is_empty()).then(|| Point {
            dataset: self.dataset.clone(),
            model: settings.model,
            lambda_e: settings.lambda_e,
            seeds: runs.iter().map(|(seed, _)| *seed).collect(),
            auc: summary(0),
            average_precision: summary(1),
            test: summary(2),
        })
    }
}

/// Seed, AUC, average precision and test metric in percent, of a run that has them.
fn numbers(record: &Record) -> Option<(u64, [f64; 3])> {
    let test = 100.0 * record.test()?.metric;
    let LinkScore { auc, average_precision } = record.measured()?;
    Some((record.seed, [auc, average_precision, test]))
}

/// The published settings of the task, with all edges as positives and as many negatives. SD has none on the citation graphs and takes those of DP; graphs
/// that the paper does not know take the general ones.
fn settings(dataset: &str, model: ModelKind, lambda_e: f64) -> Settings {
    let of = |model| Settings::published_for("link", dataset, model);
    let near = ModelKind::Attention { form: Form::Dp, self_supervised: true };
    let nearest = if model.form() == Some(Form::Sd) { of(near) } else { None };
    let settings = of(model).or(nearest).unwrap_or_else(|| Settings::general(model));
    Settings { model, lambda_e, p_e: 1.0, p_n: 1.0, ..settings }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> ModelKind {
        name.parse().unwrap()
    }

    #[test]
    fn settings_are_the_published_ones() {
        let of = |name| settings("cora", kind(name), 0.1);
        assert_eq!((of("supergat-go").lambda_2, of("supergat-dp").lambda_2), (0.015, 0.015));
        assert_eq!((of("supergat-sd").lambda_2, of("supergat-sd").max_epochs), (0.015, 450));
        assert_eq!((of("supergat-mx").lambda_2, of("supergat-mx").max_epochs), (0.008228864972965771, 490));
        assert_eq!(settings("ppi", kind("supergat-sd"), 0.1).max_epochs, 399);
        let unknown = settings("karate", kind("supergat-go"), 3.0);
        assert_eq!((unknown.lambda_e, unknown.p_e, unknown.p_n, unknown.model), (3.0, 1.0, 1.0, kind("supergat-go")));
    }

    #[test]
    fn every_model_meets_every_weight() {
        let source = "random-partition:classes=2,nodes=180,degree=2";
        let plan = Plan::new(source, &[kind("supergat-go"), kind("supergat-sd")], &[0.1, 1.0], 3).unwrap();
        let jobs = plan.jobs();
        let one = |job: &&Job| job.settings.model == kind("supergat-sd") && job.settings.lambda_e == 1.0;
        assert_eq!((jobs.len(), jobs.iter().filter(one).map(|job| job.seed).collect::<Vec<_>>()), (12, vec![0, 1, 2]));
        assert_eq!((plan.dataset.as_str(), plan.metric), (source, "accuracy"));
    }
}
