//! Training with several seeds or splits: one run per core, with shared graph and features.

use crate::checkpoints::{Checkpoints, Origin, RunCheckpoints};
use crate::device::DeviceKind;
use crate::divided::{Divided, is_divided};
use crate::jobs::{Elsewhere, Jobs, Worker, run_jobs};
use crate::resources::Resources;
use crate::results::{EpochObserver, Finished, Observation, Observer, Runs};
use crate::settings::Settings;
use crate::training::{prepare, prepare_on, train_baseline};
use std::ops::ControlFlow;
use std::sync::Arc;
use supergat_cluster::Cluster;
use supergat_cluster::peers::{Alone, gather_one};
use supergat_core::{Error, Prepared, Result};
use supergat_data::Dataset;

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
    resume_seeds(dataset, settings, seeds, resources, None, observe)
}

/// Trains once per seed as [`run_seeds`] does, and writes checkpoints if there are any. Seeds that have one are
/// resumed, and finished ones are not trained again; results have the same bits as without interruption. All
/// checkpoints are checked before training.
///
/// See [`Checkpoints`] for an example.
pub fn resume_seeds(
    dataset: &Dataset,
    settings: &Settings,
    seeds: &[u64],
    resources: impl Into<Resources>,
    checkpoints: Option<&Checkpoints<'_>>,
    observe: impl Fn(Observation<'_>) -> ControlFlow<()> + Sync,
) -> Result<Runs> {
    let resources = resources.into();
    if settings.model.is_network()
        && resources.kind().is_cpu()
        && let Some(divided) = Divided::of(dataset, Arc::new(Alone))?
    {
        return divided.run_seeds(settings, seeds, resources.threads, checkpoints, &observe);
    }
    run(&[dataset], settings, seeds, &resources, checkpoints, &observe)
}

/// Trains once per dataset, where the datasets are splits of one graph: split k has the k-th seed, counted from
/// `first_seed`. Otherwise as [`resume_seeds`].
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_train::{Settings, run_splits};
/// let graph = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap();
/// let splits: Vec<_> = (0..3).filter_map(|seed| graph.redrawn(seed)).collect();
/// let settings = Settings::general("gat-go".parse().unwrap()).with(|s| s.training.max_epochs = 3);
/// let runs = run_splits(&splits, &settings, 5, 2, None, |_| ControlFlow::Continue(()))?;
/// assert_eq!(runs.runs.iter().map(|run| run.seed).collect::<Vec<_>>(), [5, 6, 7]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn run_splits(
    splits: &[Dataset],
    settings: &Settings,
    first_seed: u64,
    resources: impl Into<Resources>,
    checkpoints: Option<&Checkpoints<'_>>,
    observe: impl Fn(Observation<'_>) -> ControlFlow<()> + Sync,
) -> Result<Runs> {
    let seeds: Vec<u64> = (first_seed..).take(splits.len()).collect();
    run(&splits.iter().collect::<Vec<_>>(), settings, &seeds, &resources.into(), checkpoints, &observe)
}

/// Trains once per seed: on the dataset of the seed, or on one for all seeds.
fn run(
    datasets: &[&Dataset],
    settings: &Settings,
    seeds: &[u64],
    resources: &Resources,
    checkpoints: Option<&Checkpoints<'_>>,
    observe: &Observer<'_>,
) -> Result<Runs> {
    if !settings.model.is_network() {
        resources.check_model(settings.model)?;
        let jobs = Jobs { seeds, settings, datasets, checkpoints: None };
        let workers = resources.threads.clamp(1, seeds.len().max(1));
        let worker = || -> Result<Worker<'_>> {
            Ok(Box::new(|k, observe| train_baseline(jobs.dataset(k), settings, seeds[k], observe)))
        };
        return run_jobs(jobs, resources.threads, workers, &worker, None, observe);
    }
    let origins = || datasets.iter().map(|dataset| Origin::new(dataset, resources.kind(), settings)).collect();
    let checkpoints = checkpoints.map(|checkpoints| RunCheckpoints { checkpoints, origins: origins(), writes: true });
    let checkpoints = checkpoints.as_ref();
    checkpoints.map_or(Ok(()), |checkpoints| checkpoints.check(settings, seeds))?;
    let jobs = Jobs { seeds, settings, datasets, checkpoints };
    let workers = resources.workers(datasets.iter().map(|dataset| dataset.nodes()).max().unwrap_or(0), seeds.len());
    // All runs on one dataset share what is prepared: on the CPU among all workers, on a GPU among those of a worker.
    let shared = if let [dataset] = datasets { Some(*dataset) } else { None };
    let on_cpu = shared.filter(|dataset| resources.kind().is_cpu() && !is_divided(dataset));
    let prepared = on_cpu.map(|dataset| prepare(dataset, settings)).transpose()?;
    let worker = || -> Result<Worker<'_>> {
        Ok(match (resources.cuda()?, &prepared, shared) {
            (None, Some(prepared), _) => Box::new(|k, observe| jobs.train(k, prepared, observe)),
            (None, None, _) => Box::new(|k, observe| match Divided::of(jobs.dataset(k), Arc::new(Alone))? {
                Some(divided) => train_divided(&divided, jobs, k, &divided.prepare(settings)?, observe),
                None => jobs.train(k, &prepare(jobs.dataset(k), settings)?, observe),
            }),
            (Some(cuda), _, Some(dataset)) => {
                let prepared = prepare_on(&cuda, dataset, settings)?;
                Box::new(move |k, observe| jobs.train(k, &prepared, observe))
            }
            (Some(cuda), _, None) => {
                Box::new(move |k, observe| jobs.train(k, &prepare_on(&cuda, jobs.dataset(k), settings)?, observe))
            }
        })
    };
    run_jobs(jobs, resources.threads, workers, &worker, Elsewhere::new(resources, jobs), observe)
}

