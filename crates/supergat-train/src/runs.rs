//! Training with several seeds or splits: one run per core, with shared graph and features.

use crate::baselines;
use crate::checkpoints::{Checkpoints, Origin};
use crate::correct_and_smooth::SeedCorrection;
use crate::device::{DeviceChoice, Resources, gpu_worker};
use crate::divided::Divided;
use crate::fitted::Fitted;
use crate::jobs::{Elsewhere, Finished, Jobs, RunCheckpoints, Stop, Worker, run_jobs, train_from};
use crate::selection::scorer;
use crate::settings::Settings;
use std::ops::ControlFlow;
use std::sync::Arc;
use supergat_cluster::peers::Alone;
use supergat_core::{Counts, Device, Epoch, Example, Network, Outcome, Prepared, Result, Score, SingleDevice};
use supergat_cpu::Cpu;
use supergat_cpu::kernels::Primitives;
use supergat_data::Dataset;
use supergat_numerics::statistics::Summary;

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
    /// Correct and Smooth, with the scores before it; those of the outcome are after it. `None` without it.
    pub correction: Option<SeedCorrection>,
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
    pub model: Fitted,
    /// Logits of the best model for all nodes, one list per graph.
    pub logits: Vec<Vec<f32>>,
    /// Whether an observer stopped the training. Seeds may then be missing, and the last ones have fewer
    /// epochs.
    pub interrupted: bool,
}

impl Runs {
    /// Summarises the test metric of all runs.
    pub fn test(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| run.outcome.test.metric).collect())
    }

    /// Summarises the validation metric of all runs.
    pub fn validation(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| run.outcome.validation.metric).collect())
    }
}

/// Builds a dedicated thread pool.
pub fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    let threads = threads.max(1);
    let started = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    started.map_err(|error| supergat_core::Error::Threads { threads, reason: error.to_string() })
}

/// Returns the logits of all nodes without dropout, one list per graph. They are computed on the device of the
/// model.
///
/// See [`run_seeds`] for an example.
pub fn logits<D: SingleDevice<Number = f32>>(model: &Network<D>, dataset: &Dataset) -> Result<Vec<Vec<f32>>> {
    dataset.examples.iter().map(|example| model.predict(example)).collect()
}

/// An event during training, passed to the observer of [`run_seeds`], which has an example.
#[derive(Debug, Clone, Copy)]
pub enum Observation<'a> {
    /// The run with this seed finished an epoch.
    Epoch(u64, &'a Epoch),
    /// A run finished. Its model has these logits of all nodes, one list per graph; with several processes, only the
    /// first one has any. Correct and Smooth has changed them, if the run has it.
    Done(&'a SeedRun, &'a [Vec<f32>], &'a Fitted),
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

/// Returns the scores of the validation and the test nodes, with the metric that the settings select by.
pub fn scores(dataset: &Dataset, settings: &Settings, logits: &[Vec<f32>]) -> Result<[Score; 2]> {
    let mut scores =
        [score(dataset, logits, |example| &example.validation), score(dataset, logits, |example| &example.test)];
    if let Some(scorer) = scorer(dataset, settings)? {
        scores.iter_mut().zip(scorer.score(logits)).for_each(|(score, metric)| score.metric = metric);
    }
    Ok(scores)
}

/// Prepares a dataset for training with `settings`; all runs with these settings share the result.
pub fn prepare(dataset: &Dataset, settings: &Settings) -> Result<Prepared<Cpu<f32>>> {
    let prepared =
        Prepared::on(&Cpu::default(), &dataset.examples, settings.architecture(dataset), settings.training())?;
    scored(prepared, dataset, settings)
}

/// Adds the scorer of the metric that the settings select by, if the engine does not compute it.
pub fn scored<D: Device<Number = f32>>(
    prepared: Prepared<D>,
    dataset: &Dataset,
    settings: &Settings,
) -> Result<Prepared<D>> {
    Ok(match scorer(dataset, settings)? {
        Some(scorer) => prepared.scored_by(scorer),
        None => prepared,
    })
}

/// Trains once, on a device; the CPU uses the threads of the current thread pool.
pub fn train<D: Device<Number = f32>>(
    prepared: &Prepared<D>,
    seed: u64,
    mut observe: impl FnMut(&Epoch) -> ControlFlow<()>,
) -> Result<Finished> {
    train_from(prepared, seed, None, |epoch| observe(epoch).map_break(|()| Stop::Interrupted))
}

/// Calls `work` once per worker, in parallel. Each worker has a dedicated thread pool, so that no run waits for
/// the work of another one.
pub fn in_parallel(threads: usize, workers: usize, work: impl Fn(&rayon::ThreadPool) + Sync) -> Result<()> {
    let pools = (0..workers).map(|_| pool(threads / workers)).collect::<Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| work(pool));
        }
    });
    Ok(())
}

