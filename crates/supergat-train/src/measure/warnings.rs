//! Warnings about models and thresholds that are of little use.

use super::decision::ENOUGH_NODES;
use super::seed_metrics::SeedMetrics;
use supergat_numerics::metrics::{Metric, Metrics};

/// Returns sentences about useless models: those that predict one class, or are not better than the most frequent
/// class on the validation nodes, by the metric of the runs. The last of them recommends what to try; class weights and
/// selection by balanced accuracy are omitted if the runs have them. A further sentence is about thresholds that rest on
/// few validation nodes.
pub fn warnings(seeds: &[SeedMetrics], class_names: &[String], metric: Metric, has_class_weights: bool) -> Vec<String> {
    let mut found = Vec::new();
    let constant: Vec<&str> =
        seeds.iter().filter_map(|seed| class_names.get(seed.only_class?).map(String::as_str)).collect();
    if let Some(name) = constant.first() {
        let name = if constant.iter().all(|other| other == name) { format!("`{name}`") } else { "one class".into() };
        let of = of_seeds(constant.len(), seeds.len());
        let nodes = if seeds.iter().any(|seed| seed.test.is_some()) { "test" } else { "validation" };
        found.push(format!("the model{of} predicts {name} for every {nodes} node"));
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
    let advice = advice(metric, has_class_weights);
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

/// Returns what to try against a useless model.
fn advice(metric: Metric, has_class_weights: bool) -> &'static str {
    match (has_class_weights, metric == Metric::BalancedAccuracy) {
        (false, false) => {
            "try class weights, another metric for selection (parameter `select=balanced-accuracy`), or further features"
        }
        (true, false) => "try another metric for selection (parameter `select=balanced-accuracy`), or further features",
        (false, true) => "try class weights or further features",
        (true, true) => "try further features",
    }
}

/// Returns how many of several seeds a sentence is about.
fn of_seeds(count: usize, all: usize) -> String {
    if all == 1 { String::new() } else { format!(" of {count} of {all} seeds") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::seed_metrics::tests::{dataset, untrained};
    use crate::measure::{DecisionOptions, measure};
    use supergat_core::Labels;
    use supergat_data::Dataset;

    #[test]
    fn warns_about_useless_models_only() {
        let dataset = dataset();
        let (architecture, logits) = untrained(&dataset);
        let options = |rule: &str| DecisionOptions { threshold: Some(rule.parse().unwrap()), ..Default::default() };
        let useless = measure(&dataset, &architecture, &logits, &options("0")).unwrap();
        let names = ["no".to_owned(), "yes".to_owned()];
        let warned = |seeds: &[SeedMetrics]| warnings(seeds, &names, Metric::Accuracy, false);
        let found = warned(std::slice::from_ref(&useless));
        assert!(found[0].starts_with("the model predicts `yes` for every test node"), "{found:?}");
        assert!(found[1].contains("is not above 50.00 %"), "{found:?}");
        let untested = warned(&[SeedMetrics { test: None, ..useless.clone() }]);
        assert!(untested[0].starts_with("the model predicts `yes` for every validation node"), "{untested:?}");
        let mut good = SeedMetrics { only_class: None, baseline: None, ..useless.clone() };
        assert_eq!(warned(&[good.clone()]), Vec::<String>::new());
        good.only_class = Some(0);
        let found = warned(&[good, useless]);
        assert!(found[0].starts_with("the model of 2 of 2 seeds predicts one class"), "{found:?}");
    }

    #[test]
    fn recommends_nothing_that_is_set() {
        let dataset = dataset();
        let (architecture, logits) = untrained(&dataset);
        let options = DecisionOptions { threshold: Some("0".parse().unwrap()), ..Default::default() };
        let useless = [measure(&dataset, &architecture, &logits, &options).unwrap()];
        let names = ["no".to_owned(), "yes".to_owned()];
        for has_class_weights in [false, true] {
            for metric in [Metric::Accuracy, Metric::BalancedAccuracy] {
                let found = warnings(&useless, &names, metric, has_class_weights).join(" ");
                assert!(found.ends_with("further features"), "{found}");
                assert_eq!(found.contains("try class weights"), !has_class_weights, "{found}");
                assert_eq!(found.contains("another metric"), metric == Metric::Accuracy, "{found}");
            }
        }
    }

    #[test]
    fn warns_about_thresholds_that_rest_on_few_nodes() {
        let mut dataset = dataset();
        let (architecture, logits) = untrained(&dataset);
        let warned = |dataset: &Dataset, rule: &str, seeds: usize| {
            let options = DecisionOptions { threshold: Some(rule.parse().unwrap()), ..Default::default() };
            let measured = measure(dataset, &architecture, &logits, &options).unwrap();
            let good = SeedMetrics { only_class: None, baseline: None, ..measured };
            warnings(&vec![good; seeds], &["no".to_owned(), "yes".to_owned()], Metric::Accuracy, false)
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
}
