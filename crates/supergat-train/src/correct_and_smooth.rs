//! Correct and Smooth: predictions of a model, improved with the labels of its training nodes.
//!
//! [`supergat_numerics::propagation`] has the equations. The strengths of both steps are chosen on the validation nodes
//! unless they are given. Validation labels are inputs of the smoothing only on request, and never of the predictions
//! of validation nodes themselves, so validation scores, temperatures and thresholds stay meaningful.

use crate::known_labels::{KnownLabels, check_nodes, logits_of_scores, propagation};
use crate::selection::scores;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use supergat_core::hyperparameters::{CorrectAndSmoothSettings, Hyperparameter, Value};
use supergat_core::{Architecture, Error, Result, Score, Select};
use supergat_data::Dataset;
use supergat_numerics::propagation::{Correction, Known, Propagation, Steps, correct, smooth};

/// Name of the setting, for errors.
const NAME: &str = "correct_and_smooth";
/// Entry of the metadata of a model file.
const ENTRY: &str = "correct_and_smooth";
/// Names of the lists of known labels in a model file.
const LISTS: [&str; 2] = ["corrected", "smoothed"];

/// Strengths (alpha) that are tried on the validation nodes, the default first.
const ALPHAS: [f64; 3] = [0.8, 0.5, 0.95];
/// Number of products of links and classes from which on strengths are not chosen: the first one is used.
const MUCH_WORK: f64 = 1e11;

/// Correct and Smooth with all its numbers, as it is stored with a model.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_train::{Settings, run_seeds};
/// let dataset = supergat_data::load("random-partition:classes=5,nodes=1000,degree=8,homophily=0.9").unwrap();
/// let mut settings = Settings::general("mlp".parse().unwrap()).with(|s| s.training.max_epochs = 5);
/// settings.set("correct_and_smooth", true)?;
/// let runs = run_seeds(&dataset, &settings, &[0], 1, |_| ControlFlow::Continue(()))?;
/// let correction = runs.runs[0].correction.as_ref().unwrap();
/// assert!([0.5, 0.8, 0.95].contains(&correction.method.smooth_alpha));
/// assert!(runs.runs[0].outcome.test.metric > correction.test.metric);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CorrectAndSmooth {
    /// Share of the neighbours in a step of the correction.
    pub correct_alpha: f64,
    /// Number of steps of the correction.
    pub correct_iterations: usize,
    /// Factor of propagated errors; `None` for autoscale.
    pub scale: Option<f64>,
    /// Share of the neighbours in a step of the smoothing.
    pub smooth_alpha: f64,
    /// Number of steps of the smoothing.
    pub smooth_iterations: usize,
    /// Whether labels of validation nodes are inputs of the smoothing.
    pub validation: bool,
}

/// Correct and Smooth of a run, with the scores before it.
///
/// See [`CorrectAndSmooth`] for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeedCorrection {
    /// Method with its numbers.
    pub method: CorrectAndSmooth,
    /// Score of the validation nodes before.
    pub validation: Score,
    /// Score of the test nodes before.
    pub test: Score,
}

/// Correct and Smooth with the labels that it uses.
///
/// See [`CorrectAndSmooth`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrector {
    method: CorrectAndSmooth,
    /// Labels of training nodes.
    train: KnownLabels,
    /// Labels of training and validation nodes, if both are inputs of the smoothing.
    both: Option<KnownLabels>,
    /// Validation nodes of each graph, if their labels are inputs.
    validation: Vec<Vec<u32>>,
}