/// Trains once per seed. On the CPU, several seeds run in parallel on one thread each, and a single seed uses
/// all threads; results do not depend on the number of threads. Other processes of the [`Resources`] train seeds as
/// well, if the dataset was loaded from files or generated. On a GPU, several seeds of a small graph run side
/// by side. `observe` is called from all threads and may stop the training.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use supergat_train::{Observation, Settings, run_seeds, score};
/// let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap();
/// let settings = Settings::general("gat-go".parse().unwrap()).with(|s| s.training.max_epochs = 3);
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
/// let predicted = runs.model.logits(&dataset)?;
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
    seeds_from(dataset, settings, seeds, resources.into(), None, &observe)
}

/// Observer of a training. It is a trait object, so that only this crate compiles the trainings.
type Observer<'a> = dyn Fn(Observation<'_>) -> ControlFlow<()> + Sync + 'a;

/// Trains once per seed as [`run_seeds`] does, and writes checkpoints. Seeds that have one are resumed, and
/// finished ones are not trained again; results have the same bits as without interruption. All checkpoints are
/// checked before training.
///
/// See [`Checkpoints`] for an example.
pub fn resume_seeds(
    dataset: &Dataset,
    settings: &Settings,
    seeds: &[u64],
    resources: impl Into<Resources>,
    checkpoints: &Checkpoints<'_>,
    observe: impl Fn(Observation<'_>) -> ControlFlow<()> + Sync,
) -> Result<Runs> {
    seeds_from(dataset, settings, seeds, resources.into(), Some(checkpoints), &observe)
}

fn seeds_from(
    dataset: &Dataset,
    settings: &Settings,
    seeds: &[u64],
    resources: Resources,
    checkpoints: Option<&Checkpoints<'_>>,
    observe: &Observer<'_>,
) -> Result<Runs> {
    if !settings.model.is_network() {
        let jobs = Jobs { seeds, settings, datasets: &[dataset], checkpoints: None };
        let worker = || -> Result<Worker<'_>> {
            Ok(Box::new(|k, observe| baselines::train(dataset, settings, seeds[k], observe)))
        };
        let workers = baselines::workers(&resources, settings, seeds.len())?;
        return run_jobs(jobs, resources.threads, workers, worker, None, observe);
    }
    if resources.kind().is_cpu()
        && let Some(divided) = Divided::of(dataset, Arc::new(Alone))?
    {
        return divided.run_seeds(settings, seeds, resources.threads, checkpoints, observe);
    }
    let origin = Origin::new(dataset, resources.kind(), settings);
    let checkpoints =
        checkpoints.map(|checkpoints| RunCheckpoints { checkpoints, origins: vec![origin], writes: true });
    let checkpoints = checkpoints.as_ref();
    checkpoints.map_or(Ok(()), |checkpoints| checkpoints.check(settings, seeds))?;
    let jobs = Jobs { seeds, settings, datasets: &[dataset], checkpoints };
    let workers = resources.workers(dataset.nodes(), seeds.len());
    if resources.device.resolved() == DeviceChoice::Cpu {
        let prepared = prepare(dataset, settings)?;
        let worker = || -> Result<Worker<'_>> { Ok(Box::new(|k, observe| jobs.train(k, &prepared, observe))) };
        let elsewhere = Elsewhere::new(&resources, jobs);
        return run_jobs(jobs, resources.threads, workers, worker, elsewhere, observe);
    }
    let worker = || {
        let cuda = resources.cuda()?.expect("a GPU was asked for");
        gpu_worker(&cuda, dataset, settings, jobs)
    };
    run_jobs(jobs, resources.threads, workers, worker, None, observe)
}

