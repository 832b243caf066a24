//! Rows that travel between processes while blocks of edges are computed.
//!
//! Every process computes its blocks in turns. In turn `s`, run `i` of a process visits the neighbours in part `(start
//! of its group + s) mod parts`. While a turn is computed, the rows of the next one travel. So no process ever has
//! more than the rows of two blocks of other processes. Rows of small parts travel together.

use super::needs::Needs;
use super::partition::Partition;
use crate::peers::{Incoming, Outgoing, Peers};
use bytemuck::Pod;
use rayon::prelude::*;
use supergat_core::memory::Buffer;
use supergat_core::{Real, Result};

/// Own rows of which some are sent: the first `width` of every `stride` numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix<'a, T> {
    pub(super) rows: &'a [T],
    pub(super) stride: usize,
    pub(super) width: usize,
    /// Whether rows are also sent that only sampled non-edges need.
    pub(super) for_pairs: bool,
}

impl<'a, T> Matrix<'a, T> {
    pub(super) fn new(rows: &'a [T], width: usize) -> Self {
        Self { rows, stride: width, width, for_pairs: false }
    }
}

/// A part that a run visits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Visit {
    pub(super) part: usize,
    /// Place of the first row of this part among the received rows: of a matrix for edges, and of one also for
    /// non-edges.
    pub(super) first_row: [usize; 2],
}

/// Rows of another process: those of the first matrix, then those of the second, and so on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Received<'a, T> {
    numbers: &'a [T],
    matrices: &'a [Matrix<'a, T>],
    /// Rows of a matrix for edges, and of one also for non-edges.
    rows: [usize; 2],
}

impl<'a, T> Received<'a, T> {
    /// Returns the rows of each matrix, from the first row of a part on.
    pub(super) fn from<const N: usize>(&self, visit: Visit) -> [&'a [T]; N] {
        let mut rest = self.numbers;
        std::array::from_fn(|k| {
            let Matrix { width, for_pairs, .. } = self.matrices[k];
            let (here, after) = rest.split_at(self.rows[usize::from(for_pairs)] * width);
            rest = after;
            &here[visit.first_row[usize::from(for_pairs)] * width..]
        })
    }
}

/// Computes the blocks of a run: of own parts, or of parts of another process with their rows.
pub(super) type Compute<'a, T> = &'a mut dyn FnMut(usize, &[Visit], Option<Received<'_, T>>) -> Result<()>;

/// Rows of consecutive parts travel in one message, if they are at most this many, or a third of the nodes of the
/// receiver. Fewer messages read the sums of its nodes less often.
const JOINED_ROWS: usize = 2048;
const JOINED_SHARE: usize = 3;

/// Memory of the rows that travel, kept from pass to pass.
#[derive(Debug)]
pub(super) struct Travel<T> {
    received: [Buffer<T>; 2],
    sent: Buffer<T>,
}

impl<T: Real> Default for Travel<T> {
    fn default() -> Self {
        Self { received: [Buffer::zeros(0), Buffer::zeros(0)], sent: Buffer::zeros(0) }
    }
}

/// Work of one process in one turn.
#[derive(Debug, Default)]
struct Turn<'n> {
    /// Run and parts that are computed.
    run: usize,
    parts: Vec<Visit>,
    /// Process that the rows come from, and their numbers.
    receive: Option<(usize, [usize; 2])>,
    /// Receivers and rows of the messages of this process: by part, for edges and for non-edges only.
    sends: Vec<(usize, Vec<[&'n [u32]; 2]>)>,
}

/// Rows that edges need, and further rows that sampled non-edges need.
#[derive(Debug, Clone, Copy)]
pub(super) struct AllNeeds<'n> {
    pub(super) edges: &'n Needs,
    pub(super) pairs: Option<&'n Needs>,
}

impl<'n> AllNeeds<'n> {
    /// Returns the rows that a run of this process receives of a part: for edges, and for both.
    fn receive(&self, run: usize, part: usize) -> [usize; 2] {
        let rows = |needs: &Needs| needs.receive.get(run).map_or(0, |rows| rows[part]);
        let edges = rows(self.edges);
        [edges, edges + self.pairs.map_or(0, rows)]
    }

    /// Returns the own rows that a run of a process needs of the k-th own part.
    fn send(&self, process: usize, run: usize, k: usize) -> [&'n [u32]; 2] {
        let rows = |needs: &'n Needs| &needs.send[process][run][k][..];
        [rows(self.edges), self.pairs.map_or(&[], rows)]
    }
}

/// A division of the work into turns that is the same in all processes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule<'a> {
    pub(super) partition: &'a Partition,
    pub(super) process: usize,
}

