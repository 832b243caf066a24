//! Processes other than the first: they train what it hands out.

use crate::checkpoints::{Checkpoints, Origin, SeedCheckpoints};
use crate::dataset_hash::dataset_hash;
use crate::device::DeviceKind;
use crate::processes::message::{self, Order, Report, Source, TaskOrder, TrainOrder};
use crate::processes::{SERVE, rounds, seconds};
use crate::results::{Finished, Stop};
use crate::settings::Settings;
use crate::task::{Status, TaskNamed};
use crate::task_run::{Ready, run_on_cpu};
use crate::threads::pool;
use crate::training::train_network;
use rayon::ThreadPool;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use supergat_cluster::peers::{Peers, gather};
use supergat_core::{Epoch, Error, Prepared, Result};
use supergat_data::{Dataset, LoadOptions, SplitChoice};

/// Trains what the first process hands out, until it ends. `threads` returns the number of threads of this process,
/// given the number that the user has asked for; `task_named` the tasks that this process can run.
///
/// See [`Processes`](crate::processes::Processes) for an example.
pub fn serve(peers: Arc<dyn Peers>, task_named: TaskNamed, threads: fn(Option<usize>) -> Result<usize>) -> Result<()> {
    let said = gather::<u32>(&*peers, &[])?;
    let &[SERVE, wanted] = &said[0][..] else { return Ok(()) };
    let own = threads((wanted > 0).then_some(wanted as usize))?;
    gather(&*peers, &[own as u64])?;
    let server = Server::new(task_named);
    std::thread::scope(|scope| {
        let served = loop {
            let message = std::mem::take(&mut *lock(&server.reports));
            let round = rounds::of_other(&*peers, &message).and_then(|(orders, beat)| {
                for (call, order, data) in message::frames(&orders)? {
                    server.accept(call, order, data, |work| drop(scope.spawn(work)));
                }
                Ok(beat)
            });
            match round {
                Ok(beat) if beat.is_last => break Ok(()),
                Ok(beat) => std::thread::sleep(beat.pause),
                Err(error) => break Err(error),
            }
        };
        // The first process no longer waits for trainings that still run.
        lock(&server.calls).values_mut().for_each(|stop| *stop = Some(Stop::Failed));
        served
    })
}

/// Work of a thread.
type Work<'a> = Box<dyn FnOnce() + Send + 'a>;

/// State shared by the trainings of this process.
struct Server {
    /// Finds the tasks that this process can run.
    task_named: TaskNamed,
    /// Reports that wait for the next round.
    reports: Mutex<Vec<u8>>,
    /// Calls that are carried out, and whether they must stop.
    calls: Mutex<HashMap<u64, Option<Stop>>>,
    loaded: Mutex<Loaded>,
    /// Thread pools that no training uses.
    pools: Mutex<Vec<ThreadPool>>,
}

impl Server {
    fn new(task_named: TaskNamed) -> Self {
        let (reports, calls, loaded, pools) = Default::default();
        Self { task_named, reports, calls, loaded, pools }
    }

    /// Begins to carry out an order, in a thread of its own.
    fn accept<'a>(&'a self, call: u64, order: Order, data: Vec<u8>, spawn: impl FnOnce(Work<'a>)) {
        if let Order::Stop(reason) = order {
            if let Some(stop) = lock(&self.calls).get_mut(&call) {
                *stop = Some(reason);
            }
            return;
        }
        lock(&self.calls).insert(call, None);
        spawn(Box::new(move || {
            let answer = match order {
                Order::Train(order) => self.train(call, &order, data).map(message::of_finished),
                Order::Task(order) => self.run_task(call, &order).map(message::of_status),
                Order::Stop(_) => unreachable!("handled above"),
            };
            let (report, data) = answer.unwrap_or_else(|error| message::of_error(&error));
            lock(&self.calls).remove(&call);
            self.report(call, &report, &data);
        }));
    }

    fn report(&self, call: u64, report: &Report, data: &[u8]) {
        message::append(&mut lock(&self.reports), call, report, data);
    }

    /// Reports an epoch, and returns whether the training continues.
    fn epoch(&self, call: u64, epoch: &Epoch) -> ControlFlow<Stop> {
        self.report(call, &Report::Epoch, &message::of_epoch(epoch));
        match lock(&self.calls).get(&call) {
            Some(Some(stop)) => ControlFlow::Break(*stop),
            _ => ControlFlow::Continue(()),
        }
    }

    fn train(&self, call: u64, order: &TrainOrder, state: Vec<u8>) -> Result<Finished> {
        let ready = lock(&self.loaded).ready(&order.source, &order.settings)?;
        let prepared = prepared(&ready)?;
        let checkpoints = order.checkpoints.as_ref().map(|(every, elapsed)| {
            let every = every.parse().map_err(|reason| Error::Peers { reason })?;
            let state = (!state.is_empty()).then_some(state);
            Ok(Checkpoints::sent(every, seconds(*elapsed), state, |bytes, finished| {
                let finished = finished.map(|(age, epochs)| (age.as_secs_f64(), epochs));
                self.report(call, &Report::Checkpoint(finished), bytes);
            }))
        });
        let checkpoints = checkpoints.transpose()?;
        let origin = Origin::with_hash(&ready.dataset, DeviceKind::Cpu, &order.settings, order.source.hash.clone());
        let checkpoints =
            checkpoints.as_ref().map(|checkpoints| SeedCheckpoints::new(checkpoints, &origin, order.seed, true));
        self.with_threads(order.threads, || {
            let finished = train_network(prepared, order.seed, checkpoints, &mut |epoch| self.epoch(call, epoch))?;
            // The model of the report needs them.
            Ok(Finished { model: finished.model.with_labels(&ready.dataset), ..finished })
        })
    }

