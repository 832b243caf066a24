//! Values of edges from own nodes to nodes of other processes. The process of an edge's target has them.

use super::share::Edges;
use crate::peers::{Peers, all_to_all, divided, exchange_all, gather_one};
use bytemuck::Pod;
use std::sync::Mutex;
use supergat_core::Result;

/// Which values of edges travel between processes.
#[derive(Debug)]
pub(super) struct Ghosts {
    /// Position in lists of edges of the first edge to a node of another process.
    first: usize,
    /// Position in the whole graph of each of these edges.
    pub(super) positions: Vec<u64>,
    /// Own edges whose values each process needs, in its order.
    send: Vec<Vec<u32>>,
    /// Edges whose values come from each process, counted from the first one.
    receive: Vec<Vec<u32>>,
    messages: Mutex<Messages>,
}

/// Memory of messages, kept from pass to pass.
#[derive(Debug, Default)]
struct Messages {
    sent: Vec<u8>,
    received: Vec<u8>,
}

impl Ghosts {
    /// Tells other processes which values are needed: those of the edges at `positions` in the whole graph.
    pub(super) fn new(edges: &Edges, peers: &dyn Peers, positions: Vec<u64>) -> Result<Self> {
        let first_edges = gather_one(peers, edges.first_edge)?;
        let mut asked: Vec<Vec<u64>> = vec![Vec::new(); peers.count()];
        let mut receive: Vec<Vec<u32>> = vec![Vec::new(); peers.count()];
        for (ghost, &position) in (0..).zip(&positions) {
            let process = first_edges.partition_point(|first| *first <= position) - 1;
            asked[process].push(position);
            receive[process].push(ghost);
        }
        let own = |position: &u64| (position - edges.first_edge) as u32;
        let send = all_to_all(peers, &asked)?.iter().map(|list| list.iter().map(own).collect()).collect();
        Ok(Self { first: edges.first_ghost(), positions, send, receive, messages: Mutex::default() })
    }

    /// Returns the length of lists with a value per edge: own edges, padding and edges to other processes.
    pub(super) fn places(&self) -> usize {
        self.first + self.positions.len()
    }

    /// Writes the values of edges to nodes of other processes after those of own edges. An edge has `width` values.
    pub(super) fn complete<V: Pod>(&self, peers: &dyn Peers, width: usize, values: &mut [V]) -> Result<()> {
        if peers.count() == 1 {
            // Several trainings may run at once.
            return Ok(());
        }
        let bytes = width * size_of::<V>();
        let (own, others) = bytemuck::cast_slice_mut::<V, u8>(values).split_at_mut(self.first * bytes);
        let mut messages = self.messages.lock().expect("no thread panicked");
        let Messages { sent, received } = &mut *messages;
        sent.clear();
        for &edge in self.send.iter().flatten() {
            sent.extend_from_slice(&own[edge as usize * bytes..][..bytes]);
        }
        received.resize(self.positions.len() * bytes, 0);
        let messages: Vec<&[u8]> =
            divided(sent, self.send.iter().map(|edges| edges.len() * bytes)).map(|m| &*m).collect();
        let memory = divided(received, self.receive.iter().map(|ghosts| ghosts.len() * bytes));
        exchange_all(peers, |process| messages[process], memory)?;
        for (from, &ghost) in received.chunks_exact(bytes.max(1)).zip(self.receive.iter().flatten()) {
            others[ghost as usize * bytes..][..bytes].copy_from_slice(from);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::partition::Partition;
    use super::super::share::Share;
    use super::*;
    use crate::peers::ThreadPeers;
    use std::sync::Arc;
    use supergat_core::{Direction, Example, Features, Graph, Labels};

    #[test]
    fn values_come_from_the_process_of_the_target() {
        let links: Vec<(u32, u32)> = (0..60).map(|k| (k * 7 % 20, k * 11 % 19)).collect();
        let graph = Graph::from_edges(20, &links, Direction::Directed).unwrap();
        let features = Features::dense(20, 1, vec![0.0f32; 20]).unwrap();
        let labels = Labels::Single { classes: 1, of: vec![0; 20] };
        let example = Example::new(graph, features, labels, [vec![0], vec![], vec![]]).unwrap();
        for processes in [1, 3] {
            let partition = Arc::new(Partition::even(20, 4, 1, processes).unwrap());
            std::thread::scope(|scope| {
                for (process, peers) in ThreadPeers::new(processes).into_iter().enumerate() {
                    let (example, partition) = (&example, &partition);
                    scope.spawn(move || {
                        let share = Share::of(example, partition, process).unwrap();
                        let (edges, graph) = (share.edges(), &example.graph);
                        let own = edges.global();
                        let leaving = own.clone().flat_map(|source| {
                            let targets = graph.outgoing().of(source as usize).iter();
                            let others = targets.filter(|target| !own.contains(target));
                            others.map(move |&target| graph.position(source, target).unwrap() as u64)
                        });
                        let ghosts = Ghosts::new(edges, &peers, leaving.collect()).unwrap();
                        let mut values = vec![[0u32; 2]; ghosts.places()];
                        for (k, value) in values.iter_mut().take(edges.incoming.neighbours.len()).enumerate() {
                            *value = [edges.first_edge as u32 + k as u32, 7];
                        }
                        ghosts.complete(&peers, 1, &mut values).unwrap();
                        let expected = ghosts.positions.iter().map(|position| [*position as u32, 7]);
                        assert!(values[edges.first_ghost()..].iter().copied().eq(expected));
                        assert_eq!(ghosts.positions.is_empty(), processes == 1);
                    });
                }
            });
        }
    }
}
