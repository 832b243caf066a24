//! The communication thread, which makes all calls of MPI.
//!
//! MPI libraries transfer messages only while they are called. A thread of its own calls them at short intervals,
//! so messages travel while the other threads compute. It never waits inside MPI, which would occupy a core: between
//! two calls it yields and then sleeps, the longer the less happens, so there may be more processes than cores.

use super::calls::{Mpi, Result, Transfers};
use super::{TIMEOUT, print};
use std::mem::{replace, take};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time after the last progress in which the thread looks again at once, after other threads had their turn.
const EAGER: Duration = Duration::from_micros(20);
/// Longest pause between two calls of MPI.
const PAUSE: Duration = Duration::from_millis(1);
/// Time that the communication thread has to end all processes.
const GRACE: Duration = Duration::from_secs(10);

/// A message in the memory of the thread that called `exchange`.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// Process at the other end.
    pub peer: usize,
    /// Start of the memory; only read if the message is sent.
    pub bytes: *mut u8,
    /// Length in bytes, at least 1.
    pub length: usize,
    /// Whether the message is received.
    pub is_received: bool,
}

// SAFETY: the thread that owns the memory waits until the communication thread has finished with it.
unsafe impl Send for Message {}

/// Link between the threads of the program and the communication thread.
#[derive(Debug, Default)]
pub struct Link {
    state: Mutex<State>,
    /// Wakes the communication thread.
    ordered: Condvar,
    /// Wakes the thread that waits for the end of an order.
    reported: Condvar,
    /// Exit code, from the moment at which all processes must end.
    abort: AtomicExitCode,
}

#[derive(Debug, Default)]
struct State {
    order: Option<Order>,
    messages: Vec<Message>,
    /// Time since which a thread waits for the end of the present order.
    waiting_since: Option<Instant>,
    report: Option<Result<()>>,
}

#[derive(Debug, Clone, Copy)]
enum Order {
    /// Transfer the messages of the state.
    Exchange,
    /// End MPI.
    Finish,
}

/// Exit code, or none.
#[derive(Debug)]
struct AtomicExitCode(AtomicI32);

impl Default for AtomicExitCode {
    fn default() -> Self {
        Self(AtomicI32::new(-1))
    }
}

impl Link {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the communication thread transfer messages. [`Self::wait`] must be called before the memory of the
    /// messages is used or freed.
    pub fn start(&self, messages: impl Iterator<Item = Message>) {
        let mut state = self.state();
        state.messages.clear();
        state.messages.extend(messages);
        state.order = Some(Order::Exchange);
        drop(state);
        self.ordered.notify_one();
    }

    /// Lets the communication thread end MPI, when all other processes do so as well.
    pub fn finish(&self) -> Result<()> {
        self.state().order = Some(Order::Finish);
        self.ordered.notify_one();
        self.wait()
    }

    /// Waits until the order is carried out. The communication thread then no longer uses the memory of messages.
    pub fn wait(&self) -> Result<()> {
        let mut state = self.state();
        state.waiting_since = Some(Instant::now());
        loop {
            if let Some(report) = state.report.take() {
                state.waiting_since = None;
                return report;
            }
            state = self.reported.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends all processes. Not for the communication thread.
    pub fn abort(&self, code: u8) -> ! {
        self.abort.0.store(code.into(), Ordering::Release);
        self.ordered.notify_one();
        // The communication thread ends this process, unless MPI does not return.
        std::thread::sleep(GRACE);
        std::process::exit(code.into())
    }

    /// Work of the communication thread. Returns after MPI has ended.
    pub fn serve(&self, mpi: Mpi, timeout: Duration) {
        sleep_exactly();
        let (mut transfers, mut messages) = (Transfers::default(), Vec::new());
        loop {
            let report = match self.next_order(&mpi, &mut messages) {
                Order::Exchange => self.transfer(&mpi, &messages, &mut transfers, timeout),
                Order::Finish => {
                    let start = Instant::now();
                    let ended = mpi.finish(|| pause(start.elapsed()));
                    return self.report(ended);
                }
            };
            self.report(report);
        }
    }

    /// Waits for an order, and takes the messages. MPI may work meanwhile: it may have to deliver messages that it has
    /// buffered.
    fn next_order(&self, mpi: &Mpi, messages: &mut Vec<Message>) -> Order {
        let mut state = self.state();
        loop {
            self.check_abort(mpi);
            if let Some(order) = state.order.take() {
                // The memory of both lists is used again.
                let done = replace(messages, take(&mut state.messages));
                state.messages = done;
                return order;
            }
            let (guard, waited) = self.ordered.wait_timeout(state, PAUSE).unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if waited.timed_out() {
                drop(state);
                mpi.progress();
                state = self.state();
            }
        }
    }

    fn transfer(&self, mpi: &Mpi, messages: &[Message], transfers: &mut Transfers, timeout: Duration) -> Result<()> {
        // Messages that are expected need no buffer of the library.
        for message in messages.iter().filter(|message| message.is_received) {
            // SAFETY: the thread that called `exchange` keeps the memory alive until the report.
            unsafe { transfers.receive(mpi, message.peer, message.bytes, message.length) };
        }
        for message in messages.iter().filter(|message| !message.is_received) {
            // SAFETY: as above.
            unsafe { transfers.send(mpi, message.peer, message.bytes, message.length) };
        }
        let mut last_progress = Instant::now();
        while transfers.are_under_way() {
            let idle = last_progress.elapsed();
            if idle > timeout {
                self.check_timeout(mpi, transfers, timeout);
            }
            if transfers.poll(mpi) {
                last_progress = Instant::now();
            } else {
                self.check_abort(mpi);
                pause(idle);
            }
        }
        transfers.finish()
    }

    fn check_abort(&self, mpi: &Mpi) {
        if let Ok(code) = u8::try_from(self.abort.0.load(Ordering::Acquire)) {
            mpi.abort(code);
        }
    }

    /// Ends all processes if a thread has waited too long. A thread that still computes does not wait.
    fn check_timeout(&self, mpi: &Mpi, transfers: &Transfers, timeout: Duration) {
        if self.state().waiting_since.is_some_and(|since| since.elapsed() > timeout) {
            let peers = transfers.open_peers().iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            let seconds = timeout.as_secs();
            let message = format!(
                "no message was exchanged with process {peers} in {seconds} s: find out whether it was stopped or has \
                 much more work, or set {TIMEOUT} to more seconds"
            );
            print(mpi.rank, mpi.count, &message);
            mpi.abort(1);
        }
    }

    fn report(&self, report: Result<()>) {
        self.state().report = Some(report);
        self.reported.notify_one();
    }
}

/// Lets other threads work. A wait of more than a few microseconds becomes longer by about a sixteenth.
fn pause(idle: Duration) {
    if idle < EAGER {
        std::thread::yield_now();
    } else {
        std::thread::sleep((idle / 16).min(PAUSE));
    }
}

/// Makes short sleeps of this thread end in time. Linux prolongs them by 50 microseconds otherwise.
fn sleep_exactly() {
    #[cfg(target_os = "linux")]
    // SAFETY: this call changes how this thread sleeps, and nothing else.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1000 as libc::c_ulong);
    }
}
