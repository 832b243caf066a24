//! The record of a run, which is one line of a results file.

use crate::sweep::job::Job;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use supergat_core::Score;
use supergat_train::device::DeviceKind;
use supergat_train::settings::Settings;
use supergat_train::task::Status;

/// A run that finished or failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the line format.
    pub schema: u32,
    /// Name of the dataset; the full specification for a generated one.
    pub dataset: String,
    /// Name of the [`Task`](supergat_train::task::Task): `node` for plain node classification.
    pub task: String,
    /// Name of the model.
    pub model: String,
    /// Requested split: `published`, `random:3`, ...
    pub split: String,
    /// [`split_hash`](supergat_train::dataset_hash::split_hash) of the dataset.
    pub split_hash: String,
    /// Random seed.
    pub seed: u64,
    /// Model and hyperparameters.
    pub settings: Settings,
    /// Kind of the device; lines of the CPU do not contain it.
    #[serde(default, skip_serializing_if = "DeviceKind::is_cpu")]
    pub device: DeviceKind,
    /// Result or failure.
    #[serde(flatten)]
    pub status: Status,
    /// Duration in seconds.
    pub seconds: f64,
    /// Program version.
    pub version: String,
}

/// Identity of a run: task, dataset, split, settings, seed and kind of device. Neither the program version nor
/// the duration is part of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    task: String,
    dataset: String,
    split_hash: String,
    settings: String,
    seed: u64,
    device: DeviceKind,
}

impl Key {
    /// Creates the key of a run of the task of this name.
    pub(crate) fn new(
        task: &str,
        device: DeviceKind,
        dataset: &str,
        split_hash: &str,
        settings: &Settings,
        seed: u64,
    ) -> Self {
        let settings = serde_json::to_string(settings).expect("settings are an object");
        Self { task: task.into(), dataset: dataset.into(), split_hash: split_hash.into(), settings, seed, device }
    }
}

impl Record {
    /// Current version of the line format.
    pub const SCHEMA: u32 = 1;

    /// Returns the identity of the run.
    pub fn key(&self) -> Key {
        Key::new(&self.task, self.device, &self.dataset, &self.split_hash, &self.settings, self.seed)
    }

    /// Returns the test score; `None` if the run failed.
    pub fn test(&self) -> Option<Score> {
        match self.status {
            Status::Ok { test, .. } => Some(test),
            Status::Failed { .. } => None,
        }
    }

    /// Returns the further measurements of the task; `None` if the run failed or has none of this type.
    pub fn measured<T: DeserializeOwned>(&self) -> Option<T> {
        match &self.status {
            Status::Ok { measured, .. } => T::deserialize(measured).ok(),
            Status::Failed { .. } => None,
        }
    }

    /// Returns whether to prefer this record to another one of the same run. Results are preferred to
    /// failures, then later versions to earlier ones. The remaining criteria only make the choice independent
    /// of the order of lines.
    pub fn is_better_than(&self, other: &Self) -> bool {
        let rank = |record: &Self| {
            (record.test().is_some(), record.version.clone(), record.split_hash.clone(), format!("{:?}", record.status))
        };
        rank(self) > rank(other)
    }
}

/// Dataset, split, settings and seed of a record. The split is given by name, since its hash is only known
/// once the dataset is loaded.
type JobKey = (String, String, String, u64);

fn job_key(dataset: &str, split: String, settings: &Settings, seed: u64) -> JobKey {
    (dataset.to_owned(), split, serde_json::to_string(settings).expect("settings are an object"), seed)
}

/// Index of the records of a task by job. It does not depend on the order of lines in the results
/// file.
#[derive(Debug)]
pub struct RecordIndex<'a>(HashMap<JobKey, &'a Record>);

