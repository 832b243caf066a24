//! Edges of a process by part of the neighbour, and the rows of other processes that they need.

use super::ghosts::Ghosts;
use super::needs::Needs;
use super::partition::Run;
use super::share::Edges;
use super::travel::Visit;
use crate::peers::{Peers, all_to_all};
use std::collections::HashMap;
use std::ops::Range;
use supergat_core::Result;
use supergat_core::graph::{BlockRows, Neighbours};
use supergat_cpu::kernels::Parts;

/// Lists of neighbours in one part, of the rows that have any.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) rows: Vec<u32>,
    pub(super) offsets: Vec<u64>,
    /// Rows of the neighbours: own rows, or rows among those that are fetched.
    pub(super) nodes: Vec<u32>,
    /// Position of the first edge of each list; none for lists of sampled non-edges.
    edges: Vec<u64>,
}

impl Lists {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.offsets.clear();
        self.nodes.clear();
        self.edges.clear();
    }

    /// Appends a neighbour to the list of `row`, which is the last row or a later one. `edge` is the position of the
    /// edge; edges of a list have consecutive positions.
    pub(super) fn push_edge(&mut self, row: u32, node: u32, edge: u64) {
        if self.rows.last() != Some(&row) {
            self.edges.push(edge);
        }
        self.push(row, node);
    }

    /// Appends a node to the list of `row`, which is the last row or a later one.
    pub(super) fn push(&mut self, row: u32, node: u32) {
        if self.rows.last() != Some(&row) {
            if self.offsets.is_empty() {
                self.offsets.push(0);
            }
            self.rows.push(row);
            self.offsets.push(self.nodes.len() as u64);
        }
        self.nodes.push(node);
        *self.offsets.last_mut().expect("pushed above") = self.nodes.len() as u64;
    }

    /// Returns the position of every edge.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> {
        let of_list = |list: usize| {
            let length = (self.offsets[list + 1] - self.offsets[list]) as usize;
            let first = self.edges[list] as usize;
            first..first + length
        };
        (0..self.rows.len()).flat_map(of_list)
    }

    pub(super) fn view(&self) -> Neighbours<'_> {
        let block = BlockRows { rows: &self.rows, edges: &self.edges };
        Neighbours { offsets: &self.offsets, nodes: &self.nodes, block: Some(block) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Edges between some rows and the neighbours in one part.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) incoming: Lists,
    /// Outgoing edges; on a symmetric graph, none: they are the incoming edges.
    pub(super) outgoing: Lists,
    /// Position of the outgoing edge to each neighbour.
    pub(super) positions: Vec<u32>,
}

/// Rows of one process whose neighbours are visited together.
#[derive(Debug)]
pub(super) struct RunBlocks {
    pub(super) rows: Range<usize>,
    /// Division of the rows among threads.
    pub(super) parts: Parts,
    /// Number of the first of these parts among those of all rows.
    pub(super) first_part: usize,
    /// Edges by part of the neighbours.
    pub(super) blocks: Vec<Block>,
    /// All parts, in the order in which they are visited.
    pub(super) visits: Vec<Visit>,
    /// Nodes of other processes among the neighbours, by part and in ascending order.
    pub(super) halo: Vec<Vec<u32>>,
}

/// All edges of a process.
#[derive(Debug)]
pub(super) struct Blocks {
    pub(super) runs: Vec<RunBlocks>,
    pub(super) needs: Needs,
    /// Edges from own nodes to nodes of other processes.
    pub(super) ghosts: Ghosts,
}

