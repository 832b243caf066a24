//! Exchanges that succeed, and errors after which the processes can continue.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::time::{Duration, Instant};
use supergat_cluster::mpi::MpiPeers;
use supergat_cluster::peers::{Alone, Incoming, Outgoing, Peers, TreeSum, agree, gather};
use supergat_core::{Error, Result};

/// Empty, small, around the limits from which on MPI no longer buffers a message, and of several pieces.
const LENGTHS: [usize; 7] = [0, 1, 13, 4096, 70_001, 4 << 20, (9 << 20) + 5];

fn nothing() -> Result<()> {
    Ok(())
}

/// Returns the message from one process to another: a pattern whose length divides that of no piece.
fn message(from: usize, to: usize, length: usize) -> Vec<u8> {
    let pattern: Vec<u8> = (0..4099).map(|k| (k * 31 + from * 7 + to * 3 + k / 251) as u8).collect();
    let mut message = pattern.repeat(length.div_ceil(pattern.len()));
    message.truncate(length);
    message
}

fn failed(error: Result<()>) -> String {
    error.unwrap_err().to_string().trim_start_matches("training with several processes failed: ").to_owned()
}

pub fn everything() -> Result<()> {
    // One process started by mpirun is not connected by MPI unless it is asked for.
    let peers = MpiPeers::connect()?;
    let peers = &*peers;
    assert!(peers.rank() < peers.count());
    let others: Vec<usize> = (0..peers.count()).filter(|peer| *peer != peers.rank()).collect();
    every_pair(peers, &others)?;
    messages_keep_their_order(peers)?;
    sums_have_the_same_bits(peers)?;
    lists_are_gathered(peers)?;
    processes_agree(peers)?;
    invalid_exchanges(peers, &others);
    if peers.count() > 1 {
        messages_travel_meanwhile(peers)?;
        a_failure_meanwhile_leaves_peers_usable(peers, &others)?;
        messages_of_another_length(peers)?;
    }
    every_pair(peers, &others)?;
    supergat_cluster::mpi::finish()?;
    assert_eq!(supergat_cluster::mpi::finish(), Ok(()));
    if let Some(&peer) = others.first() {
        assert_eq!(failed(peers.exchange(&[(peer, &[1])], &mut [], &mut nothing)), "a message after the end of MPI");
    }
    println!("all checks passed");
    Ok(())
}

/// Exchanges messages with all others, whose lengths depend on both processes.
fn every_pair(peers: &dyn Peers, others: &[usize]) -> Result<()> {
    let (rank, count) = (peers.rank(), peers.count());
    for round in 0..LENGTHS.len() {
        let length = |from: usize, to: usize| LENGTHS[(from * count + to + round) % LENGTHS.len()];
        let sent: Vec<Vec<u8>> = others.iter().map(|&to| message(rank, to, length(rank, to))).collect();
        let mut received: Vec<Vec<u8>> = others.iter().map(|&from| vec![0; length(from, rank)]).collect();
        let outgoing: Vec<Outgoing<'_>> = others.iter().copied().zip(sent.iter().map(|bytes| &**bytes)).collect();
        let memory = received.iter_mut().map(|bytes| &mut **bytes);
        let mut incoming: Vec<Incoming<'_>> = others.iter().copied().zip(memory).collect();
        let mut calls = 0;
        peers.exchange(&outgoing, &mut incoming, &mut || {
            calls += 1;
            Ok(())
        })?;
        assert_eq!(calls, 1);
        for (&from, received) in others.iter().zip(&received) {
            assert!(*received == message(from, rank, length(from, rank)), "from {from} to {rank}, round {round}");
        }
    }
    Ok(())
}

/// Sends many messages of a few lengths to the next process, in one exchange and in several.
fn messages_keep_their_order(peers: &dyn Peers) -> Result<()> {
    let (rank, count) = (peers.rank(), peers.count());
    if count == 1 {
        return Ok(());
    }
    let (next, previous) = ((rank + 1) % count, (rank + count - 1) % count);
    // Long messages are not overtaken by short ones.
    let length = |k: usize| [100_000, 4, 0, 5000][k % 4];
    let sent: Vec<Vec<u8>> = (0..60).map(|k| vec![k as u8; length(k)]).collect();
    let mut received: Vec<Vec<u8>> = (0..60).map(|k| vec![255; length(k)]).collect();
    for (sent, received) in sent.chunks(20).zip(received.chunks_mut(20)) {
        let outgoing: Vec<Outgoing<'_>> = sent.iter().map(|bytes| (next, &**bytes)).collect();
        let mut incoming: Vec<Incoming<'_>> = received.iter_mut().map(|bytes| (previous, &mut **bytes)).collect();
        peers.exchange(&outgoing, &mut incoming, &mut nothing)?;
    }
    assert!(sent == received);
    Ok(())
}

fn sums_have_the_same_bits(peers: &dyn Peers) -> Result<()> {
    let lists: Vec<[f32; 3]> = (0..29).map(|k| [0.1 * k as f32, 1e8 / (k + 1) as f32, -1.0 / (k + 3) as f32]).collect();
    let sum = |peers: &dyn Peers| -> Result<[u32; 3]> {
        let own = |rank: usize| lists.len() * rank / peers.count()..lists.len() * (rank + 1) / peers.count();
        let mut sum = [9.0; 3];
        let mut lists = lists[own(peers.rank())].to_vec();
        TreeSum::new(peers, own).add(peers, lists.as_flattened_mut(), &mut sum)?;
        Ok(sum.map(f32::to_bits))
    };
    let expected = sum(&Alone)?;
    for _ in 0..20 {
        assert_eq!(sum(peers)?, expected);
    }
    Ok(())
}

