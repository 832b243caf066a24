//! Decisions and metrics: how the logits of a model become probabilities and classes, and how good these are.
//!
//! Temperature and threshold are fitted on the validation nodes. Test labels are read for metrics only.

use crate::threshold_basis::ThresholdBasis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use supergat_core::{Architecture, Example, Labels, Result, argmax};
use supergat_data::Dataset;
use supergat_numerics::metrics::{
    Metric, Metrics, POSITIVE, Threshold, ThresholdRule, calibration_error, choose_threshold, one_against_rest,
    temperature,
};
use supergat_numerics::statistics::Summary;

/// List of nodes of an example, such as its test nodes.
pub type NodeList = fn(&Example<f32>) -> &[u32];

/// Number of validation nodes from which on probabilities are calibrated, unless the user decides.
pub const ENOUGH_NODES: usize = 50;

/// Whether probabilities are calibrated.
///
/// ```
/// use supergat_train::Calibrate;
/// assert_eq!("temperature".parse(), Ok(Calibrate::Temperature));
/// assert_eq!("none".parse::<Calibrate>().unwrap().to_string(), "none");
/// assert!("platt".parse::<Calibrate>().is_err());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Calibrate {
    /// By a temperature if there are at least [`ENOUGH_NODES`] validation nodes.
    #[default]
    Auto,
    /// Not at all.
    None,
    /// By a temperature, fitted on the validation nodes.
    Temperature,
}

impl fmt::Display for Calibrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Temperature => "temperature",
        })
    }
}

impl FromStr for Calibrate {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            "temperature" => Ok(Self::Temperature),
            _ => Err(format!("expected none, temperature or auto, found `{text}`")),
        }
    }
}

/// How to make decisions, before the nodes are known. See [`Decision`] for an example.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DecisionOptions {
    /// Whether probabilities are calibrated.
    pub calibrate: Calibrate,
    /// Rule for the threshold of two classes; without one, the most probable class is predicted.
    pub threshold: Option<ThresholdRule>,
    /// Index of the positive class; the second if `None`.
    pub positive: Option<usize>,
}

/// How logits become probabilities and classes, as fitted on the validation nodes and stored with a model.
///
/// Without a threshold, the class with the largest logit is predicted; with several labels per node, all labels with a
/// positive logit. A temperature changes neither.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_train::{Decision, DecisionOptions, Settings, measure, run_seeds};
/// let dataset = supergat_data::load("random-partition:classes=2,nodes=250,degree=4,homophily=0.8").unwrap();
/// let settings = Settings::general("gat-go".parse().unwrap()).with(|s| s.training.max_epochs = 5);
/// let runs = run_seeds(&dataset, &settings, &[0], 1, |_| ControlFlow::Continue(()))?;
/// let options = DecisionOptions { threshold: Some("f1".parse().unwrap()), ..DecisionOptions::default() };
/// let decision = Decision::fit(&dataset, runs.model.architecture(), &runs.logits, &options)?;
/// assert!(decision.temperature.unwrap() > 0.0 && decision.threshold.is_some());
/// let metrics = measure(&dataset, runs.model.architecture(), &runs.logits, &options)?;
/// assert_eq!(metrics.decision, decision);
/// assert!(metrics.test.unwrap().auroc.unwrap() > 0.5);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Number that logits are divided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Probability of the positive class from which on it is predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
    /// Index of the positive class; the second if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<usize>,
}

impl Decision {
    /// Returns the index of the positive class, which has a meaning for two classes only.
    pub fn positive_class(&self) -> usize {
        self.positive.unwrap_or(POSITIVE)
    }

    /// Fits temperature and threshold on the validation nodes. A threshold is chosen for two classes only, from
    /// calibrated probabilities.
    pub fn fit(
        dataset: &Dataset,
        architecture: &Architecture,
        logits: &[Vec<f32>],
        options: &DecisionOptions,
    ) -> Result<Self> {
        let (labels, values) = gathered(dataset, logits, |example| &example.validation);
        let is_calibrated = match options.calibrate {
            Calibrate::Auto => labels.nodes() >= ENOUGH_NODES,
            Calibrate::None => false,
            Calibrate::Temperature => true,
        };
        let temperature = is_calibrated.then(|| temperature(&labels, &values)).flatten();
        let mut decision = Self { temperature, threshold: None, positive: options.positive };
        if let Some(rule) = options.threshold.filter(|_| has_threshold(&labels)) {
            let probabilities = decision.all_probabilities(architecture, logits)?;
            let (labels, values) = gathered(dataset, &probabilities, |example| &example.validation);
            let (positive, scores) = one_against_rest(&labels, &values, decision.positive_class());
            decision.threshold = Some(choose_threshold(rule, &positive, &scores));
        }
        Ok(decision)
    }

