//! Sums over nodes: within each part, then over the parts of all processes along a fixed tree.

use super::{Cluster, ClusterProblem};
use bytemuck::Pod;
use supergat_core::Result;
use supergat_cpu::device::RowSums;
use supergat_cpu::kernels::{Parts, Primitives};

impl<T: Primitives + Pod> Cluster<T> {
    /// Returns the rows of all nodes, without memory for several sums.
    pub(super) fn rows<'a>(&'a self, problem: &'a ClusterProblem<T>) -> AllRows<'a, T> {
        AllRows { cluster: self, problem, memory: &mut [] }
    }

    /// Writes to `out` the sum of lists over all parts of all processes. Each part of this process has some consecutive
    /// lists.
    pub(super) fn sum_pieces(
        &self,
        problem: &ClusterProblem<T>,
        pieces: impl Iterator<Item = usize>,
        lists: &mut [T],
        out: &mut [T],
    ) -> Result<()> {
        let (length, mut start, mut parts) = (out.len(), 0, 0);
        for (part, count) in pieces.enumerate() {
            // The sum of a part takes the place of an earlier list.
            lists.copy_within(start * length..(start + 1) * length, part * length);
            for piece in start + 1..start + count {
                let (sums, rest) = lists.split_at_mut(piece * length);
                T::add_list(&mut sums[part * length..][..length], &rest[..length]);
            }
            (start, parts) = (start + count, part + 1);
        }
        problem.tree.add(self.peers(), &mut lists[..parts * length], out)
    }
}

/// Rows of the nodes of all processes. The memory has room for all sums of a backward pass.
pub(super) struct AllRows<'a, T: Primitives> {
    pub(super) cluster: &'a Cluster<T>,
    pub(super) problem: &'a ClusterProblem<T>,
    pub(super) memory: &'a mut [T],
}

impl<T: Primitives + Pod> RowSums<T> for AllRows<'_, T> {
    fn parts(&self) -> &Parts {
        &self.problem.rows
    }

    fn rows(&self) -> [usize; 2] {
        [self.problem.nodes(), self.problem.edges().partition.nodes()]
    }

    fn add(&mut self, partial: &mut [T], to: &mut [&mut [T]]) -> Result<()> {
        let pieces = self.problem.inputs.iter().map(|input| input.rows.len());
        if let [list] = to {
            return self.cluster.sum_pieces(self.problem, pieces, partial, list);
        }
        let sums = &mut self.memory[..to.iter().map(|list| list.len()).sum()];
        self.cluster.sum_pieces(self.problem, pieces, partial, sums)?;
        let mut rest = &*sums;
        for list in to {
            let (here, after) = rest.split_at(list.len());
            list.copy_from_slice(here);
            rest = after;
        }
        Ok(())
    }
}

/// Returns the sum of each part from those of its divisions, of which it has as many as `lengths` tells.
pub(super) fn by_part(sums: &[f64], lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = f64> {
    let mut rest = sums;
    lengths.map(move |length| {
        let (own, after) = rest.split_at(length);
        rest = after;
        own.iter().sum()
    })
}
