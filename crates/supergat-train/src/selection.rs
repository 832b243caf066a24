//! Scores of runs: the loss, and the metric by which the best epoch and seed are selected.

use crate::node_list::{NodeList, gathered};
use crate::settings::Settings;
use supergat_core::{Architecture, Counts, Error, Labels, Result, Score, Scorer, Select, argmax};
use supergat_cpu::kernels::Primitives;
use supergat_data::Dataset;
use supergat_numerics::metrics::{
    Metric, POSITIVE, average_precision, balanced_accuracy, class_counts, macro_f1, over_classes, roc_auc,
};

/// Returns the metric of runs: the one by which the best epoch is chosen; with the loss or without a choice, accuracy
/// or, with several labels per node, micro-F1.
///
/// ```
/// use supergat_train::{Settings, metric_of};
/// let dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=2").unwrap();
/// let mut settings = Settings::general("gcn".parse().unwrap());
/// assert_eq!(metric_of(&dataset, &settings).name(), "accuracy");
/// settings.select = Some("auroc".parse().unwrap());
/// assert_eq!(metric_of(&dataset, &settings).name(), "auroc");
/// ```
pub fn metric_of(dataset: &Dataset, settings: &Settings) -> Metric {
    settings.select.and_then(metric).unwrap_or(match dataset.is_multi_label() {
        true => Metric::MicroF1,
        false => Metric::Accuracy,
    })
}

/// Returns the metric of a choice, unless it is the loss.
fn metric(select: Select) -> Option<Metric> {
    match select {
        Select::Loss => None,
        Select::BalancedAccuracy => Some(Metric::BalancedAccuracy),
        Select::MacroF1 => Some(Metric::MacroF1),
        Select::Auroc => Some(Metric::Auroc),
        Select::AveragePrecision => Some(Metric::AveragePrecision),
    }
}

/// Returns the scorer of the metric that the settings select by, if the engine does not compute it. Fails if the metric
/// is undefined for the validation nodes.
pub fn scorer(dataset: &Dataset, settings: &Settings) -> Result<Option<Scorer<f32>>> {
    let Some((select, metric)) = settings.select.and_then(|select| Some((select, metric(select)?))) else {
        return Ok(None);
    };
    let architecture = settings.architecture(dataset);
    let positive = settings.positive.unwrap_or(POSITIVE);
    let zeros: Vec<Vec<f32>> =
        dataset.examples.iter().map(|example| vec![0.0; example.graph.nodes() * architecture.classes]).collect();
    if value(metric, positive, dataset, &architecture, &zeros, |example| &example.validation).is_none() {
        return Err(Error::Hyperparameter {
            name: "select",
            value: select.to_string(),
            reason: "is undefined for the labels of the validation nodes; choose accuracy, loss or macro-f1".into(),
        });
    }
    // Graphs and features are shared.
    let dataset = dataset.clone();
    Ok(Some(Scorer::new(move |logits: &[Vec<f32>]| {
        let of = |list| value(metric, positive, &dataset, &architecture, logits, list).unwrap_or(0.0);
        [of(|example| &example.validation), of(|example| &example.test)]
    })))
}

/// Returns the mean loss and the metric of the nodes that `list` selects; zeros if it selects none.
///
/// See [`run_seeds`](crate::run_seeds) for an example.
pub fn score(dataset: &Dataset, logits: &[Vec<f32>], list: NodeList) -> Score {
    let (mut nodes, mut loss, mut counts) = (0, 0.0, Counts::default());
    for (example, logits) in dataset.examples.iter().zip(logits) {
        let (sum, more) = f32::evaluate(&example.labels, list(example), logits);
        nodes += list(example).len();
        loss += sum;
        counts += more;
    }
    Score { loss: loss / nodes.max(1) as f64, metric: counts.micro_f1() }
}

/// Returns the scores of the validation and the test nodes, with the metric that the settings select by.
pub fn scores(dataset: &Dataset, settings: &Settings, logits: &[Vec<f32>]) -> Result<[Score; 2]> {
    let mut scores =
        [score(dataset, logits, |example| &example.validation), score(dataset, logits, |example| &example.test)];
    if let Some(scorer) = scorer(dataset, settings)? {
        scores.iter_mut().zip(scorer.score(logits)).for_each(|(score, metric)| score.metric = metric);
    }
    Ok(scores)
}

