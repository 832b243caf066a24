//! Graphs without direction whose links and nodes have weights: those of a graph, of its clusters, of its parts.

use rayon::prelude::*;
use std::borrow::Cow;
use supergat_core::Graph;
use supergat_core::graph::Adjacency;

/// Smallest number of nodes per task.
pub(super) const NODES_AT_ONCE: usize = 1 << 8;

/// A graph without direction, with weights. Lists may contain the node itself.
#[derive(Debug)]
pub(super) struct Weighted<'a> {
    lists: Cow<'a, Adjacency>,
    /// Weight of each entry of the lists; `None` if all are 1.
    weights: Option<Vec<u32>>,
    /// Number of nodes that each node stands for; `None` if all are 1.
    sizes: Option<Vec<u32>>,
    /// Number of links of the nodes that each node stands for, with self-loops; `None` for those of the lists.
    links: Option<Vec<u64>>,
}

impl<'a> Weighted<'a> {
    /// Returns the links of a graph in both directions.
    pub(super) fn links(graph: &'a Graph) -> Self {
        let lists = if graph.is_symmetric() { Cow::Borrowed(graph.incoming()) } else { Cow::Owned(both(graph)) };
        Self { lists, weights: None, sizes: None, links: None }
    }

    pub(super) fn nodes(&self) -> usize {
        self.lists.offsets.len() - 1
    }

    /// Returns the number of entries of the list of a node.
    pub(super) fn entries(&self, node: usize) -> usize {
        self.lists.range(node).len()
    }

    pub(super) fn size(&self, node: usize) -> u32 {
        self.sizes.as_ref().map_or(1, |sizes| sizes[node])
    }

    /// Returns the number of links of the nodes that a node stands for, with self-loops.
    pub(super) fn links_in(&self, node: usize) -> u64 {
        self.links.as_ref().map_or(self.entries(node) as u64, |links| links[node])
    }

    /// Returns the neighbours of a node and the weights of its links, without the node itself.
    pub(super) fn links_of(&self, node: usize) -> impl Iterator<Item = (u32, u32)> {
        let range = self.lists.range(node);
        let weight = move |at: usize| self.weights.as_ref().map_or(1, |weights| weights[at]);
        let links = range.clone().map(move |at| (self.lists.neighbours[at], weight(at)));
        links.filter(move |&(other, _)| other as usize != node)
    }

    /// Returns the graph of the clusters.
    pub(super) fn contracted(&self, label: &[u32], clusters: usize) -> Weighted<'static> {
        let (starts, members) = members(label, clusters);
        let of_cluster = |links: &mut Vec<(u32, u32)>, cluster: usize| {
            links.clear();
            for &node in &members[starts[cluster]..starts[cluster + 1]] {
                let to = self.links_of(node as usize).map(|(other, weight)| (label[other as usize], weight));
                links.extend(to.filter(|&(to, _)| to as usize != cluster));
            }
            merge(links);
            links.clone()
        };
        let tasks = (0..clusters).into_par_iter().with_min_len(NODES_AT_ONCE / 8);
        let merged: Vec<Vec<(u32, u32)>> = tasks.map_init(Vec::new, of_cluster).collect();
        let entries = merged.iter().map(Vec::len).sum();
        let mut lists =
            Adjacency { offsets: Vec::with_capacity(clusters + 1), neighbours: Vec::with_capacity(entries) };
        let mut weights = Vec::with_capacity(entries);
        lists.offsets.push(0);
        for links in merged {
            lists.neighbours.extend(links.iter().map(|link| link.0));
            weights.extend(links.iter().map(|link| link.1));
            lists.offsets.push(weights.len() as u64);
        }
        let (mut sizes, mut links) = (vec![0; clusters], vec![0; clusters]);
        for (node, &cluster) in label.iter().enumerate() {
            sizes[cluster as usize] += self.size(node);
            links[cluster as usize] += self.links_in(node);
        }
        Weighted { lists: Cow::Owned(lists), weights: Some(weights), sizes: Some(sizes), links: Some(links) }
    }

    /// Returns the graph of some nodes, which have places.
    pub(super) fn part(&self, nodes: &[u32], place: &[u32]) -> Weighted<'static> {
        let mut lists = Adjacency { offsets: vec![0], neighbours: Vec::new() };
        let mut weights = Vec::new();
        for &node in nodes {
            for (other, weight) in self.links_of(node as usize) {
                if place[other as usize] != u32::MAX {
                    lists.neighbours.push(place[other as usize]);
                    weights.push(weight);
                }
            }
            lists.offsets.push(weights.len() as u64);
        }
        let sizes = nodes.iter().map(|&node| self.size(node as usize)).collect();
        let links = nodes.iter().map(|&node| self.links_in(node as usize)).collect();
        Weighted { lists: Cow::Owned(lists), weights: Some(weights), sizes: Some(sizes), links: Some(links) }
    }
}

/// Adds the weights of links to the same node; sorts the links.
fn merge(links: &mut Vec<(u32, u32)>) {
    links.sort_unstable_by_key(|link| link.0);
    links.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        is_same
    });
}

/// Groups nodes by label: start of each group, and all nodes.
pub(super) fn members(label: &[u32], groups: usize) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0; groups + 1];
    label.iter().for_each(|&group| starts[group as usize + 1] += 1);
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    let (mut next, mut members) = (starts.clone(), vec![0; label.len()]);
    for (node, &group) in (0..).zip(label) {
        members[next[group as usize]] = node;
        next[group as usize] += 1;
    }
    (starts, members)
}

/// Returns the links of a directed graph in both directions, each once.
fn both(graph: &Graph) -> Adjacency {
    let of_node = |node: usize| {
        let (mut incoming, mut outgoing) = (graph.incoming().of(node), graph.outgoing().of(node));
        std::iter::from_fn(move || {
            let next = *incoming.first().into_iter().chain(outgoing.first()).min()?;
            incoming = incoming.strip_prefix(&[next]).unwrap_or(incoming);
            outgoing = outgoing.strip_prefix(&[next]).unwrap_or(outgoing);
            Some(next)
        })
    };
    let mut offsets = vec![0u64; graph.nodes() + 1];
    let lengths = offsets[1..].par_iter_mut().with_min_len(NODES_AT_ONCE).enumerate();
    lengths.for_each(|(node, length)| *length = of_node(node).count() as u64);
    for node in 0..graph.nodes() {
        offsets[node + 1] += offsets[node];
    }
    let neighbours = (0..graph.nodes()).into_par_iter().with_min_len(NODES_AT_ONCE).flat_map_iter(of_node).collect();
    Adjacency { offsets, neighbours }
}