impl Schedule<'_> {
    fn slots(&self) -> usize {
        (0..self.partition.processes()).map(|process| self.partition.runs(process).len()).max().unwrap_or(0)
    }

    /// Returns the parts that run `slot` of a process visits, in this order.
    fn parts(&self, process: usize, slot: usize) -> impl Iterator<Item = usize> {
        let (run, parts) = (self.partition.runs(process).into_iter().nth(slot), self.partition.parts());
        run.into_iter().flat_map(move |run| (0..parts).map(move |s| (run.start + s) % parts))
    }

    /// Calls `found` for every message of process `from` to run `slot` of process `to`: the turn in which it is
    /// received, and its parts. `rows` returns the number of rows of a part. Both processes find the same messages.
    fn messages(
        &self,
        [from, to]: [usize; 2],
        slot: usize,
        rows: impl Fn(usize) -> usize,
        mut found: impl FnMut(usize, &[usize]),
    ) {
        let of_sender = self.partition.parts_of_process(from);
        let limit = JOINED_ROWS.max(self.partition.nodes_of_process(to).len() / JOINED_SHARE);
        let (mut first, mut joined, mut total) = (0, Vec::new(), 0);
        for (s, part) in self.parts(to, slot).enumerate() {
            let (is_sent, length) = (of_sender.contains(&part), if of_sender.contains(&part) { rows(part) } else { 0 });
            if !joined.is_empty() && (!is_sent || total + length > limit) {
                found(first, &joined);
                (joined, total) = (Vec::new(), 0);
            }
            if length > 0 {
                first = if joined.is_empty() { s } else { first };
                joined.push(part);
                total += length;
            }
        }
        if !joined.is_empty() {
            found(first, &joined);
        }
    }

    /// Returns what this process does, turn by turn.
    fn turns<'n>(&self, needs: AllNeeds<'n>) -> Vec<Turn<'n>> {
        let (count, own) = (self.partition.parts(), self.partition.parts_of_process(self.process));
        let others = || (0..self.partition.processes()).filter(|process| *process != self.process);
        let mut turns: Vec<Turn<'_>> = Vec::new();
        for slot in 0..self.slots() {
            let start = turns.len();
            turns.extend((0..count).map(|_| Turn { run: slot, ..Turn::default() }));
            let turns = &mut turns[start..];
            for (turn, part) in turns.iter_mut().zip(self.parts(self.process, slot)).filter(|(_, p)| own.contains(p)) {
                turn.parts.push(Visit { part, ..Visit::default() });
            }
            for process in others() {
                let rows = |part: usize| needs.receive(slot, part);
                self.messages(
                    [process, self.process],
                    slot,
                    |part| rows(part)[1],
                    |s, parts| {
                        let mut total = [0, 0];
                        for &part in parts {
                            turns[s].parts.push(Visit { part, first_row: total });
                            total = [0, 1].map(|k| total[k] + rows(part)[k]);
                        }
                        turns[s].receive = Some((process, total));
                    },
                );
                let lists = |part: usize| needs.send(process, slot, part - own.start);
                let length = |part: usize| lists(part).map(<[u32]>::len).iter().sum();
                self.messages([self.process, process], slot, length, |s, parts| {
                    turns[s].sends.push((process, parts.iter().map(|&part| lists(part)).collect()));
                });
            }
        }
        join(turns)
    }
}

