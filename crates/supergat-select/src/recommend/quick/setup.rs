//! Everything that a comparison is made from: dataset, metric, resampled parts and candidates.

use crate::recommend::cost::of_run;
use crate::recommend::families::{Family, LeftOut};
use crate::recommend::map::{Known, MapAnswer};
use crate::recommend::metric::{MetricChoice, RequestedMetric};
use crate::recommend::quick::candidates::{self, Candidate};
use crate::recommend::quick::question::QuickQuestion;
use crate::recommend::quick::resampled::{Resampled, resampled};
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_train::Resources;

/// Number of nodes, or of directed edges, from which on a graph is large: one network is then trained at a time, which
/// takes less memory.
const LARGE: [usize; 2] = [50_000, 2_000_000];

pub(super) fn is_large(dataset: &Dataset) -> bool {
    let edges: usize = dataset.examples.iter().map(|example| example.graph.edges()).sum();
    dataset.nodes() >= LARGE[0] || edges >= LARGE[1]
}

/// Distribution of runs over threads and device. Results do not depend on it.
#[derive(Clone, Copy)]
pub(super) struct Workers {
    /// Number of runs at a time.
    pub(super) count: usize,
    /// Resources of each run.
    each: Resources,
}

impl Workers {
    /// Returns one run per thread on the CPU; one at a time on a GPU and on large graphs.
    pub(super) fn of(dataset: &Dataset, resources: Resources) -> Self {
        match resources.kind().is_cpu() && !is_large(dataset) {
            true => Self { count: resources.threads, each: Resources { threads: 1, processes: None, ..resources } },
            false => Self { count: 1, each: Resources { processes: None, ..resources } },
        }
    }

    /// Returns the resources of a run of a model: others than networks have no device.
    pub(super) fn of_run(&self, model: ModelKind) -> Resources {
        of_run(self.each, model)
    }
}

/// Everything that a comparison is made from.
pub(super) struct Setup<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) map: &'a MapAnswer,
    pub(super) metric: MetricChoice,
    pub(super) notes: Vec<String>,
    pub(super) resampled: Resampled<'a>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) left_out: Vec<LeftOut>,
}

impl<'a> Setup<'a> {
    /// Prepares a comparison. Fails if the metric is undefined. The inner error is the reason why nothing can be compared.
    pub(super) fn new(
        dataset: &'a Dataset,
        question: &QuickQuestion,
        map: &'a MapAnswer,
    ) -> Result<Result<Self, String>, String> {
        let plain = MetricChoice::default();
        let draw = |metric| resampled(dataset, question.known, metric, question.seed);
        let (metric, notes, drawn) = match dataset.classes() {
            0 => (plain, Vec::new(), draw(plain)),
            _ => {
                let name = question.metric.as_deref();
                let requested = RequestedMetric::new(dataset, name, question.known != Known::Training)?;
                match draw(requested.choice) {
                    // A metric that was chosen here, not by the user, is replaced by accuracy.
                    Err(reason) if name.is_none() && requested.choice != plain => {
                        (plain, requested.notes(false, &reason), draw(plain))
                    }
                    drawn => (requested.choice, requested.notes(true, ""), drawn),
                }
            }
        };
        let resampled = match drawn {
            Ok(resampled) => resampled,
            Err(reason) => return Ok(Err(reason)),
        };
        let (mut candidates, mut left_out) = candidates::of(dataset, map, metric);
        if question.networks_only {
            // Correct and Smooth takes longer than short trainings of networks on large graphs.
            let is_compared = |family: Family| {
                family.name != "trees" && !(family.name == "mlp-correct-and-smooth" && is_large(dataset))
            };
            candidates.retain(|candidate| is_compared(candidate.family));
            left_out.retain(|left| is_compared(left.family));
        }
        Ok(Ok(Self { dataset, map, metric, notes, resampled, candidates, left_out }))
    }
}