impl CorrectAndSmooth {
    /// Returns the methods that the settings allow: one, unless a strength is chosen among several. Groups have the same
    /// correction.
    fn candidates(settings: &Settings, work: f64) -> Option<Vec<Vec<Self>>> {
        let given = settings.correct_and_smooth?;
        let CorrectAndSmoothSettings { correct_iterations, smooth_iterations, .. } = given;
        let alphas = |given: f64| match given > 0.0 {
            true => vec![given],
            false => ALPHAS.to_vec(),
        };
        let (mut first, mut second) = (alphas(given.correct_alpha), alphas(given.smooth_alpha));
        let steps = first.len() * (correct_iterations + second.len() * smooth_iterations);
        if work * steps as f64 > MUCH_WORK {
            first.truncate(1);
            second.truncate(1);
        }
        let method = |correct_alpha, smooth_alpha| Self {
            correct_alpha,
            correct_iterations,
            scale: Some(given.correct_scale).filter(|scale| *scale > 0.0),
            smooth_alpha,
            smooth_iterations,
            validation: given.correct_and_smooth_validation,
        };
        let group = |&correct: &f64| second.iter().map(|&smooth| method(correct, smooth)).collect();
        Some(first.iter().map(group).collect())
    }

    /// Validates every number.
    fn check(&self) -> Result<()> {
        let values: [(&str, Value); 5] = [
            ("correct_alpha", self.correct_alpha.into()),
            ("correct_iterations", self.correct_iterations.into()),
            ("correct_scale", self.scale.unwrap_or(0.0).into()),
            ("smooth_alpha", self.smooth_alpha.into()),
            ("smooth_iterations", self.smooth_iterations.into()),
        ];
        values.into_iter().try_for_each(|(name, value)| Hyperparameter::find(name)?.check(value).map(drop))
    }

    fn correction(&self) -> Correction {
        Correction { steps: Steps { alpha: self.correct_alpha, count: self.correct_iterations }, scale: self.scale }
    }

    fn smoothing(&self) -> Steps {
        Steps { alpha: self.smooth_alpha, count: self.smooth_iterations }
    }
}

impl Corrector {
    /// Takes the labels of a dataset that the method uses.
    pub fn new(dataset: &Dataset, method: CorrectAndSmooth) -> Result<Self> {
        let validation =
            dataset.examples.iter().map(|example| example.validation.clone()).filter(|_| method.validation);
        let both = method.validation.then(|| KnownLabels::of(dataset, &[|e| &e.train, |e| &e.validation], NAME));
        Ok(Self {
            method,
            train: KnownLabels::of(dataset, &[|example| &example.train], NAME)?,
            both: both.transpose()?,
            validation: validation.collect(),
        })
    }

    /// Method with its numbers.
    pub fn method(&self) -> &CorrectAndSmooth {
        &self.method
    }

    /// Returns improved logits of the graphs whose labels are stored. Fails for other graphs.
    pub fn apply(&self, dataset: &Dataset, architecture: &Architecture, logits: &[Vec<f32>]) -> Result<Vec<Vec<f32>>> {
        self.train.check(dataset, "Correct and Smooth")?;
        if let Some(both) = &self.both {
            both.check(dataset, "Correct and Smooth")?;
            check_nodes(self.validation.iter().map(|nodes| &nodes[..]), dataset)?;
        }
        let graphs = Graphs::new(dataset, architecture, logits)?;
        Ok(self.smoothed(&graphs, &graphs.corrected(&self.method, &self.train)))
    }

    /// Smooths corrected predictions.
    fn smoothed(&self, graphs: &Graphs, corrected: &[Vec<f64>]) -> Vec<Vec<f32>> {
        let mut logits = graphs.smoothed(&self.method, corrected, &self.train);
        if let Some(both) = &self.both {
            let without = std::mem::replace(&mut logits, graphs.smoothed(&self.method, corrected, both));
            for ((logits, without), nodes) in logits.iter_mut().zip(&without).zip(&self.validation) {
                for row in nodes.iter().map(|&node| node as usize * graphs.classes) {
                    logits[row..row + graphs.classes].copy_from_slice(&without[row..row + graphs.classes]);
                }
            }
        }
        logits
    }

    /// Adds method and labels to the metadata and lists of a model file.
    pub fn store(&self, metadata: &mut HashMap<String, String>, lists: &mut HashMap<String, Vec<u32>>) {
        metadata.insert(ENTRY.into(), serde_json::to_string(&self.method).expect("plain numbers"));
        self.train.store(LISTS[0], lists);
        if let Some(both) = &self.both {
            both.store(LISTS[1], lists);
        }
    }

