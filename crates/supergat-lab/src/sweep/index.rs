//! Finds the record of a job among the records of a results file.

use crate::settings::Settings;
use crate::sweep::job::Job;
use crate::sweep::record::Record;
use std::collections::HashMap;

/// What finds a record: dataset, split, settings and seed. The split goes by its name, since its hash is not known
/// before the dataset is read.
type Address = (String, String, String, u64);

fn address(dataset: &str, split: String, settings: &Settings, seed: u64) -> Address {
    (dataset.to_owned(), split, serde_json::to_string(settings).expect("settings are an object"), seed)
}

/// The best record of every job. The order of lines in the file makes no difference.
#[derive(Debug)]
pub struct Index<'a>(HashMap<Address, &'a Record>);

impl<'a> Index<'a> {
    /// Of those of these records that are of the classes of nodes.
    pub fn new(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut index: HashMap<Address, &Record> = HashMap::new();
        for record in records.into_iter().filter(|record| record.task == Record::NODE) {
            let place = address(&record.dataset, record.split.clone(), &record.settings, record.seed);
            let best = index.entry(place).or_insert(record);
            if record.is_better_than(best) {
                *best = record;
            }
        }
        Self(index)
    }

    /// The record of a job, which may be that of a failure; `None` where it was never run.
    pub fn find(&self, job: &Job) -> Option<&'a Record> {
        self.0.get(&address(&job.source, job.split.to_string(), &job.settings, job.seed)).copied()
    }
}
