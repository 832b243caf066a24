//! Lines of results files for tests.

use serde_json::Value;
use supergat_core::Score;
use supergat_select::sweep::{Job, Record};
use supergat_train::DeviceKind;
use supergat_train::task::{NODE, Status};

/// Returns the line of a results file for a finished job with these scores.
pub fn line_of(job: &Job, validation: Score, test: f64) -> String {
    let test = Score { loss: 0.5, metric: test };
    let (metric, measured) = ("accuracy".into(), Value::Null);
    let record = Record {
        schema: Record::SCHEMA,
        dataset: job.source.clone(),
        task: NODE.into(),
        model: job.settings.model.to_string(),
        split: job.split.to_string(),
        split_hash: "0123456789abcdef".into(),
        seed: job.seed,
        settings: job.settings,
        device: DeviceKind::Cpu,
        status: Status::Ok { metric, train: test, validation, test, epochs: 2, best_epoch: 1, measured },
        seconds: 1.5,
        version: "0.1.0".into(),
    };
    serde_json::to_string(&record).unwrap() + "\n"
}
