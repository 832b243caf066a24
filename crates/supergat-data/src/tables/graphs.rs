//! From one list of nodes to one graph or several.

use super::nodes::Nodes;
use super::splits::Splits;
use crate::error::{Error, Result};
use std::path::Path;
use supergat_core::{Direction, Example, Features, Graph, Labels, SparseMatrix};

/// Everything that was read, over the nodes of all graphs.
pub(super) struct Whole<'a> {
    pub folder: &'a Path,
    pub directed: bool,
    pub pairs: Vec<(u32, u32)>,
    pub features: Features<f32>,
    pub labels: Labels,
    pub splits: Splits,
}

type Examples = (Vec<Example<f32>>, Option<Vec<Vec<String>>>);

impl Whole<'_> {
    /// The graphs and the ids of their nodes, which are `None` when they are 0, 1, ...
    pub fn divide(self, nodes: Nodes, notes: &mut Vec<String>) -> Result<Examples> {
        let core = |source| Error::Core { path: self.folder.to_owned(), source };
        let direction = if self.directed { Direction::Directed } else { Direction::Undirected };
        let graphs = nodes.graphs();
        let (mut examples, mut ids) = (Vec::new(), Vec::new());
        match nodes.graph_of {
            None => {
                let graph = Graph::from_edges(nodes.ids.len(), &self.pairs, direction).map_err(core)?;
                examples.push(Example::new(graph, self.features, self.labels, self.splits).map_err(core)?);
                ids.push(nodes.ids);
            }
            Some(graph_of) => {
                // Where each node stands within its graph, and the nodes of each graph.
                let mut members: Vec<Vec<u32>> = vec![Vec::new(); graphs];
                let mut place = Vec::with_capacity(graph_of.len());
                for (node, &graph) in (0..).zip(&graph_of) {
                    place.push(members[graph as usize].len() as u32);
                    members[graph as usize].push(node);
                }
                let mut pairs = vec![Vec::new(); graphs];
                for (from, to) in self.pairs {
                    // Both ends were looked up in the same graph.
                    pairs[graph_of[from as usize] as usize].push((place[from as usize], place[to as usize]));
                }
                let mut splits = vec![Splits::default(); graphs];
                for (part, list) in self.splits.iter().enumerate() {
                    for &node in list {
                        splits[graph_of[node as usize] as usize][part].push(place[node as usize]);
                    }
                }
                let mut all_ids: Vec<Option<String>> = nodes.ids.into_iter().map(Some).collect();
                for ((members, pairs), splits) in members.iter().zip(pairs).zip(splits) {
                    let graph = Graph::from_edges(members.len(), &pairs, direction).map_err(core)?;
                    let features = rows(&self.features, members).map_err(core)?;
                    examples
                        .push(Example::new(graph, features, label_rows(&self.labels, members), splits).map_err(core)?);
                    ids.push(members.iter().map(|node| all_ids[*node as usize].take().unwrap_or_default()).collect());
                }
                notes.push(format!("{graphs} graphs, told apart by the column `graph`"));
            }
        }
        say_what_is_odd(&examples, notes);
        let numbered =
            ids.iter().all(|ids: &Vec<String>| (0..).zip(ids).all(|(at, id): (usize, _)| *id == at.to_string()));
        Ok((examples, (!numbered).then_some(ids)))
    }
}

fn rows(features: &Features<f32>, members: &[u32]) -> supergat_core::Result<Features<f32>> {
    match features {
        Features::Dense { columns, values, .. } => {
            let row = |node: &u32| &values[*node as usize * columns..][..*columns];
            Features::dense(members.len(), *columns, members.iter().flat_map(row).copied().collect())
        }
        Features::Sparse(matrix) => {
            let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for &node in members {
                let (row_columns, row_values) = matrix.row(node as usize);
                columns.extend_from_slice(row_columns);
                values.extend_from_slice(row_values);
                offsets.push(values.len() as u64);
            }
            SparseMatrix::new(features.columns(), offsets, columns, values).map(Features::Sparse)
        }
    }
}

fn label_rows(labels: &Labels, members: &[u32]) -> Labels {
    match labels {
        Labels::Single { classes, of } => {
            Labels::Single { classes: *classes, of: members.iter().map(|node| of[*node as usize]).collect() }
        }
        Labels::Multi { classes, of } => {
            let row = |node: &u32| &of[*node as usize * classes..][..*classes];
            Labels::Multi { classes: *classes, of: members.iter().flat_map(row).copied().collect() }
        }
    }
}

/// Counts what is allowed but worth a look.
fn say_what_is_odd(examples: &[Example<f32>], notes: &mut Vec<String>) {
    let sum = |count: &dyn Fn(&Graph) -> u64| examples.iter().map(|example| count(&example.graph)).sum::<u64>();
    let loops = sum(&|graph| graph.self_loops());
    let directions = |graph: &Graph| if graph.direction() == Direction::Undirected { 2 } else { 1 };
    let duplicates = sum(&|graph| graph.duplicates() / directions(graph));
    let isolated = sum(&|graph| (0..graph.nodes()).filter(|node| graph.degree(*node) == 0).count() as u64);
    for (count, what) in [
        (loops, "links from a node to itself: replaced by the one self-loop that every node has"),
        (duplicates, "links that an earlier row had said: counted once"),
        (isolated, "nodes without a link: classified by their features alone"),
    ] {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    }
}