    /// Returns the probabilities of nodes from their logits, a row of classes per node.
    pub fn probabilities(&self, architecture: &Architecture, logits: &[f32]) -> Result<Vec<f32>> {
        let Some(temperature) = self.temperature else { return architecture.probabilities(logits) };
        let scaled: Vec<f32> = logits.iter().map(|&z| (f64::from(z) / temperature) as f32).collect();
        architecture.probabilities(&scaled)
    }

    fn all_probabilities(&self, architecture: &Architecture, logits: &[Vec<f32>]) -> Result<Vec<Vec<f32>>> {
        logits.iter().map(|logits| self.probabilities(architecture, logits)).collect()
    }

    /// Returns the predicted class of a node with one label, from its logits and its probabilities.
    pub fn class(&self, logits: &[f32], probabilities: &[f32]) -> usize {
        match &self.threshold {
            Some(threshold) => {
                let positive = self.positive_class();
                if f64::from(probabilities[positive]) >= threshold.value { positive } else { 1 - positive }
            }
            None => argmax(logits),
        }
    }
}

/// Returns whether a threshold can be chosen: a node has one of two classes.
pub fn has_threshold(labels: &Labels) -> bool {
    !labels.is_multi() && labels.classes() == 2
}

/// Returns the labels of the listed nodes of all graphs, and their values, a row of classes per node.
pub fn gathered(dataset: &Dataset, values: &[Vec<f32>], list: NodeList) -> (Labels, Vec<f64>) {
    let classes = dataset.classes();
    let mut rows = Vec::new();
    let mut found = match dataset.examples.first().map(|example| &example.labels) {
        Some(Labels::Multi { .. }) => Labels::Multi { classes, of: Vec::new() },
        _ => Labels::Single { classes, of: Vec::new() },
    };
    for (example, values) in dataset.examples.iter().zip(values) {
        for node in list(example).iter().map(|&node| node as usize) {
            match (&mut found, &example.labels) {
                (Labels::Single { of, .. }, Labels::Single { of: all, .. }) => of.push(all[node]),
                (Labels::Multi { of, .. }, Labels::Multi { of: all, .. }) => {
                    of.extend(&all[node * classes..][..classes]);
                }
                _ => unreachable!("all graphs of a dataset have labels of one kind"),
            }
            rows.extend(values[node * classes..][..classes].iter().map(|&value| f64::from(value)));
        }
    }
    (found, rows)
}

/// All metrics of the model of one seed. See [`Decision`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct SeedMetrics {
    /// Temperature and threshold, fitted on the validation nodes.
    pub decision: Decision,
    /// Metrics of the validation nodes; `None` without any.
    pub validation: Option<Metrics>,
    /// Metrics of the test nodes; `None` without any.
    pub test: Option<Metrics>,
    /// Calibration errors of validation and test nodes before calibration.
    pub uncalibrated: [Option<f64>; 2],
    /// Classes that are predicted for the test nodes, or for the validation nodes without any: the only one, if their
    /// labels have several.
    pub only_class: Option<usize>,
    /// Metrics of predicting the most frequent class for all validation nodes; `None` with several labels per node.
    pub baseline: Option<Metrics>,
    /// Validation nodes that the choice of the threshold rests on; `None` without a choice.
    pub threshold_basis: Option<ThresholdBasis>,
}