fn lists_are_gathered(peers: &dyn Peers) -> Result<()> {
    let list = |rank: usize| vec![rank as u64; rank * 1000];
    let expected: Vec<Vec<u64>> = (0..peers.count()).map(list).collect();
    assert!(gather(peers, &list(peers.rank()))? == expected);
    Ok(())
}

fn processes_agree(peers: &dyn Peers) -> Result<()> {
    agree(peers, &[("version", "1".to_owned()), ("seed", "7".to_owned())])?;
    if peers.count() > 2 {
        let file = if peers.rank() == 2 { "b" } else { "a" };
        let error = failed(agree(peers, &[("version", "1".to_owned()), ("dataset file", file.to_owned())]));
        assert_eq!(error, "process 2 has another dataset file than the other processes: `b` instead of `a`");
    }
    Ok(())
}

fn invalid_exchanges(peers: &dyn Peers, others: &[usize]) {
    let (rank, count) = (peers.rank(), peers.count());
    for peer in [rank, count] {
        let expected = format!("process {rank} of {count} has a message for process {peer}");
        assert_eq!(failed(peers.exchange(&[(peer, &[1])], &mut [], &mut nothing)), expected);
        assert_eq!(failed(peers.exchange(&[], &mut [(peer, &mut [1])], &mut nothing)), expected);
    }
    let Some(&other) = others.first() else { return };
    // No process waits for a message of the inner exchange, which is refused.
    let ring = ((rank + 1) % count, (rank + count - 1) % count);
    let mut inner = String::new();
    let outer = peers.exchange(&[(ring.0, &[1])], &mut [(ring.1, &mut [0])], &mut || {
        inner = failed(peers.exchange(&[(other, &[1])], &mut [], &mut nothing));
        Ok(())
    });
    assert_eq!((outer, inner.as_str()), (Ok(()), "two exchanges at the same time"));
}

/// Process 0 computes until process 1 has received its message: the message travels while process 0 computes.
fn messages_travel_meanwhile(peers: &dyn Peers) -> Result<()> {
    let mark = std::env::temp_dir().join(format!("supergat-mpi-{}", std::os::unix::process::parent_id()));
    let mut memory = vec![0; 20 << 20];
    match peers.rank() {
        0 => {
            let sent = message(0, 1, memory.len());
            let start = Instant::now();
            peers.exchange(&[(1, &sent)], &mut [], &mut || {
                while !mark.exists() {
                    assert!(start.elapsed() < Duration::from_secs(600), "the message does not travel");
                    std::thread::yield_now();
                }
                Ok(())
            })?;
            std::fs::remove_file(&mark).unwrap();
        }
        1 => {
            peers.exchange(&[], &mut [(0, &mut memory)], &mut nothing)?;
            assert!(memory == message(0, 1, memory.len()));
            std::fs::write(&mark, "").unwrap();
        }
        _ => {}
    }
    Ok(())
}

fn a_failure_meanwhile_leaves_peers_usable(peers: &dyn Peers, others: &[usize]) -> Result<()> {
    let sent = message(peers.rank(), 0, 300_000);
    for panics in [false, true] {
        let mut received = vec![vec![0; sent.len()]; others.len()];
        let outgoing: Vec<Outgoing<'_>> = others.iter().map(|&to| (to, &*sent)).collect();
        let memory = received.iter_mut().map(|bytes| &mut **bytes);
        let mut incoming: Vec<Incoming<'_>> = others.iter().copied().zip(memory).collect();
        let error = Error::Diverged { epoch: 3, loss: 1.0, has_edge_loss: true };
        // Without the hook of the crate, which would end all processes.
        let hook = take_hook();
        set_hook(Box::new(|_| {}));
        let result = catch_unwind(AssertUnwindSafe(|| {
            peers.exchange(&outgoing, &mut incoming, &mut || if panics { panic!() } else { Err(error.clone()) })
        }));
        set_hook(hook);
        assert_eq!((panics, result.ok()), (panics, (!panics).then_some(Err(error))));
        // All messages have arrived before.
        for (&from, received) in others.iter().zip(&received) {
            assert!(*received == message(from, 0, sent.len()), "from {from}");
        }
    }
    Ok(())
}

/// Process 1 sends a byte less than process 0 expects, and then a byte more.
fn messages_of_another_length(peers: &dyn Peers) -> Result<()> {
    for length in [100, 100_000] {
        for (than, sent) in [("shorter", length - 1), ("longer", length + 1)] {
            match peers.rank() {
                0 => {
                    let error = failed(peers.exchange(&[], &mut [(1, &mut vec![0; length])], &mut nothing));
                    assert_eq!(error, format!("process 1 sent a {than} message than the {length} bytes expected"));
                }
                1 => peers.exchange(&[(0, &vec![1; sent])], &mut [], &mut nothing)?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Exchanges messages whose length is no `i32`.
pub fn large_message() -> Result<()> {
    let peers = supergat_cluster::mpi::connect()?;
    let length = (2 << 30) + 4097;
    let other = 1 - peers.rank();
    let (sent, mut received) = (message(peers.rank(), other, length), vec![0; length]);
    peers.exchange(&[(other, &sent)], &mut [(other, &mut received)], &mut nothing)?;
    assert!(received == message(other, peers.rank(), length));
    println!("all checks passed");
    supergat_cluster::mpi::finish()
}