/// Joins turns in which own parts are computed and nothing is sent, so that the rows of a run stay in the cache.
fn join(turns: Vec<Turn<'_>>) -> Vec<Turn<'_>> {
    let mut joined: Vec<Turn<'_>> = Vec::new();
    for turn in turns.into_iter().filter(|turn| !turn.parts.is_empty() || !turn.sends.is_empty()) {
        match joined.last_mut() {
            Some(last)
                if last.run == turn.run
                    && last.receive.is_none()
                    && turn.receive.is_none()
                    && turn.sends.is_empty() =>
            {
                last.parts.extend(turn.parts);
            }
            _ => joined.push(turn),
        }
    }
    joined
}

/// Calls `compute` for every run of this process and all parts in turn.
pub(super) fn for_each_block<T: Real + Pod>(
    peers: &dyn Peers,
    schedule: Schedule<'_>,
    needs: AllNeeds<'_>,
    matrices: &[Matrix<'_, T>],
    travel: &mut Travel<T>,
    compute: Compute<'_, T>,
) -> Result<()> {
    let turns = schedule.turns(needs);
    let numbers = |rows: [usize; 2]| {
        matrices.iter().map(|matrix| rows[usize::from(matrix.for_pairs)] * matrix.width).sum::<usize>()
    };
    let largest = turns.iter().filter_map(|turn| turn.receive).map(|(_, rows)| numbers(rows)).max().unwrap_or(0);
    for memory in &mut travel.received {
        if memory.len() < largest {
            *memory = Buffer::zeros(largest);
        }
    }
    let Travel { received: [here, next], sent } = travel;
    let (mut here, mut next) = (here, next);
    // The rows of turn k + 1 travel while turn k is computed.
    for k in 0..=turns.len() {
        let (now, after) = (k.checked_sub(1).map(|now| &turns[now]), turns.get(k));
        let messages = after.map_or(&[][..], |turn| &turn.sends);
        let ends = pack(messages, matrices, sent);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let outgoing: Vec<Outgoing<'_>> = messages
            .iter()
            .zip(starts.zip(&ends))
            .map(|((process, _), (start, &end))| (*process, bytemuck::cast_slice(&sent[start..end])))
            .collect();
        let mut incoming: Vec<Incoming<'_>> = Vec::new();
        if let Some((process, rows)) = after.and_then(|turn| turn.receive) {
            incoming.push((process, bytemuck::cast_slice_mut(&mut next[..numbers(rows)])));
        }
        let mut work = || match now {
            Some(Turn { run, parts, receive, .. }) if !parts.is_empty() => {
                let received = receive.map(|(_, rows)| Received { numbers: &here[..numbers(rows)], matrices, rows });
                compute(*run, parts, received)
            }
            _ => Ok(()),
        };
        if outgoing.is_empty() && incoming.is_empty() {
            work()?;
        } else {
            peers.exchange(&outgoing, &mut incoming, &mut work)?;
        }
        std::mem::swap(&mut here, &mut next);
    }
    Ok(())
}

/// Writes the rows of all messages to `sent`. Returns where each message ends.
fn pack<T: Real + Pod>(
    messages: &[(usize, Vec<[&[u32]; 2]>)],
    matrices: &[Matrix<'_, T>],
    sent: &mut Buffer<T>,
) -> Vec<usize> {
    // Lists of rows of a matrix in a message.
    let lists = |matrix: &Matrix<'_, T>| if matrix.for_pairs { 2 } else { 1 };
    let mut end = 0;
    let ends = messages.iter().map(|(_, parts)| {
        for matrix in matrices {
            end += parts
                .iter()
                .flat_map(|part| &part[..lists(matrix)])
                .map(|rows| rows.len() * matrix.width)
                .sum::<usize>();
        }
        end
    });
    let ends: Vec<usize> = ends.collect();
    let total = ends.last().copied().unwrap_or(0);
    if sent.len() < total {
        *sent = Buffer::zeros(total);
    }
    let mut rest = &mut sent[..];
    for (_, parts) in messages {
        for matrix in matrices {
            for rows in parts.iter().flat_map(|part| &part[..lists(matrix)]) {
                let (memory, after) = rest.split_at_mut(rows.len() * matrix.width);
                rest = after;
                let bytes = |numbers: usize| numbers * size_of::<T>();
                let from = bytemuck::cast_slice(matrix.rows);
                copy_rows(rows, from, bytes(matrix.stride), bytes(matrix.width), bytemuck::cast_slice_mut(memory));
            }
        }
    }
    ends
}

/// Copies the first `width` bytes of some rows of `stride` bytes.
fn copy_rows(rows: &[u32], from: &[u8], stride: usize, width: usize, to: &mut [u8]) {
    to.par_chunks_mut(width.max(1)).zip(rows).with_min_len(256).for_each(|(to, &row)| {
        to.copy_from_slice(&from[row as usize * stride..][..width]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::ThreadPeers;

    /// Nodes of a part that the edges of a run need: parts of many and of few rows.
    fn of_edges(partition: &Partition, process: usize, slot: usize, part: usize) -> Vec<u32> {
        let nodes = partition.nodes_of_part(part);
        nodes.step_by([2, 4, 50, 5000][(process + slot + part) % 4]).skip(usize::from(part == 2)).collect()
    }

    /// Further nodes that the non-edges of a run need.
    fn of_pairs(partition: &Partition, process: usize, slot: usize, part: usize) -> Vec<u32> {
        partition.nodes_of_part(part).skip(1).step_by(if slot == 1 { 900 } else { 2 }).skip(10 * process).collect()
    }

    #[test]
    fn every_run_gets_the_rows_that_it_needs_in_the_order_of_its_group() {
        for (groups, processes) in [(3, 3), (2, 3), (5, 2), (1, 4), (3, 1)] {
            let partition = Partition::even(9000, 9, groups, processes).unwrap();
            let visit_all = |process: usize, peers: &dyn Peers| {
                let schedule = Schedule { partition: &partition, process };
                let (own, first) = (partition.parts_of_process(process), partition.nodes_of_process(process).start);
                let needs = [of_edges, of_pairs].map(|nodes| Needs {
                    receive: (0..partition.runs(process).len())
                        .map(|slot| (0..9).map(|part| nodes(&partition, process, slot, part).len()).collect())
                        .collect(),
                    send: (0..processes)
                        .map(|to| {
                            let slots = 0..partition.runs(to).len();
                            let rows = |slot, part| nodes(&partition, to, slot, part);
                            let list = |slot, part| rows(slot, part).iter().map(|node| node - first).collect();
                            slots.map(|slot| own.clone().map(|part| list(slot, part)).collect()).collect()
                        })
                        .collect(),
                });
                let needs = AllNeeds { edges: &needs[0], pairs: Some(&needs[1]) };
                let values: Vec<f64> = partition.nodes_of_process(process).map(f64::from).collect();
                let twice: Vec<f64> = values.iter().flat_map(|x| [-x, 0.5]).collect();
                let matrices = [Matrix::new(&values, 1), Matrix { rows: &twice, stride: 2, width: 1, for_pairs: true }];
                let mut visited = vec![Vec::new(); partition.runs(process).len()];
                for_each_block(peers, schedule, needs, &matrices, &mut Travel::default(), &mut |run, parts, got| {
                    for &visit in parts {
                        visited[run].push(visit.part);
                        let Some(got) = got else {
                            assert!(own.contains(&visit.part));
                            continue;
                        };
                        let rows = of_edges(&partition, process, run, visit.part);
                        let [plus, minus] = got.from(visit);
                        assert!(plus.iter().zip(&rows).all(|(got, node)| *got == f64::from(*node)));
                        let all = rows.into_iter().chain(of_pairs(&partition, process, run, visit.part));
                        assert!(minus.iter().zip(all).all(|(got, node)| *got == -f64::from(node)));
                    }
                    Ok(())
                })
                .unwrap();
                for (visited, run) in visited.iter().zip(partition.runs(process)) {
                    let expected: Vec<usize> = (0..9).map(|s| (run.start + s) % 9).collect();
                    assert_eq!(*visited, expected, "{groups} groups, process {process} of {processes}");
                }
            };
            std::thread::scope(|scope| {
                for (process, peers) in ThreadPeers::new(processes).into_iter().enumerate() {
                    let visit_all = &visit_all;
                    scope.spawn(move || visit_all(process, &peers));
                }
            });
        }
    }
}
