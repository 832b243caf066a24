//! Processes that train one network together, and how they exchange messages.
//!
//! [`Peers`] is the only thing that training needs of a network of machines: numbered processes, and an
//! exchange of messages whose lengths both sides know. Sums and gathered lists are made of exchanges
//! ([`TreeSum`], [`all_to_all`], [`gather`]), so their bits do not depend on the transport.

mod agree;
mod counted;
mod sum;

pub use agree::agree;
pub(crate) use counted::Counted;
pub use sum::TreeSum;

use bytemuck::Pod;
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use supergat_core::{Error, Result};

/// A message to send: the number of the receiver, and its bytes.
pub type Outgoing<'a> = (usize, &'a [u8]);
/// A message to receive: the number of the sender, and memory of the length of the message.
pub type Incoming<'a> = (usize, &'a mut [u8]);

/// Processes that work together. All of them call the same methods in the same order.
pub trait Peers: Debug + Send + Sync + 'static {
    /// Returns the number of this process, from 0.
    fn rank(&self) -> usize;
    /// Returns the number of processes.
    fn count(&self) -> usize;
    /// Sends and receives messages, and calls `meanwhile` while they travel. Messages from one process to
    /// another arrive in the order in which they were sent. No process sends to itself. Empty messages are
    /// neither sent nor received.
    fn exchange(
        &self,
        outgoing: &[Outgoing<'_>],
        incoming: &mut [Incoming<'_>],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()>;
}

/// A process without peers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Peers for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        1
    }

    fn exchange(
        &self,
        _: &[Outgoing<'_>],
        _: &mut [Incoming<'_>],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        meanwhile()
    }
}

/// Threads of one process that act as peers, for tests.
///
/// ```
/// use supergat_cluster::peers::{Peers, ThreadPeers, gather};
/// let lists = std::thread::scope(|scope| {
///     let run = |peer: ThreadPeers| scope.spawn(move || gather(&peer, &[peer.rank() as u64]).unwrap());
///     let threads: Vec<_> = ThreadPeers::new(3).into_iter().map(run).collect();
///     threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
/// });
/// assert_eq!(lists, vec![vec![vec![0], vec![1], vec![2]]; 3]);
/// ```
#[derive(Debug)]
pub struct ThreadPeers {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl ThreadPeers {
    /// Creates a number of peers; each is moved to its own thread.
    pub fn new(count: usize) -> Vec<Self> {
        let (mut to, mut from): (Vec<Vec<_>>, Vec<Vec<_>>) = Default::default();
        to.resize_with(count, Vec::new);
        from.resize_with(count, Vec::new);
        for to in &mut to {
            for receiver in &mut from {
                let (start, end) = channel();
                to.push(start);
                receiver.push(Mutex::new(end));
            }
        }
        to.into_iter().zip(from).enumerate().map(|(rank, (to, from))| Self { rank, to, from }).collect()
    }
}

impl Peers for ThreadPeers {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.to.len()
    }

    fn exchange(
        &self,
        outgoing: &[Outgoing<'_>],
        incoming: &mut [Incoming<'_>],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let lost = |peer: usize| Error::Peers { reason: format!("process {peer} has ended") };
        for (to, message) in outgoing.iter().filter(|(_, message)| !message.is_empty()) {
            self.to[*to].send(message.to_vec()).map_err(|_| lost(*to))?;
        }
        meanwhile()?;
        for (from, memory) in incoming.iter_mut().filter(|(_, memory)| !memory.is_empty()) {
            let receiver = self.from[*from].lock().map_err(|_| lost(*from))?;
            let message = receiver.recv().map_err(|_| lost(*from))?;
            if message.len() != memory.len() {
                let reason = format!("{} bytes expected of process {from}, {} received", memory.len(), message.len());
                return Err(Error::Peers { reason });
            }
            memory.copy_from_slice(&message);
        }
        Ok(())
    }
}

pub(crate) fn no_work() -> Result<()> {
    Ok(())
}

/// Sends a list to every process and returns the lists that were sent to this one, in the order of the processes.
pub fn all_to_all<T: Pod>(peers: &dyn Peers, lists: &[Vec<T>]) -> Result<Vec<Vec<T>>> {
    let rank = peers.rank();
    let send: Vec<u64> = lists.iter().map(|list| list.len() as u64).collect();
    let mut lengths = send.clone();
    exchange_all(peers, |peer| bytemuck::bytes_of(&send[peer]), lengths.iter_mut().map(bytemuck::bytes_of_mut))?;
    let mut received: Vec<Vec<T>> = lengths.iter().map(|&length| vec![T::zeroed(); length as usize]).collect();
    received[rank].copy_from_slice(&lists[rank]);
    let memory = received.iter_mut().map(|list| bytemuck::cast_slice_mut(&mut list[..]));
    exchange_all(peers, |peer| bytemuck::cast_slice(&lists[peer]), memory)?;
    Ok(received)
}

/// Divides a list into consecutive lists of these lengths.
pub(crate) fn divided<T>(mut list: &mut [T], lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = &mut [T]> {
    lengths.map(move |length| list.split_off_mut(..length).expect("a list of the total length"))
}

/// Exchanges a message with every other process. `memory` has the memory of the messages of all processes.
pub(crate) fn exchange_all<'a>(
    peers: &dyn Peers,
    message: impl Fn(usize) -> &'a [u8],
    memory: impl Iterator<Item = &'a mut [u8]>,
) -> Result<()> {
    let others = || (0..peers.count()).filter(|peer| *peer != peers.rank());
    let outgoing: Vec<Outgoing<'_>> = others().map(|peer| (peer, message(peer))).collect();
    let mut incoming: Vec<Incoming<'_>> = memory.enumerate().filter(|(peer, _)| *peer != peers.rank()).collect();
    peers.exchange(&outgoing, &mut incoming, &mut no_work)
}

/// Returns the lists of all processes, in the order of the processes.
pub fn gather<T: Pod>(peers: &dyn Peers, own: &[T]) -> Result<Vec<Vec<T>>> {
    all_to_all(peers, &vec![own.to_vec(); peers.count()])
}

/// Returns the values of all processes, in the order of the processes.
pub fn gather_one<T: Pod>(peers: &dyn Peers, own: T) -> Result<Vec<T>> {
    let mut all = vec![own; peers.count()];
    let message = [own];
    exchange_all(peers, |_| bytemuck::cast_slice(&message), all.iter_mut().map(bytemuck::bytes_of_mut))?;
    Ok(all)
}

/// Returns the sum of the numbers of all processes.
pub(crate) fn sum_one(peers: &dyn Peers, own: u64) -> Result<u64> {
    if peers.count() == 1 { Ok(own) } else { Ok(gather_one(peers, own)?.iter().sum()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `work` on every one of `count` peers and returns the results in their order.
    pub(super) fn on_all<R: Send>(count: usize, work: impl Fn(&ThreadPeers) -> R + Sync) -> Vec<R> {
        std::thread::scope(|scope| {
            let run = |peer| {
                scope.spawn({
                    let work = &work;
                    move || work(&peer)
                })
            };
            let threads: Vec<_> = ThreadPeers::new(count).into_iter().map(run).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn gathers_lists_of_any_length() {
        let lists = on_all(3, |peer| gather(peer, &vec![peer.rank() as u32; peer.rank()]).unwrap());
        assert_eq!(lists, vec![vec![vec![], vec![1], vec![2, 2]]; 3]);
        assert_eq!(on_all(3, |peer| gather_one(peer, peer.rank() as u16).unwrap()), vec![vec![0, 1, 2]; 3]);
        assert_eq!(on_all(3, |peer| sum_one(peer, 5 + peer.rank() as u64).unwrap()), [18; 3]);
        assert_eq!(sum_one(&Alone, 7).unwrap(), 7);
    }

    #[test]
    fn all_to_all_transposes_lists() {
        let lists =
            on_all(3, |peer| all_to_all(peer, &[0, 1, 2].map(|to| vec![(10 * peer.rank() + to) as u16; to])).unwrap());
        assert_eq!(lists[2], [vec![2, 2], vec![12, 12], vec![22, 22]]);
        assert_eq!((&lists[0], &lists[1][0]), (&vec![vec![]; 3], &vec![1]));
    }

    #[test]
    fn a_peer_that_ended_is_an_error() {
        let mut peers = ThreadPeers::new(2);
        drop(peers.pop());
        let error = gather(&peers[0], &[1u8]).unwrap_err();
        assert_eq!(error.to_string(), "training with several processes failed: process 1 has ended");
    }
}