impl Divided {
    /// Trains once per seed, with all processes together. The first process has the logits of all nodes; the others
    /// have none. `observe` is called in every process, and the training stops if it stops in any of them.
    pub fn run_seeds(
        &self,
        settings: &Settings,
        seeds: &[u64],
        threads: usize,
        checkpoints: Option<&Checkpoints<'_>>,
        observe: &(dyn Fn(Observation<'_>) -> ControlFlow<()> + Sync),
    ) -> Result<Runs> {
        if settings.correct_and_smooth.is_some() {
            let reason = "cannot use a dataset that is divided into parts; use the undivided one".into();
            return Err(Error::Hyperparameter { name: "correct_and_smooth", value: "true".into(), reason });
        }
        let prepared = self.prepare(settings)?;
        let checkpoints = checkpoints.map(|checkpoints| RunCheckpoints {
            checkpoints,
            origins: vec![Origin::with_hash(self.outline(), DeviceKind::Cpu, settings, self.hash().to_owned())],
            writes: self.peers().rank() == 0,
        });
        let checkpoints = checkpoints.as_ref();
        checkpoints.map_or(Ok(()), |checkpoints| checkpoints.check(settings, seeds))?;
        let jobs = Jobs { seeds, settings, datasets: &[self.outline()], checkpoints };
        let workers = if self.peers().count() == 1 { threads.clamp(1, seeds.len()) } else { 1 };
        let worker =
            || -> Result<Worker<'_>> { Ok(Box::new(|k, observe| train_divided(self, jobs, k, &prepared, observe))) };
        run_jobs(jobs, threads, workers, &worker, None, &|event| match event {
            Observation::Epoch(..) => self.agreed(observe(event)),
            // The next epoch tells whether all processes stop.
            Observation::Done(..) => {
                let _ = observe(event);
                ControlFlow::Continue(())
            }
        })
    }

    /// Stops all processes if one of them stops.
    fn agreed(&self, flow: ControlFlow<()>) -> ControlFlow<()> {
        if self.peers().count() == 1 {
            return flow;
        }
        match gather_one(self.peers(), u8::from(flow.is_break())) {
            Ok(flags) if flags.iter().all(|flag| *flag == 0) => flow,
            // The next exchange reports an error of this one.
            _ => ControlFlow::Break(()),
        }
    }
}

/// Trains the k-th job on a divided dataset.
fn train_divided(
    divided: &Divided,
    jobs: Jobs<'_>,
    k: usize,
    prepared: &Prepared<Cluster<f32>>,
    observe: &mut EpochObserver<'_>,
) -> Result<Finished> {
    let finished = jobs.train(k, prepared, observe)?;
    Ok(Finished { logits: divided.collect(&finished.logits)?, ..finished })
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
        let both = run_splits(&splits, &settings(), 4, 2, None, |_| ControlFlow::Continue(())).unwrap();
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
