//! Runs by several processes: the first one runs the program and hands out trainings, the others
//! [`serve`](crate::serve()) it.
//!
//! | file | contents |
//! |---|---|
//! | `mod.rs` | the first process: calls of other processes |
//! | `message.rs` | orders and reports |
//! | `rounds.rs` | exchange of messages at any time |
//!
//! Each process trains whole runs on the undivided dataset, so results are those of one process. Runs are handed out one
//! by one to workers that are free. [`run_seeds`](crate::run_seeds), [`run_splits`](crate::run_splits) and sweeps use the
//! processes of their [`Resources`](crate::Resources).

pub(crate) mod message;
pub(crate) mod rounds;

pub use message::Source;
pub(crate) use message::{Order, Report, TrainOrder, epochs, finished};
use message::{TaskOrder, error, status};

use crate::results::Stop;
use crate::settings::Settings;
use crate::task::Status;
use rounds::Beat;
use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use supergat_cluster::peers::{Peers, gather};
use supergat_core::{Epoch, Error, Result};

/// First message of the first process: the others must train, or end.
pub(crate) const SERVE: u32 = 1;
const END: u32 = 0;

/// Processes that train whole runs for this one.
///
/// The first process starts them and passes them on as a part of its [`Resources`](crate::Resources); all others call
/// [`serve`](crate::serve()).
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// use supergat_cluster::peers::ThreadPeers;
/// use supergat_train::processes::Processes;
/// use supergat_train::{Resources, Settings, run_seeds, serve};
/// let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap();
/// let settings = Settings::general("gat-go".parse().unwrap()).with(|s| s.training.max_epochs = 3);
/// let train = |resources| run_seeds(&dataset, &settings, &[4, 5, 6], resources, |_| ControlFlow::Continue(()));
///
/// // Threads take the place of processes.
/// let mut peers = ThreadPeers::new(3).into_iter();
/// let first = Arc::new(peers.next().unwrap());
/// let others: Vec<_> = peers.map(|peer| std::thread::spawn(|| serve(Arc::new(peer), |_| None, |_| Ok(1)))).collect();
/// let processes: &Processes = Box::leak(Box::new(Processes::start(first, None, 1)?));
/// let three = train(Resources { processes: Some(processes), ..Resources::from(1) })?;
/// processes.finish()?;
/// others.into_iter().try_for_each(|other| other.join().unwrap())?;
///
/// let alone = train(Resources::from(1))?;
/// assert_eq!((three.best, three.logits), (alone.best, alone.logits));
/// assert_eq!(three.runs[2].history, alone.runs[2].history);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub struct Processes {
    /// Threads of every process.
    threads: Vec<usize>,
    shared: Arc<Shared>,
    rounds: Mutex<Option<JoinHandle<()>>>,
}

/// A report with its data.
type Answer = (Report, Vec<u8>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Messages to every process that wait for the next round.
    messages: Vec<Vec<u8>>,
    /// Calls that have no answer yet.
    calls: HashMap<u64, Sender<Answer>>,
    last_call: u64,
    /// Time at which a training began or ended.
    changed: Option<Instant>,
    is_ending: bool,
    failure: Option<Error>,
}

/// A worker of another process.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Number of the process.
    pub process: usize,
    /// Number of threads of the worker.
    pub threads: usize,
}

impl fmt::Debug for Processes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Processes").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl PartialEq for Processes {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Processes {}