/// Trains once per dataset, where the datasets are splits of one graph: split k has the k-th seed, counted from
/// `first_seed`. Otherwise as [`run_seeds`].
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_train::{Settings, run_splits};
/// let graph = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap();
/// let splits: Vec<_> = (0..3).filter_map(|seed| graph.redrawn(seed)).collect();
/// let settings = Settings::general("gat-go".parse().unwrap()).with(|s| s.training.max_epochs = 3);
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
    splits_from(splits, settings, first_seed, resources.into(), None, &observe)
}

/// Trains once per dataset as [`run_splits`] does, with checkpoints as in [`resume_seeds`].
///
/// See [`Checkpoints`] for an example.
pub fn resume_splits(
    splits: &[Dataset],
    settings: &Settings,
    first_seed: u64,
    resources: impl Into<Resources>,
    checkpoints: &Checkpoints<'_>,
    observe: impl Fn(Observation<'_>) -> ControlFlow<()> + Sync,
) -> Result<Runs> {
    splits_from(splits, settings, first_seed, resources.into(), Some(checkpoints), &observe)
}

fn splits_from(
    splits: &[Dataset],
    settings: &Settings,
    first_seed: u64,
    resources: Resources,
    checkpoints: Option<&Checkpoints<'_>>,
    observe: &Observer<'_>,
) -> Result<Runs> {
    let seeds: Vec<u64> = (first_seed..).take(splits.len()).collect();
    let datasets: Vec<&Dataset> = splits.iter().collect();
    if !settings.model.is_network() {
        let jobs = Jobs { seeds: &seeds, settings, datasets: &datasets, checkpoints: None };
        let worker = || -> Result<Worker<'_>> {
            Ok(Box::new(|k, observe| baselines::train(&splits[k], settings, seeds[k], observe)))
        };
        let workers = baselines::workers(&resources, settings, seeds.len())?;
        return run_jobs(jobs, resources.threads, workers, worker, None, observe);
    }
    let origins = || splits.iter().map(|split| Origin::new(split, resources.kind(), settings)).collect();
    let checkpoints = checkpoints.map(|checkpoints| RunCheckpoints { checkpoints, origins: origins(), writes: true });
    let checkpoints = checkpoints.as_ref();
    checkpoints.map_or(Ok(()), |checkpoints| checkpoints.check(settings, &seeds))?;
    let jobs = Jobs { seeds: &seeds, settings, datasets: &datasets, checkpoints };
    let workers = resources.workers(splits.iter().map(Dataset::nodes).max().unwrap_or(0), seeds.len());
    let worker = || -> Result<Worker<'_>> {
        Ok(match resources.cuda()? {
            None => Box::new(|k, observe| match Divided::of(&splits[k], Arc::new(Alone))? {
                Some(divided) => divided.train(jobs, k, &divided.prepare(settings)?, observe),
                None => jobs.train(k, &prepare(&splits[k], settings)?, observe),
            }),
            Some(cuda) => Box::new(move |k, observe| gpu_worker(&cuda, &splits[k], settings, jobs)?(k, observe)),
        })
    };
    let elsewhere = Elsewhere::new(&resources, jobs);
    run_jobs(jobs, resources.threads, workers, worker, elsewhere, observe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset() -> Dataset {
        supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap()
    }

    fn settings() -> Settings {
        Settings::general("supergat-mx".parse().unwrap()).with(|s| s.training.max_epochs = 15)
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
        let settings = settings().with(|s| s.edge_loss.p_n = 1e9);
        let error = run_seeds(&dataset(), &settings, &[0], 1, |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error, supergat_core::Error::TooFewNonEdges { .. }), "{error}");
    }
}
