//! Count of the bytes that a process sends.

use super::{Incoming, Outgoing, Peers};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use supergat_core::Result;

/// Peers whose messages are counted.
#[derive(Debug)]
pub(crate) struct Counted {
    peers: Arc<dyn Peers>,
    sent: AtomicU64,
}

impl Counted {
    pub(crate) fn new(peers: Arc<dyn Peers>) -> Self {
        Self { peers, sent: AtomicU64::new(0) }
    }

    /// Returns the bytes that this process has sent.
    pub(crate) fn bytes_sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Peers for Counted {
    fn rank(&self) -> usize {
        self.peers.rank()
    }

    fn count(&self) -> usize {
        self.peers.count()
    }

    fn exchange(
        &self,
        outgoing: &[Outgoing<'_>],
        incoming: &mut [Incoming<'_>],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let bytes: usize = outgoing.iter().map(|(_, message)| message.len()).sum();
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        self.peers.exchange(outgoing, incoming, meanwhile)
    }
}
