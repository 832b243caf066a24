//! Division of the nodes of a graph into parts, and of the parts among groups and processes.

use std::ops::Range;
use supergat_core::words::count;
use supergat_core::{Error, Result};

/// Division of a graph. Parts are consecutive ranges of nodes, and belong to the graph: sums are taken in the order of
/// parts, so results do not depend on the number of processes. A process has consecutive parts.
///
/// Each part also belongs to a group. The nodes of group g sum over their neighbours part by part, from the first
/// part of g to the last part of all and then from part 0 on. So processes that have different groups read from
/// different processes at a time. There should be as many groups as processes: a process with several groups
/// fetches rows once for each of them.
///
/// ```
/// use supergat_cluster::Partition;
/// let partition = Partition::new(vec![0, 10, 15, 30, 40], 2, 3)?;
/// assert_eq!((partition.parts(), partition.nodes()), (4, 40));
/// assert_eq!((partition.part_of(14), partition.nodes_of_part(2)), (1, 15..30));
/// assert_eq!((0..3).map(|p| partition.parts_of_process(p)).collect::<Vec<_>>(), [0..1, 1..2, 2..4]);
/// assert_eq!(partition.process_of_part(3), 2);
/// assert!(Partition::new(vec![0, 3, 7], 1, 3).is_err(), "more processes than parts");
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    bounds: Vec<u32>,
    groups: usize,
    processes: usize,
}

/// Consecutive parts of one process and one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) parts: Range<usize>,
    /// First part of the group, with which sums over neighbours start.
    pub(super) start: usize,
}

impl Partition {
    /// Creates a partition from the first node of each part and the number of nodes. Fails unless parts are in
    /// order, and there are as many parts as groups and as processes, or more.
    pub fn new(bounds: Vec<u32>, groups: usize, processes: usize) -> Result<Self> {
        let parts = bounds.len().saturating_sub(1);
        if bounds.first() != Some(&0) || !bounds.is_sorted() {
            return Err(Error::Peers { reason: "the parts of the graph are not in order".into() });
        }
        if processes > parts || processes == 0 {
            let reason = format!(
                "{} cannot divide the {} of the graph: start at most {}, or divide the graph into more parts",
                count(processes, "process"),
                count(parts, "part"),
                count(parts, "process")
            );
            return Err(Error::Peers { reason });
        }
        Ok(Self { bounds, groups: groups.clamp(1, parts), processes })
    }

    /// Divides `nodes` nodes into parts of equal size.
    pub fn even(nodes: usize, parts: usize, groups: usize, processes: usize) -> Result<Self> {
        let parts = parts.min(nodes).max(1);
        Self::new((0..=parts).map(|k| (nodes as u64 * k as u64 / parts as u64) as u32).collect(), groups, processes)
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        *self.bounds.last().expect("at least one bound") as usize
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Returns the number of processes.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// Returns the part of a node.
    pub fn part_of(&self, node: u32) -> usize {
        self.bounds.partition_point(|&start| start <= node) - 1
    }

    /// Returns the nodes of a part.
    pub fn nodes_of_part(&self, part: usize) -> Range<u32> {
        self.bounds[part]..self.bounds[part + 1]
    }

    /// Returns the parts of a process.
    pub fn parts_of_process(&self, process: usize) -> Range<usize> {
        let first = |process: usize| self.parts() * process / self.processes;
        first(process)..first(process + 1)
    }

    /// Returns the nodes of a process.
    pub fn nodes_of_process(&self, process: usize) -> Range<u32> {
        let parts = self.parts_of_process(process);
        self.bounds[parts.start]..self.bounds[parts.end]
    }

    /// Returns the process of a part.
    pub fn process_of_part(&self, part: usize) -> usize {
        (0..self.processes).find(|&process| self.parts_of_process(process).end > part).expect("a part")
    }

    /// Returns the process of a node.
    pub(super) fn process_of(&self, node: u32) -> usize {
        let (mut first, mut last) = (0, self.processes);
        // The process is in first..last.
        while last - first > 1 {
            let middle = first.midpoint(last);
            if self.nodes_of_process(middle).start <= node { first = middle } else { last = middle }
        }
        first
    }

    /// Returns the parts of a process by group.
    pub(super) fn runs(&self, process: usize) -> Vec<Run> {
        let own = self.parts_of_process(process);
        let first = |group: usize| self.parts() * group / self.groups;
        let run = |group: usize| {
            let parts = first(group).max(own.start)..first(group + 1).min(own.end);
            (parts.start < parts.end).then_some(Run { parts, start: first(group) })
        };
        (0..self.groups).filter_map(run).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_cover_the_parts_of_all_processes() {
        for (parts, groups, processes) in [(16, 2, 3), (8, 8, 2), (5, 3, 5), (7, 1, 4), (1, 1, 1)] {
            let partition = Partition::even(100, parts, groups, processes).unwrap();
            let mut next = 0;
            for process in 0..processes {
                for run in partition.runs(process) {
                    assert_eq!(run.parts.start, next);
                    assert!(run.start <= next && partition.process_of_part(next) == process);
                    next = run.parts.end;
                }
                assert_eq!(partition.nodes_of_process(process).end, partition.nodes_of_part(next - 1).end);
                assert!(partition.nodes_of_process(process).all(|node| partition.process_of(node) == process));
            }
            assert_eq!(next, parts);
        }
    }
}
