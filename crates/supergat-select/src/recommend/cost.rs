//! Time and memory of runs.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_train::estimate::estimate;
use supergat_train::settings::Settings;
use supergat_train::{DeviceChoice, Resources};
use supergat_train::{Observation, run_seeds};

/// Most epochs of a measurement. The first contains preparations; the median of the others counts, because other programs
/// disturb single ones.
pub(super) const EPOCHS: usize = 8;
/// Seconds after which a measurement ends, if it has timed an epoch.
const ENOUGH: f64 = 0.3;

/// Fails if parallel runs, one per thread, do not fit into memory.
pub(super) fn fits(dataset: &Dataset, settings: &Settings, threads: usize, memory: Option<u64>) -> Result<(), String> {
    let Some(memory) = memory else { return Ok(()) };
    let needed =
        estimate(dataset, settings, threads, Resources::from(threads), 0, (0, 0)).map_err(|error| error.to_string())?;
    match needed.peak <= memory {
        true => Ok(()),
        false => Err(format!("its runs need {:.1} GB of memory", needed.peak as f64 / 1e9)),
    }
}

/// Cost of a run: in seconds if it is measured, in multiplications if it is estimated from sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RunCost {
    /// Cost apart from epochs.
    pub(super) fixed: f64,
    /// Cost of an epoch.
    pub(super) epoch: f64,
}

impl RunCost {
    /// Returns the cost of a run with some epochs.
    pub(super) fn of(self, epochs: usize) -> f64 {
        self.fixed + epochs as f64 * self.epoch
    }

    /// Returns the cost in another unit.
    pub(super) fn times(self, factor: f64) -> Self {
        Self { fixed: factor * self.fixed, epoch: factor * self.epoch }
    }
}

/// Returns the resources of a run of a model: others than networks have no device.
pub(super) fn of_run(resources: Resources, model: ModelKind) -> Resources {
    Resources { device: if model.is_network() { resources.device } else { DeviceChoice::Cpu }, ..resources }
}

/// Measures the seconds of a run. It ends after an epoch if `keep_on` says no; the first epoch is then the estimate.
pub(super) fn time(
    dataset: &Dataset,
    settings: &Settings,
    resources: Resources,
    keep_on: impl Fn() -> bool + Sync,
) -> Result<RunCost, String> {
    let resources = of_run(resources, settings.model);
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
    Ok(RunCost { fixed: (all - ends.len() as f64 * epoch).max(0.0), epoch })
}
