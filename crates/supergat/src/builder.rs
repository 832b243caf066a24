//! Training: the builder of a [`Classifier`].

use crate::choice::{self, Choice, ModelChoice};
use crate::classifier::Classifier;
use crate::error::{Error, Result};
use crate::predictions::Predictions;
use std::fmt;
use std::num::NonZero;
use std::ops::ControlFlow;
use supergat_core::hyperparameters::{Hyperparameter, Value};
use supergat_data::Dataset;
use supergat_lab::{DeviceChoice, Observation, Resources, Runs, SeedRun, Settings, Summary, run_seeds, run_splits};

type Observer<'a> = Box<dyn Fn(Observation<'_>) -> ControlFlow<()> + Sync + 'a>;

/// Builder that trains a [`Classifier`], made by [`Classifier::builder`].
///
/// Everything has a default: the model is the one recommended for the graph (or the paper's best for its own datasets),
/// hyperparameters are the published ones for known datasets and general ones otherwise, the seed is 0 and all cores are used.
///
/// ```
/// use supergat::Classifier;
/// let dataset = supergat::load("random-partition:classes=3,nodes=180,degree=8,homophily=0.9")?;
/// let builder = Classifier::builder().model("gat-go").hidden(4).set("max_epochs", 30)?.seeds(0..3);
/// let training = builder.train(&dataset)?;
/// assert_eq!(training.runs.len(), 3);
/// assert!(training.test().mean > 50.0);
/// # Ok::<(), supergat::Error>(())
/// ```
#[must_use = "call fit or train"]
pub struct ClassifierBuilder<'a> {
    model: Result<ModelChoice>,
    preset: Option<String>,
    settings: Option<Settings>,
    values: Vec<(String, Value)>,
    seeds: Vec<u64>,
    resources: Resources,
    observer: Option<Observer<'a>>,
}

impl fmt::Debug for ClassifierBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, preset, settings, values, seeds, resources, observer } = self;
        f.debug_struct("ClassifierBuilder")
            .field("model", model)
            .field("preset", preset)
            .field("settings", settings)
            .field("values", values)
            .field("seeds", seeds)
            .field("resources", resources)
            .field("observed", &observer.is_some())
            .finish()
    }
}

/// A finished training: the best model, and what happened with every seed. See [`ClassifierBuilder`] for an example.
#[derive(Debug)]
pub struct Training {
    /// Model of the seed with the best validation metric.
    pub classifier: Classifier,
    /// Result of every seed, in the order of the seeds.
    pub runs: Vec<SeedRun>,
    /// Index into `runs` of the best seed; the earlier seed wins a tie.
    pub best: usize,
    /// Predictions of the best model for the training dataset.
    pub predictions: Predictions,
    /// Recommendation that named the model, if it was chosen automatically.
    pub recommendation: Option<supergat_lab::recipe::Recommendation>,
    /// Whether the observer stopped the training. Seeds may then be missing, and the last ones have fewer epochs.
    pub interrupted: bool,
}

impl Training {
    /// Summarises the test metric of all seeds, in percent.
    pub fn test(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| 100.0 * run.outcome.test.metric).collect())
    }

    /// Summarises the validation metric of all seeds, in percent.
    pub fn validation(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| 100.0 * run.outcome.validation.metric).collect())
    }
}

impl Classifier {
    /// Starts a training; every hyperparameter has a default.
    pub fn builder<'a>() -> ClassifierBuilder<'a> {
        ClassifierBuilder::new()
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        $($(#[$doc])*
        pub fn $name(self, value: $type) -> Self {
            self.with(stringify!($name), value)
        })*
    };
}

impl<'a> ClassifierBuilder<'a> {
    fn new() -> Self {
        Self {
            model: Ok(ModelChoice::Default),
            preset: None,
            settings: None,
            values: Vec::new(),
            seeds: vec![0],
            resources: std::thread::available_parallelism().map_or(1, NonZero::get).into(),
            observer: None,
        }
    }

    /// Names the model: one of [`crate::model_names`], or `auto` for the one recommended for the graph.
    pub fn model(mut self, name: &str) -> Self {
        self.model = choice::parse(name);
        self
    }

    /// Uses the published hyperparameters of this dataset of the paper instead of those of the training dataset's name.
    pub fn preset(mut self, dataset: &str) -> Self {
        self.preset = Some(dataset.to_owned());
        self
    }

    /// Uses exactly these settings; model, preset and single hyperparameters are then ignored.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = Some(settings);
        self
    }

    /// Sets a hyperparameter by name. Fails for an unknown name or a value out of range.
    ///
    /// Hyperparameters that the chosen model does not read are ignored; [`Choice::unused`] lists them.
    pub fn set(self, name: &str, value: impl Into<Value>) -> Result<Self> {
        let value = Hyperparameter::find(name)?.check(value.into())?;
        Ok(self.with(name, value))
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.push((name.to_owned(), value.into()));
        self
    }

