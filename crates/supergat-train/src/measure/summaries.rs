//! Metrics, and precision, recall and F1 of every class, summarised over seeds.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use supergat_numerics::metrics::{ClassMetric, ClassMetrics, Metric, Metrics};
use supergat_numerics::statistics::Summary;

/// Mean, sample standard deviation and values of a metric that may be undefined for some seeds. Undefined values are
/// left out of the mean and the standard deviation.
///
/// ```
/// use supergat_train::PartialSummary;
/// let found = PartialSummary::of(vec![Some(0.5), None, Some(1.0)]);
/// assert_eq!((found.mean, found.values.len()), (Some(0.75), 3));
/// assert_eq!(PartialSummary::of(vec![None]).mean, None);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartialSummary {
    /// Mean of the defined values; `None` without any.
    pub mean: Option<f64>,
    /// Sample standard deviation of the defined values, zero for a single one; `None` without any.
    pub std: Option<f64>,
    /// Values, in the order of the runs; `None` where undefined.
    pub values: Vec<Option<f64>>,
}

impl PartialSummary {
    /// Summarises the values that are defined.
    pub fn of(values: Vec<Option<f64>>) -> Self {
        let defined: Vec<f64> = values.iter().flatten().copied().collect();
        let summary = (!defined.is_empty()).then(|| Summary::of(defined));
        Self { mean: summary.as_ref().map(|found| found.mean), std: summary.map(|found| found.std), values }
    }

    /// Returns the summary of all values; `None` if there are none, or if one is undefined.
    pub fn complete(&self) -> Option<Summary> {
        complete(self.values.iter().copied())
    }
}

/// Summarises values; `None` if there are none, or if one is undefined.
fn complete(values: impl Iterator<Item = Option<f64>>) -> Option<Summary> {
    let values: Option<Vec<f64>> = values.collect();
    values.filter(|values| !values.is_empty()).map(Summary::of)
}

/// Mean, standard deviation and values of every metric that is defined for all seeds, by its name in files, such as
/// `macro_f1`. Metrics are from 0 to 1; the losses are not.
pub type MetricSummaries = BTreeMap<String, Summary>;

/// Summarises a metric over seeds; `None` unless it is defined for all of them.
pub fn metric_summary<'a>(metrics: impl Iterator<Item = Option<&'a Metrics>>, metric: Metric) -> Option<Summary> {
    complete(metrics.map(|metrics| metrics?.get(metric)))
}

/// Summarises all metrics over seeds.
pub fn metric_summaries<'a>(metrics: impl Iterator<Item = Option<&'a Metrics>> + Clone) -> MetricSummaries {
    let summary = |metric: Metric| Some((metric.key(), metric_summary(metrics.clone(), metric)?));
    Metric::ALL.into_iter().filter_map(summary).collect()
}

/// Metrics of one class over seeds.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_train::{DecisionOptions, Settings, class_summaries, measure, run_seeds};
/// let dataset = supergat_data::load("random-partition:classes=2,nodes=250,degree=4,homophily=0.8").unwrap();
/// let settings = Settings::general("gcn".parse().unwrap()).with(|s| s.training.max_epochs = 5);
/// let runs = run_seeds(&dataset, &settings, &[0], 1, |_| ControlFlow::Continue(()))?;
/// let metrics = measure(&dataset, runs.model.architecture(), &runs.logits, &DecisionOptions::default())?;
/// let classes = class_summaries(&dataset.class_names, [metrics.test.as_ref()].into_iter());
/// assert_eq!((classes.len(), classes[1].class.as_str()), (2, "1"));
/// assert!(classes[1].recall.mean.unwrap() <= 1.0 && classes[1].nodes.mean > 0.0);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassSummary {
    /// Name of the class.
    pub class: String,
    /// Number of nodes of the class; it differs between runs with different splits.
    pub nodes: Summary,
    /// Number of nodes for which the class was predicted.
    pub predictions: Summary,
    /// Share of right predictions of the class; undefined for seeds that never predict it.
    pub precision: PartialSummary,
    /// Share of the nodes of the class for which it was predicted; undefined without nodes.
    pub recall: PartialSummary,
    /// Harmonic mean of precision and recall; undefined if the class has neither nodes nor predictions.
    pub f1: PartialSummary,
}

impl ClassSummary {
    /// Returns the summary of a metric.
    pub fn get(&self, metric: ClassMetric) -> &PartialSummary {
        match metric {
            ClassMetric::Precision => &self.precision,
            ClassMetric::Recall => &self.recall,
            ClassMetric::F1 => &self.f1,
        }
    }
}

