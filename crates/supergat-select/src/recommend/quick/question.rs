//! The question.

use crate::recommend::map::Known;

/// A question for a comparison within seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct QuickQuestion {
    /// Seconds for measurements, 0 for the map alone. `None` for up to about 20 s of one core, on large graphs about one training: the
    /// plan then depends on the size of the dataset alone, so the answer has the same bits on all machines with the same instruction set.
    pub seconds: Option<f64>,
    /// Whether networks alone are recommended: they predict nodes of other graphs too, and run on all devices. Others are
    /// compared, except for boosted trees, which not all builds have, and on large graphs Correct and Smooth.
    pub networks_only: bool,
    /// Metric, one of [`METRICS`](crate::recommend::METRICS); `None` for the usual one of the dataset.
    pub metric: Option<String>,
    /// Labels that may be used.
    pub known: Known,
    /// Seed of repetitions and runs.
    pub seed: u64,
    /// Bytes of memory that runs on the CPU may use; `None` for those that are free.
    pub memory: Option<u64>,
}

impl Default for QuickQuestion {
    fn default() -> Self {
        Self {
            seconds: Some(20.0),
            networks_only: false,
            metric: None,
            known: Known::TrainingAndValidation,
            seed: 0,
            memory: None,
        }
    }
}