/// Fits temperature and threshold on the validation nodes, and computes all metrics of validation and test nodes.
///
/// See [`Decision`] for an example.
pub fn measure(
    dataset: &Dataset,
    architecture: &Architecture,
    logits: &[Vec<f32>],
    options: &DecisionOptions,
) -> Result<SeedMetrics> {
    let decision = Decision::fit(dataset, architecture, logits, options)?;
    let calibrated = decision.all_probabilities(architecture, logits)?;
    let plain = match decision.temperature {
        Some(_) => Some(Decision::default().all_probabilities(architecture, logits)?),
        None => None,
    };
    let lists: [NodeList; 2] = [|example| &example.validation, |example| &example.test];
    let uncalibrated = lists.map(|list| {
        let (labels, probabilities) = gathered(dataset, plain.as_ref().unwrap_or(&calibrated), list);
        calibration_error(&labels, &probabilities)
    });
    let [validation, test] = lists.map(|list| metrics_of(dataset, logits, &calibrated, &decision, list));
    let baseline = validation.as_ref().and_then(|part| baseline(&part.labels, decision.positive_class()));
    let rule = options.threshold.filter(|_| decision.threshold.is_some());
    let threshold_basis = rule
        .zip(validation.as_ref())
        .and_then(|(rule, part)| ThresholdBasis::of(rule, &part.labels, &part.predicted, decision.positive_class()));
    let only_class = test.as_ref().or(validation.as_ref()).and_then(Part::only_class);
    let [validation, test] = [validation, test].map(|part| part.map(|part| part.metrics));
    Ok(SeedMetrics { decision, validation, test, uncalibrated, only_class, baseline, threshold_basis })
}

/// Labels, predictions and metrics of some nodes.
struct Part {
    labels: Labels,
    predicted: Labels,
    metrics: Metrics,
}

impl Part {
    /// Returns the only predicted class, if the labels have several.
    fn only_class(&self) -> Option<usize> {
        let (Labels::Single { of, .. }, Labels::Single { of: predicted, .. }) = (&self.labels, &self.predicted) else {
            return None;
        };
        let (first, label) = (predicted.first()?, of.first()?);
        let is_constant = predicted.iter().all(|class| class == first) && of.iter().any(|class| class != label);
        is_constant.then_some(*first as usize)
    }
}

/// Returns the metrics of all listed nodes; `None` without any.
pub fn split_metrics(
    dataset: &Dataset,
    architecture: &Architecture,
    logits: &[Vec<f32>],
    decision: &Decision,
    list: NodeList,
) -> Result<Option<Metrics>> {
    let probabilities = decision.all_probabilities(architecture, logits)?;
    Ok(metrics_of(dataset, logits, &probabilities, decision, list).map(|part| part.metrics))
}

fn metrics_of(
    dataset: &Dataset,
    logits: &[Vec<f32>],
    probabilities: &[Vec<f32>],
    decision: &Decision,
    list: NodeList,
) -> Option<Part> {
    let (labels, gathered_probabilities) = gathered(dataset, probabilities, list);
    if labels.nodes() == 0 {
        return None;
    }
    let classes = dataset.classes();
    let predicted = match &labels {
        Labels::Single { .. } => {
            let mut of = Vec::with_capacity(labels.nodes());
            for ((example, logits), probabilities) in dataset.examples.iter().zip(logits).zip(probabilities) {
                for start in list(example).iter().map(|&node| node as usize * classes) {
                    let row = start..start + classes;
                    of.push(decision.class(&logits[row.clone()], &probabilities[row]) as u32);
                }
            }
            Labels::Single { classes, of }
        }
        Labels::Multi { .. } => {
            let (_, logits) = gathered(dataset, logits, list);
            Labels::Multi { classes, of: logits.iter().map(|&z| u8::from(z > 0.0)).collect() }
        }
    };
    let positive = decision.positive_class();
    let mut metrics = Metrics::of(&labels, &predicted, &gathered_probabilities, positive);
    // Ties among the first nodes are resolved by the positions of nodes, which splits need not list in order.
    if let Some(order) = node_order(dataset, list).filter(|_| has_threshold(&labels)) {
        let (is_positive, scores) = one_against_rest(&labels, &gathered_probabilities, positive);
        let sorted: (Vec<bool>, Vec<f64>) = order.into_iter().map(|row| (is_positive[row], scores[row])).unzip();
        metrics.set_precision_at(&sorted.0, &sorted.1);
    }
    Some(Part { labels, predicted, metrics })
}

