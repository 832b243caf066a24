//! Trainings of a run: one per seed, by several workers, with checkpoints if there are any.

use crate::checkpoints::RunCheckpoints;
use crate::dataset_hash::dataset_hash;
use crate::divided::is_divided;
use crate::fitted::Fitted;
use crate::processes::{self, Order, Place, Processes, Report, TrainOrder};
use crate::resources::Resources;
use crate::results::{EpochObserver, Finished, Observation, Observer, Runs, SeedRun, Stop};
use crate::settings::Settings;
use crate::threads::in_parallel;
use crate::training::train_network;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
use supergat_core::{Device, Epoch, Prepared, Result, Select};
use supergat_data::Dataset;

/// Trainings of a run: one per seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jobs<'a> {
    pub(crate) seeds: &'a [u64],
    pub(crate) settings: &'a Settings,
    /// Dataset of every seed, or one for all seeds.
    pub(crate) datasets: &'a [&'a Dataset],
    pub(crate) checkpoints: Option<&'a RunCheckpoints<'a>>,
}

impl<'a> Jobs<'a> {
    /// Returns the dataset of the k-th job.
    pub(crate) fn dataset(&self, k: usize) -> &'a Dataset {
        self.datasets.get(k).unwrap_or(&self.datasets[0])
    }

    /// Trains the network of the k-th job.
    pub(crate) fn train<D: Device<Number = f32>>(
        &self,
        k: usize,
        prepared: &Prepared<D>,
        observe: &mut EpochObserver<'_>,
    ) -> Result<Finished> {
        let seed = self.seeds[k];
        train_network(prepared, seed, self.checkpoints.map(|checkpoints| checkpoints.of_job(k, seed)), observe)
    }
}

/// Trains the k-th job; calls the observer after every epoch.
pub(crate) type Worker<'a> = Box<dyn FnMut(usize, &mut EpochObserver<'_>) -> Result<Finished> + 'a>;

/// Workers of other processes.
#[derive(Debug, Clone)]
pub(crate) struct Elsewhere<'a> {
    processes: &'static Processes,
    places: Vec<Place>,
    /// Dataset of every job, or one for all jobs.
    sources: Vec<processes::Source>,
    jobs: Jobs<'a>,
}

impl<'a> Elsewhere<'a> {
    /// Returns the workers for some jobs. There is none for datasets that other processes cannot load, for divided ones,
    /// whose sums are taken in another order, and for models that are not networks.
    pub(crate) fn new(resources: &Resources, jobs: Jobs<'a>) -> Option<Self> {
        let is_usable = resources.kind().is_cpu() && jobs.settings.model.is_network();
        let processes = resources.processes.filter(|_| is_usable)?;
        let places = processes.places(jobs.seeds.len());
        if places.is_empty() || jobs.datasets.iter().any(|dataset| is_divided(dataset)) {
            return None;
        }
        let source =
            |dataset: &&Dataset| Some(processes::Source::new(dataset.origin.as_ref()?, dataset, dataset_hash(dataset)));
        let sources = jobs.datasets.iter().map(source).collect::<Option<Vec<_>>>()?;
        Some(Self { processes, places, sources, jobs })
    }

    /// Returns a worker that lets another process train.
    fn worker(&self, place: Place) -> Worker<'_> {
        Box::new(move |k, observe| {
            let seed = self.jobs.seeds[k];
            let checkpoints = self.jobs.checkpoints.map(|run| run.checkpoints);
            let state = checkpoints.map_or(Ok(None), |checkpoints| checkpoints.bytes(seed))?;
            let order = Order::Train(TrainOrder {
                source: self.sources.get(k).unwrap_or(&self.sources[0]).clone(),
                settings: *self.jobs.settings,
                seed,
                threads: place.threads,
                checkpoints: checkpoints.map(|checkpoints| (checkpoints.every().to_string(), checkpoints.seconds())),
            });
            let mut observe = |report: Report, data: Vec<u8>| {
                let mut flow = ControlFlow::Continue(());
                match (report, checkpoints) {
                    (Report::Epoch, _) => {
                        for epoch in processes::epochs(&data)? {
                            flow = observe(&epoch);
                        }
                    }
                    (Report::Checkpoint(None), Some(checkpoints)) => checkpoints.write(seed, data),
                    (Report::Checkpoint(Some((age, epochs))), Some(checkpoints)) => {
                        let now = Instant::now();
                        let since = now.checked_sub(processes::seconds(age)).unwrap_or(now);
                        checkpoints.keep(seed, data, since, epochs);
                    }
                    _ => {}
                }
                Ok(flow)
            };
            match self.processes.call(place.process, &order, &state.unwrap_or_default(), &mut observe)? {
                (Report::Trained(report), data) => processes::finished(report, &data),
                (report, _) => Err(processes::unexpected(&report)),
            }
        })
    }
}

