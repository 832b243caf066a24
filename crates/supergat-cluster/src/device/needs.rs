//! Rows that processes need of each other.

use super::share::Edges;
use crate::peers::{Peers, all_to_all};
use supergat_core::Result;

/// Rows that processes need of each other, by run and part.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Number of rows that each run of this process needs of each part of another process.
    pub(super) receive: Vec<Vec<usize>>,
    /// Own rows that the runs of each process need: `send[process][run][part - first own part]`.
    pub(super) send: Vec<Vec<Vec<Vec<u32>>>>,
}

impl Needs {
    /// Tells other processes which nodes are needed: `halos[run][part]` are nodes of the whole graph in ascending
    /// order, none of this process.
    pub(super) fn exchange(edges: &Edges, peers: &dyn Peers, halos: &[Vec<Vec<u32>>]) -> Result<Self> {
        if peers.count() == 1 {
            return Ok(Self::default());
        }
        let (own, partition) = (edges.global(), &edges.partition);
        // A message has, for each run and part, the number of nodes and the nodes.
        let message = |process: usize| -> Vec<u32> {
            let parts = || partition.parts_of_process(process);
            let lists = halos.iter().flat_map(|halo| parts().map(|part| &halo[part]));
            lists.flat_map(|list| std::iter::once(list.len() as u32).chain(list.iter().copied())).collect()
        };
        let messages: Vec<Vec<u32>> = (0..peers.count())
            .map(|process| if process == edges.process { Vec::new() } else { message(process) })
            .collect();
        let own_parts = partition.parts_of_process(edges.process).len();
        let asked = all_to_all(peers, &messages)?;
        let mut send = Vec::new();
        for (process, mut message) in asked.iter().map(Vec::as_slice).enumerate() {
            let mut take = || -> Vec<u32> {
                let Some((&length, rest)) = message.split_first() else { return Vec::new() };
                let (list, rest) = rest.split_at(length as usize);
                message = rest;
                list.iter().map(|node| node - own.start).collect()
            };
            let runs = partition.runs(process).len();
            send.push((0..runs).map(|_| (0..own_parts).map(|_| take()).collect()).collect());
        }
        let receive = halos.iter().map(|halo| halo.iter().map(Vec::len).collect()).collect();
        Ok(Self { receive, send })
    }
}
