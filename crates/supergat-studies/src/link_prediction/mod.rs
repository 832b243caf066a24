//! Link prediction: whether attention predicts held-out edges.
//!
//! In every graph 10 % of the edges are held out for testing and 5 % for validation. As in the paper, nothing
//! is selected by the validation edges. Messages are passed along the remaining 85 %. Training draws
//! positives from these edges and negatives from all other pairs. A held-out edge is therefore as likely to
//! be a negative as any pair without an edge, so training cannot distinguish the two. The scores are
//!
//! ```text
//! score(j -> i) = phi_ij of the last layer = sigmoid(mean over heads of the edge logit)
//! AUC           = P(score of a held-out edge > score of a non-edge) + P(equal) / 2
//! precision     = average precision, sum over thresholds of (R_n - R_(n-1)) P_n
//! ```
//!
//! over both directions of the held-out edges and of equally many pairs that are not edges of the original
//! graph. The model is that of the epoch with the best validation metric of the nodes; its test metric is
//! reported beside the AUC. In datasets of several graphs, only graphs with test nodes are scored.

mod split;
mod study;

pub use split::EdgeSplit;
pub use study::{LinkPredictionResult, plan, points};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use supergat_core::{Error, Example, Result};
use supergat_data::Dataset;
use supergat_numerics::metrics::{average_precision, roc_auc};
use supergat_train::fitted::Fitted;
use supergat_train::task::Task;

/// Metrics for distinguishing held-out edges from pairs without an edge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkScore {
    /// Area under the ROC curve.
    pub auc: f64,
    /// Average precision.
    pub average_precision: f64,
}

/// Task that trains without the held-out edges and predicts them. Each seed holds out different edges.
#[derive(Debug, Clone, Copy)]
pub struct LinkPrediction;

impl LinkPrediction {
    /// Splits the edges of all graphs of a dataset, for a seed.
    pub fn splits(dataset: &Dataset, seed: u64) -> Result<Vec<EdgeSplit>> {
        let split = |(k, example): (usize, &Example<f32>)| EdgeSplit::new(&example.graph, seed, k as u16);
        dataset.examples.iter().enumerate().map(split).collect()
    }
}

impl Task for LinkPrediction {
    fn name(&self) -> &'static str {
        "link"
    }

    fn prepare(&self, dataset: &Dataset, seed: u64) -> Result<Option<Dataset>> {
        let mut prepared = dataset.clone();
        for (example, split) in prepared.examples.iter_mut().zip(Self::splits(dataset, seed)?) {
            example.graph = split.training.into();
        }
        Ok(Some(prepared))
    }

    fn measure(&self, dataset: &Dataset, seed: u64, model: &Fitted) -> Result<Value> {
        let (mut is_edge, mut scores) = (Vec::new(), Vec::new());
        for (graph, (example, split)) in dataset.examples.iter().zip(Self::splits(dataset, seed)?).enumerate() {
            if example.test.is_empty() {
                continue;
            }
            let EdgeSplit { training, test, non_edges, .. } = split;
            let example = Example { graph: training.into(), ..example.clone() };
            let score = |pairs: &[[u32; 2]]| -> Result<Vec<f32>> {
                let logits = model.pair_logits(graph, &example, &both_directions(pairs))?;
                logits.ok_or_else(|| no_attention(model))
            };
            for (pairs, kind) in [(&test, true), (&non_edges, false)] {
                scores.extend(score(pairs)?.into_iter().map(f64::from));
                is_edge.resize(scores.len(), kind);
            }
        }
        let both = roc_auc(&is_edge, &scores).zip(average_precision(&is_edge, &scores));
        let score = both.map(|(auc, average_precision)| LinkScore { auc, average_precision });
        Ok(serde_json::to_value(score).expect("two numbers"))
    }
}

/// Returns every pair in both directions.
fn both_directions(pairs: &[[u32; 2]]) -> Vec<[u32; 2]> {
    pairs.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect()
}

fn no_attention(model: &Fitted) -> Error {
    Error::Hyperparameter {
        name: "model",
        value: model.architecture().model.to_string(),
        reason: "has no attention that could predict edges".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use supergat_data::SplitChoice;
    use supergat_select::sweep::{Job, ResultsFile, run_sweep};
    use supergat_train::Settings;
    use supergat_train::task::Status;

    const SOURCE: &str = "random-partition:classes=3,nodes=180,degree=8,homophily=0.9";

    fn job(model: &str, lambda_e: f64, seed: u64) -> Job {
        let general = Settings::general(model.parse().unwrap());
        let settings = general.with(|s| {
            s.edge_loss.lambda_e = lambda_e;
            s.edge_loss.p_e = 1.0;
            s.edge_loss.p_n = 1.0;
            s.training.max_epochs = 40;
            s.network.dropout = 0.2;
        });
        Job { source: SOURCE.into(), split: SplitChoice::Published, settings, seed }
    }

    /// Records contain the AUC, and a second sweep finds them. The homophily of the graph makes edges
    /// predictable.
    #[test]
    fn stores_auc_and_resumes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let jobs = vec![job("supergat-dp", 1e-3, 0), job("supergat-dp", 10.0, 0), job("gcn", 1.0, 0)];
        let sweep = |threads| {
            let mut results = ResultsFile::open(&path).unwrap();
            let outcome =
                run_sweep(&LinkPrediction, jobs.clone(), &mut results, threads, |_, _| ControlFlow::Continue(()));
            (outcome.unwrap(), results.records().cloned().collect::<Vec<_>>())
        };
        let (outcome, records) = sweep(1);
        assert_eq!((outcome.ran, outcome.failed), (2, 1));
        let auc = |lambda_e: f64| {
            let record =
                records.iter().find(|r| r.settings.edge_loss.lambda_e == lambda_e && r.model == "supergat-dp").unwrap();
            assert_eq!(record.task, "link");
            let score: LinkScore = record.measured().unwrap();
            assert!((0.0..=1.0).contains(&score.average_precision));
            score.auc
        };
        let both = [auc(1e-3), auc(10.0)];
        assert!(
            both[0] != both[1] && both.iter().all(|auc| (0.65..0.95).contains(auc)),
            "random scores give 0.5: {both:?}"
        );
        let failed = records.iter().find(|record| record.model == "gcn").unwrap();
        assert!(
            matches!(&failed.status, Status::Failed { reason } if reason.contains("has no attention")),
            "{failed:?}"
        );
        let (again, _) = sweep(2);
        assert_eq!((again.ran, again.found, again.failed), (0, 2, 1));
    }

    /// The training graph contains no held-out edge in either direction.
    #[test]
    fn training_graph_excludes_held_out_edges() {
        let dataset = supergat_data::load(SOURCE).unwrap();
        let prepared = LinkPrediction.prepare(&dataset, 4).unwrap().unwrap();
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
