//! Runs the missing jobs of a sweep in parallel: one per core, or several on a GPU.

use crate::device::Resources;
use crate::runs::{Finished, in_parallel, prepare, score, train};
use crate::sweep::job::{Group, Job};
use crate::sweep::progress::{Clock, Event, Tally};
use crate::sweep::queue::{Queue, Ready};
use crate::sweep::record::{Record, Status};
use crate::sweep::results::{ResultsFile, SweepError};
use serde_json::Value;
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;
use supergat_core::{Epoch, Model, Prepared};
use supergat_cuda::Cuda;
use supergat_data::Dataset;

/// Purpose of the runs of a sweep: how the dataset is prepared before training, and what is measured on the
/// model after it.
pub trait Task: Sync {
    /// Returns the name of the task in results files.
    fn name(&self) -> &'static str;

    /// Prepares the dataset that a seed trains on; `None` to train on the loaded dataset.
    fn prepare(&self, _dataset: &Dataset, _seed: u64) -> supergat_core::Result<Option<Dataset>> {
        Ok(None)
    }

    /// Measures a trained model on the loaded dataset. The value is written to the results file; null if
    /// there is nothing to measure.
    fn measure(&self, dataset: &Dataset, seed: u64, model: &Model<f32>) -> supergat_core::Result<Value>;
}

/// Plain node classification, without further measurements.
#[derive(Debug, Clone, Copy)]
pub struct NodeClassification;

impl Task for NodeClassification {
    fn name(&self) -> &'static str {
        Record::NODE
    }

    fn measure(&self, _: &Dataset, _: u64, _: &Model<f32>) -> supergat_core::Result<Value> {
        Ok(Value::Null)
    }
}

/// Outcome of a sweep: counts of runs by how they ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SweepOutcome {
    /// Number of runs found in the results file.
    pub found: usize,
    /// Number of runs finished by this sweep.
    pub ran: usize,
    /// Number of runs that failed.
    pub failed: usize,
    /// Unavailable datasets, with the reasons.
    pub unavailable: Vec<(String, String)>,
    /// Whether the observer stopped the sweep.
    pub interrupted: bool,
}

