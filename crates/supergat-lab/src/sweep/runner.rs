//! Runs the missing jobs of a sweep in parallel: one per core, or several on a GPU.

use crate::baselines;
use crate::correct_and_smooth;
use crate::device::Resources;
use crate::fitted::Fitted;
use crate::jobs::{Finished, Stop};
use crate::processes::{self, Order, Place, Report, SweepOrder};
use crate::runs::{in_parallel, prepare, score, scored, train};
use crate::selection::metric_of;
use crate::settings::Settings;
use crate::sweep::job::{Group, Job};
use crate::sweep::progress::{Clock, Event, Tally};
use crate::sweep::queue::{Queue, Ready};
use crate::sweep::record::{Record, Status};
use crate::sweep::results::{ResultsFile, SweepError};
use crate::sweep::task_named;
use serde_json::Value;
use std::any::Any;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;
use supergat_core::{Epoch, Prepared};
use supergat_cuda::Cuda;
use supergat_data::{Dataset, FeatureChoice};

/// Purpose of the runs of a sweep: how the dataset is prepared before training, and what is measured on the
/// model after it.
pub trait Task: fmt::Debug + Sync {
    /// Returns the name of the task in results files.
    fn name(&self) -> &str;

    /// Returns what is done with the features of a dataset when it is loaded.
    fn features(&self) -> FeatureChoice {
        FeatureChoice::default()
    }

    /// Prepares the dataset that a seed trains on; `None` to train on the loaded dataset.
    fn prepare(&self, _dataset: &Dataset, _seed: u64) -> supergat_core::Result<Option<Dataset>> {
        Ok(None)
    }

    /// Measures a trained model on the loaded dataset. The value is written to the results file; null if
    /// there is nothing to measure.
    fn measure(&self, dataset: &Dataset, seed: u64, model: &Fitted) -> supergat_core::Result<Value>;

    /// Returns whether a run ends after this number of epochs, given the validation metric of its best epoch so far.
    fn stops_after(&self, _epochs: usize, _best: f64) -> bool {
        false
    }

    /// Measures the epochs of a run. If the value is not null, it is written to the results file instead of that of
    /// [`Self::measure`].
    fn measure_history(&self, _history: &[Epoch]) -> Value {
        Value::Null
    }
}

/// Plain node classification, without further measurements.
#[derive(Debug, Clone, Copy)]
pub struct NodeClassification;

impl Task for NodeClassification {
    fn name(&self) -> &'static str {
        Record::NODE
    }

    fn measure(&self, _: &Dataset, _: u64, _: &Fitted) -> supergat_core::Result<Value> {
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

impl SweepOutcome {
    /// Adds the counts of a later sweep.
    pub fn and(mut self, later: Self) -> Self {
        self.found += later.found;
        self.ran += later.ran;
        self.failed += later.failed;
        self.unavailable.extend(later.unavailable);
        self.interrupted |= later.interrupted;
        self
    }
}

/// Runs the node classification jobs that have no result in the file.
///
/// On the CPU, several jobs run in parallel on one thread each; a single job uses all threads. Results do not
/// depend on the number of threads. On a GPU, several jobs on a small graph run side by side. Each dataset is
/// loaded once, while the last runs on the previous one are still training. Other processes of the [`Resources`] take
/// jobs as well, and this process writes their results. `observe` is called from all threads
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
    sweep(task, jobs, None, results, resources.into(), &observe)
}

