//! Options of a training: the builder of a [`Classifier`].

use crate::choice::Choice;
use crate::classifier::Classifier;
use crate::error::{Error, Result};
use crate::model::Model;
use std::fmt;
use std::num::NonZero;
use std::ops::ControlFlow;
use supergat_core::hyperparameters::Value;
use supergat_core::{Activation, Norm, Precision, Residual, Select};
use supergat_data::ClassWeight;
use supergat_numerics::metrics::ThresholdRule;
use supergat_select::recommend::quick::QuickEvent;
use supergat_train::{Calibrate, Checkpoints, DecisionOptions, DeviceChoice, Observation, Resources, Settings};

type Observer<'a> = Box<dyn Fn(Observation<'_>) -> ControlFlow<()> + Sync + 'a>;
type ChoiceObserver<'a> = Box<dyn Fn(QuickEvent<'_>) -> ControlFlow<()> + Sync + 'a>;

/// Builder that trains a [`Classifier`], made by [`Classifier::builder`].
///
/// Everything has a default: the model is the network that does best on held-out nodes (or the paper's best for its own datasets),
/// hyperparameters are the published ones for known datasets and general ones otherwise, the seed is 0 and all cores are used.
///
/// ```
/// use supergat::Classifier;
/// let dataset = supergat::load("random-partition:classes=3,nodes=180,degree=8,homophily=0.9")?;
/// let builder = Classifier::builder().model("gat-go").hidden(4).set("max_epochs", 30).seeds(0..3);
/// let training = builder.train(&dataset)?;
/// assert_eq!(training.runs.len(), 3);
/// assert!(training.test().mean > 0.5);
/// # Ok::<(), supergat::Error>(())
/// ```
#[must_use = "call fit or train"]
pub struct ClassifierBuilder<'a> {
    pub(crate) model: Option<Result<Model>>,
    pub(crate) preset: Option<String>,
    pub(crate) choose_seconds: Option<f64>,
    pub(crate) choice_observer: Option<ChoiceObserver<'a>>,
    pub(crate) settings: Option<Settings>,
    pub(crate) choice: Option<Choice>,
    pub(crate) values: Vec<(String, Value)>,
    pub(crate) seeds: Vec<u64>,
    pub(crate) resources: Resources,
    pub(crate) decision: DecisionOptions,
    pub(crate) ensemble: bool,
    pub(crate) select: Option<Select>,
    pub(crate) class_weight: Option<ClassWeight>,
    pub(crate) positive: Option<String>,
    pub(crate) checkpoints: Option<&'a Checkpoints<'a>>,
    pub(crate) observer: Option<Observer<'a>>,
}

impl fmt::Debug for ClassifierBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, preset, settings, values, seeds, .. } = self;
        f.debug_struct("ClassifierBuilder")
            .field("model", model)
            .field("preset", preset)
            .field("settings", settings)
            .field("values", values)
            .field("seeds", seeds)
            .finish_non_exhaustive()
    }
}

impl Classifier {
    /// Starts a training; every hyperparameter has a default.
    pub fn builder<'a>() -> ClassifierBuilder<'a> {
        ClassifierBuilder::new()
    }
}