impl Blocks {
    /// Sorts the edges of a share by part, and tells other processes which rows are needed. `parts` divides all rows
    /// among threads.
    pub(super) fn new(edges: &Edges, peers: &dyn Peers, parts: &[Parts]) -> Result<Self> {
        let (own, partition) = (edges.global(), &edges.partition);
        let own_parts = partition.parts_of_process(edges.process);
        // Rows of other processes by run and part, in ascending order.
        let mut halos = vec![];
        let mut runs = vec![];
        let symmetric = edges.outgoing.is_none();
        for run in partition.runs(edges.process) {
            let range = edges.rows_of_parts(run.parts.clone());
            let mut halo: Vec<Vec<u32>> = vec![Vec::new(); partition.parts()];
            for lists in std::iter::once(&edges.incoming).chain(&edges.outgoing) {
                let edges = lists.offsets[range.start] as usize..lists.offsets[range.end] as usize;
                for &node in lists.neighbours[edges].iter().filter(|node| !own.contains(node)) {
                    halo[partition.part_of(node)].push(node);
                }
            }
            for list in &mut halo {
                list.sort_unstable();
                list.dedup();
            }
            runs.push((run, range));
            halos.push(halo);
        }
        let needs = Needs::exchange(edges, peers, &halos)?;
        let first_edges = first_edges_of(edges, peers, &halos)?;

        let mut ghosts = Vec::new();
        let mut places = edges.places_of_outgoing();
        let mut built = Vec::new();
        for ((Run { parts: run_parts, start }, range), halo) in runs.into_iter().zip(halos) {
            let mut blocks: Vec<Block> = (0..partition.parts()).map(|_| Block::default()).collect();
            // Row of a neighbour in memory: own, or among the rows that are fetched of a part.
            let place = |part: usize, node: u32| match own.contains(&node) {
                true => node - own.start,
                false => halo[part].binary_search(&node).expect("all neighbours are in the halo") as u32,
            };
            for row in range.clone() {
                for at in edges.incoming.range(row) {
                    let node = edges.incoming.neighbours[at];
                    let part = partition.part_of(node);
                    blocks[part].incoming.push_edge(row as u32, place(part, node), at as u64);
                }
                let outgoing = edges.outgoing();
                for at in outgoing.range(row) {
                    let node = outgoing.neighbours[at];
                    let part = partition.part_of(node);
                    let block = &mut blocks[part];
                    if !symmetric {
                        block.outgoing.push(row as u32, place(part, node));
                    }
                    if !own.contains(&node) {
                        ghosts.push(first_edges[&node] + u64::from(edges.place_at_target[at]));
                    }
                    let position = places.next().expect("all outgoing edges have a place");
                    block.positions.push(u32::try_from(position).map_err(|_| too_many_edges())?);
                }
            }
            let before = run_parts.start - own_parts.start;
            let first_part = parts[..before].iter().map(Parts::len).sum();
            let parts = Parts::joined(parts[before..before + run_parts.len()].iter().cloned());
            let visit = |s: usize| Visit { part: (start + s) % partition.parts(), ..Visit::default() };
            let visits = (0..partition.parts()).map(visit).collect();
            built.push(RunBlocks { rows: range, parts, first_part, blocks, visits, halo });
        }
        drop(places);
        Ok(Self { runs: built, needs, ghosts: Ghosts::new(edges, peers, ghosts)? })
    }
}

fn too_many_edges() -> supergat_core::Error {
    supergat_core::Error::Peers { reason: "a process has more than 2^32 edges: start more processes".into() }
}

/// Returns the position of the first incoming edge of every node of the halos.
fn first_edges_of(edges: &Edges, peers: &dyn Peers, halos: &[Vec<Vec<u32>>]) -> Result<HashMap<u32, u64>> {
    let own = edges.global();
    let mut asked: Vec<Vec<u32>> = vec![Vec::new(); peers.count()];
    for halo in halos {
        for (part, list) in halo.iter().enumerate() {
            asked[edges.partition.process_of_part(part)].extend(list);
        }
    }
    let questions = all_to_all(peers, &asked)?;
    let answer = |node: &u32| edges.first_edge + edges.incoming.offsets[(node - own.start) as usize];
    let answers: Vec<Vec<u64>> = questions.iter().map(|list| list.iter().map(answer).collect()).collect();
    let answered = all_to_all(peers, &answers)?;
    Ok(asked.iter().flatten().copied().zip(answered.into_iter().flatten()).collect())
}