    /// Takes method and labels out of the metadata and lists of a model file with these training, validation and test
    /// nodes; `None` if it has none.
    pub fn restore(
        metadata: &HashMap<String, String>,
        lists: &mut HashMap<String, Vec<u32>>,
        splits: &[[Vec<u32>; 3]],
        classes: usize,
    ) -> Result<Option<Self>> {
        let Some(entry) = metadata.get(ENTRY) else { return Ok(None) };
        let damaged = || Error::Checkpoint { reason: "its entry of Correct and Smooth is damaged".into() };
        let method: CorrectAndSmooth = serde_json::from_str(entry).map_err(|_| damaged())?;
        method.check()?;
        let train = KnownLabels::restore(LISTS[0], lists, classes, false)?.ok_or_else(damaged)?;
        let both = KnownLabels::restore(LISTS[1], lists, classes, false)?;
        if both.is_some() != method.validation {
            return Err(damaged());
        }
        let validation = splits.iter().map(|[_, validation, _]| validation.clone()).filter(|_| method.validation);
        Ok(Some(Self { method, train, both, validation: validation.collect() }))
    }
}

/// Graphs of a dataset, prepared for propagations, with the probabilities of their nodes.
struct Graphs {
    classes: usize,
    graphs: Vec<(Propagation, Vec<f64>)>,
}

impl Graphs {
    fn new(dataset: &Dataset, architecture: &Architecture, logits: &[Vec<f32>]) -> Result<Self> {
        let of_graph = |(example, logits): (_, &Vec<f32>)| {
            let logits: Vec<f64> = logits.iter().map(|&logit| f64::from(logit)).collect();
            Ok((propagation(example), architecture.probabilities(&logits)?))
        };
        let graphs = dataset.examples.iter().zip(logits).map(of_graph).collect::<Result<_>>()?;
        Ok(Self { classes: architecture.classes, graphs })
    }

    fn corrected(&self, method: &CorrectAndSmooth, known: &KnownLabels) -> Vec<Vec<f64>> {
        let of_graph = |((propagation, probabilities), known): (&(Propagation, Vec<f64>), Known<'_>)| {
            correct(propagation, probabilities, self.classes, known, method.correction())
        };
        self.graphs.iter().zip(known.graphs()).map(of_graph).collect()
    }

    fn smoothed(&self, method: &CorrectAndSmooth, corrected: &[Vec<f64>], known: &KnownLabels) -> Vec<Vec<f32>> {
        let of_graph = |(((propagation, _), corrected), known): ((&(Propagation, _), &Vec<f64>), Known<'_>)| {
            logits_of_scores(&smooth(propagation, corrected, self.classes, known, method.smoothing()), self.classes)
        };
        self.graphs.iter().zip(corrected).zip(known.graphs()).map(of_graph).collect()
    }
}