/// Runs the node classification jobs that have no result in the file.
///
/// On the CPU, several jobs run in parallel on one thread each; a single job uses all threads. Results do not
/// depend on the number of threads. On a GPU, several jobs on a small graph run side by side. Each dataset is
/// loaded once, while the last runs on the previous one are still training. `observe` is called from all threads
/// and can stop the sweep. Unfinished runs are then lost; finished ones are in the file.
pub fn run_sweep(
    jobs: Vec<Job>,
    results: &mut ResultsFile,
    resources: impl Into<Resources>,
    observe: impl Fn(Event<'_>, Tally) -> ControlFlow<()> + Sync,
) -> Result<SweepOutcome, SweepError> {
    run_task_sweep(&NodeClassification, jobs, results, resources, observe)
}

/// Runs the jobs of a task that have no result in the file; see [`run_sweep`].
pub fn run_task_sweep(
    task: &dyn Task,
    jobs: Vec<Job>,
    results: &mut ResultsFile,
    resources: impl Into<Resources>,
    observe: impl Fn(Event<'_>, Tally) -> ControlFlow<()> + Sync,
) -> Result<SweepOutcome, SweepError> {
    let resources = resources.into().resolved();
    let (threads, device) = (resources.threads, resources.kind());
    // The number of nodes is known when a dataset is loaded; large graphs then wait for each other.
    let workers = resources.workers(0, jobs.len());
    results.select(device);
    let sweep = Sweep {
        task,
        resources,
        gpu: RwLock::new(()),
        clock: Mutex::new(Clock::new(jobs.len(), weight(&jobs), workers)),
        stop: AtomicBool::new(false),
        outcome: Mutex::default(),
        failure: Mutex::default(),
        observe,
    };
    let queue = Mutex::new(Queue::new(Group::from_jobs(jobs), results, task.name(), device));
    let results = Mutex::new(results);
    in_parallel(threads, workers, |pool| {
        let mut gpu = match resources.cuda() {
            Ok(cuda) => cuda.map(|cuda| Gpu { cuda, placed: None }),
            Err(error) => return sweep.fail(error.into()),
        };
        while !sweep.stop.load(Ordering::Relaxed) {
            // The worker that finds the queue empty loads the next dataset. The others wait: they have no
            // work.
            let next = lock(&queue).next(&|event, jobs| sweep.notify(event, jobs));
            let Some((ready, job)) = next else { break };
            let Some(record) = pool.install(|| sweep.run(&ready, &job, gpu.as_mut())) else { break };
            drop(ready);
            sweep.write(record, &job, &results);
        }
    })?;
    if let Some(error) = sweep.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let outcome = sweep.outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(SweepOutcome { interrupted: sweep.stop.into_inner(), ..outcome })
}

/// GPU of a thread, with the last small dataset that was placed on it.
struct Gpu {
    cuda: Cuda,
    placed: Option<(Arc<Ready>, Prepared<Cuda>)>,
}

impl Gpu {
    /// Places a dataset in the memory of the GPU.
    fn place(&self, dataset: &Dataset, job: &Job) -> supergat_core::Result<Prepared<Cuda>> {
        let Job { settings, .. } = job;
        Prepared::on(&self.cuda, &dataset.examples, settings.architecture(dataset), settings.training())
    }
}

/// State shared by all threads.
struct Sweep<'a, F> {
    task: &'a dyn Task,
    resources: Resources,
    /// Locked for writing by a run that needs the GPU for itself, and for reading by other runs on it.
    gpu: RwLock<()>,
    clock: Mutex<Clock>,
    stop: AtomicBool,
    outcome: Mutex<SweepOutcome>,
    failure: Mutex<Option<SweepError>>,
    observe: F,
}

impl<F: Fn(Event<'_>, Tally) -> ControlFlow<()> + Sync> Sweep<'_, F> {
    /// Counts the jobs settled by an event, and reports the event to the observer.
    fn notify(&self, event: Event<'_>, jobs: &[Job]) {
        let tally = {
            let mut outcome = lock(&self.outcome);
            match event {
                Event::Found(count) => outcome.found += count,
                Event::Unavailable(source, reason, _) => {
                    let dataset = (source.to_owned(), reason.to_owned());
                    if !outcome.unavailable.contains(&dataset) {
                        outcome.unavailable.push(dataset);
                    }
                }
                Event::Done(record) if record.test().is_some() => outcome.ran += 1,
                Event::Done(_) => outcome.failed += 1,
                Event::Loading(_) | Event::Epoch(_) => {}
            }
            let seconds = match event {
                Event::Done(record) if record.test().is_some() => record.seconds,
                _ => 0.0,
            };
            lock(&self.clock).settle(jobs.len(), weight(jobs), seconds)
        };
        if (self.observe)(event, tally).is_break() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Runs a job and returns its record; `None` if the sweep was stopped. A panic makes this run fail, but
    /// no other.
    fn run(&self, ready: &Arc<Ready>, job: &Job, gpu: Option<&mut Gpu>) -> Option<Record> {
        let started = Instant::now();
        let status = catch_unwind(AssertUnwindSafe(|| match self.train(ready, job, gpu) {
            Ok(status) => status,
            Err(error) => Some(Status::Failed { reason: error.to_string() }),
        }));
        let status = status.unwrap_or_else(|panic| Some(Status::Failed { reason: panic_message(&*panic) }))?;
        Some(ready.record(self.task.name(), job, status, started.elapsed().as_secs_f64()))
    }

    /// Trains and measures a model; `None` if the sweep was stopped.
    fn train(&self, ready: &Arc<Ready>, job: &Job, gpu: Option<&mut Gpu>) -> supergat_core::Result<Option<Status>> {
        let own = self.task.prepare(&ready.dataset, job.seed)?;
        let dataset = own.as_ref().unwrap_or(&ready.dataset);
        let observe = |epoch: &Epoch| {
            self.notify(Event::Epoch(epoch), &[]);
            if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let Finished { run, logits, model } = match (gpu, &ready.prepared) {
            (Some(gpu), _) => self.train_on(gpu, ready, own.as_ref(), job, observe)?,
            (None, Ok(Some(prepared))) if own.is_none() => train(prepared, job.seed, observe)?,
            (None, Err(error)) if own.is_none() => return Err(error.clone()),
            (None, _) => train(&prepare(dataset, &job.settings)?, job.seed, observe)?,
        };
        let outcome = run.outcome;
        if outcome.interrupted {
            return Ok(None);
        }
        Ok(Some(Status::Ok {
            metric: if dataset.is_multi_label() { "micro-f1".into() } else { "accuracy".into() },
            train: score(dataset, &logits, |example| &example.train),
            validation: outcome.validation,
            test: outcome.test,
            epochs: outcome.epochs,
            best_epoch: outcome.best_epoch,
            measured: self.task.measure(&ready.dataset, job.seed, &model)?,
        }))
    }

    /// Trains a model on a GPU: on the dataset of the job, or on the task's `own`. A large graph has the GPU for
    /// itself and leaves its memory; a small one stays in memory for the next seed.
    fn train_on(
        &self,
        gpu: &mut Gpu,
        ready: &Arc<Ready>,
        own: Option<&Dataset>,
        job: &Job,
        observe: impl FnMut(&Epoch) -> ControlFlow<()>,
    ) -> supergat_core::Result<Finished> {
        let dataset = own.unwrap_or(&ready.dataset);
        if self.resources.workers(dataset.nodes(), usize::MAX) == 1 {
            gpu.placed = None;
            let _alone = self.gpu.write().unwrap_or_else(PoisonError::into_inner);
            return train(&gpu.place(dataset, job)?, job.seed, observe);
        }
        let _shared = self.gpu.read().unwrap_or_else(PoisonError::into_inner);
        if own.is_some() {
            return train(&gpu.place(dataset, job)?, job.seed, observe);
        }
        if gpu.placed.as_ref().is_none_or(|(placed, _)| !Arc::ptr_eq(placed, ready)) {
            gpu.placed = None;
            gpu.placed = Some((Arc::clone(ready), gpu.place(dataset, job)?));
        }
        let (_, prepared) = gpu.placed.as_ref().expect("just placed");
        train(prepared, job.seed, observe)
    }

    /// Ends the sweep with an error; the first one is kept.
    fn fail(&self, error: SweepError) {
        lock(&self.failure).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Appends a record to the results file. Stops the sweep if that fails.
    fn write(&self, record: Record, job: &Job, results: &Mutex<&mut ResultsFile>) {
        let written = lock(results).append(record.clone());
        match written {
            Ok(()) => self.notify(Event::Done(&record), std::slice::from_ref(job)),
            Err(error) => self.fail(error),
        }
    }
}

/// Returns the total weight of jobs.
fn weight(jobs: &[Job]) -> f64 {
    jobs.iter().map(Job::weight).sum()
}

/// Returns the failure reason for a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a bug in this program: {}", text.unwrap_or("panic without a message"))
}

/// Locks a mutex, ignoring poisoning: panics of runs are caught before they reach a lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
