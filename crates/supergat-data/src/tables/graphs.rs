//! Builds one or several graphs from the list of all nodes.

use super::link_columns::LinkColumns;
use super::node_ids::Nodes;
use super::rows::location::Location;
use super::rows::names::EDGES;
use super::splits::Splits;
use crate::dataset::SELF_LOOPS;
use crate::dataset::rows::{divided, feature_rows, label_rows};
use crate::error::{Error, Result};
use crate::words::{count, shown};
use std::path::Path;
use supergat_core::{Direction, Duplicates, Example, Features, Graph, Labels};

/// Contents of all tables, over the nodes of all graphs.
pub(super) struct Combined<'a> {
    pub folder: &'a Path,
    pub directed: bool,
    pub duplicates: Duplicates,
    pub pairs: Vec<(u32, u32)>,
    pub columns: LinkColumns,
    pub features: Features<f32>,
    pub labels: Labels,
    pub splits: Splits,
}

/// Examples and node ids of each graph.
type Examples = (Vec<Example<f32>>, Option<Vec<Vec<String>>>);

impl Combined<'_> {
    /// Splits the nodes into graphs; returns them with their node ids, which are `None` if they are 0, 1, ...
    pub fn split_graphs(self, nodes: Nodes, notes: &mut Vec<String>) -> Result<Examples> {
        let core = Error::core(self.folder);
        let direction = if self.directed { Direction::Directed } else { Direction::Undirected };
        let graphs = nodes.graphs();
        let (mut examples, mut ids) = (Vec::new(), Vec::new());
        match nodes.graph_of {
            None => {
                let graph = Graph::from_edges(nodes.ids.len(), &self.pairs, direction).map_err(core)?;
                let example = Example::new(graph, self.features, self.labels, self.splits).map_err(core)?;
                examples.push(with_edges(self.folder, example, &self.columns, self.duplicates, &nodes.ids)?);
                ids.push(nodes.ids);
            }
            Some(graph_of) => {
                let (members, index_in_graph) = divided(&graph_of, graphs);
                let mut pairs = vec![Vec::new(); graphs];
                let mut links = vec![Vec::new(); graphs];
                for (link, (from, to)) in self.pairs.into_iter().enumerate() {
                    // Both ends are in the same graph, since they were looked up there.
                    let graph = graph_of[from as usize] as usize;
                    pairs[graph].push((index_in_graph[from as usize], index_in_graph[to as usize]));
                    links[graph].push(link);
                }
                let mut splits = vec![Splits::default(); graphs];
                for (split, list) in self.splits.iter().enumerate() {
                    for &node in list {
                        splits[graph_of[node as usize] as usize][split].push(index_in_graph[node as usize]);
                    }
                }
                let mut all_ids: Vec<Option<String>> = nodes.ids.into_iter().map(Some).collect();
                for (((members, pairs), splits), links) in members.iter().zip(pairs).zip(splits).zip(links) {
                    let graph = Graph::from_edges(members.len(), &pairs, direction).map_err(core)?;
                    let features = feature_rows(&self.features, members).map_err(core)?;
                    let labels = label_rows(&self.labels, members);
                    let example = Example::new(graph, features, labels, splits).map_err(core)?;
                    let id = |node: &u32| all_ids[*node as usize].take().unwrap_or_default();
                    let own: Vec<String> = members.iter().map(id).collect();
                    let columns = self.columns.rows(&links);
                    examples.push(with_edges(self.folder, example, &columns, self.duplicates, &own)?);
                    ids.push(own);
                }
                notes.push(format!("{}, distinguished by the column `graph`", count(graphs, "graph")));
            }
        }
        note_anomalies(&examples, self.duplicates, notes);
        let numbered =
            ids.iter().all(|ids: &Vec<String>| (0..).zip(ids).all(|(at, id): (usize, _)| *id == at.to_string()));
        Ok((examples, (!numbered).then_some(ids)))
    }
}

/// Adds the weights and features of its links to an example whose nodes have the given ids.
fn with_edges(
    folder: &Path,
    example: Example<f32>,
    columns: &LinkColumns,
    duplicates: Duplicates,
    ids: &[String],
) -> Result<Example<f32>> {
    let refused = |source| match source {
        supergat_core::Error::DuplicateLink { from, to, .. } => {
            let found = format!("`{}` to `{}` again", shown(&ids[from as usize]), shown(&ids[to as usize]));
            let advice = "remove one of the rows, or merge such links with parameter `duplicates=sum`, max or first";
            Location::file(&folder.join(EDGES)).error("every link once", found, advice)
        }
        source => Error::Core { path: folder.to_owned(), source },
    };
    match columns.attributes(&example.graph, duplicates).map_err(refused)? {
        Some(attributes) => example.with_edges(attributes).map_err(refused),
        None => Ok(example),
    }
}

/// Adds notes on self-loops, duplicate links and isolated nodes.
fn note_anomalies(examples: &[Example<f32>], merged: Duplicates, notes: &mut Vec<String>) {
    let sum = |count: &dyn Fn(&Graph) -> u64| examples.iter().map(|example| count(&example.graph)).sum::<u64>();
    let loops = sum(&|graph| graph.self_loops());
    let directions = |graph: &Graph| if graph.direction() == Direction::Undirected { 2 } else { 1 };
    let duplicates = sum(&|graph| graph.duplicates() / directions(graph));
    let isolated = sum(&|graph| (0..graph.nodes()).filter(|node| graph.degree(*node) == 0).count() as u64);
    let attributes = examples.iter().any(|example| example.edges.is_some());
    let repeated = match merged {
        Duplicates::Sum if attributes => {
            "repeated from an earlier row, in any direction: their weights are added and their features averaged \
             (parameter `duplicates=max` or first to change it)"
        }
        Duplicates::Max if attributes => "repeated from an earlier row: the largest weights and features are used",
        Duplicates::First if attributes => "repeated from an earlier row: the first is used",
        _ => "repeated from an earlier row: counted once",
    };
    for (number, noun, what) in [
        (loops, "link", SELF_LOOPS),
        (duplicates, "link", repeated),
        (isolated, "node", "without a link: classified by their features alone"),
    ] {
        if number > 0 {
            notes.push(format!("{} {what}", count(number as usize, noun)));
        }
    }
}
