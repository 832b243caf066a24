//! One run that somebody wants.

use crate::settings::Settings;
use supergat_data::{RandomPartition, SplitChoice, registry};

/// Nodes and directed edges that a dataset is taken to have while nothing is known of it.
const USUAL_SIZE: [f64; 2] = [2_000.0, 10_000.0];
/// Directed edges that cost as much time as a node.
const EDGES_OF_NODE: f64 = 8.0;

/// Everything that decides a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The dataset, as `supergat_data::load` takes it.
    pub source: String,
    /// Which nodes are for what.
    pub split: SplitChoice,
    /// Model and hyperparameters.
    pub settings: Settings,
    /// The seed.
    pub seed: u64,
}

impl Job {
    /// Seeds 0, 1, ... of each of these settings on a dataset as it is published.
    pub fn of_seeds(source: &str, settings: &[Settings], seeds: u64) -> Vec<Self> {
        let job = |settings, seed| Self { source: source.to_owned(), split: SplitChoice::Published, settings, seed };
        settings.iter().flat_map(|&settings| (0..seeds).map(move |seed| job(settings, seed))).collect()
    }

    /// About how long it takes compared with others: only the time left is guessed from it.
    pub(crate) fn weight(&self) -> f64 {
        weight(&self.source, &self.settings)
    }
}

/// The same of a dataset and settings.
pub(crate) fn weight(source: &str, settings: &Settings) -> f64 {
    let [nodes, edges] = size(source).unwrap_or(USUAL_SIZE);
    (EDGES_OF_NODE * nodes + edges) * settings.max_epochs as f64
}

/// Nodes and directed edges of a dataset that is published or generated.
fn size(source: &str) -> Option<[f64; 2]> {
    if let Some(entry) = registry::entry(source) {
        return Some([entry.nodes as f64, 2.0 * entry.edges as f64]);
    }
    let made: RandomPartition = source.parse().ok()?;
    let nodes = (made.classes * made.nodes_per_class) as f64;
    Some([nodes, nodes * made.degree])
}

/// The groups of a dataset, by split.
type OfSource = Vec<(SplitChoice, Vec<Group>)>;

/// Jobs that share dataset, split and settings.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) jobs: Vec<Job>,
}

impl Group {
    /// Orders jobs so that each dataset and each of its splits is needed once; within that, they stay as given.
    pub(crate) fn all(jobs: Vec<Job>) -> Vec<Self> {
        let mut sources: Vec<(String, OfSource)> = Vec::new();
        for job in jobs {
            let splits = entry(&mut sources, |(source, _)| *source == job.source, || (job.source.clone(), Vec::new()));
            let groups = entry(&mut splits.1, |(split, _)| *split == job.split, || (job.split, Vec::new()));
            let alike = |group: &Self| group.jobs[0].settings == job.settings;
            match groups.1.iter_mut().find(|group| alike(group)) {
                Some(group) => group.jobs.push(job),
                None => groups.1.push(Self { jobs: vec![job] }),
            }
        }
        sources.into_iter().flat_map(|(_, splits)| splits).flat_map(|(_, groups)| groups).collect()
    }
}

/// The element that fits, added where there is none.
fn entry<T>(list: &mut Vec<T>, fits: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let position = list.iter().position(fits).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    });
    &mut list[position]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(source: &str, split: u64, model: &str, seed: u64) -> Job {
        let settings = Settings::general(model.parse().unwrap());
        Job { source: source.into(), split: SplitChoice::Random { seed: split }, settings, seed }
    }

    #[test]
    fn datasets_and_splits_are_needed_once() {
        let mut jobs = Vec::new();
        for seed in 0..2 {
            for model in ["mlp", "gcn"] {
                for source in ["cora", "ppi"] {
                    jobs.push(job(source, seed, model, seed));
                }
            }
        }
        let order: Vec<String> = Group::all(jobs)
            .iter()
            .map(|group| format!("{} {} {}", group.jobs[0].source, group.jobs[0].split, group.jobs[0].settings.model))
            .collect();
        let expected = ["cora random:0 mlp", "cora random:0 gcn", "cora random:1 mlp", "cora random:1 gcn"];
        assert_eq!(order[..4], expected);
        assert!(order.len() == 8 && order[4..].iter().all(|name| name.starts_with("ppi")));
    }

    #[test]
    fn larger_graphs_weigh_more() {
        assert!(job("ppi", 0, "mlp", 0).weight() > job("cora", 0, "mlp", 0).weight());
        assert!(job("somewhere", 0, "mlp", 0).weight() > 0.0);
        let of_degree = |degree| job(&format!("random-partition:degree={degree}"), 0, "mlp", 0).weight();
        assert_eq!(of_degree(40) / of_degree(4), 4.0, "a node costs as much as eight edges");
    }
}
