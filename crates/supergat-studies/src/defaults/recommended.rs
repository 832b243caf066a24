//! Recommended families on the graphs of the study.

use crate::defaults::graphs::StudyGraph;
use crate::defaults::plan::{DefaultsPlan, PROPAGATION};
use serde_json::Value;
use std::ops::ControlFlow;
use supergat_core::Error;
use supergat_core::hash::Fnv;
use supergat_data::Dataset;
use supergat_select::recommend::FAMILIES;
use supergat_select::recommend::quick::{METHOD, QuickQuestion, recommend};
use supergat_select::sweep::Job;
use supergat_train::Resources;
use supergat_train::fitted::Fitted;
use supergat_train::task::Task;

/// The task of asking for a recommendation, by AUROC or by accuracy. The run itself is label propagation, which takes no
/// time; the recommended model is what is measured. It depends on the speed of the machine, as every answer within a time.
#[derive(Debug, Clone)]
pub struct RecommendTask {
    name: String,
    auroc: bool,
    seconds: f64,
}

impl RecommendTask {
    /// Returns the tasks of a plan: for graphs that are judged by accuracy, and by AUROC.
    pub fn of(plan: &DefaultsPlan) -> [Self; 2] {
        [false, true].map(|auroc| Self::new(plan.seconds, auroc))
    }

    /// The name depends on the comparison, on its time and on the default settings of all families, so older answers are
    /// not taken for newer ones.
    fn new(seconds: u64, auroc: bool) -> Self {
        let mut defaults = Fnv::default();
        for family in FAMILIES {
            let Ok(kind) = family.kind() else { continue };
            let settings = family.usual(None, kind);
            defaults.add(serde_json::to_string(&settings).expect("settings are an object").as_bytes());
        }
        let name = format!("recommend-{METHOD}-{seconds}s-{}-{:016x}", metric(auroc), defaults.value());
        Self { name, auroc, seconds: seconds as f64 }
    }

    /// Returns the runs: one for every graph with this metric and every split.
    pub fn jobs(&self, plan: &DefaultsPlan) -> Vec<Job> {
        let is_asked = |graph: &&StudyGraph| graph.auroc == self.auroc && plan.seconds > 0;
        let graphs = || plan.graphs.iter().filter(is_asked);
        let of_split = |split| graphs().filter_map(move |graph| plan.job(graph, PROPAGATION, 0, split));
        (0..plan.splits).flat_map(of_split).collect()
    }
}

fn metric(auroc: bool) -> &'static str {
    if auroc { "auroc" } else { "accuracy" }
}

impl Task for RecommendTask {
    fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the recommended family or model.
    fn measure(&self, dataset: &Dataset, seed: u64, _: &Fitted) -> supergat_core::Result<Value> {
        let unknown = Dataset { preset: None, ..dataset.clone() };
        let metric = metric(self.auroc);
        let question = QuickQuestion {
            seconds: Some(self.seconds),
            seed,
            metric: Some(metric.into()),
            ..QuickQuestion::default()
        };
        let answer = recommend(&unknown, &question, Resources::from(1), |_| ControlFlow::Continue(()));
        let answer = answer.map_err(|reason| Error::Hyperparameter { name: "metric", value: metric.into(), reason })?;
        let family = answer.family.map(|family| family.name.to_owned());
        Ok(Value::from(family.unwrap_or_else(|| answer.recommendation.to_string())))
    }
}
