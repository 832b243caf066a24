//! Rounds of messages between the first process and all others.
//!
//! [`Peers`] exchange messages of known lengths in an order that all processes know. So messages of any time wait for
//! the next round, in which the first process exchanges one message with every other one. It also says how long all of
//! them sleep until the following round: the longer nothing happens, the longer.

use std::time::Duration;
use supergat_cluster::peers::{Incoming, Outgoing, Peers};
use supergat_core::Result;

/// Shortest and longest time between two rounds.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// Returns the time until the next round, if the last training began or ended so long ago: a sixteenth of it, so
/// trainings of any length wait a few percent of their time.
pub(crate) fn pause(quiet: Duration) -> Duration {
    (quiet / 16).clamp(PAUSES[0], PAUSES[1])
}

/// Message of the first process to all others in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Beat {
    /// Time until the next round.
    pub(crate) pause: Duration,
    /// Whether this is the last round.
    pub(crate) is_last: bool,
}

/// Bytes of a number.
const NUMBER: usize = size_of::<u64>();
/// Bytes of the length of the following message, the time until the next round in microseconds, and whether there is
/// none.
const HEADER: usize = 3 * NUMBER;

const NO_WORK: fn() -> Result<()> = || Ok(());

/// Exchanges messages with all other processes; those from and to the first process itself are ignored.
pub(crate) fn of_first(peers: &dyn Peers, messages: &[Vec<u8>], beat: Beat) -> Result<Vec<Vec<u8>>> {
    let others = 1..peers.count();
    let header = |peer: usize| {
        [messages[peer].len() as u64, beat.pause.as_micros() as u64, u64::from(beat.is_last)].map(u64::to_le_bytes)
    };
    let sent: Vec<[[u8; NUMBER]; 3]> = others.clone().map(header).collect();
    let outgoing: Vec<Outgoing<'_>> = others.clone().zip(sent.iter().map(|numbers| numbers.as_flattened())).collect();
    let mut lengths = vec![[0; NUMBER]; peers.count()];
    let memory = lengths[1..].iter_mut().map(|length| &mut length[..]);
    let mut incoming: Vec<Incoming<'_>> = others.clone().zip(memory).collect();
    peers.exchange(&outgoing, &mut incoming, &mut { NO_WORK })?;

    let mut received: Vec<Vec<u8>> =
        lengths.iter().map(|length| vec![0; u64::from_le_bytes(*length) as usize]).collect();
    let outgoing: Vec<Outgoing<'_>> = others.clone().map(|peer| (peer, &messages[peer][..])).collect();
    let memory = received[1..].iter_mut().map(|message| &mut message[..]);
    let mut incoming: Vec<Incoming<'_>> = others.zip(memory).collect();
    peers.exchange(&outgoing, &mut incoming, &mut { NO_WORK })?;
    Ok(received)
}

/// Exchanges messages with the first process.
pub(crate) fn of_other(peers: &dyn Peers, message: &[u8]) -> Result<(Vec<u8>, Beat)> {
    let mut header = [0; HEADER];
    let length = (message.len() as u64).to_le_bytes();
    peers.exchange(&[(0, &length)], &mut [(0, &mut header)], &mut { NO_WORK })?;
    let [length, pause, is_last] = [0, 1, 2].map(|k| u64::from_le_bytes(header.as_chunks().0[k]));
    let mut received = vec![0; length as usize];
    peers.exchange(&[(0, message)], &mut [(0, &mut received)], &mut { NO_WORK })?;
    Ok((received, Beat { pause: Duration::from_micros(pause), is_last: is_last != 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_cluster::peers::ThreadPeers;

    #[test]
    fn all_processes_exchange_messages_with_the_first() {
        let beat = |round: u64| Beat { pause: Duration::from_micros(round), is_last: round == 2 };
        // Messages of any length, also none.
        let message = |from: usize, round: u64| vec![from as u8; from * round as usize % 4];
        let of_process = |peers: ThreadPeers| {
            for round in 0..3 {
                if peers.rank() == 0 {
                    let sent: Vec<Vec<u8>> = (0..3).map(|to| vec![to as u8; to]).collect();
                    let received = of_first(&peers, &sent, beat(round)).unwrap();
                    assert_eq!(received, [vec![], message(1, round), message(2, round)]);
                } else {
                    let (received, said) = of_other(&peers, &message(peers.rank(), round)).unwrap();
                    assert_eq!((received, said), (vec![peers.rank() as u8; peers.rank()], beat(round)));
                }
            }
        };
        std::thread::scope(|scope| {
            for peers in ThreadPeers::new(3) {
                scope.spawn(move || of_process(peers));
            }
        });
    }

    #[test]
    fn pauses_become_longer_while_nothing_happens() {
        let millis = |quiet| pause(Duration::from_millis(quiet)).as_millis();
        assert_eq!([millis(0), millis(160), millis(100_000)], [1, 10, 50]);
    }
}
