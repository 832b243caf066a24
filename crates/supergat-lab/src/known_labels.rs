//! Labels of training nodes that predictions use, stored with a model.

use crate::measure::NodeList;
use std::collections::HashMap;
use supergat_core::hash::Fnv;
use supergat_core::{Error, Example, Labels, Result};
use supergat_data::Dataset;
use supergat_numerics::propagation::{Known, Propagation};

/// Known classes of some nodes of each graph.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownLabels(Vec<KnownGraph>);

#[derive(Debug, Clone, PartialEq)]
struct KnownGraph {
    /// Hash of the graph and the weights of its edges.
    hash: u64,
    nodes: Vec<u32>,
    classes: Vec<u32>,
}

impl KnownLabels {
    /// Takes the labels of the listed nodes; those of no other node are read. `what` uses them, for the error about nodes
    /// with several classes.
    pub(crate) fn of(dataset: &Dataset, lists: &[NodeList], what: &str) -> Result<Self> {
        let of_graph = |example: &Example<f32>| {
            let Labels::Single { of, .. } = &example.labels else {
                let reason = "needs nodes with one class each, and these may have several".into();
                return Err(Error::Hyperparameter { name: "model", value: what.into(), reason });
            };
            let nodes: Vec<u32> = lists.iter().flat_map(|list| list(example)).copied().collect();
            let classes = nodes.iter().map(|&node| of[node as usize]).collect();
            Ok(KnownGraph { hash: graph_hash(example), nodes, classes })
        };
        dataset.examples.iter().map(of_graph).collect::<Result<_>>().map(Self)
    }

    /// Fails unless the graphs of a dataset are those of the labels. `what` uses them.
    pub(crate) fn check(&self, dataset: &Dataset, what: &str) -> Result<()> {
        let is_same = |(known, example): (&KnownGraph, &Example<f32>)| known.hash == graph_hash(example);
        match self.0.len() == dataset.examples.len() && self.0.iter().zip(&dataset.examples).all(is_same) {
            true => Ok(()),
            false => Err(Error::OtherGraph { what: what.to_owned() }),
        }
    }

    /// Returns the known nodes of each graph.
    pub(crate) fn graphs(&self) -> impl Iterator<Item = Known<'_>> {
        self.0.iter().map(|graph| Known { nodes: &graph.nodes, classes: &graph.classes })
    }

    /// Adds the labels to the lists of a model file, under names that begin with `prefix`.
    pub(crate) fn store(&self, prefix: &str, lists: &mut HashMap<String, Vec<u32>>) {
        for (number, KnownGraph { hash, nodes, classes }) in self.0.iter().enumerate() {
            lists.insert(name(prefix, number, "graph"), vec![*hash as u32, (*hash >> 32) as u32]);
            lists.insert(name(prefix, number, "nodes"), nodes.clone());
            lists.insert(name(prefix, number, "classes"), classes.clone());
        }
    }

    /// Takes the labels of `classes` classes out of the lists of a model file; `None` if it has none.
    pub(crate) fn restore(prefix: &str, lists: &mut HashMap<String, Vec<u32>>, classes: usize) -> Result<Option<Self>> {
        let mut graphs = Vec::new();
        while let Some(hash) = lists.remove(&name(prefix, graphs.len(), "graph")) {
            let mut list = |what| lists.remove(&name(prefix, graphs.len(), what)).unwrap_or_default();
            let (nodes, labels) = (list("nodes"), list("classes"));
            let is_class = |class: &u32| (*class as usize) < classes;
            let ([low, high], true) = (&hash[..], nodes.len() == labels.len() && labels.iter().all(is_class)) else {
                return Err(Error::Checkpoint { reason: "its known labels are damaged".into() });
            };
            let hash = u64::from(*high) << 32 | u64::from(*low);
            graphs.push(KnownGraph { hash, nodes, classes: labels });
        }
        Ok((!graphs.is_empty()).then_some(Self(graphs)))
    }
}

/// Returns the name of a list of known labels in a model file.
fn name(prefix: &str, graph: usize, what: &str) -> String {
    format!("{prefix}.{graph}.{what}")
}

/// Prepares the graph of an example, with the weights of its edges, for propagations.
pub(crate) fn propagation(example: &Example<f32>) -> Propagation {
    Propagation::new(&example.graph, example.edges.as_ref().map_or(&[], |edges| edges.weights()))
}

/// Hashes everything that propagations depend on.
fn graph_hash(example: &Example<f32>) -> u64 {
    let mut hash = Fnv::default();
    hash.add_numbers(&example.graph.incoming().offsets);
    hash.add_numbers(&example.graph.incoming().neighbours);
    hash.add_numbers(example.edges.as_ref().map_or(&[], |edges| edges.weights()));
    hash.value()
}

/// Smallest probability, so that no loss is infinite.
const LEAST: f64 = 1e-7;

/// Returns logits with the probabilities that positive scores are proportional to, a row of `classes` per node. Rows
/// without a positive score have equal probabilities.
pub(crate) fn logits_of_scores(scores: &[f64], classes: usize) -> Vec<f32> {
    let row = |row: &[f64]| {
        let sum: f64 = row.iter().map(|score| score.max(0.0)).sum();
        let share = move |score: &f64| if sum > 0.0 { score.max(0.0) / sum } else { 1.0 };
        row.iter().map(move |score| share(score).max(LEAST).ln() as f32).collect::<Vec<_>>()
    };
    scores.chunks_exact(classes).flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(degree: usize) -> Dataset {
        supergat_data::load(&format!("random-partition:classes=2,nodes=170,degree={degree}")).unwrap()
    }

    #[test]
    fn survives_a_model_file_and_knows_its_graph() {
        let known = KnownLabels::of(&dataset(4), &[|example| &example.train], "x").unwrap();
        let mut lists = HashMap::from([("split.0.train".to_owned(), vec![1])]);
        known.store("known", &mut lists);
        let mut damaged = lists.clone();
        let restore = |lists: &mut _, classes| KnownLabels::restore("known", lists, classes);
        assert_eq!(restore(&mut lists, 2).unwrap().unwrap(), known);
        assert_eq!((lists.len(), restore(&mut lists, 2).unwrap()), (1, None));
        assert!(restore(&mut damaged.clone(), 1).is_err(), "a class that does not exist");
        damaged.get_mut("known.0.classes").unwrap().pop();
        assert!(restore(&mut damaged, 2).is_err());
        assert!(known.check(&dataset(4), "x").is_ok());
        let error = known.check(&dataset(5), "label-propagation").unwrap_err().to_string();
        assert_eq!(
            error,
            "label-propagation uses the labels of its training nodes, and this is another graph: train a model on it"
        );
    }

    #[test]
    fn logits_have_the_probabilities_of_scores() {
        let logits = logits_of_scores(&[1.0, 3.0, 0.0, 0.0, -0.5, 2.0], 2);
        let expected = [0.25f64.ln(), 0.75f64.ln(), 0.0, 0.0, LEAST.ln(), 0.0];
        assert!(logits.iter().zip(expected).all(|(found, expected)| (f64::from(*found) - expected).abs() < 1e-6));
    }
}