/// Returns the rows of the listed nodes of all graphs in the order of the nodes; `None` if the lists have this order.
fn node_order(dataset: &Dataset, list: NodeList) -> Option<Vec<usize>> {
    if dataset.examples.iter().all(|example| list(example).is_sorted()) {
        return None;
    }
    let mut rows: Vec<(usize, u32)> = Vec::new();
    for (graph, example) in dataset.examples.iter().enumerate() {
        rows.extend(list(example).iter().map(|&node| (graph, node)));
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| rows[row]);
    Some(order)
}

/// Returns the metrics of predicting the most frequent class, with the shares of the classes as probabilities; `None`
/// with several labels per node.
fn baseline(labels: &Labels, positive: usize) -> Option<Metrics> {
    let Labels::Single { classes, of } = labels else { return None };
    let mut counts = vec![0u32; *classes];
    of.iter().for_each(|&class| counts[class as usize] += 1);
    let most = argmax(&counts.iter().map(|&count| f64::from(count)).collect::<Vec<_>>());
    let shares: Vec<f64> = counts.iter().map(|&count| f64::from(count) / of.len() as f64).collect();
    let predicted = Labels::Single { classes: *classes, of: vec![most as u32; of.len()] };
    Some(Metrics::of(labels, &predicted, &shares.repeat(of.len()), positive))
}

/// Mean, standard deviation and values of every metric that is defined for all seeds, by its name in files, such as
/// `macro_f1`. Metrics are from 0 to 1; the losses are not.
pub type MetricSummaries = BTreeMap<String, Summary>;

/// Summarises a metric over seeds; `None` unless it is defined for all of them.
pub fn metric_summary<'a>(metrics: impl Iterator<Item = Option<&'a Metrics>>, metric: Metric) -> Option<Summary> {
    let values: Option<Vec<f64>> = metrics.map(|metrics| metrics?.get(metric)).collect();
    values.filter(|values| !values.is_empty()).map(Summary::of)
}

/// Summarises all metrics over seeds.
pub fn metric_summaries<'a>(metrics: impl Iterator<Item = Option<&'a Metrics>> + Clone) -> MetricSummaries {
    let summary = |metric: Metric| Some((metric.key(), metric_summary(metrics.clone(), metric)?));
    Metric::ALL.into_iter().filter_map(summary).collect()
}

/// Returns sentences about useless models: those that predict one class, or are not better than the most frequent
/// class on the validation nodes, by the metric of the runs. The last of them names what to try. A further sentence is
/// about thresholds that rest on few validation nodes.
pub fn warnings(seeds: &[SeedMetrics], class_names: &[String], metric: Metric) -> Vec<String> {
    let mut found = Vec::new();
    let constant: Vec<&str> =
        seeds.iter().filter_map(|seed| class_names.get(seed.only_class?).map(String::as_str)).collect();
    if let Some(name) = constant.first() {
        let name = if constant.iter().all(|other| other == name) { format!("`{name}`") } else { "one class".into() };
        let of = of_seeds(constant.len(), seeds.len());
        found.push(format!("the model{of} predicts {name} for every test node"));
    }
    let is_beaten = |seed: &&SeedMetrics| {
        let value = |metrics: &Option<Metrics>| metrics.as_ref().and_then(|metrics| metrics.get(metric));
        value(&seed.validation).zip(value(&seed.baseline)).is_some_and(|(found, baseline)| found <= baseline)
    };
    let beaten: Vec<&SeedMetrics> = seeds.iter().filter(is_beaten).collect();
    if let Some(baseline) = beaten.first().and_then(|seed| seed.baseline.as_ref()?.get(metric)) {
        let of = of_seeds(beaten.len(), seeds.len());
        found.push(format!(
            "the validation {metric}{of} is not above {:.2} %, that of predicting the most frequent class",
            100.0 * baseline
        ));
    }
    let advice =
        "try class weights, another metric for selection (parameter `select=balanced-accuracy`), or further features";
    found.last_mut().into_iter().for_each(|last| *last += &format!("; {advice}"));
    let few = |seed: &SeedMetrics| {
        let basis = seed.threshold_basis.filter(|basis| basis.nodes < ENOUGH_NODES)?;
        Some((basis, class_names.get(seed.decision.positive_class())?))
    };
    let few: Vec<_> = seeds.iter().filter_map(few).collect();
    if let Some((least, class)) = few.iter().min_by_key(|(basis, _)| basis.nodes) {
        found.push(least.warning(class, &of_seeds(few.len(), seeds.len())));
    }
    found
}

