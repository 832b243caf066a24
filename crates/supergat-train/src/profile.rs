//! Timing of training steps and evaluation passes.

use crate::divided::Divided;
use crate::resources::Resources;
use crate::settings::Settings;
use crate::threads::pool;
use crate::training::{prepare, prepare_on};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use supergat_cluster::peers::{Alone, gather_one};
use supergat_core::example::ExampleShape;
use supergat_core::stopwatch::record;
use supergat_core::{Device, Prepared, Result, Trainer};
use supergat_data::Dataset;

/// Median and minimum of repeated measurements, in milliseconds.
///
/// See [`profile()`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Timing {
    /// Median time.
    pub median: f64,
    /// Minimum time.
    pub min: f64,
}

impl Timing {
    /// Summarises measurements in seconds; panics if there are none.
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let middle = seconds.len() / 2;
        let median =
            if seconds.len() % 2 == 1 { seconds[middle] } else { (seconds[middle - 1] + seconds[middle]) / 2.0 };
        Self { median: median * 1e3, min: seconds[0] * 1e3 }
    }
}

/// Time of one primitive within a training step.
///
/// See [`profile()`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelTiming {
    /// Name of the primitive.
    pub name: &'static str,
    /// Number of calls per training step.
    pub calls: u64,
    /// Total time of these calls.
    pub ms: Timing,
}

/// Times of a training, step by step.
///
/// See [`profile()`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// Time of one training step on every training graph: forward pass, backward pass and optimiser.
    pub train_ms: Timing,
    /// Time of one evaluation of all graphs.
    pub eval_ms: Timing,
    /// Time of each primitive within a training step, longest first.
    pub kernels: Vec<KernelTiming>,
    /// Best validation metric of all epochs.
    pub best_val: f64,
    /// Test metric of the epoch with the best validation metric.
    pub test_at_best_val: f64,
    /// Bytes that each process sends to others in a training step; one process sends none.
    pub sent_bytes: Vec<u64>,
}

/// Trains for `epochs` epochs and times every step and evaluation.
///
/// ```
/// use supergat_train::{Resources, Settings, profile};
/// let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap();
/// let settings = Settings::general("gat-go".parse().unwrap());
/// let result = profile(&dataset, &settings, 2, Resources::from(1), 0)?;
/// assert!(result.train_ms.min <= result.train_ms.median);
/// let forward = result.kernels.iter().find(|kernel| kernel.name == "attention_forward").unwrap();
/// assert_eq!(forward.calls, 2, "one call per layer");
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn profile(
    dataset: &Dataset,
    settings: &Settings,
    epochs: usize,
    resources: Resources,
    seed: u64,
) -> Result<Profile> {
    match resources.cuda()? {
        None => match Divided::of(dataset, Arc::new(Alone))? {
            Some(divided) => divided.profile(settings, epochs, resources.threads, seed),
            None => {
                let prepared = prepare(dataset, settings)?;
                pool(resources.threads)?.install(|| measure(&prepared, epochs, seed, || 0))
            }
        },
        Some(cuda) => measure(&prepare_on(&cuda, dataset, settings)?, epochs, seed, || 0),
    }
}

impl Divided {
    /// Like [`profile()`], with all processes together. Times and sent bytes of a step include all training graphs.
    pub fn profile(&self, settings: &Settings, epochs: usize, threads: usize, seed: u64) -> Result<Profile> {
        let prepared = self.prepare(settings)?;
        let sent = || prepared.device().bytes_sent();
        let mut result = pool(threads)?.install(|| measure(&prepared, epochs, seed, sent))?;
        result.sent_bytes = gather_one(self.peers(), result.sent_bytes[0])?;
        Ok(result)
    }
}

/// Measures with one process. `sent` returns the bytes that it has sent so far.
fn measure<D: Device>(prepared: &Prepared<D>, epochs: usize, seed: u64, sent: impl Fn() -> u64) -> Result<Profile> {
    let mut trainer = Trainer::new(prepared, seed)?;
    let examples = prepared.examples();
    let training: Vec<usize> = (0..examples.len()).filter(|&k| examples[k].split_sizes()[0] > 0).collect();
    let (mut steps, mut evaluations) = (Vec::with_capacity(epochs), Vec::with_capacity(epochs));
    let mut laps: BTreeMap<&'static str, (u64, Vec<f64>)> = BTreeMap::new();
    let (mut best_val, mut test_at_best_val, mut sent_bytes) = (0.0, 0.0, 0);
    for _ in 0..epochs.max(1) {
        let (started, sent_before) = (Instant::now(), sent());
        let (done, step) = record(|| {
            training.iter().try_for_each(|&example| trainer.train_step(example))?;
            // Waits until the device has finished.
            trainer.loss(training[0])
        });
        done?;
        steps.push(started.elapsed().as_secs_f64());
        sent_bytes += sent() - sent_before;
        for lap in step {
            let (calls, times) = laps.entry(lap.name).or_default();
            *calls = lap.calls;
            times.push(lap.time.as_secs_f64());
        }
        let started = Instant::now();
        let [validation, test] = trainer.evaluate()?;
        evaluations.push(started.elapsed().as_secs_f64());
        if validation.metric >= best_val {
            (best_val, test_at_best_val) = (validation.metric, test.metric);
        }
    }
    let mut kernels: Vec<KernelTiming> =
        laps.into_iter().map(|(name, (calls, times))| KernelTiming { name, calls, ms: Timing::of(times) }).collect();
    kernels.sort_by(|a, b| b.ms.median.total_cmp(&a.ms.median));
    let (train_ms, eval_ms) = (Timing::of(steps), Timing::of(evaluations));
    let sent_bytes = vec![sent_bytes / epochs.max(1) as u64];
    Ok(Profile { train_ms, eval_ms, kernels, best_val, test_at_best_val, sent_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_median_and_minimum() {
        assert_eq!(Timing::of(vec![0.003, 0.001, 0.002]), Timing { median: 2.0, min: 1.0 });
        assert_eq!(Timing::of(vec![0.004, 0.002]), Timing { median: 3.0, min: 2.0 });
    }

    #[test]
    fn times_training_steps_and_kernels() {
        let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=8,homophily=0.9").unwrap();
        let settings = Settings::general("supergat-mx".parse().unwrap()).with(|s| s.network.dropout = 0.2);
        let result = profile(&dataset, &settings, 20, Resources::from(2), 0).unwrap();
        assert!(result.train_ms.min > 0.0 && result.train_ms.min <= result.train_ms.median);
        assert!(result.best_val > 0.6, "{result:?}");
        let forward = result.kernels.iter().find(|kernel| kernel.name == "attention_forward").unwrap();
        assert_eq!(forward.calls, 2);
        let sum: f64 = result.kernels.iter().map(|kernel| kernel.ms.min).sum();
        assert!(sum <= result.train_ms.median, "{result:?}");
    }
}
