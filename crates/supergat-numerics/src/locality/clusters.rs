//! Clusters of nodes by label propagation with a bound on their size, level by level.
//!
//! Every node starts as a cluster. In a round, each node moves to the cluster that most of its links lead to, unless
//! that is full. Nodes are visited in blocks: the nodes of a block decide in parallel, by the clusters before the
//! block, and move one after the other. So the result does not depend on the number of threads.

use super::bisection::{Balance, bisect};
use super::weighted::{NODES_AT_ONCE, Weighted, members};
use super::{BLOCKS, CLUSTERS_PER_BLOCK};
use rayon::prelude::*;
use std::borrow::Cow;

/// Factor between the largest sizes of the clusters of two levels.
const GROWTH: u32 = 16;
/// Most rounds per level.
const ROUNDS: usize = 3;
/// A level ends when fewer than one node in `SETTLED` moved in a round.
const SETTLED: usize = 50;

impl Weighted<'_> {
    /// Merges the nodes into clusters of at most `limit` nodes of the finest level, and returns the cluster of each.
    /// Nodes of different parts are not merged.
    fn clusters(&self, part_of: Option<&[u32]>, limit: u32) -> (Vec<u32>, usize) {
        let nodes = self.nodes();
        let mut label: Vec<u32> = (0..nodes as u32).collect();
        let mut weight: Vec<u32> = (0..nodes).map(|node| self.size(node)).collect();
        let mut visits: Vec<u32> = (0..nodes as u32).collect();
        visits.par_sort_by_key(|&node| self.entries(node as usize));
        let block = (nodes / 64).clamp(1 << 10, 1 << 16);
        for _ in 0..ROUNDS {
            let mut moved = 0;
            for visited in visits.chunks(block) {
                let decide = |links: &mut Vec<(u32, u32)>, &node: &u32| {
                    let own = label[node as usize];
                    let room = limit.saturating_sub(self.size(node as usize));
                    let fits = |to: u32| to == own || weight[to as usize] <= room;
                    let is_near = |other: u32| part_of.is_none_or(|of| of[other as usize] == of[node as usize]);
                    links.clear();
                    links.extend(
                        self.links_of(node as usize)
                            .filter(|&(other, _)| is_near(other))
                            .map(|(other, weight)| (label[other as usize], weight))
                            .filter(|&(to, _)| fits(to)),
                    );
                    best_label(links, own, node)
                };
                let tasks = visited.par_iter().with_min_len(NODES_AT_ONCE);
                let wanted: Vec<u32> = tasks.map_init(Vec::new, decide).collect();
                for (&node, &to) in visited.iter().zip(&wanted) {
                    let (own, size) = (label[node as usize], self.size(node as usize));
                    if to != own && weight[to as usize].saturating_add(size) <= limit {
                        weight[own as usize] -= size;
                        weight[to as usize] += size;
                        label[node as usize] = to;
                        moved += 1;
                    }
                }
            }
            if moved * SETTLED < nodes {
                break;
            }
        }
        number(label)
    }

    /// Orders nodes, which are given by group, so that linked nodes of a group follow each other: a breadth-first
    /// search of every group.
    fn searched(&self, given: &[u32], group: &[u32]) -> Vec<u32> {
        let mut seen = vec![false; self.nodes()];
        let mut order = Vec::with_capacity(given.len());
        for &start in given {
            if std::mem::replace(&mut seen[start as usize], true) {
                continue;
            }
            let mut next = order.len();
            order.push(start);
            while next < order.len() {
                for (other, _) in self.links_of(order[next] as usize) {
                    let is_near = group[other as usize] == group[start as usize];
                    if is_near && !std::mem::replace(&mut seen[other as usize], true) {
                        order.push(other);
                    }
                }
                next += 1;
            }
        }
        order
    }
}

/// Returns the label with the largest weight of links, or the own one if no other has more. Of several, a pseudorandom
/// one that depends on the node: always the smallest would fill the clusters of small numbers only.
fn best_label(links: &mut [(u32, u32)], own: u32, node: u32) -> u32 {
    links.sort_unstable_by_key(|link| link.0);
    let mixed = |label: u32| (label ^ node.rotate_left(16)).wrapping_mul(0x9E37_79B1);
    let (mut best, mut most) = (own, 0);
    let mut own_weight = 0;
    for same in links.chunk_by(|a, b| a.0 == b.0) {
        let (label, weight) = (same[0].0, same.iter().map(|link| u64::from(link.1)).sum::<u64>());
        if label == own {
            own_weight = weight;
        } else if weight > most || (weight == most && mixed(label) > mixed(best)) {
            (best, most) = (label, weight);
        }
    }
    if most > own_weight { best } else { own }
}

/// Numbers labels from 0, in the order of their first nodes; returns their number.
fn number(mut label: Vec<u32>) -> (Vec<u32>, usize) {
    let (mut numbers, mut count) = (vec![u32::MAX; label.len()], 0);
    for label in &mut label {
        let number = &mut numbers[*label as usize];
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        *label = *number;
    }
    (label, count as usize)
}

