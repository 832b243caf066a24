//! Runs the missing jobs of a sweep in parallel: one per core, or several on a GPU.

use crate::sweep::job::{Job, groups};
use crate::sweep::progress::{Clock, Event, Tally};
use crate::sweep::queue::{Queue, Subject};
use crate::sweep::record::Record;
use crate::sweep::results::{ResultsFile, SweepError};
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use supergat_data::Dataset;
use supergat_train::Resources;
use supergat_train::processes::Place;
use supergat_train::task::{Status, Task};
use supergat_train::task_run::{TaskRuns, TaskWorker};
use supergat_train::threads::in_parallel;

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

/// Runs the jobs of a task that have no result in the file.
///
/// On the CPU, several jobs run in parallel on one thread each; a single job uses all threads. Results do not
/// depend on the number of threads. On a GPU, several jobs on a small graph run side by side. Each dataset is
/// loaded once, while the last runs on the previous one are still training. Other processes of the [`Resources`] take
/// jobs as well, and this process writes their results. `observe` is called from all threads
/// and can stop the sweep. Unfinished runs are then lost; finished ones are in the file.
pub fn run_sweep(
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
        clock: Mutex::new(Clock::new(jobs.len(), weight(&jobs), workers + places.len())),
        stop: AtomicBool::new(false),
        outcome: Mutex::default(),
        failure: Mutex::default(),
        observe,
    };
    let queue = Mutex::new(Queue::new(groups(jobs), results, task, device, resources.node_order, given));
    let results = Mutex::new(results);
    let runs = TaskRuns::new(task, resources);
    let work = |run: &mut dyn FnMut(&Subject, &Job) -> Option<Record>| {
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
        in_parallel(threads, workers, |pool| match runs.worker() {
            Ok(mut worker) => work(&mut |subject, job| pool.install(|| sweep.run(subject, job, &mut worker))),
            Err(error) => sweep.fail(error.into()),
        })
    })?;
    if let Some(error) = sweep.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let outcome = sweep.outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(SweepOutcome { interrupted: sweep.stop.into_inner(), ..outcome })
}

/// State shared by all threads.
struct Sweep<'a> {
    task: &'a dyn Task,
    resources: Resources,
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
                Event::Unavailable(source, reason) => {
                    let dataset = (source.to_owned(), reason.to_owned());
                    if !outcome.unavailable.contains(&dataset) {
                        outcome.unavailable.push(dataset);
                    }
                }
                Event::Done(record) if record.test().is_some() => outcome.ran += 1,
                Event::Done(_) => outcome.failed += 1,
                Event::Loading(_) | Event::Epoch => {}
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
    fn run(&self, subject: &Subject, job: &Job, worker: &mut TaskWorker<'_>) -> Option<Record> {
        let started = Instant::now();
        let status = catch_unwind(AssertUnwindSafe(|| {
            let status = worker.run(&subject.ready, &job.settings, job.seed, &mut |_| self.epoch());
            status.unwrap_or_else(|error| Some(Status::Failed { reason: error.to_string() }))
        }));
        let status = status.unwrap_or_else(|panic| Some(Status::Failed { reason: panic_message(&*panic) }))?;
        Some(subject.record(self.task.name(), job, status, started.elapsed().as_secs_f64()))
    }

    /// Reports an epoch, and returns whether the run continues.
    fn epoch(&self) -> ControlFlow<()> {
        self.notify(Event::Epoch, &[]);
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Lets another process run a job and returns its record; `None` if the sweep was stopped.
    fn run_elsewhere(&self, place: Place, subject: &Subject, job: &Job) -> Option<Record> {
        let started = Instant::now();
        let processes = self.resources.processes.expect("it has this place");
        let (task, source) = (self.task.name(), subject.source(job));
        let answer = processes.run_task(place, task, source, job.settings, job.seed, &mut |_| self.epoch());
        match answer {
            Ok(status) => Some(subject.record(self.task.name(), job, status?, started.elapsed().as_secs_f64())),
            Err(error) => {
                self.fail(error.into());
                None
            }
        }
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
