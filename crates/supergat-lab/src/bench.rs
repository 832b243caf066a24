//! How long a training step and an evaluation pass take.

use crate::runs::pool;
use crate::settings::Settings;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;
use supergat_core::stopwatch::record;
use supergat_core::train::plans;
use supergat_core::{Model, Result, Trainer};
use supergat_data::Dataset;

/// Median and minimum of repeated measurements, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Timing {
    /// Median.
    pub median: f64,
    /// Minimum.
    pub min: f64,
}

impl Timing {
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let middle = seconds.len() / 2;
        let median =
            if seconds.len() % 2 == 1 { seconds[middle] } else { (seconds[middle - 1] + seconds[middle]) / 2.0 };
        Self { median: median * 1e3, min: seconds[0] * 1e3 }
    }
}

/// Time of one primitive within a training step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelTiming {
    /// Name of the primitive.
    pub name: &'static str,
    /// How often it runs in a step.
    pub calls: u64,
    /// Time of all these calls.
    pub ms: Timing,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchReport {
    /// One training step on every training graph: forward, backward, optimiser.
    pub train_ms: Timing,
    /// One evaluation of all graphs.
    pub eval_ms: Timing,
    /// The same step, primitive by primitive, the longest first.
    pub kernels: Vec<KernelTiming>,
    /// Best validation metric on the way.
    pub best_val: f64,
    /// Test metric at that epoch.
    pub test_at_best_val: f64,
}

/// Trains for `epochs` epochs on `threads` threads and times every step and evaluation.
pub fn bench(dataset: &Dataset, settings: &Settings, epochs: usize, threads: usize, seed: u64) -> Result<BenchReport> {
    let config = settings.training();
    let plans = plans(&dataset.examples, settings.model.is_self_supervised(), &config)?;
    pool(threads)?.install(|| {
        let mut model = Model::new(settings.architecture(dataset), seed)?;
        let mut trainer = Trainer::new(&mut model, &dataset.examples, &plans, config, seed)?;
        let training: Vec<usize> =
            (0..dataset.examples.len()).filter(|&k| !dataset.examples[k].train.is_empty()).collect();
        let (mut steps, mut evaluations) = (Vec::with_capacity(epochs), Vec::with_capacity(epochs));
        let mut laps: BTreeMap<&'static str, (u64, Vec<f64>)> = BTreeMap::new();
        let (mut best_val, mut test_at_best_val) = (0.0, 0.0);
        for _ in 0..epochs.max(1) {
            let started = Instant::now();
            let ((), step) = record(|| {
                training.iter().for_each(|&example| {
                    trainer.train_step(example);
                });
            });
            steps.push(started.elapsed().as_secs_f64());
            for lap in step {
                let (calls, times) = laps.entry(lap.name).or_default();
                *calls = lap.calls;
                times.push(lap.time.as_secs_f64());
            }
            let started = Instant::now();
            let [validation, test] = trainer.evaluate();
            evaluations.push(started.elapsed().as_secs_f64());
            if validation.metric >= best_val {
                (best_val, test_at_best_val) = (validation.metric, test.metric);
            }
        }
        let mut kernels: Vec<KernelTiming> = laps
            .into_iter()
            .map(|(name, (calls, times))| KernelTiming { name, calls, ms: Timing::of(times) })
            .collect();
        kernels.sort_by(|a, b| b.ms.median.total_cmp(&a.ms.median));
        let (train_ms, eval_ms) = (Timing::of(steps), Timing::of(evaluations));
        Ok(BenchReport { train_ms, eval_ms, kernels, best_val, test_at_best_val })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_minimum() {
        assert_eq!(Timing::of(vec![0.003, 0.001, 0.002]), Timing { median: 2.0, min: 1.0 });
        assert_eq!(Timing::of(vec![0.004, 0.002]), Timing { median: 3.0, min: 2.0 });
    }

    #[test]
    fn a_bench_trains() {
        let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=8,homophily=0.9").unwrap();
        let settings = Settings { dropout: 0.2, ..Settings::general("supergat-mx".parse().unwrap()) };
        let report = bench(&dataset, &settings, 20, 2, 0).unwrap();
        assert!(report.train_ms.min > 0.0 && report.train_ms.min <= report.train_ms.median);
        assert!(report.best_val > 0.6, "{report:?}");
        let forward = report.kernels.iter().find(|kernel| kernel.name == "attention_forward").unwrap();
        assert_eq!(forward.calls, 2);
        let sum: f64 = report.kernels.iter().map(|kernel| kernel.ms.min).sum();
        assert!(sum <= report.train_ms.median, "{report:?}");
    }
}
