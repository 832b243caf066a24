//! Requested runs, and the order in which they are run.

use supergat_data::{RandomPartition, SplitChoice, registry};
use supergat_train::settings::Settings;

/// Assumed numbers of nodes and directed edges of a dataset of unknown size.
const USUAL_SIZE: [f64; 2] = [2_000.0, 10_000.0];
/// Number of directed edges that take as much time as one node.
const EDGES_PER_NODE: f64 = 8.0;

/// A requested run. Two equal jobs give the same result.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Dataset: any source that `supergat_data::load` accepts.
    pub source: String,
    /// Train/validation/test split.
    pub split: SplitChoice,
    /// Model and hyperparameters.
    pub settings: Settings,
    /// Random seed.
    pub seed: u64,
}

impl Job {
    /// Returns jobs for seeds 0, 1, ..., `seeds - 1` with each of `settings`, on the published split of a
    /// dataset.
    pub fn for_seeds(source: &str, settings: &[Settings], seeds: u64) -> Vec<Self> {
        let job = |settings, seed| Self { source: source.to_owned(), split: SplitChoice::Published, settings, seed };
        settings.iter().flat_map(|&settings| (0..seeds).map(move |seed| job(settings, seed))).collect()
    }

    /// Returns the approximate cost relative to other jobs. Only the remaining time is estimated from it.
    pub fn weight(&self) -> f64 {
        weight(&self.source, &self.settings)
    }
}

/// Returns the approximate cost of a run with `settings` on the dataset `source`.
pub fn weight(source: &str, settings: &Settings) -> f64 {
    let [nodes, edges] = size(source).unwrap_or(USUAL_SIZE);
    (EDGES_PER_NODE * nodes + edges) * settings.training.max_epochs as f64
}

/// Returns the numbers of nodes and directed edges of a published or generated dataset.
fn size(source: &str) -> Option<[f64; 2]> {
    if let Some(entry) = registry::entry(source) {
        return Some([entry.nodes as f64, 2.0 * entry.edges as f64]);
    }
    let partition: RandomPartition = source.parse().ok()?;
    let nodes = (partition.classes * partition.nodes_per_class) as f64;
    Some([nodes, nodes * partition.degree])
}

/// Groups jobs with the same dataset, split and settings, so that each dataset, and each of its splits, is loaded once.
/// Otherwise the order is kept.
pub(crate) fn groups(jobs: Vec<Job>) -> Vec<Vec<Job>> {
    let by_source = grouped(jobs, |a, b| a.source == b.source).into_iter();
    let by_split = by_source.flat_map(|jobs| grouped(jobs, |a, b| a.split == b.split));
    by_split.flat_map(|jobs| grouped(jobs, |a, b| a.settings == b.settings)).collect()
}

/// Groups equal jobs, in the order of the first of each group.
fn grouped(jobs: Vec<Job>, is_equal: impl Fn(&Job, &Job) -> bool) -> Vec<Vec<Job>> {
    let mut groups: Vec<Vec<Job>> = Vec::new();
    for job in jobs {
        match groups.iter_mut().find(|group| is_equal(&group[0], &job)) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(source: &str, split: u64, model: &str, seed: u64) -> Job {
        let settings = Settings::general(model.parse().unwrap());
        Job { source: source.into(), split: SplitChoice::Random { seed: split }, settings, seed }
    }

    #[test]
    fn loads_each_dataset_and_split_once() {
        let mut jobs = Vec::new();
        for seed in 0..2 {
            for model in ["mlp", "gcn"] {
                for source in ["cora", "ppi"] {
                    jobs.push(job(source, seed, model, seed));
                }
            }
        }
        let order: Vec<String> = groups(jobs)
            .iter()
            .map(|group| format!("{} {} {}", group[0].source, group[0].split, group[0].settings.model))
            .collect();
        let expected = ["cora random:0 mlp", "cora random:0 gcn", "cora random:1 mlp", "cora random:1 gcn"];
        assert_eq!(order[..4], expected);
        assert!(order.len() == 8 && order[4..].iter().all(|name| name.starts_with("ppi")));
    }

    #[test]
    fn larger_graphs_have_larger_weights() {
        assert!(job("ppi", 0, "mlp", 0).weight() > job("cora", 0, "mlp", 0).weight());
        assert!(job("somewhere", 0, "mlp", 0).weight() > 0.0);
        let with_degree = |degree| job(&format!("random-partition:degree={degree}"), 0, "mlp", 0).weight();
        assert_eq!(with_degree(40) / with_degree(4), 4.0, "a node takes as much time as eight edges");
    }
}