/// Returns a metric of the listed nodes; `None` if it is undefined.
fn value(
    metric: Metric,
    positive: usize,
    dataset: &Dataset,
    architecture: &Architecture,
    logits: &[Vec<f32>],
    list: NodeList,
) -> Option<f64> {
    let (labels, rows) = gathered(dataset, logits, list);
    let classes = architecture.classes;
    if matches!(metric, Metric::Auroc | Metric::AveragePrecision) {
        let probabilities = architecture.probabilities(&rows).ok()?;
        let of = if metric == Metric::Auroc { roc_auc } else { average_precision };
        return over_classes(&labels, &probabilities, positive, of);
    }
    let predicted = match &labels {
        Labels::Single { .. } => {
            Labels::Single { classes, of: rows.chunks_exact(classes).map(|row| argmax(row) as u32).collect() }
        }
        Labels::Multi { .. } => Labels::Multi { classes, of: rows.iter().map(|&z| u8::from(z > 0.0)).collect() },
    };
    let counts = class_counts(&labels, &predicted);
    match metric {
        Metric::BalancedAccuracy if !labels.is_multi() => balanced_accuracy(&counts),
        Metric::MacroF1 => macro_f1(&counts),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{DecisionOptions, measure};
    use crate::{Runs, run_seeds};
    use std::ops::ControlFlow;

    fn dataset() -> Dataset {
        supergat_data::load("random-partition:classes=2,nodes=250,degree=4,homophily=0.7").unwrap()
    }

    fn settings(select: Option<Select>) -> Settings {
        Settings::general("gcn".parse().unwrap()).with(|s| {
            s.training.max_epochs = 25;
            s.select = select;
        })
    }

    fn train(select: Option<Select>) -> Runs {
        run_seeds(&dataset(), &settings(select), &[0, 1], 2, |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn best_epoch_has_the_best_score() {
        for select in Select::ALL {
            for run in train(Some(select)).runs {
                let value = |k: usize| match select {
                    Select::Loss => -run.history[k].validation.loss,
                    _ => run.history[k].validation.metric,
                };
                let best = (0..run.history.len()).map(value).fold(f64::NEG_INFINITY, f64::max);
                assert_eq!(value(run.outcome.best_epoch), best, "{select}");
            }
        }
    }

    #[test]
    fn scores_are_those_of_the_metric() {
        for select in Select::ALL.into_iter().filter(|select| select.needs_scorer()) {
            let runs = train(Some(select));
            let settings = settings(Some(select));
            let architecture = settings.architecture(&dataset());
            let measured = measure(&dataset(), &architecture, &runs.logits, &DecisionOptions::default()).unwrap();
            let metric = metric_of(&dataset(), &settings);
            let outcome = runs.runs[runs.best].outcome;
            let found = [measured.validation, measured.test].map(|metrics| metrics.unwrap().get(metric).unwrap());
            // Calibrated probabilities may differ in ties of rounded numbers.
            assert!((found[0] - outcome.validation.metric).abs() < 1e-3, "{select}");
            assert!((found[1] - outcome.test.metric).abs() < 1e-3, "{select}");
        }
    }

    #[test]
    fn selects_by_the_positive_class() {
        let settings = |positive| Settings { positive, ..settings(Some(Select::AveragePrecision)) };
        let train =
            |positive| run_seeds(&dataset(), &settings(positive), &[0], 1, |_| ControlFlow::Continue(())).unwrap();
        let scores =
            |runs: &Runs| -> Vec<f64> { runs.runs[0].history.iter().map(|epoch| epoch.validation.metric).collect() };
        let (first, second) = (train(Some(0)), train(None));
        assert!(scores(&first) != scores(&second) && scores(&train(Some(1))) == scores(&second));
        let options = DecisionOptions { positive: Some(0), ..DecisionOptions::default() };
        let measured = measure(&dataset(), &settings(None).architecture(&dataset()), &first.logits, &options).unwrap();
        let found = measured.validation.unwrap().average_precision.unwrap();
        assert!((found - first.runs[0].outcome.validation.metric).abs() < 1e-3);
    }

    #[test]
    fn training_steps_do_not_depend_on_the_selection() {
        let losses = |runs: &Runs| -> Vec<f64> { runs.runs[0].history.iter().map(|epoch| epoch.train.total).collect() };
        assert_eq!(losses(&train(None)), losses(&train(Some(Select::Auroc))));
    }

    #[test]
    fn undefined_metrics_are_refused() {
        let mut dataset = dataset();
        let example = &mut dataset.examples[0];
        if let Labels::Single { of, .. } = &example.labels {
            let one = of[example.validation[0] as usize];
            example.validation.retain(|&node| of[node as usize] == one);
        }
        let error = scorer(&dataset, &settings(Some(Select::Auroc))).unwrap_err().to_string();
        assert!(error.starts_with("select = auroc: is undefined"), "{error}");
        assert!(scorer(&dataset, &settings(Some(Select::MacroF1))).unwrap().is_some());
    }
}
