//! Training with the options of a builder.

use crate::builder::ClassifierBuilder;
use crate::classifier::Classifier;
use crate::error::{Error, Result};
use crate::training::Training;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use supergat_data::Dataset;
use supergat_train::{
    DecisionOptions, Ensemble, Fitted, Observation, Runs, SeedMetrics, SeedRun, Settings, measure, resume_seeds,
    run_splits,
};

impl ClassifierBuilder<'_> {
    /// Trains once per seed and returns the best model.
    pub fn fit(self, dataset: &Dataset) -> Result<Classifier> {
        Ok(self.train(dataset)?.classifier)
    }

    /// Trains once per seed and returns the best model together with the result of every seed.
    pub fn train(self, dataset: &Dataset) -> Result<Training> {
        if self.seeds.is_empty() {
            return Err(Error::NoSeeds);
        }
        let choice = self.choose(dataset)?;
        let settings = &choice.settings;
        let decision = DecisionOptions { positive: settings.positive, ..self.decision };
        let weighed = self.weighed(dataset)?;
        let dataset = &*weighed;
        let measured = Measured::default();
        let ensemble = self.ensemble.then(|| Mutex::new(Ensemble::new(settings.architecture(dataset))));
        let models: Mutex<BTreeMap<u64, Fitted>> = Mutex::default();
        let observe = |event: Observation<'_>| {
            measured.see(event, dataset, settings, &decision);
            if let (Observation::Done(run, logits, model), Some(ensemble)) = (event, &ensemble) {
                measured.join(run, logits, &self.seeds, ensemble);
                models.lock().unwrap_or_else(PoisonError::into_inner).insert(run.seed, model.clone());
            }
            self.notify(event)
        };
        let runs = resume_seeds(dataset, settings, &self.seeds, self.resources, self.checkpoints, observe)?;
        let metrics = measured.of(&runs)?;
        let training = Training::of(dataset, choice, runs, metrics)?;
        match ensemble.map(|ensemble| ensemble.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            Some(ensemble) => {
                let models = models.into_inner().unwrap_or_else(PoisonError::into_inner);
                training.with_ensemble(dataset, ensemble, &models, &decision)
            }
            None => Ok(training),
        }
    }

    /// Trains once per split of one graph and keeps the model with the best validation metric. Split k is trained with
    /// the first seed plus k; model and settings are chosen for the first split.
    ///
    /// [`crate::load_splits`] loads all splits of a dataset.
    ///
    /// ```
    /// use supergat::Classifier;
    /// let graph = supergat::load("random-partition:classes=3,nodes=180,degree=8,homophily=0.9")?;
    /// let splits: Vec<_> = (0..3).filter_map(|seed| graph.redrawn(seed)).collect();
    /// let training = Classifier::builder().model("gat-go").hidden(4).max_epochs(30).train_splits(&splits)?;
    /// assert_eq!(training.test().values.len(), 3);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn train_splits(self, splits: &[Dataset]) -> Result<Training> {
        let (Some(&first_seed), Some(first)) = (self.seeds.first(), splits.first()) else {
            return Err(Error::NoSeeds);
        };
        let choice = self.choose(first)?;
        let decision = DecisionOptions { positive: choice.settings.positive, ..self.decision };
        let weighed: Option<Vec<Dataset>> = match &self.class_weight {
            Some(_) => {
                Some(splits.iter().map(|split| self.weighed(split).map(Cow::into_owned)).collect::<Result<_>>()?)
            }
            None => None,
        };
        let splits = weighed.as_deref().unwrap_or(splits);
        let measured = Measured::default();
        let observe = |event: Observation<'_>| {
            if let Observation::Done(run, ..) = event {
                let split = &splits[(run.seed - first_seed) as usize];
                measured.see(event, split, &choice.settings, &decision);
            }
            self.notify(event)
        };
        let runs = run_splits(splits, &choice.settings, first_seed, self.resources, self.checkpoints, observe)?;
        let best = runs.runs[runs.best].seed - first_seed;
        let metrics = measured.of(&runs)?;
        Training::of(&splits[best as usize], choice, runs, metrics)
    }

    /// Returns the dataset with the weights of the classes, if they were given.
    fn weighed<'d>(&self, dataset: &'d Dataset) -> Result<Cow<'d, Dataset>> {
        let Some(weight) = &self.class_weight else { return Ok(Cow::Borrowed(dataset)) };
        // Graph and features are shared.
        let mut weighed = dataset.clone();
        weighed.weigh_classes(weight)?;
        Ok(Cow::Owned(weighed))
    }

    fn notify(&self, event: Observation<'_>) -> ControlFlow<()> {
        self.observer.as_ref().map_or(ControlFlow::Continue(()), |observer| observer(event))
    }
}

/// Metrics of the seeds that have finished.
#[derive(Default)]
struct Measured(Mutex<BTreeMap<u64, Result<SeedMetrics>>>);

impl Measured {
    /// Measures the model of a seed when it has finished.
    fn see(&self, event: Observation<'_>, dataset: &Dataset, settings: &Settings, options: &DecisionOptions) {
        if let Observation::Done(run, logits, _) = event {
            let measured = measure(dataset, &settings.architecture(dataset), logits, options);
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(run.seed, measured.map_err(Into::into));
        }
    }

    /// Adds the model of a seed that was measured to the ensemble.
    fn join(&self, run: &SeedRun, logits: &[Vec<f32>], seeds: &[u64], ensemble: &Mutex<Ensemble>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = seeds.iter().position(|seed| *seed == run.seed);
        let (Some(place), Some(Ok(measured))) = (place, all.get(&run.seed)) else { return };
        let mut ensemble = ensemble.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = ensemble.add(place, logits, &measured.decision) {
            all.insert(run.seed, Err(error.into()));
        }
    }

    /// Returns the metrics in the order of the runs. Equal seeds have equal metrics.
    fn of(self, runs: &Runs) -> Result<Vec<SeedMetrics>> {
        let all = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let all: BTreeMap<u64, SeedMetrics> =
            all.into_iter().map(|(seed, measured)| Ok((seed, measured?))).collect::<Result<_>>()?;
        Ok(runs.runs.iter().map(|run| all[&run.seed].clone()).collect())
    }
}
