//! Training with several seeds or splits: one run per core, with shared graph and features.

use crate::device::{DeviceChoice, Resources, gpu_worker};
use crate::settings::Settings;
use crate::statistics::Summary;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
use supergat_core::kernels::{Counts, Primitives};
use supergat_core::{Cpu, Device, Epoch, Example, Model, Network, Outcome, Prepared, Result, Score, Trained, Trainer};
use supergat_data::Dataset;

/// Result of training with one seed.
///
/// See [`run_seeds`] for an example.
#[derive(Debug, Clone)]
pub struct SeedRun {
    /// Seed of the run.
    pub seed: u64,
    /// Scores at the best validation epoch.
    pub outcome: Outcome,
    /// Losses and scores of every epoch.
    pub history: Vec<Epoch>,
    /// Wall-clock time in seconds.
    pub seconds: f64,
}

/// Results of all seeds and the best model.
///
/// See [`run_seeds`] for an example.
#[derive(Debug)]
pub struct Runs {
    /// One result per seed, in the order of the seeds.
    pub runs: Vec<SeedRun>,
    /// Index into `runs` of the run with the best validation metric. Ties go to the earlier seed.
    pub best: usize,
    /// Model of the best run.
    pub model: Model<f32>,
    /// Logits of the best model for all nodes, one list per graph.
    pub logits: Vec<Vec<f32>>,
    /// Whether an observer stopped the training. Seeds may then be missing, and the last ones have fewer
    /// epochs.
    pub interrupted: bool,
}

impl Runs {
    /// Summarises the test metric of all runs, in percent.
    pub fn test(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| 100.0 * run.outcome.test.metric).collect())
    }

    /// Summarises the validation metric of all runs, in percent.
    pub fn validation(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| 100.0 * run.outcome.validation.metric).collect())
    }
}

/// Builds a dedicated thread pool.
pub(crate) fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    let threads = threads.max(1);
    let started = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    started.map_err(|error| supergat_core::Error::Threads { threads, reason: error.to_string() })
}

/// Returns the logits of all nodes without dropout, one list per graph. They are computed on the device of the
/// model.
///
/// See [`run_seeds`] for an example.
pub fn logits<D: Device<Number = f32>>(model: &Network<D>, dataset: &Dataset) -> Result<Vec<Vec<f32>>> {
    dataset.examples.iter().map(|example| model.predict(example)).collect()
}

/// An event during training, passed to the observer of [`run_seeds`], which has an example.
#[derive(Debug, Clone, Copy)]
pub enum Observation<'a> {
    /// The run with this seed finished an epoch.
    Epoch(u64, &'a Epoch),
    /// A run finished.
    Done(&'a SeedRun),
}

/// Returns the mean loss and the metric of the nodes that `list` selects; zeros if it selects none.
///
/// See [`run_seeds`] for an example.
pub fn score(dataset: &Dataset, logits: &[Vec<f32>], list: fn(&Example<f32>) -> &[u32]) -> Score {
    let (mut nodes, mut loss, mut counts) = (0, 0.0, Counts::default());
    for (example, logits) in dataset.examples.iter().zip(logits) {
        let (sum, more) = f32::evaluate(&example.labels, list(example), logits);
        nodes += list(example).len();
        loss += sum;
        counts += more;
    }
    Score { loss: loss / nodes.max(1) as f64, metric: counts.micro_f1() }
}

/// A finished run with its model and predictions.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) run: SeedRun,
    pub(crate) model: Model<f32>,
    pub(crate) logits: Vec<Vec<f32>>,
}

/// Prepares a dataset for training with `settings`; all runs with these settings share the result.
pub(crate) fn prepare(dataset: &Dataset, settings: &Settings) -> Result<Prepared<Cpu<f32>>> {
    Prepared::new(&dataset.examples, settings.architecture(dataset), settings.training())
}

/// Trains once, on a device; the CPU uses the threads of the current thread pool.
pub(crate) fn train<D: Device<Number = f32>>(
    prepared: &Prepared<D>,
    seed: u64,
    mut observe: impl FnMut(&Epoch) -> ControlFlow<()>,
) -> Result<Finished> {
    let started = Instant::now();
    let mut history = Vec::new();
    let Trained { model, outcome, logits } = Trainer::new(prepared, seed)?.run(|epoch| {
        history.push(*epoch);
        observe(epoch)
    })?;
    let run = SeedRun { seed, outcome, history, seconds: started.elapsed().as_secs_f64() };
    Ok(Finished { run, model, logits })
}

