//! Sums over the parts of a graph along a fixed tree.

use super::{Peers, divided, exchange_all};
use bytemuck::Pod;
use std::ops::Range;
use supergat_core::Result;
use supergat_cpu::kernels::Primitives;

/// Lists of up to this many bytes are sent whole to every process. Of longer ones, every process sums a slice.
const SHORT: usize = 16 << 10;

/// Sum of one list of numbers per part. The lists are added along a binary tree over all parts,
///
/// ```text
/// sum(a..b) = sum(a..m) + sum(m..b)   with m = (a + b) / 2
/// ```
///
/// so the bits of the sum do not depend on which process has which parts. A process adds the lists of its own parts as
/// far as the tree permits, and sends few lists. The number of messages that follow each other does not depend on the
/// number of processes.
///
/// ```
/// use supergat_cluster::peers::{Alone, TreeSum};
/// let mut tree = TreeSum::new(&Alone, |_| 0..3);
/// let mut sum = [0.0; 2];
/// tree.add(&Alone, &mut [1.0, 10.0, 2.0, 20.0, 3.0, 30.0], &mut sum)?;
/// assert_eq!(sum, [6.0, 60.0]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TreeSum {
    parts: Range<usize>,
    own: Range<usize>,
    /// Nodes of the tree that each process sums.
    nodes: Vec<Vec<Range<usize>>>,
}

impl TreeSum {
    /// Creates the sum over the parts of all processes. `parts` returns the parts of a process: consecutive ones, from
    /// 0 on in the first process.
    pub fn new(peers: &dyn Peers, parts: impl Fn(usize) -> Range<usize>) -> Self {
        let all = 0..parts(peers.count() - 1).end;
        let nodes = |process: usize| {
            let mut nodes = Vec::new();
            cover(all.clone(), &parts(process), &mut nodes);
            nodes
        };
        Self { own: parts(peers.rank()), nodes: (0..peers.count()).map(nodes).collect(), parts: all }
    }

    /// Writes the sum over all parts to `out` in every process. `lists` has a list of the length of `out` for each own
    /// part, and is overwritten.
    pub fn add<T: Primitives + Pod>(&self, peers: &dyn Peers, lists: &mut [T], out: &mut [T]) -> Result<()> {
        let (length, rank, own) = (out.len(), peers.rank(), &self.nodes[peers.rank()]);
        if length == 0 {
            return Ok(());
        }
        for node in own {
            let lists = &mut lists[(node.start - self.own.start) * length..(node.end - self.own.start) * length];
            add_tree(node.clone(), &|k| node.start + k, node.len(), lists, length);
        }
        let list = |node: &Range<usize>| &lists[(node.start - self.own.start) * length..][..length];
        if peers.count() == 1 {
            out.copy_from_slice(list(&self.parts));
            return Ok(());
        }
        // Slice of the lists that a process sums.
        let is_short = length * size_of::<T>() <= SHORT;
        let slice = |process: usize| match is_short {
            true => 0..length,
            false => length * process / peers.count()..length * (process + 1) / peers.count(),
        };
        let packed = |process: usize| own.iter().map(|node| &list(node)[slice(process)]).collect::<Vec<_>>().concat();
        let packed: Vec<Vec<T>> = (0..peers.count()).map(packed).collect();
        let width = slice(rank).len();
        let starts: Vec<usize> = self.nodes.iter().flatten().map(|node| node.start).collect();
        let mut all = vec![T::zeroed(); starts.len() * width];
        let first = self.nodes[..rank].iter().map(Vec::len).sum::<usize>() * width;
        all[first..][..packed[rank].len()].copy_from_slice(&packed[rank]);
        let memory = divided(&mut all, self.nodes.iter().map(|nodes| nodes.len() * width));
        exchange_all(peers, |process| bytemuck::cast_slice(&packed[process]), memory.map(bytemuck::cast_slice_mut))?;
        add_tree(self.parts.clone(), &|k| starts[k], starts.len(), &mut all, width);
        let sum = &all[..width];
        out[slice(rank)].copy_from_slice(sum);
        if is_short {
            return Ok(());
        }
        let memory = divided(out, (0..peers.count()).map(|process| slice(process).len()));
        exchange_all(peers, |_| bytemuck::cast_slice(sum), memory.map(bytemuck::cast_slice_mut))
    }
}

fn middle(node: &Range<usize>) -> usize {
    node.start.midpoint(node.end)
}

/// Finds the largest nodes of the tree that are within `own`.
fn cover(node: Range<usize>, own: &Range<usize>, to: &mut Vec<Range<usize>>) {
    if own.start <= node.start && node.end <= own.end {
        to.push(node);
    } else if node.start < own.end && own.start < node.end {
        let middle = middle(&node);
        cover(node.start..middle, own, to);
        cover(middle..node.end, own, to);
    }
}

/// Writes the sum of a node of the tree to the first of `count` lists, which are nodes below it. `start` returns the
/// first part of a list.
fn add_tree<T: Primitives>(
    node: Range<usize>,
    start: &dyn Fn(usize) -> usize,
    count: usize,
    lists: &mut [T],
    length: usize,
) {
    if count < 2 {
        return;
    }
    let middle = middle(&node);
    let left = (0..count).position(|k| start(k) >= middle).unwrap_or(count);
    let (first, second) = lists.split_at_mut(left * length);
    add_tree(node.start..middle, start, left, first, length);
    add_tree(middle..node.end, &|k| start(left + k), count - left, second, length);
    T::add_list(&mut first[..length], &second[..length]);
}

#[cfg(test)]
mod tests {
    use super::super::tests::on_all;
    use super::*;

    /// Sum of a node by its definition.
    fn expected(node: Range<usize>, lists: &[Vec<f32>]) -> Vec<f32> {
        if node.len() == 1 {
            return lists[node.start].clone();
        }
        let middle = middle(&node);
        let halves = [expected(node.start..middle, lists), expected(middle..node.end, lists)];
        halves[0].iter().zip(&halves[1]).map(|(a, b)| a + b).collect()
    }

    #[test]
    fn sums_have_the_same_bits_for_any_number_of_processes() {
        for (parts, length) in [(1, 3), (7, 3), (16, 5), (12, SHORT / 4 + 3)] {
            let number = |k: usize, i: usize| 1e4 / (k * 3 + i + 1) as f32 - k as f32;
            let lists: Vec<Vec<f32>> = (0..parts).map(|k| (0..length).map(|i| number(k, i)).collect()).collect();
            let sum = expected(0..parts, &lists);
            for count in [1, 2, 3, 5, 7].into_iter().filter(|count| *count <= parts) {
                let own = |process: usize| parts * process / count..parts * (process + 1) / count;
                let sums = on_all(count, |peer| {
                    let mut out = vec![9.0; length];
                    let tree = TreeSum::new(peer, own);
                    tree.add(peer, &mut lists[own(peer.rank())].concat(), &mut out).unwrap();
                    out
                });
                assert!(sums.iter().all(|other| *other == sum), "{parts} parts, {count} processes");
            }
        }
    }

    #[test]
    fn aligned_processes_send_one_list() {
        let mut nodes = Vec::new();
        cover(0..16, &(4..8), &mut nodes);
        cover(0..16, &(5..10), &mut nodes);
        assert_eq!(nodes, [4..8, 5..6, 6..8, 8..10]);
    }
}
