//! Labels of training nodes that predictions use, stored with a model.

use crate::node_list::NodeList;
use std::collections::HashMap;
use supergat_core::hash::Fnv;
use supergat_core::{Architecture, Error, Example, Labels, Result};
use supergat_data::Dataset;
use supergat_numerics::propagation::{Known, Propagation};

/// Known classes of some nodes of each graph.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownLabels(Vec<KnownGraph>);

#[derive(Debug, Clone, PartialEq)]
struct KnownGraph {
    /// Hash of the graph and the weights of its edges.
    hash: u64,
    nodes: Vec<u32>,
    /// Class of each node. If nodes may have several, a bit per class in words of 32 bits, [`words`] per node.
    classes: Vec<u32>,
}

/// Returns the number of words with the classes of a node.
fn words(classes: usize, multi_label: bool) -> usize {
    if multi_label { classes.div_ceil(WORD) } else { 1 }
}

/// Number of bits of a word.
const WORD: usize = u32::BITS as usize;

impl KnownLabels {
    /// Takes the labels of the listed nodes; those of no other node are read. `what` uses them, for the error about nodes
    /// with several classes.
    pub(crate) fn of(dataset: &Dataset, lists: &[NodeList], what: &str) -> Result<Self> {
        if dataset.is_multi_label() {
            let reason = "needs nodes with one class each, and these may have several".into();
            return Err(Error::Hyperparameter { name: "model", value: what.into(), reason });
        }
        Ok(Self::of_any(dataset, lists))
    }

    /// Takes the labels of the listed nodes, which may have several classes.
    pub(crate) fn of_any(dataset: &Dataset, lists: &[NodeList]) -> Self {
        let of_graph = |example: &Example<f32>| {
            let nodes: Vec<u32> = lists.iter().flat_map(|list| list(example)).copied().collect();
            let places = nodes.iter().map(|&node| node as usize);
            let classes = match &example.labels {
                Labels::Single { of, .. } => places.map(|node| of[node]).collect(),
                Labels::Multi { classes, of } => {
                    let rows = places.flat_map(|node| of[node * classes..(node + 1) * classes].chunks(WORD));
                    rows.map(|bits| bits.iter().rev().fold(0, |word, bit| word << 1 | u32::from(*bit))).collect()
                }
            };
            KnownGraph { hash: graph_hash(example), nodes, classes }
        };
        Self(dataset.examples.iter().map(of_graph).collect())
    }

    /// Returns graph number `graph` of a dataset with the known nodes as training nodes, and no other label. Fails unless
    /// the graph is the same. `what` uses the labels.
    pub(crate) fn labelled(
        &self,
        graph: usize,
        example: &Example<f32>,
        architecture: &Architecture,
        what: &str,
    ) -> Result<Example<f32>> {
        let known = self.0.get(graph).filter(|known| known.hash == graph_hash(example));
        let known = known.ok_or_else(|| Error::OtherGraph { what: what.to_owned() })?;
        let (nodes, classes) = (example.graph.nodes(), architecture.classes);
        check_range(&known.nodes, example)?;
        let rows = known
            .nodes
            .iter()
            .map(|&node| node as usize)
            .zip(known.classes.chunks(words(classes, architecture.multi_label)));
        let labels = if architecture.multi_label {
            let mut of = vec![0; nodes * classes];
            for (node, bits) in rows {
                let row = &mut of[node * classes..(node + 1) * classes];
                row.iter_mut().enumerate().for_each(|(k, label)| *label = (bits[k / WORD] >> (k % WORD) & 1) as u8);
            }
            Labels::Multi { classes, of }
        } else {
            let mut of = vec![Labels::UNKNOWN; nodes];
            rows.for_each(|(node, class)| of[node] = class[0]);
            Labels::Single { classes, of }
        };
        let (train, none) = (known.nodes.clone(), Vec::new);
        Ok(Example { labels, train, validation: none(), test: none(), class_weights: None, ..example.clone() })
    }

    /// Fails unless the graphs of a dataset are those of the labels and have the known nodes. `what` uses them.
    pub(crate) fn check(&self, dataset: &Dataset, what: &str) -> Result<()> {
        let is_same = |(known, example): (&KnownGraph, &Example<f32>)| known.hash == graph_hash(example);
        if self.0.len() != dataset.examples.len() || !self.0.iter().zip(&dataset.examples).all(is_same) {
            return Err(Error::OtherGraph { what: what.to_owned() });
        }
        check_nodes(self.0.iter().map(|known| &known.nodes[..]), dataset)
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

    /// Takes the labels out of the lists of a model file; `None` if it has none. `classes` is the number of classes, of
    /// which a node may have several if `multi_label` is set.
    pub(crate) fn restore(
        prefix: &str,
        lists: &mut HashMap<String, Vec<u32>>,
        classes: usize,
        multi_label: bool,
    ) -> Result<Option<Self>> {
        let mut graphs = Vec::new();
        while let Some(hash) = lists.remove(&name(prefix, graphs.len(), "graph")) {
            let mut list = |what| lists.remove(&name(prefix, graphs.len(), what)).unwrap_or_default();
            let (nodes, labels) = (list("nodes"), list("classes"));
            let is_class = |class: &u32| multi_label || (*class as usize) < classes;
            let is_whole = nodes.len().checked_mul(words(classes, multi_label)) == Some(labels.len());
            let ([low, high], true) = (&hash[..], is_whole && labels.iter().all(is_class)) else {
                return Err(damaged());
            };
            let hash = u64::from(*high) << 32 | u64::from(*low);
            graphs.push(KnownGraph { hash, nodes, classes: labels });
        }
        Ok((!graphs.is_empty()).then_some(Self(graphs)))
    }
}

/// Fails unless there is a list per graph of a dataset, of nodes that the graph has.
pub(crate) fn check_nodes<'a>(lists: impl ExactSizeIterator<Item = &'a [u32]>, dataset: &Dataset) -> Result<()> {
    if lists.len() != dataset.examples.len() {
        return Err(damaged());
    }
    lists.zip(&dataset.examples).try_for_each(|(nodes, example)| check_range(nodes, example))
}