/// Levels of clusters, from the finest.
#[derive(Debug)]
pub(super) struct Hierarchy {
    /// Cluster of each node of a level, and the graph of the clusters.
    levels: Vec<(Vec<u32>, Weighted<'static>)>,
}

impl Hierarchy {
    /// Merges the nodes of a graph until there are at most `clusters`, or until clusters do not grow. Nodes of
    /// different parts are not merged.
    pub(super) fn new(links: &Weighted<'_>, part_of: Option<&[u32]>, clusters: usize) -> Self {
        let mut levels: Vec<(Vec<u32>, Weighted<'static>)> = Vec::new();
        let mut limit = GROWTH;
        let mut part_of = part_of.map(Cow::Borrowed);
        // Two levels at least: the finer one brings neighbours close even where the graph is small.
        loop {
            let graph = levels.last().map_or(links, |(_, graph)| graph);
            let nodes = graph.nodes();
            if nodes <= clusters && levels.len() >= 2 || nodes == 0 {
                break;
            }
            let (label, count) = graph.clusters(part_of.as_deref(), limit);
            if count + nodes / SETTLED >= nodes {
                break;
            }
            let contracted = graph.contracted(&label, count);
            part_of = part_of.map(|of| {
                let mut part_of = vec![0; count];
                label.iter().zip(of.iter()).for_each(|(&cluster, &part)| part_of[cluster as usize] = part);
                Cow::Owned(part_of)
            });
            levels.push((label, contracted));
            limit = limit.saturating_mul(GROWTH);
        }
        Self { levels }
    }

    /// Returns the graph of the largest clusters; `links` is the graph that the hierarchy was made of.
    pub(super) fn top<'a>(&'a self, links: &'a Weighted<'a>) -> &'a Weighted<'a> {
        self.levels.last().map_or(links, |(_, graph)| graph)
    }

    /// Returns the largest cluster of a node.
    pub(super) fn cluster_of(&self, node: usize) -> usize {
        self.levels.iter().fold(node, |node, (label, _)| label[node] as usize)
    }

    /// Returns the nodes of all parts, one part after the other, and linked ones close to each other. No cluster has
    /// nodes of several parts.
    pub(super) fn order(&self, links: &Weighted<'_>, part_of: &[u32], parts: usize) -> Vec<u32> {
        let top = self.top(links);
        let mut part_of_cluster = vec![0; top.nodes()];
        (0..part_of.len()).for_each(|node| part_of_cluster[self.cluster_of(node)] = part_of[node]);
        let (starts, clusters) = members(&part_of_cluster, parts);
        let mut block = vec![0; top.nodes()];
        let mut order = Vec::with_capacity(top.nodes());
        for part in 0..parts {
            let clusters = &clusters[starts[part]..starts[part + 1]];
            let first = order.len() as u32;
            order.extend(top.divided(clusters, &mut block));
            // Blocks of different parts have different numbers.
            clusters.iter().for_each(|&cluster| block[cluster as usize] += first);
        }
        order = top.searched(&order, &block);
        for (level, (label, _)) in self.levels.iter().enumerate().rev() {
            let (starts, nodes) = members(label, starts_of(label));
            let of_cluster = |&cluster: &u32| &nodes[starts[cluster as usize]..starts[cluster as usize + 1]];
            let given: Vec<u32> = order.iter().flat_map(of_cluster).copied().collect();
            // Within the smallest clusters, the order does not matter.
            order = if level == 0 { given } else { self.levels[level - 1].1.searched(&given, label) };
        }
        order
    }
}

/// Returns the number of groups that labels name.
fn starts_of(label: &[u32]) -> usize {
    label.iter().max().map_or(0, |&last| last as usize + 1)
}

impl Weighted<'_> {
    /// Returns nodes in the order of a recursive bisection, and writes the block of each.
    ///
    /// METIS bisects one range of nodes at a time. It can also divide a graph into many blocks, but prints warnings
    /// to standard output if a few nodes are larger than a block.
    fn divided(&self, nodes: &[u32], block: &mut [u32]) -> Vec<u32> {
        let smallest = (2 * CLUSTERS_PER_BLOCK).max(nodes.len() / BLOCKS);
        let mut order = nodes.to_vec();
        let mut place = vec![u32::MAX; self.nodes()];
        let whole = 0..order.len();
        let (mut ranges, mut blocks) = (vec![whole], 0);
        while let Some(range) = ranges.pop() {
            let middle = if range.len() < smallest { 0 } else { self.halve(&mut order[range.clone()], &mut place) };
            if middle == 0 || middle == range.len() {
                order[range].iter().for_each(|&node| block[node as usize] = blocks);
                blocks += 1;
            } else {
                // The first half is next.
                ranges.extend([range.start + middle..range.end, range.start..range.start + middle]);
            }
        }
        order
    }

    /// Moves the nodes of one half before those of the other; returns the number of nodes in the first half. Without
    /// METIS, all nodes are in one half.
    fn halve(&self, nodes: &mut [u32], place: &mut [u32]) -> usize {
        nodes.iter().zip(0..).for_each(|(&node, at)| place[node as usize] = at);
        let halves = bisect(&self.part(nodes, place), 2, Balance::Sizes);
        nodes.iter().for_each(|&node| place[node as usize] = u32::MAX);
        let Ok(halves) = halves else { return 0 };
        let of_half = |half: u32| nodes.iter().zip(&halves).filter(move |(_, of)| **of == half).map(|(&node, _)| node);
        let sorted: Vec<u32> = of_half(0).chain(of_half(1)).collect();
        nodes.copy_from_slice(&sorted);
        halves.iter().filter(|half| **half == 0).count()
    }
}
