//! Runs of a search, reduced to their validation metric. Only this file reads results; test metrics are not
//! passed on.

use crate::device::Resources;
use crate::settings::Settings;
use crate::sweep::{Event, Job, Key, Record, ResultsFile, Status, SweepError, Task, run_task_sweep};
use std::collections::HashMap;
use std::ops::ControlFlow;
use supergat_data::SplitChoice;

/// A requested run: settings and seed.
pub(super) type RunRequest = (Settings, u64);

/// Source of validation metrics: a results file and the runs missing in it.
#[derive(Debug)]
pub(super) struct Objective<'a> {
    pub(super) results: &'a mut ResultsFile,
    pub(super) task: &'a dyn Task,
    pub(super) source: &'a str,
    pub(super) split: SplitChoice,
    /// Name of the dataset in the results.
    pub(super) dataset: String,
    pub(super) split_hash: String,
    pub(super) resources: Resources,
}

/// Returns the validation metric of a run, or 0 if it failed (it diverged, or its settings are invalid).
fn validation(record: &Record) -> f64 {
    match &record.status {
        Status::Ok { validation, .. } => validation.metric,
        Status::Failed { .. } => 0.0,
    }
}

impl Objective<'_> {
    /// Returns the validation metrics of all requested runs, running those missing in the results file;
    /// `None` if `observe` stopped them. `observe` is called after every epoch, and with the validation
    /// metric of every finished run.
    pub(super) fn scores(
        &mut self,
        requests: &[RunRequest],
        observe: impl Fn(Option<f64>) -> ControlFlow<()> + Sync,
    ) -> Result<Option<Vec<f64>>, SweepError> {
        let missing: Vec<Job> = requests
            .iter()
            .filter(|request| !self.results.contains_result(&self.key(request)))
            .map(|&(settings, seed)| Job { source: self.source.to_owned(), split: self.split, settings, seed })
            .collect();
        if !missing.is_empty() {
            run_task_sweep(self.task, missing, self.results, self.resources, |event, _| match event {
                Event::Epoch(_) => observe(None),
                Event::Done(record) => observe(Some(validation(record))),
                _ => ControlFlow::Continue(()),
            })?;
        }
        let known: HashMap<Key, f64> =
            self.results.records().map(|record| (record.key(), validation(record))).collect();
        Ok(requests.iter().map(|request| known.get(&self.key(request)).copied()).collect())
    }

    fn key(&self, (settings, seed): &RunRequest) -> Key {
        let key = Key::new(&self.dataset, &self.split_hash, settings, *seed);
        key.with_task(self.task.name()).with_device(self.resources.kind())
    }
}