/// Corrects and smooths the predictions of a model, if the settings ask for it. Returns the method and the new logits.
pub(crate) fn improved(
    dataset: &Dataset,
    settings: &Settings,
    architecture: &Architecture,
    logits: &[Vec<f32>],
) -> Result<Option<(CorrectAndSmooth, Vec<Vec<f32>>)>> {
    if settings.correct_and_smooth.is_none() {
        return Ok(None);
    }
    let edges: usize = dataset.examples.iter().map(|example| example.graph.edges()).sum();
    let candidates = CorrectAndSmooth::candidates(settings, (edges * architecture.classes) as f64);
    let candidates = candidates.ok_or_else(|| Error::Hyperparameter {
        name: NAME,
        value: "true".into(),
        reason: "its other settings are missing".into(),
    })?;
    let graphs = Graphs::new(dataset, architecture, logits)?;
    let is_chosen = candidates.len() * candidates[0].len() > 1;
    let train = KnownLabels::of(dataset, &[|example| &example.train], NAME)?;
    let mut best: Option<(f64, CorrectAndSmooth)> = None;
    for group in &candidates {
        let corrected = if is_chosen { graphs.corrected(&group[0], &train) } else { Vec::new() };
        for method in group {
            let value = match is_chosen {
                true => {
                    let [validation, _] = scores(dataset, settings, &graphs.smoothed(method, &corrected, &train))?;
                    if settings.select == Some(Select::Loss) { -validation.loss } else { validation.metric }
                }
                false => 0.0,
            };
            if best.is_none_or(|(most, _)| value > most) {
                best = Some((value, *method));
            }
        }
    }
    let (_, method) = best.expect("there is a candidate");
    let corrector = Corrector::new(dataset, method)?;
    let corrected = corrector.smoothed(&graphs, &graphs.corrected(&method, &corrector.train));
    Ok(Some((method, corrected)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Runs, run_seeds};
    use std::ops::ControlFlow;
    use supergat_core::Labels;

    fn dataset() -> Dataset {
        supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap()
    }

    fn settings(model: &str, values: &[(&str, f64)]) -> Settings {
        let mut settings = Settings::general(model.parse().unwrap()).with(|s| s.training.max_epochs = 1);
        settings.set("correct_and_smooth", true).unwrap();
        values.iter().for_each(|(name, value)| assert!(settings.set(name, *value).unwrap()));
        settings
    }

    fn train(dataset: &Dataset, settings: &Settings) -> Runs {
        run_seeds(dataset, settings, &[1, 2], 2, |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn improves_predictions_of_every_kind_of_model() {
        let dataset = dataset();
        for model in ["mlp", "label-propagation"] {
            let runs = train(&dataset, &settings(model, &[]));
            let best = &runs.runs[runs.best];
            let correction = best.correction.unwrap();
            let plain = settings(model, &[]).with(|s| s.correct_and_smooth = None);
            let plain = train(&dataset, &plain);
            let before = &plain.runs[runs.best];
            assert_eq!((before.outcome.test, before.correction), (correction.test, None));
            assert_eq!(before.history, best.history, "training does not depend on it");
            let after = best.outcome;
            assert!(model != "mlp" || after.test.metric > correction.test.metric, "{after:?} {correction:?}");
            assert_eq!(
                [after.validation, after.test],
                scores(&dataset, &plain_of(model), &corrected(&runs, &dataset)).unwrap()
            );
        }
    }

    fn plain_of(model: &str) -> Settings {
        Settings::general(model.parse().unwrap())
    }

    /// Predictions of the best run again, from its model and its stored method.
    fn corrected(runs: &Runs, dataset: &Dataset) -> Vec<Vec<f32>> {
        let method = runs.runs[runs.best].correction.unwrap().method;
        let base = runs.model.logits(dataset).unwrap();
        let corrector = Corrector::new(dataset, method).unwrap();
        let found = corrector.apply(dataset, runs.model.architecture(), &base).unwrap();
        assert_eq!(found, runs.logits);
        let (mut metadata, mut lists) = (HashMap::new(), HashMap::new());
        corrector.store(&mut metadata, &mut lists);
        let splits = [[Vec::new(), dataset.examples[0].validation.clone(), Vec::new()]];
        assert_eq!(Corrector::restore(&metadata, &mut lists, &splits, 3).unwrap().unwrap(), corrector);
        found
    }

    #[test]
    fn chooses_strengths_on_validation_nodes_unless_they_are_given() {
        let dataset = dataset();
        let method =
            |values: &[(&str, f64)]| train(&dataset, &settings("mlp", values)).runs[0].correction.unwrap().method;
        let given = method(&[("correct_alpha", 0.6), ("smooth_alpha", 0.7), ("correct_scale", 1.5)]);
        assert_eq!((given.correct_alpha, given.smooth_alpha, given.scale), (0.6, 0.7, Some(1.5)));
        let chosen = settings("mlp", &[]);
        let best = train(&dataset, &chosen).runs[0].outcome.validation.metric;
        for correct in ALPHAS {
            for smooth in ALPHAS {
                let one = settings("mlp", &[("correct_alpha", correct), ("smooth_alpha", smooth)]);
                assert!(train(&dataset, &one).runs[0].outcome.validation.metric <= best);
            }
        }
        let few = CorrectAndSmooth::candidates(&chosen, 1e12).unwrap();
        assert_eq!((few.len(), few[0].len(), few[0][0].smooth_alpha), (1, 1, ALPHAS[0]), "too much work");
        let partly = CorrectAndSmooth::candidates(&settings("mlp", &[("correct_alpha", 0.6)]), 1.0).unwrap();
        assert_eq!((partly.len(), partly[0].len()), (1, 3));
    }

    fn with_other_labels(dataset: &Dataset, is_changed: impl Fn(&supergat_core::Example<f32>, u32) -> bool) -> Dataset {
        let mut changed = dataset.clone();
        let before = &dataset.examples[0];
        let Labels::Single { of, .. } = &mut changed.examples[0].labels else { panic!("one class per node") };
        for (node, class) in (0..).zip(of).filter(|(node, _)| is_changed(before, *node)) {
            *class = (*class + 1 + node % 2) % 3;
        }
        changed
    }

    #[test]
    fn labels_of_test_nodes_change_no_prediction() {
        let dataset = dataset();
        let changed = with_other_labels(&dataset, |example, node| example.test.contains(&node));
        for validation in [false, true] {
            let mut settings = settings("mlp", &[]);
            settings.set("correct_and_smooth_validation", validation).unwrap();
            let (before, after) = (train(&dataset, &settings), train(&changed, &settings));
            assert_eq!(before.logits, after.logits);
            assert_ne!(before.runs[0].outcome.test, after.runs[0].outcome.test, "the labels did change");
        }
    }

    /// With given strengths, labels of validation nodes are used only on request, and never for their own predictions.
    #[test]
    fn validation_labels_are_inputs_on_request_only() {
        let dataset = dataset();
        let changed = with_other_labels(&dataset, |example, node| example.validation.contains(&node));
        let given = [("correct_alpha", 0.8), ("smooth_alpha", 0.8)];
        let base = settings("label-propagation", &given);
        assert_eq!(train(&dataset, &base).logits, train(&changed, &base).logits);
        let mut used = base;
        used.set("correct_and_smooth_validation", true).unwrap();
        let (plain, with, other) = (train(&dataset, &base), train(&dataset, &used), train(&changed, &used));
        let row = |runs: &Runs, node: u32| runs.logits[0][node as usize * 3..][..3].to_vec();
        let example = &dataset.examples[0];
        assert!(example.validation.iter().all(|&node| row(&with, node) == row(&plain, node)));
        assert!(example.validation.iter().all(|&node| row(&other, node) == row(&plain, node)));
        assert!(example.test.iter().any(|&node| row(&with, node) != row(&plain, node)));
        assert!(example.test.iter().any(|&node| row(&with, node) != row(&other, node)));
        corrected(&with, &dataset);
    }

    #[test]
    fn refuses_other_graphs_and_several_classes_per_node() {
        let (dataset, settings) = (dataset(), settings("mlp", &[]));
        let runs = train(&dataset, &settings);
        let corrector = Corrector::new(&dataset, runs.runs[0].correction.unwrap().method).unwrap();
        let other = supergat_data::load("random-partition:classes=3,nodes=180,degree=5,homophily=0.8").unwrap();
        let error = corrector.apply(&other, runs.model.architecture(), &runs.logits).unwrap_err().to_string();
        assert!(error.starts_with("Correct and Smooth uses the labels of its training nodes"), "{error}");
        let mut multi = dataset.clone();
        multi.examples[0].labels = Labels::Multi { classes: 3, of: vec![0; 3 * 540] };
        assert!(settings.check(&multi).is_err() && settings.check(&dataset).is_ok());
    }
}
