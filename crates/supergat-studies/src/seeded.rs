//! Runs of a study on one dataset: each of some settings with several seeds.

use supergat_data::{Dataset, SplitChoice};
use supergat_select::sweep::{Job, Record, ResultsFile, dataset_name};
use supergat_train::settings::Settings;

/// Runs of a study on the published split of a dataset: each of some settings with seeds from 0.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededRuns {
    source: String,
    /// Name of the dataset in results.
    pub dataset: String,
    /// Metric of the nodes: `accuracy` or `micro-f1`.
    pub metric: &'static str,
    pub(crate) settings: Vec<Settings>,
    pub(crate) seeds: u64,
}

impl SeededRuns {
    /// Plans the runs of a dataset that was loaded from `source`.
    pub(crate) fn new(source: &str, dataset: &Dataset, settings: Vec<Settings>, seeds: u64) -> Self {
        let metric = if dataset.is_multi_label() { "micro-f1" } else { "accuracy" };
        Self { source: source.to_owned(), dataset: dataset_name(source, dataset), metric, settings, seeds }
    }

    /// Returns all runs.
    pub fn jobs(&self) -> Vec<Job> {
        Job::for_seeds(&self.source, &self.settings, self.seeds)
    }

    /// Returns the records of a task with some settings in a file, in the order of the seeds.
    pub(crate) fn records<'a>(&self, task: &str, settings: &Settings, results: &'a ResultsFile) -> Vec<&'a Record> {
        let split = SplitChoice::Published.to_string();
        let is_wanted = |record: &&Record| {
            (record.task.as_str(), &record.dataset, &record.split, &record.settings)
                == (task, &self.dataset, &split, settings)
                && record.seed < self.seeds
        };
        let mut records: Vec<&Record> = results.records().filter(is_wanted).collect();
        records.sort_by_key(|record| record.seed);
        records
    }
}