/// Calls `work` once per worker, in parallel. Each worker has a dedicated thread pool, so that no run waits for
/// the work of another one.
pub(crate) fn in_parallel(threads: usize, workers: usize, work: impl Fn(&rayon::ThreadPool) + Sync) -> Result<()> {
    let pools = (0..workers).map(|_| pool(threads / workers)).collect::<Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| work(pool));
        }
    });
    Ok(())
}

/// Trains once per seed. On the CPU, several seeds run in parallel on one thread each, and a single seed uses
/// all threads; results do not depend on the number of threads. On a GPU, several seeds of a small graph run side
/// by side. `observe` is called from all threads and may stop the training.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use supergat_lab::{Observation, Settings, logits, run_seeds, score};
/// let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap();
/// let settings = Settings { max_epochs: 3, ..Settings::general("gat-go".parse().unwrap()) };
/// let epochs = AtomicUsize::new(0);
/// let runs = run_seeds(&dataset, &settings, &[7, 8], 2, |observation| {
///     if let Observation::Epoch(_seed, _epoch) = observation {
///         epochs.fetch_add(1, Ordering::Relaxed);
///     }
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(epochs.into_inner(), 2 * 3);
/// assert_eq!((runs.runs[1].seed, runs.runs[1].history.len()), (8, 3));
/// assert_eq!(runs.test().values.len(), 2);
///
/// let predicted = logits(&runs.model, &dataset)?;
/// assert_eq!(predicted, runs.logits);
/// let test = score(&dataset, &predicted, |example| &example.test);
/// assert_eq!(test.metric, runs.runs[runs.best].outcome.test.metric);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn run_seeds(
    dataset: &Dataset,
    settings: &Settings,
    seeds: &[u64],
    resources: impl Into<Resources>,
    observe: impl Fn(Observation<'_>) -> ControlFlow<()> + Sync,
) -> Result<Runs> {
    let resources = resources.into();
    let workers = resources.workers(dataset.nodes(), seeds.len());
    if resources.device.resolved() == DeviceChoice::Cpu {
        let prepared = prepare(dataset, settings)?;
        let worker = || -> Result<Worker<'_>> { Ok(Box::new(|k, observe| train(&prepared, seeds[k], observe))) };
        return run_jobs(seeds, resources.threads, workers, worker, observe);
    }
    let worker = || {
        let cuda = resources.cuda()?.expect("a GPU was asked for");
        gpu_worker(&cuda, dataset, settings, seeds)
    };
    run_jobs(seeds, resources.threads, workers, worker, observe)
}

/// Trains once per dataset, where the datasets are splits of one graph: split k has the k-th seed, counted from
/// `first_seed`. Otherwise as [`run_seeds`].
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_lab::{Settings, run_splits};
/// let graph = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap();
/// let splits: Vec<_> = (0..3).filter_map(|seed| graph.redrawn(seed)).collect();
/// let settings = Settings { max_epochs: 3, ..Settings::general("gat-go".parse().unwrap()) };
/// let runs = run_splits(&splits, &settings, 5, 2, |_| ControlFlow::Continue(()))?;
/// assert_eq!(runs.runs.iter().map(|run| run.seed).collect::<Vec<_>>(), [5, 6, 7]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn run_splits(
    splits: &[Dataset],
    settings: &Settings,
    first_seed: u64,
    resources: impl Into<Resources>,
    observe: impl Fn(Observation<'_>) -> ControlFlow<()> + Sync,
) -> Result<Runs> {
    let resources = resources.into();
    let seeds: Vec<u64> = (first_seed..).take(splits.len()).collect();
    let workers = resources.workers(splits.iter().map(Dataset::nodes).max().unwrap_or(0), seeds.len());
    let worker = || -> Result<Worker<'_>> {
        Ok(match resources.cuda()? {
            None => Box::new(|k, observe| train(&prepare(&splits[k], settings)?, seeds[k], observe)),
            Some(cuda) => {
                let seeds = &seeds;
                Box::new(move |k, observe| gpu_worker(&cuda, &splits[k], settings, seeds)?(k, observe))
            }
        })
    };
    run_jobs(&seeds, resources.threads, workers, worker, observe)
}

/// Trains the k-th job; calls the observer after every epoch.
pub(crate) type Worker<'a> = Box<dyn FnMut(usize, &mut dyn FnMut(&Epoch) -> ControlFlow<()>) -> Result<Finished> + 'a>;