/// Defines a setter for every hyperparameter.
macro_rules! setters {
    ($($(#[doc = $about:literal])+ $group:ident: $settings:ident, $heading:literal, $applies:path {
        $($(#[doc = $meaning:literal])+ $name:ident: $type:ty = $described:expr;)+
    })+) => {
        /// Setters of hyperparameters. Those that the chosen model does not read are ignored; [`Choice::unused`] lists
        /// them.
        impl ClassifierBuilder<'_> {
            $($(#[doc = concat!("Sets the hyperparameter `", stringify!($name), "`.")]
            #[doc = ""]
            $(#[doc = $meaning])+
            pub fn $name(self, value: $type) -> Self {
                self.set(stringify!($name), value)
            })+)+
        }
    };
}
supergat_core::declared_hyperparameters!(setters);

impl<'a> ClassifierBuilder<'a> {
    fn new() -> Self {
        Self {
            model: None,
            preset: None,
            choose_seconds: None,
            choice_observer: None,
            settings: None,
            choice: None,
            values: Vec::new(),
            seeds: vec![0],
            resources: std::thread::available_parallelism().map_or(1, NonZero::get).into(),
            decision: DecisionOptions::default(),
            ensemble: false,
            select: None,
            class_weight: None,
            positive: None,
            checkpoints: None,
            observer: None,
        }
    }

    /// Sets the model: a [`Model`], a kind, or a name. [`Self::choose_seconds`] bounds the comparison of
    /// [`Model::Auto`]. An unknown name is an error of the training.
    pub fn model<M: TryInto<Model, Error: Into<Error>>>(mut self, model: M) -> Self {
        self.model = Some(model.try_into().map_err(Into::into));
        self
    }

    /// Sets the time for comparing models, if none is named; 0 consults the paper's map alone. The answer then depends on the
    /// speed of the machine. Without this, a comparison takes up to about twenty seconds of one core, on large graphs about
    /// as long as one training, and its answer depends on the dataset alone.
    ///
    /// ```
    /// use supergat::Classifier;
    /// let mut dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
    /// dataset.preset = None; // As a graph that the paper does not have.
    /// let choice = Classifier::builder().choose_seconds(0.0).choose(&dataset)?;
    /// assert!(choice.recommendation.unwrap().measured.is_none());
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn choose_seconds(mut self, seconds: f64) -> Self {
        self.choose_seconds = Some(seconds);
        self
    }

    /// Calls `observer` while models are compared. With [`ControlFlow::Break`], no model is chosen, and training fails with
    /// [`Error::Interrupted`].
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use supergat::{Classifier, Error};
    /// let mut dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
    /// dataset.preset = None;
    /// let builder = Classifier::builder().observe_choice(|_| ControlFlow::Break(()));
    /// assert!(matches!(builder.train(&dataset), Err(Error::Interrupted)));
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn observe_choice(mut self, observer: impl Fn(QuickEvent<'_>) -> ControlFlow<()> + Sync + 'a) -> Self {
        self.choice_observer = Some(Box::new(observer));
        self
    }

    /// Uses the published hyperparameters of this dataset of the paper instead of those of the training dataset, if
    /// it is one of them itself.
    pub fn preset(mut self, dataset: &str) -> Self {
        self.preset = Some(dataset.to_owned());
        self
    }

    /// Starts from these settings, which include the model. Single hyperparameters are set on top of them, in any order of
    /// the calls; a model or a preset besides them is an error of the training.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = Some(settings);
        self
    }

    /// Uses a choice of [`Self::choose`], so that models are compared once. Model, preset, settings and single
    /// hyperparameters were used for the choice.
    ///
    /// ```
    /// use supergat::Classifier;
    /// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
    /// let builder = Classifier::builder().model("gat-go").max_epochs(2);
    /// let choice = builder.choose(&dataset)?;
    /// assert_eq!(builder.chosen(choice).train(&dataset)?.runs.len(), 1);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn chosen(mut self, choice: Choice) -> Self {
        self.choice = Some(choice);
        self
    }

    /// Sets a hyperparameter by name. An unknown name or a value out of range is an error of the training, as for all other
    /// setters.
    ///
    /// Hyperparameters that the chosen model does not read are ignored; [`Choice::unused`] lists them.
    ///
    /// ```
    /// use supergat::Classifier;
    /// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
    /// for builder in [Classifier::builder().dropout(1.5), Classifier::builder().set("dropout", 1.5)] {
    ///     assert_eq!(builder.train(&dataset).unwrap_err().to_string(), "dropout = 1.5: must lie in [0, 1)");
    /// }
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.push((name.to_owned(), value.into()));
        self
    }

    /// Sets the score by which the best epoch and seed are chosen. Accuracy or micro-F1, unless one is set.
    ///
    /// Another metric than the loss also becomes the metric of the runs.
    ///
    /// ```
    /// use supergat::{Classifier, Metric};
    /// let dataset = supergat::load("random-partition:classes=2,nodes=250,degree=4")?;
    /// let builder = Classifier::builder().model("gcn").max_epochs(5).select("macro-f1".parse().unwrap());
    /// let training = builder.train(&dataset)?;
    /// assert_eq!(training.metric, Metric::MacroF1);
    /// assert_eq!(training.test_metric(Metric::MacroF1), Some(training.test()));
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn select(mut self, select: Select) -> Self {
        self.select = Some(select);
        self
    }

    /// Sets how much each class counts in the loss, for rare classes. Without this, the weights of the dataset are used
    /// ([`crate::Dataset::weigh_classes`]); it has none unless they were set.
    ///
    /// Training fails if nodes may have several classes, or for an unknown class.
    ///
    /// ```
    /// use supergat::{ClassWeight, Classifier};
    /// let dataset = supergat::load("random-partition:classes=2,nodes=250,degree=4,homophily=0.6")?;
    /// let nodes_of_class_1 = |weight: ClassWeight| -> supergat::Result<usize> {
    ///     let model = Classifier::builder().model("gcn").max_epochs(30).class_weight(weight).fit(&dataset)?;
    ///     Ok(model.predict(&dataset)?.classes().iter().filter(|class| **class == 1).count())
    /// };
    /// let heavy = ClassWeight::Given(vec![("1".to_owned(), 20.0)]);
    /// assert!(nodes_of_class_1(heavy)? > nodes_of_class_1(ClassWeight::None)?);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn class_weight(mut self, weight: ClassWeight) -> Self {
        self.class_weight = Some(weight);
        self
    }

    /// Names the positive class, for datasets with two classes. The threshold, AUROC, average precision and precision at k
    /// are about this class. By default it is the second one. Training fails if the class is unknown, or if there are not
    /// two classes.
    ///
    /// ```
    /// use supergat::Classifier;
    /// let dataset = supergat::load("random-partition:classes=2,nodes=250,degree=4")?;
    /// let builder = Classifier::builder().model("gcn").max_epochs(5).positive("0").threshold("0".parse().unwrap());
    /// let model = builder.fit(&dataset)?;
    /// assert_eq!(model.positive_class(), Some("0"));
    /// assert!(model.predict(&dataset)?.classes().iter().all(|class| *class == 0));
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn positive(mut self, class: impl Into<String>) -> Self {
        self.positive = Some(class.into());
        self
    }

    /// Sets how probabilities and decisions are made: [`Self::calibrate`] and [`Self::threshold`] in one. The positive class
    /// is that of the settings.
    pub fn decide(mut self, options: DecisionOptions) -> Self {
        self.decision = options;
        self
    }

    /// Sets whether [`crate::Training::ensemble`] has the mean probabilities of all seeds. The classifier then has the models of
    /// all seeds, also in its file, and predicts the mean. Has no effect on [`Self::train_splits`], where
    /// every seed has nodes of its own to be tested on.
    ///
    /// ```
    /// use supergat::Classifier;
    /// let dataset = supergat::load("random-partition:classes=2,nodes=250,degree=4")?;
    /// let training = Classifier::builder().model("gcn").max_epochs(5).seeds(0..3).ensemble(true).train(&dataset)?;
    /// let (predictions, metrics) = training.ensemble.unwrap();
    /// assert_eq!(predictions.nodes(), 500);
    /// assert!(metrics.test.unwrap().accuracy.is_some());
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn ensemble(mut self, ensemble: bool) -> Self {
        self.ensemble = ensemble;
        self
    }

    /// Sets whether probabilities are calibrated: by default, if there are at least 50 validation nodes. Predicted classes do not
    /// depend on it.
    ///
    /// ```
    /// use supergat::{Calibrate, Classifier};
    /// let dataset = supergat::load("random-partition:classes=2,nodes=250,degree=4")?;
    /// let builder = || Classifier::builder().model("gcn").max_epochs(5);
    /// assert!(builder().fit(&dataset)?.card().decision.temperature.is_some());
    /// assert!(builder().calibrate(Calibrate::None).fit(&dataset)?.card().decision.temperature.is_none());
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn calibrate(mut self, calibrate: Calibrate) -> Self {
        self.decision.calibrate = calibrate;
        self
    }

    /// Chooses a threshold on the validation nodes, for two classes: the positive one ([`Self::positive`]) is predicted if its
    /// probability reaches the threshold. Without a rule, the most probable class is predicted. Ignored for other numbers of classes.
    ///
    /// ```
    /// use supergat::Classifier;
    /// let dataset = supergat::load("random-partition:classes=2,nodes=250,degree=4")?;
    /// let model = Classifier::builder().model("gcn").max_epochs(5).threshold("recall=0.9".parse().unwrap()).fit(&dataset)?;
    /// assert!(model.card().decision.threshold.as_ref().unwrap().value < 1.0);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn threshold(mut self, rule: ThresholdRule) -> Self {
        self.decision.threshold = Some(rule);
        self
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

    /// Sets what the training may use: threads, a device, and other processes.
    ///
    /// ```
    /// use supergat::{Classifier, Resources};
    /// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
    /// let builder = Classifier::builder().model("gat-go").max_epochs(2).resources(Resources::from(1));
    /// assert_eq!(builder.train(&dataset)?.runs.len(), 1);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn resources(mut self, resources: Resources) -> Self {
        self.resources = resources;
        self
    }

    /// Writes checkpoints while training, and resumes from those in the folder. A resumed training has the same result
    /// as one without interruption. [`Checkpoints::remove`] removes them when they are no longer needed.
    ///
    /// ```
    /// use supergat::{Checkpoints, Classifier, Interval};
    /// # let temporary = tempfile::tempdir().unwrap();
    /// # let folder = temporary.path().join("mine.checkpoint");
    /// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
    /// let checkpoints = Checkpoints::in_folder(&folder, Interval::Epochs(10));
    /// let model = Classifier::builder().model("gat-go").max_epochs(25).checkpoints(&checkpoints).fit(&dataset)?;
    /// assert_eq!(checkpoints.found()?[0].epochs, 20);
    /// checkpoints.remove().expect("the folder can be changed");
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn checkpoints(mut self, checkpoints: &'a Checkpoints<'a>) -> Self {
        self.checkpoints = Some(checkpoints);
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
}
