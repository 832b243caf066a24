//! Measured times of the families.

use crate::benchmark::families::{Family, Trial, TrialContext};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_train::device::{DeviceChoice, Resources};
use supergat_train::estimate::estimate;
use supergat_train::runs::{Observation, run_seeds};
use supergat_train::settings::Settings;

/// Most epochs of a measurement. The first contains preparations; the median of the others counts, because other programs
/// disturb single ones.
const EPOCHS: usize = 8;
/// Seconds after which a measurement ends, if it has timed an epoch.
const ENOUGH: f64 = 0.3;
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
            let (fixed, epoch) = time(dataset, &trial.settings, alone, || true)?;
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
    let size =
        |settings: &Settings| (settings.network.layers * settings.network.hidden * settings.network.heads) as f64;
    (size(&trial.settings) / size(&usual.settings)).powf(GROWTH).max(LEAST)
}

/// Fails if parallel runs, one per thread, do not fit into memory.
pub(crate) fn fits(dataset: &Dataset, settings: &Settings, threads: usize, memory: Option<u64>) -> Result<(), String> {
    let Some(memory) = memory else { return Ok(()) };
    let needed = estimate(dataset, settings, threads, threads, 0, (0, 0)).map_err(|error| error.to_string())?;
    match needed.peak <= memory {
        true => Ok(()),
        false => Err(format!("its runs need {:.1} GB of memory", needed.peak as f64 / 1e9)),
    }
}

/// Returns the seconds of a run apart from its epochs, and of one epoch. The run ends after an epoch if `keep_on` says no; the
/// first epoch is then the estimate.
pub(crate) fn time(
    dataset: &Dataset,
    settings: &Settings,
    resources: Resources,
    keep_on: impl Fn() -> bool + Sync,
) -> Result<(f64, f64), String> {
    let device = if settings.model.is_network() { resources.device } else { DeviceChoice::Cpu };
    let resources = Resources { device, ..resources };
    settings.check(dataset).map_err(|error| error.to_string())?;
    let (started, ends) = (Instant::now(), Mutex::new(Vec::new()));
    run_seeds(dataset, settings, &[0], resources, |observation| {
        let now = started.elapsed().as_secs_f64();
        match (observation, ends.lock()) {
            (Observation::Epoch(..), Ok(mut ends)) => {
                ends.push(now);
                let is_enough = ends.len() > 1 && now > ENOUGH;
                if is_enough || !keep_on() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
            _ => ControlFlow::Continue(()),
        }
    })
    .map_err(|error| error.to_string())?;
    let all = started.elapsed().as_secs_f64();
    let ends = ends.into_inner().unwrap_or_default();
    let mut epochs: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    epochs.sort_by(f64::total_cmp);
    let first = ends.first().copied().filter(|_| settings.model.is_network());
    let epoch = epochs.get(epochs.len() / 2).copied().or(first).unwrap_or(0.0);
    Ok(((all - ends.len() as f64 * epoch).max(0.0), epoch))
}