/// Trains once per seed, by several workers, each of which runs in one thread, and by workers of other processes.
pub(crate) fn run_jobs<'a>(
    jobs: Jobs<'_>,
    threads: usize,
    workers: usize,
    worker: &(dyn Fn() -> Result<Worker<'a>> + Sync),
    elsewhere: Option<Elsewhere<'_>>,
    observe: &Observer<'_>,
) -> Result<Runs> {
    let Jobs { seeds, settings, checkpoints, .. } = jobs;
    assert!(!seeds.is_empty(), "at least one seed");
    let (next, stop, failed) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let finished: Mutex<Vec<(usize, SeedRun)>> = Mutex::default();
    type Best = (f64, usize, Fitted, Vec<Vec<f32>>);
    let best: Mutex<Option<Best>> = Mutex::default();
    let failure: Mutex<Option<supergat_core::Error>> = Mutex::default();

    let one = |k: usize, worker: &mut Worker<'_>| -> Result<()> {
        let seed = seeds[k];
        let trained = worker(k, &mut |epoch: &Epoch| {
            if observe(Observation::Epoch(seed, epoch)).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
            match stop.load(Ordering::Relaxed) {
                false => ControlFlow::Continue(()),
                true if failed.load(Ordering::Relaxed) => ControlFlow::Break(Stop::Failed),
                true => ControlFlow::Break(Stop::Interrupted),
            }
        })?;
        let Finished { run, model, logits } = trained.completed(jobs.dataset(k), settings)?;
        if observe(Observation::Done(&run, &logits, &model)).is_break() {
            stop.store(true, Ordering::Relaxed);
        }
        let metric = match settings.select {
            Some(Select::Loss) => -run.outcome.validation.loss,
            _ => run.outcome.validation.metric,
        };
        let mut best = best.lock().expect("no thread panicked");
        if best.as_ref().is_none_or(|(m, b, ..)| metric > *m || (metric == *m && k < *b)) {
            *best = Some((metric, k, model, logits));
        }
        finished.lock().expect("no thread panicked").push((k, run));
        Ok(())
    };
    let work = |worker: &mut Worker<'_>| -> Result<()> {
        while !stop.load(Ordering::Relaxed) {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= seeds.len() {
                break;
            }
            one(k, worker)?;
        }
        Ok(())
    };
    let check = |worked: Result<()>| {
        if let Err(error) = worked {
            failure.lock().expect("no thread panicked").get_or_insert(error);
            failed.store(true, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        if let Some(elsewhere) = &elsewhere {
            for &place in &elsewhere.places {
                scope.spawn(move || check(work(&mut elsewhere.worker(place))));
            }
        }
        in_parallel(threads, workers, |pool| check(pool.install(|| work(&mut worker()?))))
    })?;

    if let Some(error) = failure.into_inner().expect("no thread panicked") {
        return Err(error);
    }
    let mut finished = finished.into_inner().expect("no thread panicked");
    finished.sort_by_key(|(k, _)| *k);
    let (_, best, model, logits) = best.into_inner().expect("no thread panicked").expect("the first seed always runs");
    let best = finished.iter().position(|(k, _)| *k == best).expect("the best run has finished");
    let interrupted = stop.into_inner();
    if let Some(run) = checkpoints.filter(|run| interrupted && run.writes) {
        run.checkpoints.flush();
    }
    Ok(Runs { runs: finished.into_iter().map(|(_, run)| run).collect(), best, model, logits, interrupted })
}