    setters! {
        /// Sets the number of layers.
        layers: usize;
        /// Sets the number of features per head in hidden layers.
        hidden: usize;
        /// Sets the number of attention heads in hidden layers.
        heads: usize;
        /// Sets the number of attention heads in the last layer.
        output_heads: usize;
        /// Sets the dropout probability of layer inputs and attention coefficients.
        dropout: f64;
        /// Sets the LeakyReLU slope for negative attention scores.
        negative_slope: f64;
        /// Sets the learning rate.
        lr: f64;
        /// Sets the weight decay.
        lambda_2: f64;
        /// Sets the maximum number of epochs.
        max_epochs: usize;
        /// Sets the weight of the edge loss (`supergat-*` models).
        lambda_e: f64;
        /// Sets the fraction of the edges sampled in each step (`supergat-*` models).
        p_e: f64;
        /// Sets the number of negative samples per sampled edge (`supergat-*` models).
        p_n: f64;
        /// Sets the number of neighbours that each head attends to in training (`cgat` models).
        top_k: usize;
        /// Sets the number of nodes that each edge is compared with (`cgat` models).
        negatives_per_edge: usize;
        /// Sets the weight of the loss that compares edges with non-edges (`cgat` models).
        lambda_g: f64;
        /// Sets the margin between the scores of an edge and a non-edge (`cgat` models).
        margin_g: f64;
        /// Sets the weight of the loss that compares edges within and between classes (`cgat-full-supervised`).
        lambda_b: f64;
        /// Sets the margin between the scores of edges within and between classes (`cgat-full-supervised`).
        margin_b: f64;
        /// Sets whether training stops early.
        early_stop: bool;
        /// Sets the last epoch at which training may not stop early, and enables early stopping.
        early_stop_patience: usize;
        /// Sets the number of previous validation results to average, and enables early stopping.
        early_stop_window: usize;
        /// Sets the threshold of the relative change of the validation loss, and enables early stopping.
        early_stop_loss_change: f64;
        /// Sets the threshold of the relative change of the validation metric, and enables early stopping.
        early_stop_metric_change: f64;
    }

    /// Trains with one seed instead of 0.
    pub fn seed(self, seed: u64) -> Self {
        self.seeds([seed])
    }

    /// Trains once per seed and keeps the model with the best validation metric.
    pub fn seeds(mut self, seeds: impl IntoIterator<Item = u64>) -> Self {
        self.seeds = seeds.into_iter().collect();
        self
    }

    /// Sets the number of threads. Results do not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.resources.threads = threads.max(1);
        self
    }

    /// Sets the device that trains: the CPU unless this is called. Models trained on a GPU are used like others.
    ///
    /// ```no_run
    /// use supergat::{Classifier, DeviceChoice};
    /// let dataset = supergat::load("cora")?;
    /// let model = Classifier::builder().model("supergat-mx").device(DeviceChoice::Cuda(0)).fit(&dataset)?;
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn device(mut self, device: DeviceChoice) -> Self {
        self.resources.device = device;
        self
    }

    /// Allows dense products on a GPU to round their factors to 10 bits (TF32), which is faster for wide features.
    pub fn tf32(mut self, tf32: bool) -> Self {
        self.resources.tf32 = tf32;
        self
    }

    /// Calls `observer` after every epoch and every seed; [`ControlFlow::Break`] ends the training with the best model so far.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use supergat::{Classifier, Observation};
    /// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
    /// let stop_after_ten = |event: Observation<'_>| match event {
    ///     Observation::Epoch(_seed, epoch) if epoch.epoch == 9 => ControlFlow::Break(()),
    ///     _ => ControlFlow::Continue(()),
    /// };
    /// let training = Classifier::builder().model("gat-go").observe(stop_after_ten).train(&dataset)?;
    /// assert!(training.interrupted && training.runs[0].outcome.epochs == 10);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn observe(mut self, observer: impl Fn(Observation<'_>) -> ControlFlow<()> + Sync + 'a) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Returns the settings that [`Self::train`] would use, and where they come from.
    pub fn choose(&self, dataset: &Dataset) -> Result<Choice> {
        let model = match &self.model {
            Ok(model) => *model,
            Err(Error::UnknownModel { name, known }) => {
                return Err(Error::UnknownModel { name: name.clone(), known: known.clone() });
            }
            Err(_) => unreachable!("parsing a name fails in one way"),
        };
        if let Some(settings) = self.settings {
            return Ok(Choice { settings, published: false, recommendation: None, unused: Vec::new() });
        }
        choice::choose(dataset, model, self.preset.as_deref(), &self.values)
    }

    /// Trains once per seed and returns the best model together with the result of every seed.
    pub fn train(self, dataset: &Dataset) -> Result<Training> {
        if self.seeds.is_empty() {
            return Err(Error::NoSeeds);
        }
        let choice = self.choose(dataset)?;
        let runs = run_seeds(dataset, &choice.settings, &self.seeds, self.resources, |event| self.notify(event))?;
        finish(dataset, choice, runs)
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
        let observe = |event: Observation<'_>| self.notify(event);
        let runs = run_splits(splits, &choice.settings, first_seed, self.resources, observe)?;
        let best = runs.runs[runs.best].seed - first_seed;
        finish(&splits[best as usize], choice, runs)
    }

    fn notify(&self, event: Observation<'_>) -> ControlFlow<()> {
        self.observer.as_ref().map_or(ControlFlow::Continue(()), |observer| observer(event))
    }

    /// Trains once per seed and returns the best model.
    pub fn fit(self, dataset: &Dataset) -> Result<Classifier> {
        Ok(self.train(dataset)?.classifier)
    }
}

/// Builds the result of a training. `dataset` is the one of the best run.
fn finish(dataset: &Dataset, choice: Choice, runs: Runs) -> Result<Training> {
    let Choice { settings, recommendation, .. } = choice;
    let best = &runs.runs[runs.best];
    let predictions = Predictions::new(runs.model.architecture(), dataset.class_names.clone(), runs.logits)?;
    let classifier = Classifier::trained(runs.model, settings, dataset, best.seed, best.outcome.best_epoch);
    let (runs, best, interrupted) = (runs.runs, runs.best, runs.interrupted);
    Ok(Training { classifier, runs, best, predictions, recommendation, interrupted })
}