/// Summarises the metrics of every class over seeds, in the order of the classes. Returns no classes if a seed has no
/// metrics. See [`ClassSummary`] for an example.
pub fn class_summaries<'a>(
    class_names: &[String],
    metrics: impl Iterator<Item = Option<&'a Metrics>>,
) -> Vec<ClassSummary> {
    let Some(seeds) = metrics.collect::<Option<Vec<&Metrics>>>().filter(|seeds| !seeds.is_empty()) else {
        return Vec::new();
    };
    let of_class = |(k, name): (usize, &String)| {
        let of_seeds: Vec<&ClassMetrics> = seeds.iter().map(|seed| seed.classes.get(k)).collect::<Option<_>>()?;
        let count = |of: fn(&ClassMetrics) -> u64| Summary::of(of_seeds.iter().map(|class| of(class) as f64).collect());
        let share = |metric: ClassMetric| PartialSummary::of(of_seeds.iter().map(|class| metric.of(class)).collect());
        Some(ClassSummary {
            class: name.clone(),
            nodes: count(|class| class.nodes),
            predictions: count(|class| class.predictions),
            precision: share(ClassMetric::Precision),
            recall: share(ClassMetric::Recall),
            f1: share(ClassMetric::F1),
        })
    };
    class_names.iter().enumerate().filter_map(of_class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Labels;
    use supergat_numerics::metrics::POSITIVE;

    /// Metrics of nodes with these classes and predicted classes, out of three.
    fn metrics(of: &[u32], predicted: &[u32]) -> Metrics {
        let labels = |of: &[u32]| Labels::Single { classes: 3, of: of.to_vec() };
        Metrics::of(&labels(of), &labels(predicted), &vec![1.0 / 3.0; 3 * of.len()], POSITIVE)
    }

    fn names() -> Vec<String> {
        ["a", "b", "c"].map(str::to_owned).to_vec()
    }

    #[test]
    fn undefined_values_are_left_out_of_means() {
        // The second class is predicted by the first seed only; the third has neither nodes nor predictions.
        let seeds = [metrics(&[0, 0, 1, 1], &[0, 1, 1, 0]), metrics(&[0, 0, 1, 1], &[0, 0, 0, 0])];
        let found = class_summaries(&names(), seeds.iter().map(Some));
        let [a, b, c] = &found[..] else { panic!("three classes, found {found:?}") };
        assert_eq!((a.precision.mean, a.precision.complete()), (Some(0.5), Some(Summary::of(vec![0.5, 0.5]))));
        assert_eq!(b.precision, PartialSummary { mean: Some(0.5), std: Some(0.0), values: vec![Some(0.5), None] });
        assert_eq!(b.precision.complete(), None);
        assert_eq!(b.recall.values, [Some(0.5), Some(0.0)]);
        assert_eq!((b.recall.mean, b.recall.std), (Some(0.25), Some(0.125f64.sqrt())));
        assert_eq!((b.nodes.mean, b.predictions.values.as_slice()), (2.0, [2.0, 0.0].as_slice()));
        assert_eq!(c.get(ClassMetric::F1), &PartialSummary { mean: None, std: None, values: vec![None, None] });
        let text = serde_json::to_string(&found).unwrap();
        assert!(text.contains(r#""precision":{"mean":0.5,"std":0.0,"values":[0.5,null]}"#), "{text}");
        assert_eq!(serde_json::from_str::<Vec<ClassSummary>>(&text).unwrap(), found);
    }

    #[test]
    fn needs_the_metrics_of_all_seeds() {
        let one = metrics(&[0, 1], &[0, 1]);
        assert_eq!(class_summaries(&names(), [Some(&one), None].into_iter()), []);
        assert_eq!(class_summaries(&names(), std::iter::empty()), []);
        let mut old = one.clone();
        old.classes.clear();
        assert_eq!(class_summaries(&names(), [Some(&one), Some(&old)].into_iter()), []);
    }

    #[test]
    fn reads_metrics_without_classes() {
        let old = r#"{"nodes":4,"accuracy":0.5,"balanced_accuracy":null,"macro_f1":0.5,"micro_f1":0.5,"weighted_f1":0.5,
            "auroc":null,"average_precision":null,"log_loss":1.0,"brier":0.5,"calibration_error":0.1}"#;
        let metrics: Metrics = serde_json::from_str(old).unwrap();
        assert_eq!((metrics.accuracy, metrics.precision_at_10, metrics.classes.len()), (Some(0.5), None, 0));
    }

    #[test]
    fn metrics_undefined_for_a_seed_are_left_out() {
        let metrics = metrics(&[0, 1, 2, 2], &[0, 1, 1, 2]);
        let all = metric_summaries([Some(&metrics), Some(&metrics)].into_iter());
        assert_eq!(all["accuracy"].values, [metrics.accuracy.unwrap(); 2]);
        assert_eq!(all["log_loss"].mean, metrics.log_loss.unwrap());
        let mut other = metrics.clone();
        other.auroc = None;
        let some = metric_summaries([Some(&metrics), Some(&other)].into_iter());
        assert!(!some.contains_key("auroc") && some.len() == all.len() - 1);
        assert!(metric_summaries([Some(&metrics), None].into_iter()).is_empty());
    }
}
