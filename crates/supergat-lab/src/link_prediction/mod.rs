//! Whether attention predicts edges that it has not seen.
//!
//! Of every graph 10 % of the edges are held out to be predicted, and 5 % more for validation, as in the paper, where nothing is selected by them. Messages are
//! passed along the remaining 85 %, and training takes its positives from them and its negatives from all pairs that are not among them. So a held-out
//! edge may be drawn as a negative, as rarely as any other pair: training cannot tell it from a pair without an edge. Then
//!
//! ```text
//! score(j -> i) = phi_ij of the last layer = sigmoid(mean over heads of the edge logit)
//! AUC           = P(score of a held-out edge > score of a non-edge) + P(equal) / 2
//! precision     = average precision, sum over thresholds of (R_n - R_(n-1)) P_n
//! ```
//!
//! over both directions of the held-out edges, and of as many pairs that are no edges of the whole graph. The model is the one with the best
//! validation metric of the nodes, whose test metric stands beside the AUC. Of several graphs those with test nodes are scored.

mod ranking;
mod split;
mod study;

pub use ranking::{auc, average_precision};
pub use split::EdgeSplit;
pub use study::{Plan, Point};

use crate::sweep::Task;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use supergat_core::{Error, Example, Model, Result};
use supergat_data::Dataset;

/// How well held-out edges are told from other pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkScore {
    /// Area under the ROC curve.
    pub auc: f64,
    /// Average precision.
    pub average_precision: f64,
}

/// Trains on the edges that are not held out, and predicts those that are. Edges are held out anew for each seed.
#[derive(Debug, Clone, Copy)]
pub struct LinkPrediction;

impl LinkPrediction {
    /// How a dataset's graphs are split for a seed.
    pub fn splits(dataset: &Dataset, seed: u64) -> Result<Vec<EdgeSplit>> {
        let one = |(k, example): (usize, &Example<f32>)| EdgeSplit::new(&example.graph, seed, k as u16);
        dataset.examples.iter().enumerate().map(one).collect()
    }
}

impl Task for LinkPrediction {
    fn name(&self) -> &'static str {
        "link"
    }

    fn prepared(&self, dataset: &Dataset, seed: u64) -> Result<Option<Dataset>> {
        let mut prepared = dataset.clone();
        for (example, split) in prepared.examples.iter_mut().zip(Self::splits(dataset, seed)?) {
            example.graph = split.training.into();
        }
        Ok(Some(prepared))
    }

    fn measured(&self, dataset: &Dataset, seed: u64, model: &Model<f32>) -> Result<Value> {
        let [mut edges, mut others] = [Vec::new(), Vec::new()];
        for (example, split) in dataset.examples.iter().zip(Self::splits(dataset, seed)?) {
            if example.test.is_empty() {
                continue;
            }
            let EdgeSplit { training, test, non_edges, .. } = split;
            let example = Example { graph: training.into(), ..example.clone() };
            let score = |pairs: &[[u32; 2]]| -> Result<Vec<f32>> {
                let logits = model.pair_logits(&example, &both_ways(pairs))?;
                logits.ok_or_else(|| no_attention(model))
            };
            edges.extend(score(&test)?);
            others.extend(score(&non_edges)?);
        }
        let both = auc(&edges, &others).zip(average_precision(&edges, &others));
        let score = both.map(|(auc, average_precision)| LinkScore { auc, average_precision });
        Ok(serde_json::to_value(score).expect("two numbers"))
    }
}

fn both_ways(pairs: &[[u32; 2]]) -> Vec<[u32; 2]> {
    pairs.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect()
}

fn no_attention(model: &Model<f32>) -> Error {
    Error::Hyperparameter {
        name: "model",
        value: model.architecture().model.to_string(),
        reason: "has no attention that could predict edges".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::sweep::{Job, ResultsFile, Status, run_task_sweep};
    use std::ops::ControlFlow;
    use supergat_data::SplitChoice;

    const SOURCE: &str = "random-partition:classes=3,nodes=180,degree=8,homophily=0.9";

    fn job(model: &str, lambda_e: f64, seed: u64) -> Job {
        let general = Settings::general(model.parse().unwrap());
        let settings = Settings { lambda_e, p_e: 1.0, p_n: 1.0, max_epochs: 40, dropout: 0.2, ..general };
        Job { source: SOURCE.into(), split: SplitChoice::Published, settings, seed }
    }

    /// Runs are kept with their further metrics, found again, and do not depend on the number of threads; products of features know much about edges between classes.
    #[test]
    fn runs_are_kept_with_their_auc() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let jobs = vec![job("supergat-dp", 1e-3, 0), job("supergat-dp", 10.0, 0), job("gcn", 1.0, 0)];
        let sweep = |threads| {
            let mut results = ResultsFile::open(&path).unwrap();
            let report =
                run_task_sweep(&LinkPrediction, jobs.clone(), &mut results, threads, |_, _| ControlFlow::Continue(()));
            (report.unwrap(), results.records().cloned().collect::<Vec<_>>())
        };
        let (report, records) = sweep(1);
        assert_eq!((report.ran, report.failed), (2, 1));
        let auc = |lambda_e: f64| {
            let of = records.iter().find(|r| r.settings.lambda_e == lambda_e && r.model == "supergat-dp").unwrap();
            assert_eq!(of.task, "link");
            let score: LinkScore = of.measured().unwrap();
            assert!((0.0..=1.0).contains(&score.average_precision));
            score.auc
        };
        let both = [auc(1e-3), auc(10.0)];
        assert!(both[0] != both[1] && both.iter().all(|auc| (0.65..0.95).contains(auc)), "chance gives 0.5: {both:?}");
        let failed = records.iter().find(|record| record.model == "gcn").unwrap();
        assert!(
            matches!(&failed.status, Status::Failed { reason } if reason.contains("has no attention")),
            "{failed:?}"
        );
        let (again, _) = sweep(2);
        assert_eq!((again.ran, again.found, again.failed), (0, 2, 1));
    }

    /// No edge that is to be predicted, in either direction, is in what is trained on.
    #[test]
    fn held_out_edges_are_not_trained_on() {
        let dataset = supergat_data::load(SOURCE).unwrap();
        let prepared = LinkPrediction.prepared(&dataset, 4).unwrap().unwrap();
        let split = &LinkPrediction::splits(&dataset, 4).unwrap()[0];
        let graph = &prepared.examples[0].graph;
        assert!(!split.test.is_empty() && !split.validation.is_empty());
        for &[a, b] in split.test.iter().chain(&split.validation) {
            assert!(dataset.examples[0].graph.position(a, b).is_some());
            assert_eq!((graph.position(a, b), graph.position(b, a)), (None, None));
        }
        assert_eq!(prepared.examples[0].train, dataset.examples[0].train);
    }
}
