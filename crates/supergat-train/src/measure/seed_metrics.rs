//! All metrics of the model of a seed.

use super::decision::{Decision, DecisionOptions, has_threshold};
use super::threshold_basis::ThresholdBasis;
use crate::node_list::{NodeList, gathered};
use supergat_core::{Architecture, Labels, Result, argmax};
use supergat_data::Dataset;
use supergat_numerics::metrics::{Metrics, calibration_error, one_against_rest};

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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::measure::{Calibrate, ENOUGH_NODES};
    use crate::{Fitted, Settings};
    use supergat_cpu::Model;

    pub(in crate::measure) fn dataset() -> Dataset {
        supergat_data::load("random-partition:classes=2,nodes=250,degree=4,homophily=0.8").unwrap()
    }

    pub(in crate::measure) fn untrained(dataset: &Dataset) -> (Architecture, Vec<Vec<f32>>) {
        let architecture = Settings::general("gcn".parse().unwrap()).architecture(dataset);
        let model = Fitted::Network(Model::new(architecture, 3).unwrap(), None);
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
}
