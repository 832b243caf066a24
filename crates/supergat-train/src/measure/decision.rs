//! Decisions: how the logits of a model become probabilities and classes.

use crate::node_list::gathered;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use supergat_core::{Architecture, Labels, Result, argmax};
use supergat_data::Dataset;
use supergat_numerics::metrics::{POSITIVE, Threshold, ThresholdRule, choose_threshold, one_against_rest, temperature};

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

    pub(super) fn all_probabilities(&self, architecture: &Architecture, logits: &[Vec<f32>]) -> Result<Vec<Vec<f32>>> {
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
pub(super) fn has_threshold(labels: &Labels) -> bool {
    !labels.is_multi() && labels.classes() == 2
}
