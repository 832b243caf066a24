//! What is kept of a run: one line of a results file.

use crate::settings::Settings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use supergat_core::{Labels, Score};
use supergat_data::Dataset;

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the layout of these lines.
    pub schema: u32,
    /// Name of the dataset; a generated one is named by its whole specification.
    pub dataset: String,
    /// The name of the [`Task`](crate::sweep::Task): `node` where nothing but the classes of nodes was learned.
    pub task: String,
    /// Name of the model.
    pub model: String,
    /// The split as it was asked for: `published`, `random:3`, ...
    pub split: String,
    /// [`split_hash`] of the dataset.
    pub split_hash: String,
    /// The seed.
    pub seed: u64,
    /// Model and hyperparameters.
    pub settings: Settings,
    /// How it ended.
    #[serde(flatten)]
    pub status: Status,
    /// Time it took.
    pub seconds: f64,
    /// Version of this program.
    pub version: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Status {
    /// It came to its end. All scores are those of the epoch with the best validation metric; metrics lie between 0 and 1.
    Ok {
        /// `accuracy` or `micro-f1`.
        metric: String,
        /// Training nodes, without dropout.
        train: Score,
        /// Validation nodes.
        validation: Score,
        /// Test nodes.
        test: Score,
        /// Epochs run.
        epochs: usize,
        /// The epoch with the best validation metric, from 0.
        best_epoch: usize,
        /// What else its task measured; null where that is nothing.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        measured: Value,
    },
    /// It did not.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What makes two runs the same run: task, dataset, split, settings and seed. Never the version of the program, nor the time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    task: String,
    dataset: String,
    split_hash: String,
    settings: String,
    seed: u64,
}

impl Key {
    /// Of a run that learns the classes of nodes.
    pub fn new(dataset: &str, split_hash: &str, settings: &Settings, seed: u64) -> Self {
        let settings = serde_json::to_string(settings).expect("settings are an object");
        let task = Record::NODE.to_owned();
        Self { task, dataset: dataset.into(), split_hash: split_hash.into(), settings, seed }
    }

    /// The same with another task.
    pub(crate) fn of_task(self, task: &str) -> Self {
        Self { task: task.to_owned(), ..self }
    }
}

impl Record {
    /// The present layout of lines.
    pub const SCHEMA: u32 = 1;
    /// Classes of nodes.
    pub const NODE: &str = "node";

    /// What makes it the same run as another.
    pub fn key(&self) -> Key {
        Key::new(&self.dataset, &self.split_hash, &self.settings, self.seed).of_task(&self.task)
    }

    /// The test score, of a run that came to its end.
    pub fn test(&self) -> Option<Score> {
        match self.status {
            Status::Ok { test, .. } => Some(test),
            Status::Failed { .. } => None,
        }
    }

    /// What else its task measured, of a run that came to its end.
    pub fn measured<T: DeserializeOwned>(&self) -> Option<T> {
        match &self.status {
            Status::Ok { measured, .. } => T::deserialize(measured).ok(),
            Status::Failed { .. } => None,
        }
    }

    /// Whether this is to be kept rather than another record of the same run: a result before a failure, the later version, and then
    /// whatever does not depend on the order of lines.
    pub(crate) fn is_better_than(&self, other: &Self) -> bool {
        let rank = |record: &Self| {
            (record.test().is_some(), record.version.clone(), record.split_hash.clone(), format!("{:?}", record.status))
        };
        rank(self) > rank(other)
    }
}

/// Names a split of a dataset: 16 hexadecimal digits made from the size of the graphs, the labels and the three lists of nodes.
pub fn split_hash(dataset: &Dataset) -> String {
    let mut hash = Fnv::default();
    for example in &dataset.examples {
        let (graph, features) = (&example.graph, &example.features);
        [graph.nodes(), graph.edges(), features.columns()]
            .iter()
            .for_each(|&size| hash.add(&(size as u64).to_le_bytes()));
        match &example.labels {
            Labels::Single { of, .. } => of.iter().for_each(|class| hash.add(&class.to_le_bytes())),
            Labels::Multi { of, .. } => hash.add(of),
        }
        for list in [&example.train, &example.validation, &example.test] {
            hash.add(&(list.len() as u64).to_le_bytes());
            list.iter().for_each(|node| hash.add(&node.to_le_bytes()));
        }
    }
    format!("{:016x}", hash.0)
}

/// FNV-1a, which is the same on every machine and in every version.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sweep::job::Job;

    /// A record of a run that came to its end.
    pub(crate) fn record(seed: u64, test: f64) -> Record {
        let settings = Settings::published("cora", "supergat-mx".parse().unwrap()).unwrap();
        let score = |metric| Score { loss: 1.0 / 3.0, metric };
        Record {
            schema: Record::SCHEMA,
            dataset: "cora".into(),
            task: Record::NODE.into(),
            model: settings.model.to_string(),
            split: "published".into(),
            split_hash: "0123456789abcdef".into(),
            seed,
            settings,
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

    /// A line of a results file for a job that came to its end with these scores.
    pub(crate) fn line_of(job: &Job, validation: Score, test: f64) -> String {
        let test = Score { loss: 0.5, metric: test };
        let status = Status::Ok {
            metric: "accuracy".into(),
            train: test,
            validation,
            test,
            epochs: 2,
            best_epoch: 1,
            measured: Value::Null,
        };
        let record = Record {
            dataset: job.source.clone(),
            model: job.settings.model.to_string(),
            split: job.split.to_string(),
            settings: job.settings,
            status,
            ..record(job.seed, 0.0)
        };
        serde_json::to_string(&record).unwrap() + "\n"
    }

    #[test]
    fn a_line_gives_the_record_back() {
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

    #[test]
    fn keys_know_what_decides_a_run() {
        let one = record(3, 0.8);
        let later = Record { seconds: 9.0, version: "9.0.0".into(), ..record(3, 0.7) };
        assert_eq!(one.key(), later.key());
        assert!(later.is_better_than(&one) && !one.is_better_than(&later));
        let failed = Record { status: Status::Failed { reason: "x".into() }, ..later.clone() };
        assert!(one.is_better_than(&failed) && !failed.is_better_than(&one));
        assert_ne!(one.key(), record(4, 0.8).key());
        assert_ne!(one.key(), Record { task: "link".into(), ..one.clone() }.key());
        assert_ne!(one.key(), Record { split_hash: "f".into(), ..one.clone() }.key());
        assert_ne!(one.key(), Record { settings: Settings { lr: 0.1, ..one.settings }, ..one.clone() }.key());
    }

    #[test]
    fn hashes_tell_splits_apart() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=400,seed=1").unwrap();
        let hash = split_hash(&dataset);
        assert_eq!(hash, split_hash(&dataset.clone()));
        assert!(hash.len() == 16 && hash != split_hash(&dataset.redrawn(0).unwrap()));
        assert_ne!(split_hash(&dataset.redrawn(0).unwrap()), split_hash(&dataset.redrawn(1).unwrap()));
    }
}
