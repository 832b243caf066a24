//! The answer.

use crate::recommend::families::{Family, LeftOut, model_in_words};
use crate::recommend::map::MapAnswer;
use crate::recommend::quick::posterior::Measured;
use serde::Serialize;
use supergat_core::ModelKind;
use supergat_train::settings::Settings;

/// Answer of a comparison within seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuickAnswer {
    /// The answer in one or two sentences.
    pub answer: String,
    /// The recommended model.
    pub recommendation: ModelKind,
    /// Family of the recommended model; `None` if nothing was measured.
    pub family: Option<Family>,
    /// Its settings if others than its default ones are recommended.
    pub settings: Option<Settings>,
    /// Probability that it is the best of the compared ones, from 0 to 1; `None` if nothing was compared. `map` has the
    /// votes of the map.
    pub confidence: Option<f64>,
    /// Whether the choice is open between several models.
    pub close_call: bool,
    /// Other compared models that may be best, the most probable first.
    pub alternatives: Vec<ModelKind>,
    /// Limits of the answer.
    pub notes: Vec<String>,
    /// Families that were not compared, with the reasons.
    pub left_out: Vec<LeftOut>,
    /// Results of the comparison; `None` if nothing was measured.
    pub measured: Option<Measured>,
    /// The paper's map, consulted about forms of attention.
    pub map: MapAnswer,
}

impl QuickAnswer {
    /// Returns the recommended model in words, such as `sage-root with 8 layers and batch norm`.
    pub fn model_in_words(&self) -> String {
        model_in_words(self.recommendation, self.settings.as_ref())
    }
}