/// Runs the jobs of a task that have no result in the file, on splits of a dataset in memory. Their source is its name;
/// [`SplitChoice::Published`](supergat_data::SplitChoice) stands for the split that the dataset has. Other processes do not take part.
pub(crate) fn run_given_sweep(
    task: &dyn Task,
    jobs: Vec<Job>,
    given: &Arc<Dataset>,
    results: &mut ResultsFile,
    resources: Resources,
    observe: impl Fn(Event<'_>, Tally) -> ControlFlow<()> + Sync,
) -> Result<SweepOutcome, SweepError> {
    let resources = Resources { processes: None, ..resources };
    sweep(task, jobs, Some(Arc::clone(given)), results, resources, &observe)
}

fn sweep(
    task: &dyn Task,
    jobs: Vec<Job>,
    given: Option<Arc<Dataset>>,
    results: &mut ResultsFile,
    resources: Resources,
    observe: &(dyn Fn(Event<'_>, Tally) -> ControlFlow<()> + Sync),
) -> Result<SweepOutcome, SweepError> {
    let resources = resources.resolved();
    let (threads, device) = (resources.threads, resources.kind());
    // The number of nodes is known when a dataset is loaded; large graphs then wait for each other.
    let workers = resources.workers(0, jobs.len());
    let is_known = device.is_cpu() && task_named(task.name()).is_some();
    let places = resources.processes.filter(|_| is_known).map_or_else(Vec::new, |others| others.places(jobs.len()));
    results.select(device);
    let sweep = Sweep {
        task,
        resources,
        gpu: RwLock::new(()),
        clock: Mutex::new(Clock::new(jobs.len(), weight(&jobs), workers + places.len())),
        stop: AtomicBool::new(false),
        outcome: Mutex::default(),
        failure: Mutex::default(),
        observe,
    };
    let queue = Mutex::new(Queue::new(Group::from_jobs(jobs), results, task, device, resources.node_order, given));
    let results = Mutex::new(results);
    let work = |run: &mut dyn FnMut(&Arc<Ready>, &Job) -> Option<Record>| {
        while !sweep.stop.load(Ordering::Relaxed) {
            // The worker that finds the queue empty loads the next dataset. The others wait: they have no
            // work.
            let next = lock(&queue).next(&|event, jobs| sweep.notify(event, jobs));
            let Some((ready, job)) = next else { break };
            let Some(record) = run(&ready, &job) else { break };
            drop(ready);
            sweep.write(record, &job, &results);
        }
    };
    std::thread::scope(|scope| {
        for &place in &places {
            let (sweep, work) = (&sweep, &work);
            scope.spawn(move || work(&mut |ready, job| sweep.run_elsewhere(place, ready, job)));
        }
        in_parallel(threads, workers, |pool| {
            let mut gpu = match resources.cuda() {
                Ok(cuda) => cuda.map(|cuda| Gpu { cuda, placed: None }),
                Err(error) => return sweep.fail(error.into()),
            };
            work(&mut |ready, job| pool.install(|| sweep.run(ready, job, gpu.as_mut())));
        })
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
        let prepared =
            Prepared::on(&self.cuda, &dataset.examples, settings.architecture(dataset), settings.training())?;
        scored(prepared, dataset, settings)
    }
}

/// State shared by all threads.
struct Sweep<'a> {
    task: &'a dyn Task,
    resources: Resources,
    /// Locked for writing by a run that needs the GPU for itself, and for reading by other runs on it.
    gpu: RwLock<()>,
    clock: Mutex<Clock>,
    stop: AtomicBool,
    outcome: Mutex<SweepOutcome>,
    failure: Mutex<Option<SweepError>>,
    observe: &'a (dyn Fn(Event<'_>, Tally) -> ControlFlow<()> + Sync),
}

impl Sweep<'_> {
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
        let observe = |epoch: &Epoch| self.epoch(epoch);
        let Some(gpu) = gpu else { return run_on_cpu(self.task, ready, &job.settings, job.seed, observe) };
        baselines::workers(&self.resources, &job.settings, 1)?;
        let own = self.task.prepare(&ready.dataset, job.seed)?;
        let mut watch = Watch::new(self.task);
        let finished = self.train_on(gpu, ready, own.as_ref(), job, |epoch| watch.after(epoch, observe(epoch)))?;
        measured(self.task, ready, own.as_ref(), &job.settings, job.seed, watch.ended(finished))
    }

    /// Reports an epoch, and returns whether the run continues.
    fn epoch(&self, epoch: &Epoch) -> ControlFlow<()> {
        self.notify(Event::Epoch(epoch), &[]);
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Lets another process run a job and returns its record; `None` if the sweep was stopped.
    fn run_elsewhere(&self, place: Place, ready: &Ready, job: &Job) -> Option<Record> {
        let started = Instant::now();
        let order = Order::Sweep(SweepOrder {
            task: self.task.name().to_owned(),
            source: ready.source(job),
            settings: job.settings,
            seed: job.seed,
            threads: place.threads,
        });
        let observe = |_: Report, data: Vec<u8>| {
            let mut flow = ControlFlow::Continue(());
            for epoch in processes::epochs(&data)? {
                flow = self.epoch(&epoch).map_break(|()| Stop::Interrupted);
            }
            Ok(flow)
        };
        let processes = self.resources.processes.expect("it has this place");
        let answer = processes.call(place.process, &order, &[], observe).and_then(|answer| match answer {
            (Report::Recorded(None), _) => Ok(None),
            (Report::Recorded(Some(report)), data) => processes::status(report, &data).map(Some),
            (report, _) => Err(processes::unexpected(&report)),
        });
        match answer {
            Ok(status) => Some(ready.record(self.task.name(), job, status?, started.elapsed().as_secs_f64())),
            Err(error) => {
                self.fail(error.into());
                None
            }
        }
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

/// Trains and measures a model on the CPU; `None` if the observer stopped the run.
pub(crate) fn run_on_cpu(
    task: &dyn Task,
    ready: &Ready,
    settings: &Settings,
    seed: u64,
    mut observe: impl FnMut(&Epoch) -> ControlFlow<()>,
) -> supergat_core::Result<Option<Status>> {
    let own = task.prepare(&ready.dataset, seed)?;
    let mut watch = Watch::new(task);
    let observe = |epoch: &Epoch| {
        let flow = observe(epoch);
        watch.after(epoch, flow)
    };
    let finished = match (&own, &ready.prepared) {
        _ if !settings.model.is_network() => {
            baselines::train(own.as_ref().unwrap_or(&ready.dataset), settings, seed, observe)?
        }
        (None, Ok(Some(prepared))) => train(prepared, seed, observe)?,
        (None, Err(error)) => return Err(error.clone()),
        (own, _) => train(&prepare(own.as_ref().unwrap_or(&ready.dataset), settings)?, seed, observe)?,
    };
    measured(task, ready, own.as_ref(), settings, seed, watch.ended(finished))
}

/// Lets a task stop a run.
struct Watch<'a> {
    task: &'a dyn Task,
    /// Validation metric of the best epoch so far.
    best: f64,
    /// Whether the task has stopped the run.
    stopped: bool,
}

impl<'a> Watch<'a> {
    fn new(task: &'a dyn Task) -> Self {
        Self { task, best: 0.0, stopped: false }
    }

    /// Returns whether a run continues after an epoch, given the decision of its observer.
    fn after(&mut self, epoch: &Epoch, flow: ControlFlow<()>) -> ControlFlow<()> {
        if epoch.best {
            self.best = epoch.validation.metric;
        }
        self.stopped = flow.is_continue() && self.task.stops_after(epoch.epoch + 1, self.best);
        if self.stopped { ControlFlow::Break(()) } else { flow }
    }

    /// Returns a run; one that the task has stopped counts as finished.
    fn ended(self, mut finished: Finished) -> Finished {
        finished.run.outcome.interrupted &= !self.stopped;
        finished
    }
}

/// Measures a model that was trained on the dataset of a job, or on the task's `own`; `None` if the training was
/// stopped.
fn measured(
    task: &dyn Task,
    ready: &Ready,
    own: Option<&Dataset>,
    settings: &Settings,
    seed: u64,
    finished: Finished,
) -> supergat_core::Result<Option<Status>> {
    let dataset = own.unwrap_or(&ready.dataset);
    if finished.run.outcome.interrupted {
        return Ok(None);
    }
    let Finished { run, logits, model } = correct_and_smooth::finish(dataset, settings, finished.with_labels(dataset))?;
    let outcome = run.outcome;
    let measured = match task.measure_history(&run.history) {
        Value::Null => task.measure(&ready.dataset, seed, &model)?,
        value => value,
    };
    Ok(Some(Status::Ok {
        metric: metric_of(dataset, settings).to_string(),
        train: score(dataset, &logits, |example| &example.train),
        validation: outcome.validation,
        test: outcome.test,
        epochs: outcome.epochs,
        best_epoch: outcome.best_epoch,
        measured,
    }))
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