/// Trains once per seed, by several workers, each of which runs in one thread.
fn run_jobs<'a>(
    seeds: &[u64],
    threads: usize,
    workers: usize,
    worker: impl Fn() -> Result<Worker<'a>> + Sync,
    observe: impl Fn(Observation<'_>) -> ControlFlow<()> + Sync,
) -> Result<Runs> {
    assert!(!seeds.is_empty(), "at least one seed");
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let finished: Mutex<Vec<(usize, SeedRun)>> = Mutex::default();
    type Best = (f64, usize, Model<f32>, Vec<Vec<f32>>);
    let best: Mutex<Option<Best>> = Mutex::default();
    let failure: Mutex<Option<supergat_core::Error>> = Mutex::default();

    let one = |k: usize, worker: &mut Worker<'a>| -> Result<()> {
        let seed = seeds[k];
        let Finished { run, model, logits } = worker(k, &mut |epoch: &Epoch| {
            if observe(Observation::Epoch(seed, epoch)).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if observe(Observation::Done(&run)).is_break() {
            stop.store(true, Ordering::Relaxed);
        }
        let metric = run.outcome.validation.metric;
        let mut best = best.lock().expect("no thread panicked");
        if best.as_ref().is_none_or(|(m, b, ..)| metric > *m || (metric == *m && k < *b)) {
            *best = Some((metric, k, model, logits));
        }
        finished.lock().expect("no thread panicked").push((k, run));
        Ok(())
    };
    let work = || -> Result<()> {
        let mut worker = worker()?;
        while !stop.load(Ordering::Relaxed) {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= seeds.len() {
                break;
            }
            one(k, &mut worker)?;
        }
        Ok(())
    };
    in_parallel(threads, workers, |pool| {
        if let Err(error) = pool.install(work) {
            failure.lock().expect("no thread panicked").get_or_insert(error);
            stop.store(true, Ordering::Relaxed);
        }
    })?;

    if let Some(error) = failure.into_inner().expect("no thread panicked") {
        return Err(error);
    }
    let mut finished = finished.into_inner().expect("no thread panicked");
    finished.sort_by_key(|(k, _)| *k);
    let (_, best, model, logits) = best.into_inner().expect("no thread panicked").expect("the first seed always runs");
    let best = finished.iter().position(|(k, _)| *k == best).expect("the best run has finished");
    let interrupted = stop.into_inner();
    Ok(Runs { runs: finished.into_iter().map(|(_, run)| run).collect(), best, model, logits, interrupted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset() -> Dataset {
        supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap()
    }

    fn settings() -> Settings {
        Settings { max_epochs: 15, ..Settings::general("supergat-mx".parse().unwrap()) }
    }

    fn train_seeds(seeds: &[u64], threads: usize) -> Runs {
        run_seeds(&dataset(), &settings(), seeds, threads, |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn results_do_not_depend_on_parallel_seeds() {
        let many = train_seeds(&[3, 1, 2], 3);
        assert_eq!(many.runs.iter().map(|run| run.seed).collect::<Vec<_>>(), [3, 1, 2]);
        for (k, seed) in [3, 1, 2].into_iter().enumerate() {
            let alone = train_seeds(&[seed], 2);
            assert_eq!(alone.runs[0].outcome, many.runs[k].outcome);
            assert_eq!(alone.runs[0].history, many.runs[k].history);
        }
        let best = many.validation().values.iter().copied().fold(0.0, f64::max);
        assert_eq!(many.validation().values[many.best], best);
    }

    #[test]
    fn each_split_is_trained_as_alone() {
        let splits: Vec<Dataset> = (0..2).map(|seed| dataset().redrawn(seed).unwrap()).collect();
        let both = run_splits(&splits, &settings(), 4, 2, |_| ControlFlow::Continue(())).unwrap();
        for (k, split) in splits.iter().enumerate() {
            let alone = run_seeds(split, &settings(), &[4 + k as u64], 1, |_| ControlFlow::Continue(())).unwrap();
            assert_eq!((alone.runs[0].seed, alone.runs[0].outcome), (both.runs[k].seed, both.runs[k].outcome));
        }
        assert_ne!(both.runs[0].history, both.runs[1].history);
    }

    #[test]
    fn observer_stops_training() {
        let runs = run_seeds(&dataset(), &settings(), &[0, 1], 1, |event| match event {
            Observation::Epoch(_, epoch) if epoch.epoch == 4 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
        .unwrap();
        assert!(runs.interrupted && runs.runs.len() == 1 && runs.runs[0].outcome.epochs == 5);
    }

    #[test]
    fn returns_error_of_failed_run() {
        let settings = Settings { p_n: 1e9, ..settings() };
        let error = run_seeds(&dataset(), &settings, &[0], 1, |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error, supergat_core::Error::TooFewNonEdges { .. }), "{error}");
    }
}
