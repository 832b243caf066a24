//! Runs the missing jobs of a sweep in parallel: one per core, or several on a GPU.

use crate::sweep::job::{Group, Job};
use crate::sweep::progress::{Clock, Event, Tally};
use crate::sweep::queue::{Queue, Subject};
use crate::sweep::record::Record;
use crate::sweep::results::{ResultsFile, SweepError};
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;
use supergat_core::{Epoch, Prepared};
use supergat_data::Dataset;
use supergat_train::baselines;
use supergat_train::device::Resources;
use supergat_train::gpu::Cuda;
use supergat_train::jobs::Finished;
use supergat_train::processes::Place;
use supergat_train::runs::{in_parallel, scored, train};
use supergat_train::task::{NodeClassification, Status, Task, Watch, measured, run_on_cpu};

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
    let places =
        resources.processes.filter(|_| device.is_cpu()).map_or_else(Vec::new, |others| others.places(jobs.len()));
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
    let work = |run: &mut dyn FnMut(&Arc<Subject>, &Job) -> Option<Record>| {
        while !sweep.stop.load(Ordering::Relaxed) {
            // The worker that finds the queue empty loads the next dataset. The others wait: they have no
            // work.
            let next = lock(&queue).next(&|event, jobs| sweep.notify(event, jobs));
            let Some((subject, job)) = next else { break };
            let Some(record) = run(&subject, &job) else { break };
            drop(subject);
            sweep.write(record, &job, &results);
        }
    };
    std::thread::scope(|scope| {
        for &place in &places {
            let (sweep, work) = (&sweep, &work);
            scope.spawn(move || work(&mut |subject, job| sweep.run_elsewhere(place, subject, job)));
        }
        in_parallel(threads, workers, |pool| {
            let mut gpu = match resources.cuda() {
                Ok(cuda) => cuda.map(|cuda| Gpu { cuda, placed: None }),
                Err(error) => return sweep.fail(error.into()),
            };
            work(&mut |subject, job| pool.install(|| sweep.run(subject, job, gpu.as_mut())));
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
    placed: Option<(Arc<Subject>, Prepared<Cuda>)>,
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
    fn run(&self, subject: &Arc<Subject>, job: &Job, gpu: Option<&mut Gpu>) -> Option<Record> {
        let started = Instant::now();
        let status = catch_unwind(AssertUnwindSafe(|| match self.train(subject, job, gpu) {
            Ok(status) => status,
            Err(error) => Some(Status::Failed { reason: error.to_string() }),
        }));
        let status = status.unwrap_or_else(|panic| Some(Status::Failed { reason: panic_message(&*panic) }))?;
        Some(subject.record(self.task.name(), job, status, started.elapsed().as_secs_f64()))
    }

    /// Trains and measures a model; `None` if the sweep was stopped.
    fn train(&self, subject: &Arc<Subject>, job: &Job, gpu: Option<&mut Gpu>) -> supergat_core::Result<Option<Status>> {
        let observe = |epoch: &Epoch| self.epoch(epoch);
        let Some(gpu) = gpu else { return run_on_cpu(self.task, &subject.ready, &job.settings, job.seed, observe) };
        baselines::workers(&self.resources, &job.settings, 1)?;
        let own = self.task.prepare(&subject.ready.dataset, job.seed)?;
        let mut watch = Watch::new(self.task);
        let finished = self.train_on(gpu, subject, own.as_ref(), job, |epoch| watch.after(epoch, observe(epoch)))?;
        measured(self.task, &subject.ready.dataset, own.as_ref(), &job.settings, job.seed, watch.ended(finished))
    }

    /// Reports an epoch, and returns whether the run continues.
    fn epoch(&self, epoch: &Epoch) -> ControlFlow<()> {
        self.notify(Event::Epoch(epoch), &[]);
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Lets another process run a job and returns its record; `None` if the sweep was stopped.
    fn run_elsewhere(&self, place: Place, subject: &Subject, job: &Job) -> Option<Record> {
        let started = Instant::now();
        let processes = self.resources.processes.expect("it has this place");
        let (task, source) = (self.task.name(), subject.source(job));
        let answer = processes.run_task(place, task, source, job.settings, job.seed, |epoch| self.epoch(epoch));
        match answer {
            Ok(status) => Some(subject.record(self.task.name(), job, status?, started.elapsed().as_secs_f64())),
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
        subject: &Arc<Subject>,
        own: Option<&Dataset>,
        job: &Job,
        observe: impl FnMut(&Epoch) -> ControlFlow<()>,
    ) -> supergat_core::Result<Finished> {
        let dataset = own.unwrap_or(&subject.ready.dataset);
        if self.resources.workers(dataset.nodes(), usize::MAX) == 1 {
            gpu.placed = None;
            let _alone = self.gpu.write().unwrap_or_else(PoisonError::into_inner);
            return train(&gpu.place(dataset, job)?, job.seed, observe);
        }
        let _shared = self.gpu.read().unwrap_or_else(PoisonError::into_inner);
        if own.is_some() {
            return train(&gpu.place(dataset, job)?, job.seed, observe);
        }
        if gpu.placed.as_ref().is_none_or(|(placed, _)| !Arc::ptr_eq(placed, subject)) {
            gpu.placed = None;
            gpu.placed = Some((Arc::clone(subject), gpu.place(dataset, job)?));
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
