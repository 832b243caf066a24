//! Measured times of the families.

use crate::recommend::cost::{EPOCHS, RunCost, fits, time};
use crate::recommend::families::Family;
use crate::recommend::thorough::trials::{Trial, TrialContext};
use serde::{Deserialize, Serialize};
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_train::Resources;
use supergat_train::settings::Settings;

/// Smallest size of a network relative to the measured one; smaller ones take hardly less time.
const LEAST: f64 = 0.25;
/// Exponent of the time of a network by its size: deep and wide ones have a larger share of dense products.
const GROWTH: f64 = 1.2;

/// Seconds that runs of a family take: `fixed + epochs * epoch`, on one thread or GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds of a run without its epochs.
    pub fixed: f64,
    /// Seconds of an epoch of two layers, and of deep blocks.
    pub epoch: [f64; 2],
}

impl Cost {
    /// Measures the usual settings of a family. Returns the reason if they cannot run.
    pub(super) fn measure(
        dataset: &Dataset,
        family: Family,
        kind: ModelKind,
        context: &TrialContext<'_>,
        resources: Resources,
        memory: Option<u64>,
    ) -> Result<Self, String> {
        let alone = Resources { threads: 1, processes: None, ..resources };
        let mut cost = Self { fixed: 0.0, epoch: [0.0; 2] };
        for form in 0..if kind.is_network() { 2 } else { 1 } {
            let trial = family.trial(kind, form, EPOCHS, context);
            fits(dataset, &trial.settings, 1, memory)?;
            let RunCost { fixed, epoch } = time(dataset, &trial.settings, alone, || true)?;
            cost.fixed = cost.fixed.max(fixed);
            cost.epoch[form] = epoch;
        }
        Ok(cost)
    }

    /// Returns the seconds of a run of trial `number`, whose epochs take `time` times as long as the usual ones.
    pub(super) fn of(&self, number: usize, time: f64, epochs: usize) -> f64 {
        self.fixed + epochs as f64 * self.epoch[number % 2] * time
    }

    /// Returns the cost if everything takes `factor` times as long.
    pub(super) fn times(&self, factor: f64) -> Self {
        Self { fixed: factor * self.fixed, epoch: self.epoch.map(|epoch| factor * epoch) }
    }
}

/// Returns about how many times as long an epoch of a trial takes as one of the usual trial of the same form.
pub(super) fn relative_time(trial: &Trial, usual: &Trial) -> f64 {
    let size = |trial: &Trial| network_size(&trial.settings) as f64;
    (size(trial) / size(usual)).powf(GROWTH).max(LEAST)
}

/// Returns a measure of the size of a network.
pub(super) fn network_size(settings: &Settings) -> usize {
    settings.network.layers * settings.network.hidden * settings.network.heads
}