/// Fails unless a graph has all nodes of a list.
fn check_range(nodes: &[u32], example: &Example<f32>) -> Result<()> {
    let is_node = |&node: &u32| (node as usize) < example.graph.nodes();
    if nodes.iter().all(is_node) { Ok(()) } else { Err(damaged()) }
}

fn damaged() -> Error {
    Error::Checkpoint { reason: "its known labels are damaged".into() }
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
        let restore = |lists: &mut _, classes| KnownLabels::restore("known", lists, classes, false);
        assert_eq!(restore(&mut lists, 2).unwrap().unwrap(), known);
        assert_eq!((lists.len(), restore(&mut lists, 2).unwrap()), (1, None));
        assert!(restore(&mut damaged.clone(), 1).is_err(), "a class that does not exist");
        damaged.get_mut("known.0.classes").unwrap().pop();
        assert!(restore(&mut damaged, 2).is_err());
        assert!(known.check(&dataset(4), "x").is_ok());
        let mut outside = HashMap::new();
        known.store("known", &mut outside);
        outside.get_mut("known.0.nodes").unwrap()[0] = 340;
        let outside = restore(&mut outside, 2).unwrap().unwrap();
        let error = outside.check(&dataset(4), "x").unwrap_err().to_string();
        assert_eq!(error, "the saved model cannot be used: its known labels are damaged");
        let error = known.check(&dataset(5), "label-propagation").unwrap_err().to_string();
        assert_eq!(
            error,
            "label-propagation uses the labels of its training nodes, and this is another graph: train a model on it"
        );
    }

    #[test]
    fn labels_of_training_nodes_are_restored() {
        let single = dataset(4);
        let mut multi = single.clone();
        let nodes = multi.nodes();
        let of = (0..nodes * 70).map(|k| u8::from(k * k % 7 < 3)).collect();
        multi.examples[0].labels = Labels::Multi { classes: 70, of };
        for dataset in [single, multi] {
            let mut lists = HashMap::new();
            KnownLabels::of_any(&dataset, &[|example| &example.train]).store("input", &mut lists);
            let example = &dataset.examples[0];
            let architecture = Architecture::new("gcn".parse().unwrap(), example);
            let Architecture { classes, multi_label, .. } = architecture;
            let restore = |lists: &mut _| KnownLabels::restore("input", lists, classes, multi_label);
            let mut damaged = lists.clone();
            damaged.get_mut("input.0.classes").unwrap().pop();
            assert!(restore(&mut damaged).is_err());
            let mut outside = lists.clone();
            outside.get_mut("input.0.nodes").unwrap()[0] = nodes as u32;
            let outside = restore(&mut outside).unwrap().unwrap();
            assert!(outside.labelled(0, example, &architecture, "x").is_err(), "a node that does not exist");
            let known = restore(&mut lists).unwrap().unwrap();
            let found = known.labelled(0, example, &architecture, "x").unwrap();
            assert_eq!(found.train, example.train);
            assert!(found.validation.is_empty() && found.test.is_empty());
            let row = |labels: &Labels, node: usize| match labels {
                Labels::Single { of, .. } => vec![of[node]],
                Labels::Multi { of, .. } => of[70 * node..70 * (node + 1)].iter().map(|&label| label.into()).collect(),
            };
            for node in 0..nodes {
                let nothing = if multi_label { vec![0; 70] } else { vec![Labels::UNKNOWN] };
                let is_known = example.train.contains(&(node as u32));
                assert_eq!(row(&found.labels, node), if is_known { row(&example.labels, node) } else { nothing });
            }
            assert!(known.labelled(1, example, &architecture, "x").is_err(), "a second graph");
        }
    }

    #[test]
    fn logits_have_the_probabilities_of_scores() {
        let logits = logits_of_scores(&[1.0, 3.0, 0.0, 0.0, -0.5, 2.0], 2);
        let expected = [0.25f64.ln(), 0.75f64.ln(), 0.0, 0.0, LEAST.ln(), 0.0];
        assert!(logits.iter().zip(expected).all(|(found, expected)| (f64::from(*found) - expected).abs() < 1e-6));
    }
}