impl<'a> RecordIndex<'a> {
    /// Indexes the runs of the task of this name among `records`.
    pub fn new(task: &str, records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut index: HashMap<JobKey, &Record> = HashMap::new();
        for record in records.into_iter().filter(|record| record.task == task) {
            let key = job_key(&record.dataset, record.split.clone(), &record.settings, record.seed);
            let best = index.entry(key).or_insert(record);
            if record.is_better_than(best) {
                *best = record;
            }
        }
        Self(index)
    }

    /// Returns the record of a job, which may be a failure; `None` if the job was never run.
    pub fn find(&self, job: &Job) -> Option<&'a Record> {
        self.0.get(&job_key(&job.source, job.split.to_string(), &job.settings, job.seed)).copied()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::Value;
    use supergat_train::task::NODE;

    /// Returns the record of a finished run.
    pub(crate) fn record(seed: u64, test: f64) -> Record {
        let settings = Settings::published("cora", "supergat-mx".parse().unwrap()).unwrap();
        let score = |metric| Score { loss: 1.0 / 3.0, metric };
        Record {
            schema: Record::SCHEMA,
            dataset: "cora".into(),
            task: NODE.into(),
            model: settings.model.to_string(),
            split: "published".into(),
            split_hash: "0123456789abcdef".into(),
            seed,
            settings,
            device: DeviceKind::Cpu,
            status: Status::Ok {
                metric: "accuracy".into(),
                train: score(1.0),
                validation: score(0.8),
                test: score(test),
                epochs: 490,
                best_epoch: 300,
                measured: Value::Null,
            },
            seconds: 1.5,
            version: "0.1.0".into(),
        }
    }

    #[test]
    fn records_round_trip_through_lines() {
        let failed = Record { status: Status::Failed { reason: "no\nmemory".into() }, ..record(u64::MAX, 0.0) };
        for record in [record(3, 0.1 + 0.2), failed] {
            let line = serde_json::to_string(&record).unwrap();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record, "{line}");
        }
        let mut line = serde_json::to_string(&record(3, 0.5)).unwrap();
        assert!(!line.contains("measured"), "{line}");
        line = line.replace(r#""best_epoch":300"#, r#""best_epoch":300,"measured":[0.75,2]"#);
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap().measured(), Some([0.75, 2.0]));
        assert!(line.contains(r#""status":"ok""#) && line.contains(r#""test":{"loss":"#), "{line}");
    }

    /// Lines of the CPU have the fields that they had before there were other devices, in the same order.
    #[test]
    fn only_lines_of_a_gpu_name_the_device() {
        let cpu = record(3, 0.5);
        let line = serde_json::to_string(&cpu).unwrap();
        assert!(line.contains(r#"},"status":"ok""#) && !line.contains("device"), "{line}");
        for (device, name) in [(DeviceKind::Cuda, "cuda"), (DeviceKind::CudaTf32, "cuda-tf32")] {
            let gpu = Record { device, ..cpu.clone() };
            let line = serde_json::to_string(&gpu).unwrap();
            assert!(line.contains(&format!(r#"}},"device":"{name}","status":"ok""#)), "{line}");
            assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), gpu);
        }
    }

    #[test]
    fn keys_identify_runs() {
        let one = record(3, 0.8);
        let later = Record { seconds: 9.0, version: "9.0.0".into(), ..record(3, 0.7) };
        assert_eq!(one.key(), later.key());
        assert!(later.is_better_than(&one) && !one.is_better_than(&later));
        let failed = Record { status: Status::Failed { reason: "x".into() }, ..later.clone() };
        assert!(one.is_better_than(&failed) && !failed.is_better_than(&one));
        assert_ne!(one.key(), record(4, 0.8).key());
        assert_ne!(one.key(), Record { task: "link".into(), ..one.clone() }.key());
        assert_ne!(one.key(), Record { split_hash: "f".into(), ..one.clone() }.key());
        assert_ne!(one.key(), Record { settings: one.settings.with(|s| s.training.lr = 0.1), ..one.clone() }.key());
        assert_ne!(one.key(), Record { device: DeviceKind::Cuda, ..one.clone() }.key());
    }
}