    fn run_task(&self, call: u64, order: &TaskOrder) -> Result<Option<Status>> {
        let task =
            (self.task_named)(&order.task).ok_or_else(|| Error::Peers { reason: format!("no task {}", order.task) })?;
        let ready = lock(&self.loaded).ready(&order.source, &order.settings)?;
        let mut observe = |epoch: &Epoch| self.epoch(call, epoch).map_break(drop);
        self.with_threads(order.threads, || {
            let status = run_on_cpu(&*task, &ready, &order.settings, order.seed, &mut observe);
            Ok(status.unwrap_or_else(|error| Some(Status::Failed { reason: error.to_string() })))
        })
    }

    /// Works in a thread pool that no other training uses.
    fn with_threads<T: Send>(&self, threads: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let free = {
            let mut pools = lock(&self.pools);
            let place = pools.iter().position(|pool| pool.current_num_threads() == threads);
            place.map(|place| pools.swap_remove(place))
        };
        let pool = free.map_or_else(|| pool(threads), Ok)?;
        let done = pool.install(work);
        lock(&self.pools).push(pool);
        done
    }
}

/// The last dataset, and what the last trainings on it share.
#[derive(Default)]
struct Loaded {
    dataset: Option<(Source, Arc<Dataset>)>,
    ready: Option<(Source, Settings, Arc<Ready>)>,
}

impl Loaded {
    /// Returns a dataset prepared for training. Fails if its hash is not that of the first process.
    fn ready(&mut self, source: &Source, settings: &Settings) -> Result<Arc<Ready>> {
        if let Some((of, with, ready)) = &self.ready
            && of == source
            && with == settings
        {
            return Ok(Arc::clone(ready));
        }
        // Its memory is free for the next one.
        self.ready = None;
        let dataset = self.dataset(source)?;
        let ready = Arc::new(Ready::new(dataset, settings, DeviceKind::Cpu));
        self.ready = Some((source.clone(), *settings, Arc::clone(&ready)));
        Ok(ready)
    }

    fn dataset(&mut self, source: &Source) -> Result<Arc<Dataset>> {
        let failed = |reason: String| Error::Peers { reason };
        let old = self.dataset.take();
        if let Some((of, dataset)) = &old
            && of == source
        {
            self.dataset = old.clone();
            return Ok(Arc::clone(dataset));
        }
        let options = source.options()?;
        let same_graph = |of: &Source| {
            let Source { split, class_weights, hash, .. } = source.clone();
            Source { split, class_weights, hash, ..of.clone() }
        };
        let known = old.filter(|(of, _)| same_graph(of) == *source);
        let drawn = known.and_then(|(_, dataset)| match options.split {
            SplitChoice::Numbered(number) => dataset.numbered(number),
            SplitChoice::Random { seed } => dataset.redrawn(seed),
            _ => None,
        });
        let weighed = |mut dataset: Dataset| {
            let weights: Option<Arc<[f64]>> = source.class_weights.as_deref().map(Into::into);
            dataset.examples.iter_mut().for_each(|example| example.class_weights.clone_from(&weights));
            dataset
        };
        // A graph whose files have another split in them is read, and its split drawn.
        let read = || match (supergat_data::load_with(&source.name, &options), options.split) {
            (Err(error), SplitChoice::Random { seed }) => {
                let published = LoadOptions { split: SplitChoice::Published, ..options.clone() };
                let dataset = supergat_data::load_with(&source.name, &published).map_err(|_| error.to_string())?;
                dataset.redrawn(seed).ok_or_else(|| error.to_string())
            }
            (loaded, _) => loaded.map_err(|error| error.to_string()),
        };
        let is_same = |dataset: &Dataset| dataset_hash(dataset) == source.hash;
        let dataset = match drawn.map(weighed).filter(is_same) {
            Some(dataset) => dataset,
            None => read().map(weighed).map_err(failed)?,
        };
        if !is_same(&dataset) {
            let name = &source.name;
            return Err(failed(format!(
                "{name} differs from {name} of process 0: copy the same files to all machines, or use a common folder"
            )));
        }
        let dataset = Arc::new(dataset);
        self.dataset = Some((source.clone(), Arc::clone(&dataset)));
        Ok(dataset)
    }
}

/// Returns what all trainings on a dataset share.
fn prepared(ready: &Ready) -> Result<&Prepared<supergat_cpu::Cpu<f32>>> {
    match &ready.prepared {
        Ok(prepared) => Ok(prepared.as_ref().expect("the CPU trains networks here")),
        Err(error) => Err(error.clone()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
