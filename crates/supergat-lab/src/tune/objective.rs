//! What a search learns of a run: its validation metric, and nothing else. Test metrics do not pass this file.

use crate::settings::Settings;
use crate::sweep::{Event, Job, Key, Record, ResultsFile, Status, SweepError, run_sweep};
use std::collections::HashMap;
use std::ops::ControlFlow;
use supergat_data::SplitChoice;

/// Settings and a seed to run them with.
pub(super) type Wanted = (Settings, u64);

/// Runs that are kept in a results file.
#[derive(Debug)]
pub(super) struct Objective<'a> {
    pub(super) results: &'a mut ResultsFile,
    pub(super) source: &'a str,
    pub(super) split: SplitChoice,
    /// The dataset's name in the results.
    pub(super) dataset: String,
    pub(super) split_hash: String,
    pub(super) threads: usize,
}

/// The validation metric of a run. One that failed has the worst: it diverged, or its settings cannot work.
fn validation(record: &Record) -> f64 {
    match &record.status {
        Status::Ok { validation, .. } => validation.metric,
        Status::Failed { .. } => 0.0,
    }
}

impl Objective<'_> {
    /// Validation metrics of all wanted runs, made where the results file does not hold them; `None` when `observe` stopped them. It is
    /// called after every epoch, and with the validation metric of every run that ends.
    pub(super) fn scores(
        &mut self,
        wanted: &[Wanted],
        observe: impl Fn(Option<f64>) -> ControlFlow<()> + Sync,
    ) -> Result<Option<Vec<f64>>, SweepError> {
        let missing: Vec<Job> = wanted
            .iter()
            .filter(|wanted| !self.results.contains_result(&self.key(wanted)))
            .map(|&(settings, seed)| Job { source: self.source.to_owned(), split: self.split, settings, seed })
            .collect();
        if !missing.is_empty() {
            run_sweep(missing, self.results, self.threads, |event, _| match event {
                Event::Epoch(_) => observe(None),
                Event::Done(record) => observe(Some(validation(record))),
                _ => ControlFlow::Continue(()),
            })?;
        }
        let known: HashMap<Key, f64> =
            self.results.records().map(|record| (record.key(), validation(record))).collect();
        Ok(wanted.iter().map(|wanted| known.get(&self.key(wanted)).copied()).collect())
    }

    fn key(&self, (settings, seed): &Wanted) -> Key {
        Key::new(&self.dataset, &self.split_hash, settings, *seed)
    }
}
