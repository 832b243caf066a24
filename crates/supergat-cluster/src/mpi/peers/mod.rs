//! Peers over MPI.

mod calls;
mod thread;

use super::failed;
use crate::peers::{Incoming, Outgoing, Peers};
use calls::Mpi;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, TryLockError, mpsc};
use std::time::Duration;
use supergat_core::Result;
use thread::{Link, Message};

/// Setting with the number of seconds after which a process no longer waits for others.
const TIMEOUT: &str = "SUPERGAT_MPI_TIMEOUT";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// The processes that MPI connects. There is one such object in a process, since MPI can be started only once.
///
/// [`connect`](super::connect) is what programs call; the documentation of [`mpi`](super) has an example.
///
/// Messages travel while `meanwhile` computes. If no message arrives for `SUPERGAT_MPI_TIMEOUT` seconds (default
/// 600) while a process waits for one, all processes end with an error message.
#[derive(Debug)]
pub struct MpiPeers {
    rank: usize,
    count: usize,
    link: Arc<Link>,
    /// Locked during an exchange.
    turn: Mutex<()>,
    has_ended: AtomicBool,
}

static PEERS: OnceLock<std::result::Result<Arc<MpiPeers>, String>> = OnceLock::new();

impl MpiPeers {
    /// Starts MPI and its communication thread. Later calls return the same processes.
    pub fn connect() -> Result<Arc<Self>> {
        let peers = PEERS.get_or_init(Self::start);
        peers.clone().map_err(failed)
    }

    fn start() -> std::result::Result<Arc<Self>, String> {
        let timeout = timeout(std::env::var(TIMEOUT).ok().as_deref())?;
        let link = Arc::new(Link::default());
        let (started, answer) = mpsc::sync_channel(1);
        let serve = {
            let link = Arc::clone(&link);
            move || match Mpi::start() {
                Ok(mpi) => {
                    let _ = started.send(Ok((mpi.rank, mpi.count)));
                    link.serve(mpi, timeout);
                }
                Err(error) => drop(started.send(Err(error))),
            }
        };
        let thread = std::thread::Builder::new().name("mpi".into()).spawn(serve);
        thread.map_err(|error| format!("the communication thread cannot start: {error}"))?;
        let (rank, count) = answer.recv().map_err(|_| "MPI cannot start")??;
        end_all_after_panics();
        Ok(Arc::new(Self { rank, count, link, turn: Mutex::default(), has_ended: AtomicBool::new(false) }))
    }
}

impl Peers for MpiPeers {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn exchange(
        &self,
        outgoing: &[Outgoing<'_>],
        incoming: &mut [Incoming<'_>],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let peers = outgoing.iter().map(|(peer, _)| *peer).chain(incoming.iter().map(|(peer, _)| *peer));
        if let Some(peer) = peers.into_iter().find(|peer| *peer >= self.count || *peer == self.rank) {
            let Self { rank, count, .. } = self;
            return Err(failed(format!("process {rank} of {count} has a message for process {peer}")));
        }
        if outgoing.iter().all(|(_, bytes)| bytes.is_empty()) && incoming.iter().all(|(_, bytes)| bytes.is_empty()) {
            return meanwhile();
        }
        let _turn = match self.turn.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(failed("two exchanges at the same time")),
            turn => turn,
        };
        if self.has_ended.load(Ordering::Relaxed) {
            return Err(failed("a message after the end of MPI"));
        }
        let exchange = Exchange::start(&self.link, outgoing, incoming);
        let worked = meanwhile();
        let arrived = exchange.wait();
        worked.and(arrived)
    }
}

/// Messages that the communication thread transfers. It is dropped after the transfer, also if `meanwhile` panics.
struct Exchange<'a> {
    link: &'a Link,
    is_over: bool,
}

impl<'a> Exchange<'a> {
    fn start(link: &'a Link, outgoing: &'a [Outgoing<'_>], incoming: &'a mut [Incoming<'_>]) -> Self {
        let sent = outgoing.iter().map(|(peer, bytes)| Message {
            peer: *peer,
            bytes: bytes.as_ptr().cast_mut(),
            length: bytes.len(),
            is_received: false,
        });
        let received = incoming.iter_mut().map(|(peer, bytes)| Message {
            peer: *peer,
            bytes: bytes.as_mut_ptr(),
            length: bytes.len(),
            is_received: true,
        });
        link.start(sent.chain(received).filter(|message| message.length > 0));
        Self { link, is_over: false }
    }

    fn wait(mut self) -> Result<()> {
        self.is_over = true;
        self.link.wait().map_err(failed)
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // An error of the transfer is less than the panic that led here.
            let _ = self.link.wait();
        }
    }
}

fn timeout(setting: Option<&str>) -> std::result::Result<Duration, String> {
    let Some(text) = setting else { return Ok(DEFAULT_TIMEOUT) };
    match text.trim().parse() {
        Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err(format!("{TIMEOUT} = {text}: must be a whole number of seconds, at least 1")),
    }
}

fn connected() -> Option<&'static Arc<MpiPeers>> {
    let peers = PEERS.get()?.as_ref().ok()?;
    (!peers.has_ended.load(Ordering::Relaxed)).then_some(peers)
}

/// Ends MPI when all processes do so.
pub fn finish() -> Result<()> {
    let Some(peers) = connected() else { return Ok(()) };
    if matches!(peers.turn.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(failed("MPI cannot end during an exchange"));
    }
    let ended = peers.link.finish();
    peers.has_ended.store(true, Ordering::Relaxed);
    ended.map_err(failed)
}

/// Prints a message and ends all processes.
pub fn abort_with(message: &str, code: u8) -> ! {
    match connected() {
        Some(peers) => {
            print(peers.rank, peers.count, message);
            peers.link.abort(code)
        }
        None => {
            eprintln!("error: {message}");
            std::process::exit(code.into())
        }
    }
}

/// Prints an error message in one piece, so lines of several processes are not mixed.
fn print(rank: usize, count: usize, message: &str) {
    let line = format!("error: process {rank} of {count}: {message}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Ends all processes if a thread panics: they would wait for messages of this process.
fn end_all_after_panics() {
    const PANIC: u8 = 101;
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        show(panic);
        if let Some(peers) = connected() {
            print(peers.rank, peers.count, "a thread panicked");
            peers.link.abort(PANIC);
        }
    }));
}
