//! Runs of a search, reduced to their validation metric. Only this file reads results; test metrics are not
//! passed on.

use crate::sweep::{Classification, Event, Job, Key, Reached, Record, ResultsFile, Rung, SweepError, run_sweep};
use crate::tune::{TuneEvent, Tuning};
use std::ops::ControlFlow;
use supergat_train::Resources;
use supergat_train::settings::Settings;
use supergat_train::task::{Status, Task};

/// A requested run: settings and seed.
pub(super) type RunRequest = (Settings, u64);

/// Source of validation metrics: a results file and the runs missing in it.
#[derive(Debug)]
pub(super) struct Objective<'a> {
    pub(super) tuning: &'a Tuning,
    pub(super) results: &'a mut ResultsFile,
    /// Name of the dataset in the results.
    pub(super) dataset: String,
    pub(super) split_hash: String,
    pub(super) resources: Resources,
}

/// Validation metrics of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunScore {
    /// Validation metric of the best epoch; 0 if the run failed.
    pub(super) validation: f64,
    /// Validation metrics at the rungs, in their order.
    pub(super) reached: Vec<f64>,
    /// Number of epochs after which the run was stopped because it was hopeless.
    pub(super) pruned: Option<usize>,
}

/// Returns the validation metrics of a run that was compared at some rungs; zeros if it failed (it diverged, or its settings
/// are invalid).
fn run_score(record: &Record, rungs: usize) -> RunScore {
    let validation = match &record.status {
        Status::Ok { validation, .. } => validation.metric,
        Status::Failed { .. } => 0.0,
    };
    let Reached { reached, pruned } =
        record.measured().unwrap_or_else(|| Reached { reached: vec![0.0; rungs], pruned: None });
    RunScore { validation, reached, pruned }
}

impl Objective<'_> {
    /// Returns the validation metrics of all requested runs, running those missing in the results file;
    /// `None` if `observe` stopped them. Runs stop at the first of the `rungs` at which they are hopeless. `observe` is
    /// called after every epoch and every run.
    pub(super) fn scores(
        &mut self,
        requests: &[RunRequest],
        rungs: &[Rung],
        observe: impl Fn(TuneEvent<'_>) -> ControlFlow<()> + Sync,
    ) -> Result<Option<Vec<RunScore>>, SweepError> {
        let Tuning { source, split, class_weight, row_normalise, .. } = self.tuning;
        let task = Classification::pruned(class_weight.clone(), *row_normalise, rungs.to_vec());
        let key = |(settings, seed): &RunRequest| {
            Key::new(task.name(), self.resources.kind(), &self.dataset, &self.split_hash, settings, *seed)
        };
        let missing: Vec<Job> = requests
            .iter()
            .filter(|request| !self.results.contains_result(&key(request)))
            .map(|&(settings, seed)| Job { source: source.clone(), split: *split, settings, seed })
            .collect();
        if !missing.is_empty() {
            run_sweep(&task, missing, self.results, self.resources, |event, _| match event {
                Event::Epoch => observe(TuneEvent::Epoch),
                Event::Done(_) => observe(TuneEvent::Run),
                _ => ControlFlow::Continue(()),
            })?;
        }
        let score = |request| self.results.get(&key(request)).map(|record| run_score(record, rungs.len()));
        Ok(requests.iter().map(score).collect())
    }
}
