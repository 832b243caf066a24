//! The runs of the study.

use crate::defaults::candidates::{CANDIDATES, Candidate, FAMILIES, family};
use crate::defaults::graphs::StudyGraph;
use crate::defaults::traits::Traits;
use serde::Serialize;
use serde_json::Value;
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_select::sweep::Job;
use supergat_train::fitted::Fitted;
use supergat_train::settings::Settings;
use supergat_train::task::Task;

/// Family that every study has. Its runs measure the traits of a graph.
pub(super) const PROPAGATION: &str = "label-propagation";

/// The requested graphs and families.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DefaultsPlan {
    /// Graphs.
    pub graphs: Vec<StudyGraph>,
    /// Names of the families, those that this build does not have excepted.
    pub families: Vec<String>,
    /// Names of the candidates for default settings, for families that have several.
    pub candidates: Vec<String>,
    /// Number of splits of each graph.
    pub splits: u64,
    /// Seconds in which `recommend` answers, on one thread; 0 to skip `recommend`.
    pub seconds: u64,
}

impl DefaultsPlan {
    /// Plans a study of these graphs with all families of this build.
    pub fn new(graphs: Vec<StudyGraph>, splits: u64) -> Self {
        let families = FAMILIES.into_iter().filter(|name| family(name).is_some()).map(str::to_owned).collect();
        let candidates = CANDIDATES.iter().map(|candidate| candidate.name.to_owned()).collect();
        Self { graphs, families, candidates, splits, seconds: 20 }
    }

    /// Returns all runs: the first split of all graphs, then the next.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for split in 0..self.splits {
            for graph in &self.graphs {
                for name in &self.families {
                    let count = self.candidates_of(name).len();
                    jobs.extend((0..count).filter_map(|candidate| self.job(graph, name, candidate, split)));
                }
            }
        }
        jobs
    }

    /// Returns the candidates of a family.
    pub(super) fn candidates_of(&self, name: &str) -> Vec<&'static Candidate> {
        let Some((family, kind)) = family(name) else { return Vec::new() };
        let all = Candidate::of(family, kind);
        let is_wanted = |found: &&Candidate| all.len() == 1 || self.candidates.iter().any(|name| name == found.name);
        all.iter().filter(is_wanted).collect()
    }

    /// Returns the settings of a candidate of a family on a graph.
    pub(super) fn settings(&self, graph: &StudyGraph, name: &str, candidate: usize) -> Option<Settings> {
        let (family, kind) = family(name)?;
        let settings = self.candidates_of(name).get(candidate)?.settings(kind);
        Some(Settings { select: graph.select(), ..family.applied(settings) })
    }

    /// Returns a run.
    pub(super) fn job(&self, graph: &StudyGraph, name: &str, candidate: usize, split: u64) -> Option<Job> {
        let settings = self.settings(graph, name, candidate)?;
        Some(Job { source: graph.source.clone(), split: graph.split(split), settings, seed: split })
    }
}

/// The task of all runs: node classification. Label propagation, which every graph has, also measures the traits of the
/// graph.
#[derive(Debug, Clone, Copy)]
pub struct DefaultsTask;

impl DefaultsTask {
    /// Name in results files.
    pub const NAME: &str = "defaults";
}

impl Task for DefaultsTask {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn measure(&self, dataset: &Dataset, _: u64, model: &Fitted) -> supergat_core::Result<Value> {
        Ok(match model.architecture().model == ModelKind::LabelPropagation {
            true => serde_json::to_value(Traits::of(dataset)).expect("plain numbers"),
            false => Value::Null,
        })
    }
}
