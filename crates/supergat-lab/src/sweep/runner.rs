//! Runs what is missing, one run per core.

use crate::runs::{Finished, in_parallel, prepare, score, train};
use crate::sweep::clock::{Clock, Tally};
use crate::sweep::error::SweepError;
use crate::sweep::event::Event;
use crate::sweep::job::{Group, Job};
use crate::sweep::queue::{Queue, Ready};
use crate::sweep::record::{Record, Status};
use crate::sweep::results::ResultsFile;
use crate::sweep::task::{Nodes, Task};
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What came of a sweep.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Runs that were in the file already.
    pub found: usize,
    /// Runs that came to their end.
    pub ran: usize,
    /// Runs that failed.
    pub failed: usize,
    /// Datasets that cannot be had, with the reasons.
    pub unavailable: Vec<(String, String)>,
    /// Whether an observer stopped it.
    pub interrupted: bool,
}

/// Runs all jobs that the file does not hold, on `threads` threads: several runs side by side on one thread each, a single one on all of
/// them. Results do not depend on it. Datasets are loaded one after the other, each once, the next one while the last runs on the one
/// before it still go on. `observe` is called from all threads and may stop everything: then runs that have not ended are lost, and no others.
pub fn run_sweep(
    jobs: Vec<Job>,
    results: &mut ResultsFile,
    threads: usize,
    observe: impl Fn(Event<'_>, Tally) -> ControlFlow<()> + Sync,
) -> Result<Report, SweepError> {
    run_task_sweep(&Nodes, jobs, results, threads, observe)
}

/// The same for a task.
pub fn run_task_sweep(
    task: &dyn Task,
    jobs: Vec<Job>,
    results: &mut ResultsFile,
    threads: usize,
    observe: impl Fn(Event<'_>, Tally) -> ControlFlow<()> + Sync,
) -> Result<Report, SweepError> {
    let sweep = Sweep {
        task,
        clock: Mutex::new(Clock::new(jobs.len(), weight(&jobs), threads)),
        stop: AtomicBool::new(false),
        report: Mutex::default(),
        failure: Mutex::default(),
        observe,
    };
    let count = jobs.len();
    let queue = Mutex::new(Queue::new(Group::all(jobs), results, task.name()));
    let results = Mutex::new(results);
    in_parallel(threads, count, |pool| {
        while !sweep.stop.load(Ordering::Relaxed) {
            // Whoever loads a dataset keeps the others waiting, who have nothing else to do.
            let next = locked(&queue).next(&|event, jobs| sweep.tell(event, jobs));
            let Some((ready, job)) = next else { break };
            let Some(record) = pool.install(|| sweep.run(&ready, &job)) else { break };
            drop(ready);
            sweep.keep(record, &job, &results);
        }
    })?;
    if let Some(error) = sweep.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let report = sweep.report.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Report { interrupted: sweep.stop.into_inner(), ..report })
}

/// What all threads share.
struct Sweep<'a, F> {
    task: &'a dyn Task,
    clock: Mutex<Clock>,
    stop: AtomicBool,
    report: Mutex<Report>,
    failure: Mutex<Option<SweepError>>,
    observe: F,
}

impl<F: Fn(Event<'_>, Tally) -> ControlFlow<()> + Sync> Sweep<'_, F> {
    /// Counts what happened to these jobs, and tells the observer.
    fn tell(&self, event: Event<'_>, jobs: &[Job]) {
        let tally = {
            let mut report = locked(&self.report);
            match event {
                Event::Found(count) => report.found += count,
                Event::Unavailable(source, reason, _) => {
                    let what = (source.to_owned(), reason.to_owned());
                    if !report.unavailable.contains(&what) {
                        report.unavailable.push(what);
                    }
                }
                Event::Done(record) if record.test().is_some() => report.ran += 1,
                Event::Done(_) => report.failed += 1,
                Event::Loading(_) | Event::Epoch(_) => {}
            }
            let seconds = match event {
                Event::Done(record) if record.test().is_some() => record.seconds,
                _ => 0.0,
            };
            locked(&self.clock).settle(jobs.len(), weight(jobs), seconds)
        };
        if (self.observe)(event, tally).is_break() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// The record of a run; `None` when it was stopped. A panic is a failure of this run, and of no other.
    fn run(&self, ready: &Ready, job: &Job) -> Option<Record> {
        let started = Instant::now();
        let status = catch_unwind(AssertUnwindSafe(|| match self.train(ready, job) {
            Ok(status) => status,
            Err(error) => Some(Status::Failed { reason: error.to_string() }),
        }));
        let status = status.unwrap_or_else(|panic| Some(Status::Failed { reason: words(&*panic) }))?;
        Some(ready.record(self.task.name(), job, status, started.elapsed().as_secs_f64()))
    }

    fn train(&self, ready: &Ready, job: &Job) -> supergat_core::Result<Option<Status>> {
        let prepared = self.task.prepared(&ready.dataset, job.seed)?;
        let own = prepared.as_ref().map(|dataset| prepare(dataset, &job.settings)).transpose()?;
        let dataset = prepared.as_ref().unwrap_or(&ready.dataset);
        let shared = match &own {
            Some(own) => own,
            None => ready.prepared.as_ref().map_err(Clone::clone)?,
        };
        let Finished { run, logits, model } = train(shared, job.seed, |epoch| {
            self.tell(Event::Epoch(epoch), &[]);
            if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
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
            measured: self.task.measured(&ready.dataset, job.seed, &model)?,
        }))
    }

    /// Writes the record. When that fails nothing further can be kept, so that everything ends.
    fn keep(&self, record: Record, job: &Job, results: &Mutex<&mut ResultsFile>) {
        let kept = locked(results).append(record.clone());
        match kept {
            Ok(()) => self.tell(Event::Done(&record), std::slice::from_ref(job)),
            Err(error) => {
                locked(&self.failure).get_or_insert(error);
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Of all these jobs together.
fn weight(jobs: &[Job]) -> f64 {
    jobs.iter().map(Job::weight).sum()
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a bug in this program: {}", text.unwrap_or("a panic without words"))
}

/// What a run that panicked left behind is sound: panics are caught before they meet a lock.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