impl Processes {
    /// Starts the other processes, which call [`serve`](crate::serve()). This process has `own` threads; `threads` is the number that
    /// the user has asked for in every process, if any.
    pub fn start(peers: Arc<dyn Peers>, threads: Option<usize>, own: usize) -> Result<Self> {
        begin(&*peers, SERVE, threads)?;
        let threads: Vec<usize> = gather(&*peers, &[own as u64])?.iter().map(|list| list[0] as usize).collect();
        let shared = Arc::new(Shared::default());
        shared.state().messages = vec![Vec::new(); peers.count()];
        let rounds = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().name("rounds".into()).spawn(move || shared.run(&*peers))
        };
        let rounds = rounds.map_err(|error| Error::Threads { threads: 1, reason: error.to_string() })?;
        Ok(Self { threads, shared, rounds: Mutex::new(Some(rounds)) })
    }

    /// Ends the other processes, which wait in [`serve`](crate::serve()), without having started them.
    pub fn dismiss(peers: &dyn Peers) -> Result<()> {
        begin(peers, END, None)
    }

    /// Ends the other processes.
    pub fn finish(&self) -> Result<()> {
        self.shared.state().is_ending = true;
        if let Some(rounds) = self.rounds.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A panic of the thread is reported by the thread.
            let _ = rounds.join();
        }
        self.shared.state().failure.clone().map_or(Ok(()), Err)
    }

    /// Returns the number of processes, including this one.
    pub fn count(&self) -> usize {
        self.threads.len()
    }

    /// Returns the largest number of `jobs` that a process trains at once.
    pub(crate) fn share(&self, jobs: usize) -> usize {
        jobs.div_ceil(self.count())
    }

    /// Returns the workers of other processes for some jobs. There is none for a single job.
    pub fn places(&self, jobs: usize) -> Vec<Place> {
        let workers = |process: usize| {
            let workers = self.threads[process].clamp(1, self.share(jobs).max(1));
            let threads = (self.threads[process] / workers).max(1);
            std::iter::repeat_n(Place { process, threads }, workers)
        };
        (1..self.count().min(jobs)).flat_map(workers).collect()
    }

    /// Lets another process run a task of this name; `None` if `observe` stopped the run.
    pub fn run_task(
        &self,
        place: Place,
        task: &str,
        source: Source,
        settings: Settings,
        seed: u64,
        observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>,
    ) -> Result<Option<Status>> {
        let order = TaskOrder { task: task.to_owned(), source, settings, seed, threads: place.threads };
        let mut observe = |_: Report, data: Vec<u8>| {
            let mut flow = ControlFlow::Continue(());
            for epoch in epochs(&data)? {
                flow = observe(&epoch).map_break(|()| Stop::Interrupted);
            }
            Ok(flow)
        };
        match self.call(place.process, &Order::Task(order), &[], &mut observe)? {
            (Report::Recorded(None), _) => Ok(None),
            (Report::Recorded(Some(report)), data) => status(report, &data).map(Some),
            (report, _) => Err(unexpected(&report)),
        }
    }

    /// Lets another process carry out an order. `observe` is called with every report but the last, which is returned;
    /// it may stop the training.
    pub(crate) fn call(
        &self,
        process: usize,
        order: &Order,
        data: &[u8],
        observe: &mut dyn FnMut(Report, Vec<u8>) -> Result<ControlFlow<Stop>>,
    ) -> Result<Answer> {
        let (call, reports) = self.shared.begin(process, order, data)?;
        let mut stopped = None;
        while let Ok((report, data)) = reports.recv() {
            match report {
                Report::Failed(failure) => return Err(error(process, failure, &data)),
                Report::Trained(_) | Report::Recorded(_) => return Ok((report, data)),
                Report::Epoch | Report::Checkpoint(_) => {}
            }
            if let ControlFlow::Break(stop) = observe(report, data)?
                && stopped.replace(stop) != Some(stop)
            {
                message::append(&mut self.shared.state().messages[process], call, &Order::Stop(stop), &[]);
            }
        }
        let lost = || Error::Peers { reason: format!("process {process} has ended") };
        Err(self.shared.state().failure.clone().unwrap_or_else(lost))
    }
}

/// Says to all other processes whether they must train, and with how many threads.
fn begin(peers: &dyn Peers, what: u32, threads: Option<usize>) -> Result<()> {
    gather(peers, &[what, threads.map_or(0, |threads| threads as u32)]).map(drop)
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an order with the next round. Returns the number of the call, and its reports.
    fn begin(&self, process: usize, order: &Order, data: &[u8]) -> Result<(u64, Receiver<Answer>)> {
        let (sender, receiver) = channel();
        let mut state = self.state();
        if let Some(error) = &state.failure {
            return Err(error.clone());
        }
        state.last_call += 1;
        let call = state.last_call;
        state.calls.insert(call, sender);
        message::append(&mut state.messages[process], call, order, data);
        state.changed = Some(Instant::now());
        Ok((call, receiver))
    }

    /// Exchanges messages until [`Processes::finish`] is called.
    fn run(&self, peers: &dyn Peers) {
        let started = Instant::now();
        loop {
            let (messages, beat) = {
                let mut state = self.state();
                let messages: Vec<Vec<u8>> = state.messages.iter_mut().map(std::mem::take).collect();
                let quiet = state.changed.map_or(started.elapsed(), |changed| changed.elapsed());
                (messages, Beat { pause: rounds::pause(quiet), is_last: state.is_ending })
            };
            if let Err(error) = rounds::of_first(peers, &messages, beat).and_then(|reports| self.receive(reports)) {
                let mut state = self.state();
                state.failure = Some(error);
                return state.calls.clear();
            }
            if beat.is_last {
                return;
            }
            std::thread::sleep(beat.pause);
        }
    }

    /// Passes reports on to the threads that wait for them.
    fn receive(&self, messages: Vec<Vec<u8>>) -> Result<()> {
        for message in messages {
            for (call, report, data) in message::frames::<Report>(&message)? {
                let mut state = self.state();
                let is_open = matches!(report, Report::Epoch | Report::Checkpoint(_));
                let caller = if is_open { state.calls.get(&call).cloned() } else { state.calls.remove(&call) };
                if !is_open {
                    state.changed = Some(Instant::now());
                }
                drop(state);
                if let Some(caller) = caller {
                    // A caller that has failed does not wait for the end.
                    let _ = caller.send((report, data));
                }
            }
        }
        Ok(())
    }
}

/// Returns the error of an answer to another order.
pub(crate) fn unexpected(report: &Report) -> Error {
    Error::Peers { reason: format!("unexpected answer {report:?}: use the same program everywhere") }
}

/// Returns a duration in seconds, 0 if it is none.
pub(crate) fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or_default()
}