/// Returns how many of several seeds a sentence is about.
fn of_seeds(count: usize, all: usize) -> String {
    if all == 1 { String::new() } else { format!(" of {count} of {all} seeds") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fitted, Settings};
    use supergat_cpu::Model;

    fn dataset() -> Dataset {
        supergat_data::load("random-partition:classes=2,nodes=250,degree=4,homophily=0.8").unwrap()
    }

    fn untrained(dataset: &Dataset) -> (Architecture, Vec<Vec<f32>>) {
        let architecture = Settings::general("gcn".parse().unwrap()).architecture(dataset);
        let model = Fitted::Network(Model::new(architecture, 3).unwrap());
        (architecture, model.logits(dataset).unwrap())
    }

    #[test]
    fn calibration_changes_no_class() {
        let dataset = dataset();
        let (architecture, logits) = untrained(&dataset);
        let measured = |calibrate| {
            measure(&dataset, &architecture, &logits, &DecisionOptions { calibrate, ..Default::default() }).unwrap()
        };
        let (plain, calibrated) = (measured(Calibrate::None), measured(Calibrate::Temperature));
        let (a, b) = (plain.test.unwrap(), calibrated.test.unwrap());
        assert_eq!((a.accuracy, a.macro_f1), (b.accuracy, b.macro_f1));
        assert!(calibrated.validation.unwrap().log_loss < plain.validation.unwrap().log_loss);
        assert_eq!(plain.uncalibrated, calibrated.uncalibrated);
        assert_eq!(plain.uncalibrated[1], a.calibration_error);
    }

    #[test]
    fn few_validation_nodes_are_not_calibrated() {
        let mut dataset = dataset();
        let fitted = |dataset: &Dataset| {
            let (architecture, logits) = untrained(dataset);
            Decision::fit(dataset, &architecture, &logits, &DecisionOptions::default()).unwrap().temperature
        };
        assert!(fitted(&dataset).is_some());
        dataset.examples[0].validation.truncate(ENOUGH_NODES - 1);
        assert_eq!(fitted(&dataset), None);
    }

    #[test]
    fn a_threshold_moves_decisions() {
        let dataset = dataset();
        let (architecture, logits) = untrained(&dataset);
        let recall = |rule: &str| {
            let threshold = Some(rule.parse().unwrap());
            let options = DecisionOptions { calibrate: Calibrate::None, threshold, positive: None };
            measure(&dataset, &architecture, &logits, &options).unwrap()
        };
        // Every node gets the second class, or none does.
        assert_eq!((recall("0").only_class, recall("1").only_class), (Some(1), Some(0)));
        assert!(recall("f1").validation.unwrap().macro_f1.is_some());
    }

    #[test]
    fn the_first_class_may_be_the_positive_one() {
        let dataset = dataset();
        let (architecture, logits) = untrained(&dataset);
        let measured = |positive, rule: Option<&str>| {
            let threshold = rule.map(|rule| rule.parse().unwrap());
            let options = DecisionOptions { calibrate: Calibrate::None, threshold, positive };
            measure(&dataset, &architecture, &logits, &options).unwrap()
        };
        // Every node gets the positive class, or none does.
        assert_eq!(
            (measured(Some(0), Some("0")).only_class, measured(Some(0), Some("1")).only_class),
            (Some(0), Some(1))
        );
        let (first, second) = (measured(Some(0), None).test.unwrap(), measured(None, None).test.unwrap());
        assert_eq!(first.accuracy, second.accuracy);
        assert!((first.auroc.unwrap() - second.auroc.unwrap()).abs() < 1e-3);
        assert_ne!(first.average_precision, second.average_precision);
        assert_eq!(measured(Some(1), Some("f1")).test, measured(None, Some("f1")).test);
    }

    #[test]
    fn order_of_a_split_does_not_matter_to_the_first_nodes() {
        let mut dataset = dataset();
        let (architecture, mut logits) = untrained(&dataset);
        // Only ties: the first ten test nodes are those with the smallest numbers.
        logits[0].fill(0.0);
        dataset.examples[0].test.sort_unstable();
        let measured = |dataset: &Dataset, positive| {
            let options = DecisionOptions { calibrate: Calibrate::None, positive, ..Default::default() };
            measure(dataset, &architecture, &logits, &options).unwrap().test.unwrap()
        };
        let Labels::Single { of, .. } = &dataset.examples[0].labels else { panic!() };
        let first = dataset.examples[0].test[..10].iter().filter(|&&node| of[node as usize] == 1).count();
        let sorted = measured(&dataset, None);
        assert_eq!(sorted.precision_at_10, Some(first as f64 / 10.0));
        assert!((measured(&dataset, Some(0)).precision_at_10.unwrap() - (1.0 - first as f64 / 10.0)).abs() < 1e-12);
        let mut turned = dataset.clone();
        turned.examples[0].test.sort_unstable_by_key(|&node| (1 - of[node as usize], node));
        let found = measured(&turned, None);
        assert_eq!(
            (found.precision_at_10, found.precision_at_100, &found.classes),
            (sorted.precision_at_10, sorted.precision_at_100, &sorted.classes)
        );
        assert_ne!(sorted.precision_at_10, Some(1.0), "the turned list begins with nodes of the positive class");
    }

    #[test]
    fn warns_about_useless_models_only() {
        let dataset = dataset();
        let (architecture, logits) = untrained(&dataset);
        let options = |rule: &str| DecisionOptions { threshold: Some(rule.parse().unwrap()), ..Default::default() };
        let useless = measure(&dataset, &architecture, &logits, &options("0")).unwrap();
        let names = ["no".to_owned(), "yes".to_owned()];
        let warned = |seeds: &[SeedMetrics]| warnings(seeds, &names, Metric::Accuracy);
        let found = warned(std::slice::from_ref(&useless));
        assert!(found[0].starts_with("the model predicts `yes` for every test node"), "{found:?}");
        assert!(found[1].contains("is not above 50.00 %"), "{found:?}");
        let mut good = SeedMetrics { only_class: None, baseline: None, ..useless.clone() };
        assert_eq!(warned(&[good.clone()]), Vec::<String>::new());
        good.only_class = Some(0);
        let found = warned(&[good, useless]);
        assert!(found[0].starts_with("the model of 2 of 2 seeds predicts one class"), "{found:?}");
    }

    #[test]
    fn warns_about_thresholds_that_rest_on_few_nodes() {
        let mut dataset = dataset();
        let (architecture, logits) = untrained(&dataset);
        let warned = |dataset: &Dataset, rule: &str, seeds: usize| {
            let options = DecisionOptions { threshold: Some(rule.parse().unwrap()), ..Default::default() };
            let measured = measure(dataset, &architecture, &logits, &options).unwrap();
            let good = SeedMetrics { only_class: None, baseline: None, ..measured };
            warnings(&vec![good; seeds], &["no".to_owned(), "yes".to_owned()], Metric::Accuracy)
        };
        assert_eq!(warned(&dataset, "recall=0.8", 1), Vec::<String>::new(), "50 nodes are enough");
        let Labels::Single { of, .. } = &dataset.examples[0].labels else { panic!() };
        let positive: Vec<bool> = of.iter().map(|class| *class == 1).collect();
        let mut kept = 0;
        dataset.examples[0].validation.retain(|node| {
            kept += usize::from(positive[*node as usize]);
            !positive[*node as usize] || kept <= 5
        });
        let found = warned(&dataset, "recall=0.8", 1);
        let expected = "the threshold for recall=0.8 rests on 5 validation nodes of the class `yes`: ";
        assert!(found.len() == 1 && found[0].starts_with(expected), "{found:?}");
        assert!(found[0].contains("has a 95 % interval from "), "{found:?}");
        let found = warned(&dataset, "recall=0.8", 3);
        assert!(found[0].starts_with("the threshold of 3 of 3 seeds for recall=0.8 rests on 5 "), "{found:?}");
        assert!(
            warned(&dataset, "f1", 1)[0].contains("for f1 rests on 5 validation nodes of the class `yes`: the F1 of ")
        );
        assert_eq!(warned(&dataset, "0.3", 1), Vec::<String>::new(), "the user chose it");
    }

    #[test]
    fn metrics_undefined_for_a_seed_are_left_out() {
        let dataset = dataset();
        let (architecture, logits) = untrained(&dataset);
        let measured = measure(&dataset, &architecture, &logits, &DecisionOptions::default()).unwrap();
        let metrics = measured.test.unwrap();
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
