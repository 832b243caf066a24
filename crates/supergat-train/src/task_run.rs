//! Runs of a task: a model is trained on a dataset, and measured.

use crate::device::DeviceKind;
use crate::gpu::Cuda;
use crate::resources::Resources;
use crate::results::{EpochObserver, Finished, Stop};
use crate::selection::{metric_of, score};
use crate::settings::Settings;
use crate::task::{Status, Task};
use crate::training::{prepare, prepare_on, train_baseline, train_network};
use serde_json::Value;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock};
use supergat_core::{Epoch, Prepared, Result};
use supergat_cpu::Cpu;
use supergat_data::Dataset;

/// A dataset, with what all runs on it share.
#[derive(Debug)]
pub struct Ready {
    /// The dataset.
    pub dataset: Arc<Dataset>,
    /// Training state of the CPU; `None` on a GPU, where every thread has its own, and for models that are not networks.
    pub(crate) prepared: Result<Option<Prepared<Cpu<f32>>>>,
}

impl Ready {
    /// Prepares a dataset for runs with these settings.
    pub fn new(dataset: Arc<Dataset>, settings: &Settings, device: DeviceKind) -> Self {
        let is_prepared = device.is_cpu() && settings.model.is_network();
        let prepared = is_prepared.then(|| prepare(&dataset, settings)).transpose();
        Self { dataset, prepared }
    }
}

/// Runs of a task by several workers.
#[derive(Debug)]
pub struct TaskRuns<'a> {
    task: &'a dyn Task,
    resources: Resources,
    /// Locked for writing by a run that needs the GPU for itself, and for reading by other runs on it.
    gpu: RwLock<()>,
}

impl<'a> TaskRuns<'a> {
    /// Creates runs of `task`.
    pub fn new(task: &'a dyn Task, resources: Resources) -> Self {
        Self { task, resources, gpu: RwLock::new(()) }
    }

    /// Returns a worker, which opens the GPU if it is the device.
    pub fn worker(&self) -> Result<TaskWorker<'_>> {
        Ok(TaskWorker { runs: self, gpu: self.resources.cuda()?.map(|cuda| Gpu { cuda, placed: None }) })
    }
}

/// A worker, which runs a task in the current thread pool, or on a GPU.
pub struct TaskWorker<'a> {
    runs: &'a TaskRuns<'a>,
    gpu: Option<Gpu>,
}

impl fmt::Debug for TaskWorker<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskWorker").field("runs", &self.runs).finish_non_exhaustive()
    }
}

/// GPU of a worker, with the last small dataset that was placed on it.
struct Gpu {
    cuda: Cuda,
    placed: Option<(Arc<Ready>, Prepared<Cuda>)>,
}

impl TaskWorker<'_> {
    /// Trains and measures a model; `None` if the observer stopped the run.
    pub fn run(
        &mut self,
        ready: &Arc<Ready>,
        settings: &Settings,
        seed: u64,
        observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>,
    ) -> Result<Option<Status>> {
        let TaskRuns { task, resources, gpu: lock } = self.runs;
        let Some(gpu) = &mut self.gpu else { return run_on_cpu(*task, ready, settings, seed, observe) };
        resources.check_model(settings.model)?;
        run(*task, &ready.dataset, settings, seed, observe, |own, observe| {
            let dataset = own.unwrap_or(&ready.dataset);
            // A large graph has the GPU for itself and leaves its memory; a small one stays there for the next seed.
            if resources.workers(dataset.nodes(), usize::MAX) == 1 {
                gpu.placed = None;
                let _alone = lock.write().unwrap_or_else(PoisonError::into_inner);
                return train_network(&prepare_on(&gpu.cuda, dataset, settings)?, seed, None, observe);
            }
            let _shared = lock.read().unwrap_or_else(PoisonError::into_inner);
            if own.is_some() {
                return train_network(&prepare_on(&gpu.cuda, dataset, settings)?, seed, None, observe);
            }
            if gpu.placed.as_ref().is_none_or(|(placed, _)| !Arc::ptr_eq(placed, ready)) {
                gpu.placed = None;
                gpu.placed = Some((Arc::clone(ready), prepare_on(&gpu.cuda, dataset, settings)?));
            }
            let (_, prepared) = gpu.placed.as_ref().expect("just placed");
            train_network(prepared, seed, None, observe)
        })
    }
}

/// Trains and measures a model on the CPU; `None` if the observer stopped the run.
pub(crate) fn run_on_cpu(
    task: &dyn Task,
    ready: &Ready,
    settings: &Settings,
    seed: u64,
    observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>,
) -> Result<Option<Status>> {
    run(task, &ready.dataset, settings, seed, observe, |own, observe| {
        let dataset = own.unwrap_or(&ready.dataset);
        match (own, &ready.prepared) {
            _ if !settings.model.is_network() => train_baseline(dataset, settings, seed, observe),
            (None, Ok(Some(prepared))) => train_network(prepared, seed, None, observe),
            (None, Err(error)) => Err(error.clone()),
            _ => train_network(&prepare(dataset, settings)?, seed, None, observe),
        }
    })
}

/// Runs a task: `train` trains a model on the dataset that the task prepares, or on the loaded one without such a dataset.
/// The task may stop the run, which then counts as finished. Returns `None` if the observer stopped it.
fn run(
    task: &dyn Task,
    dataset: &Dataset,
    settings: &Settings,
    seed: u64,
    observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>,
    train: impl FnOnce(Option<&Dataset>, &mut EpochObserver<'_>) -> Result<Finished>,
) -> Result<Option<Status>> {
    let own = task.prepare(dataset, seed)?;
    let trained_on = own.as_ref().unwrap_or(dataset);
    // Validation metric of the best epoch so far, and whether the task has stopped the run.
    let (mut best, mut stopped) = (0.0, false);
    let finished = train(own.as_ref(), &mut |epoch| {
        let flow = observe(epoch);
        if epoch.best {
            best = epoch.validation.metric;
        }
        stopped = flow.is_continue() && task.stops_after(epoch.epoch + 1, best);
        if stopped { ControlFlow::Break(Stop::Interrupted) } else { flow.map_break(|()| Stop::Interrupted) }
    })?;
    if finished.run.outcome.interrupted && !stopped {
        return Ok(None);
    }
    let Finished { run, logits, model } = finished.completed(trained_on, settings)?;
    let outcome = run.outcome;
    let measured = match task.measure_history(&run.history) {
        Value::Null => task.measure(dataset, seed, &model)?,
        value => value,
    };
    Ok(Some(Status::Ok {
        metric: metric_of(trained_on, settings).to_string(),
        train: score(trained_on, &logits, |example| &example.train),
        validation: outcome.validation,
        test: outcome.test,
        epochs: outcome.epochs,
        best_epoch: outcome.best_epoch,
        measured,
    }))
}
