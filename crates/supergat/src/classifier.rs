//! The classifier: a trained model with everything that prediction on new data needs.

use crate::attention::Attention;
use crate::error::{Error, Result};
use crate::members::{Member, mean_attention, mean_logits};
use crate::predictions::Predictions;
use std::path::{Path, PathBuf};
use supergat_core::{Architecture, Example, Score};
use supergat_data::options::{Expected, Origin};
use supergat_data::schema::{LinkSchema, Schema};
use supergat_data::{Dataset, FeatureChoice, Frame, LoadOptions, NodeOrderChoice, SplitChoice, TableOptions};
use supergat_numerics::metrics::Metrics;
use supergat_train::measure::split_metrics;
use supergat_train::{CorrectAndSmooth, Corrector, Decision, DeviceChoice, Divided, Fitted, Settings};

/// A node classifier: trains, predicts, explains, saves and loads.
///
/// ```
/// use supergat::{Classifier, Dataset};
/// let dataset = Dataset::builder(6)
///     .edges(&[(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)])
///     .dense_features(&[1.0, 0.8, 0.9, -1.0, -0.7, -0.9], 1)
///     .labels(&[Some(0), Some(0), None, None, Some(1), Some(1)])
///     .split(&[0, 5], &[1, 4], &[])
///     .build()?;
/// let model = Classifier::builder().model("supergat-mx").dropout(0.2).seed(1).fit(&dataset)?;
/// assert_eq!(model.predict(&dataset)?.classes(), [0, 0, 0, 1, 1, 1]);
///
/// let bytes = model.to_bytes();
/// assert_eq!(Classifier::from_bytes(&bytes)?.predict(&dataset)?, model.predict(&dataset)?);
/// # Ok::<(), supergat::Error>(())
/// ```
#[derive(Debug)]
pub struct Classifier {
    /// Models of one architecture, at least one, whose mean probabilities are the prediction.
    pub(crate) members: Vec<Member>,
    pub(crate) card: Card,
    /// Training, validation and test nodes of every graph of the training data.
    pub(crate) splits: Vec<[Vec<u32>; 3]>,
}

/// Record of how a model was made, stored in its file.
///
/// ```
/// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
/// let model = supergat::Classifier::builder().model("mlp").max_epochs(2).seed(3).fit(&dataset)?;
/// assert_eq!(model.card().dataset, "random-partition");
/// assert_eq!((model.card().seed, model.card().class_names.len()), (Some(3), 2));
/// # Ok::<(), supergat::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Card {
    /// Name of the training dataset.
    pub dataset: String,
    /// Source and options that the training dataset was read with; `None` for arrays in memory.
    pub origin: Option<Origin>,
    /// Names of the classes.
    pub class_names: Vec<String>,
    /// Columns that the features were made from, with their preparation; `None` where features were given as numbers.
    pub columns: Option<Schema>,
    /// Columns of links from which weights and features were made, for tables.
    pub link_columns: Option<LinkSchema>,
    /// Model and hyperparameters; `None` in files of version 1.
    pub settings: Option<Settings>,
    /// Seed of the run; that of the best one if the predictions are the mean of several.
    pub seed: Option<u64>,
    /// Epoch with the best validation metric, from 0.
    pub best_epoch: Option<usize>,
    /// Temperature and threshold of the predictions, fitted on the validation nodes, and the positive class. None in older files.
    pub decision: Decision,
    /// Version of supergat that wrote the model.
    pub version: String,
}

/// Score on the nodes of one split. See [`Evaluation`] for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitScore {
    /// Number of nodes.
    pub nodes: usize,
    /// Mean loss, and accuracy or micro-F1 between 0 and 1, of the logits: without temperature and threshold.
    pub score: Score,
    /// All metrics, with the temperature and the threshold of the model.
    pub metrics: Metrics,
}

/// Scores on the labelled nodes of a dataset, as [`Classifier::evaluate`] returns them. `None` for splits without nodes.
///
/// ```
/// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4,homophily=0.9")?;
/// let model = supergat::Classifier::builder().model("gat-go").max_epochs(30).fit(&dataset)?;
/// assert!(model.evaluate(&dataset)?.test.unwrap().score.metric > 0.5);
/// # Ok::<(), supergat::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Training nodes.
    pub train: Option<SplitScore>,
    /// Validation nodes.
    pub validation: Option<SplitScore>,
    /// Test nodes.
    pub test: Option<SplitScore>,
}

impl Classifier {
    /// Returns the classifier of one member that was trained on a dataset.
    pub(crate) fn trained(member: Member, settings: Settings, dataset: &Dataset) -> Self {
        let card = Card {
            dataset: dataset.name.clone(),
            origin: dataset.origin.clone(),
            class_names: dataset.class_names.clone(),
            columns: dataset.schema.clone(),
            link_columns: dataset.link_schema.clone(),
            settings: Some(settings),
            seed: member.seed,
            best_epoch: member.best_epoch,
            decision: member.decision.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let nodes = |example: &Example<f32>| [&example.train, &example.validation, &example.test].map(Clone::clone);
        Self { members: vec![member], card, splits: dataset.examples.iter().map(nodes).collect() }
    }

    /// Record of how the model was made.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Name of the model, such as `supergat-mx`.
    pub fn model_name(&self) -> String {
        self.architecture().model.to_string()
    }

    /// Shape of the network.
    pub fn architecture(&self) -> &Architecture {
        self.best().model.architecture()
    }

    /// Number of trained networks whose mean probabilities are the prediction: 1, or the number of seeds of an ensemble.
    ///
    /// ```
    /// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
    /// let builder = || supergat::Classifier::builder().model("gcn").max_epochs(2).seeds(0..3);
    /// assert_eq!(builder().fit(&dataset)?.member_count(), 1);
    /// assert_eq!(builder().ensemble(true).fit(&dataset)?.member_count(), 3);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn member_count(&self) -> usize {
        self.members.len()
    }

    /// Member with the best validation metric.
    fn best(&self) -> &Member {
        self.members.iter().find(|member| member.seed == self.card.seed).unwrap_or(&self.members[0])
    }

    /// Names of the classes.
    pub fn class_names(&self) -> &[String] {
        &self.card.class_names
    }

    /// Name of the positive class, which the threshold, AUROC, average precision and the precision of the first
    /// nodes are about; `None` for other numbers of classes. See [`crate::ClassifierBuilder::positive`] for an example.
    pub fn positive_class(&self) -> Option<&str> {
        let Architecture { classes, multi_label, .. } = *self.architecture();
        let name = self.card.class_names.get(self.card.decision.positive_class());
        name.filter(|_| classes == 2 && !multi_label).map(String::as_str)
    }

    /// Correct and Smooth of the predictions, with its numbers; `None` without it. A model with it predicts the graph
    /// that it was trained on. For an ensemble, returns the numbers of its best network.
    ///
    /// ```
    /// let dataset = supergat::load("random-partition:classes=2,nodes=250,degree=8,homophily=0.9")?;
    /// let builder = supergat::Classifier::builder().model("mlp").max_epochs(5);
    /// let model = builder.set("correct_and_smooth", true).set("smooth_alpha", 0.8).fit(&dataset)?;
    /// assert_eq!(model.correction().unwrap().smooth_alpha, 0.8);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn correction(&self) -> Option<&CorrectAndSmooth> {
        self.best().corrector.as_ref().map(Corrector::method)
    }

    /// Training, validation and test nodes of every graph of the training data. Empty in files of version 1.
    pub fn splits(&self) -> &[[Vec<u32>; 3]] {
        &self.splits
    }

    /// Model behind the classifier, for studies of the network itself; of an ensemble, the best one.
    pub fn engine(&self) -> &Fitted {
        &self.best().model
    }

    /// Chooses the device that predicts, evaluates and computes attention. The CPU does, unless another one is
    /// chosen. The saved file does not depend on it.
    ///
    /// ```
    /// use supergat::{Classifier, DeviceChoice};
    /// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
    /// let model = Classifier::builder().model("gat-go").max_epochs(2).fit(&dataset)?;
    /// // A GPU if there is one.
    /// let model = model.on(DeviceChoice::Auto)?;
    /// assert_eq!(model.predict(&dataset)?.nodes(), 340);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn on(mut self, device: DeviceChoice) -> Result<Self> {
        let members = self.members.into_iter().map(|member| member.on(device));
        self.members = members.collect::<supergat_core::Result<_>>()?;
        Ok(self)
    }

    /// Reads a new dataset for this model: tables are prepared with the columns, means and classes of the training data.
    ///
    /// `source` is a folder, a file or a known name, as for [`crate::load`].
    pub fn read(&self, source: &str) -> Result<Dataset> {
        self.read_with(Some(source), None, None)
    }

    /// Reads the training dataset again, with the recorded options and split.
    pub fn training_data(&self) -> Result<Dataset> {
        self.read_with(None, None, None)
    }

    /// Options for tables that the training data was read with.
    pub fn table_options(&self) -> TableOptions {
        self.card.origin.as_ref().map(|origin| origin.tables.clone()).unwrap_or_default()
    }

    /// Choice of the order of nodes that the training data was read with. Predictions use it too.
    fn node_order(&self) -> NodeOrderChoice {
        self.card.origin.as_ref().map(|origin| origin.node_order).unwrap_or_default()
    }

    /// Reads `source`, or else the training dataset, with another split or other options for tables than the recorded ones.
    pub fn read_with(
        &self,
        source: Option<&str>,
        split: Option<SplitChoice>,
        tables: Option<TableOptions>,
    ) -> Result<Dataset> {
        let origin = self.card.origin.as_ref();
        let recorded = origin.map(|origin| origin.source.as_str());
        let recorded_split = || origin.filter(|_| source.is_none()).map(|origin| origin.split);
        let mut options = LoadOptions {
            split: split.or_else(recorded_split).unwrap_or_default(),
            features: origin.map(|origin| origin.features.clone()).unwrap_or_default(),
            tables: tables.unwrap_or_else(|| self.table_options()),
            node_order: self.node_order(),
            ..LoadOptions::default()
        };
        if let Some(source) = source
            && !same_place(source, recorded)
        {
            if options.features.is_of_one_graph() {
                return Err(Error::OtherGraph { data: source.to_owned() });
            }
            options.tables.expected = Some(self.expected(&options.features));
        } else {
            options.tables.schema = self.card.columns.clone();
            options.tables.link_schema = Some(self.card.link_columns.clone().unwrap_or_default());
        }
        let source = source.or(recorded).ok_or(Error::NoTrainingData)?;
        let dataset = supergat_data::load_with(source, &options)?;
        self.check_labels(source, &dataset)?;
        Ok(dataset)
    }

    /// Reads data frames of a new graph for this model: they are prepared with the columns, means and classes of the training data.
    pub fn read_frames(&self, nodes: Frame, edges: Frame) -> Result<Dataset> {
        let features = self.card.origin.as_ref().map(|origin| origin.features.clone()).unwrap_or_default();
        if features.is_of_one_graph() {
            return Err(Error::OtherGraph { data: "frames".to_owned() });
        }
        let expected = Some(self.expected(&features));
        let tables = TableOptions { expected, ..self.table_options() };
        let options = LoadOptions { features, tables, node_order: self.node_order(), ..LoadOptions::default() };
        let dataset = supergat_data::read_frames(nodes, edges, &options)?;
        self.check_labels(&dataset.name, &dataset)?;
        Ok(dataset)
    }

    /// Predicts the classes of all nodes of a dataset. Labels of the dataset are not read.
    pub fn predict(&self, dataset: &Dataset) -> Result<Predictions> {
        let logits = self.logits(dataset)?;
        Predictions::new(self.architecture(), self.card.class_names.clone(), logits, &self.card.decision)
    }

    /// Predicts the classes of all nodes of a dataset that is divided among processes. The first process has the
    /// predictions; those of the others have no nodes.
    pub fn predict_divided(&self, divided: &Divided) -> Result<Predictions> {
        let outline = divided.outline();
        self.check_labels(&outline.name, outline)?;
        let logits = mean_logits(&self.members, |member| match member.divided_logits(divided) {
            Some(logits) => logits.map_err(Error::from),
            None => Err(Error::NotDivided { model: self.model_name() }),
        })?;
        Predictions::new(self.architecture(), self.card.class_names.clone(), logits, &self.card.decision)
    }

    /// Measures the predictions for the labelled nodes of a dataset.
    pub fn evaluate(&self, dataset: &Dataset) -> Result<Evaluation> {
        self.check_labels(&dataset.name, dataset)?;
        self.measure(dataset, &self.logits(dataset)?)
    }

    /// Measures predictions of this model for the labelled nodes of a dataset.
    pub fn evaluate_predictions(&self, dataset: &Dataset, predictions: &Predictions) -> Result<Evaluation> {
        self.check_labels(&dataset.name, dataset)?;
        self.measure(dataset, predictions.logits())
    }

    fn measure(&self, dataset: &Dataset, logits: &[Vec<f32>]) -> Result<Evaluation> {
        let score = |list: fn(&Example<f32>) -> &[u32]| -> Result<Option<SplitScore>> {
            let metrics = split_metrics(dataset, self.architecture(), logits, &self.card.decision, list)?;
            let score = |metrics: Metrics| SplitScore {
                nodes: metrics.nodes,
                score: supergat_train::score(dataset, logits, list),
                metrics,
            };
            Ok(metrics.map(score))
        };
        Ok(Evaluation {
            train: score(|example| &example.train)?,
            validation: score(|example| &example.validation)?,
            test: score(|example| &example.test)?,
        })
    }

    /// Returns the attention on all edges of a graph of the dataset; for systems, the weights of edges that they learn or
    /// choose. Of an ensemble, it is the mean of all networks. See [`Attention`] for an example.
    pub fn attention<'d>(&self, dataset: &'d Dataset, graph: usize) -> Result<Attention<'d>> {
        if self.architecture().weights_per_edge() == 0 {
            return Err(Error::NoAttention { model: self.model_name() });
        }
        let count = dataset.examples.len();
        let example = dataset.examples.get(graph).ok_or(Error::OutOfRange { what: "graph", found: graph, count })?;
        Ok(Attention::new(&example.graph, mean_attention(&self.members, graph, example)?))
    }

    fn logits(&self, dataset: &Dataset) -> Result<Vec<Vec<f32>>> {
        let incompatible = |source| Error::Incompatible { data: dataset.name.clone(), source };
        mean_logits(&self.members, |member| member.logits(dataset)).map_err(|error| match error {
            supergat_core::Error::Device { .. } => error.into(),
            other => incompatible(other),
        })
    }

    /// Checks that features and classes are those of the model.
    fn check_labels(&self, data: &str, dataset: &Dataset) -> Result<()> {
        let fits = |example: &Example<f32>| self.architecture().accepts(example);
        dataset
            .examples
            .iter()
            .try_for_each(fits)
            .map_err(|source| Error::Incompatible { data: data.to_owned(), source })?;
        if self.card.class_names != dataset.class_names {
            return Err(Error::OtherClasses {
                data: data.to_owned(),
                expected: self.card.class_names.clone(),
                found: dataset.class_names.clone(),
            });
        }
        Ok(())
    }

    /// Returns the form that new tables must be brought into, if `features` are computed from the graph.
    fn expected(&self, features: &FeatureChoice) -> Expected {
        Expected {
            features: features.given_among(self.architecture().input_features),
            schema: self.card.columns.clone(),
            links: self.card.link_columns.clone().unwrap_or_default(),
            classes: self.card.class_names.clone(),
            several: self.architecture().multi_label,
        }
    }
}

/// Returns whether both name the same file or folder.
fn same_place(source: &str, recorded: Option<&str>) -> bool {
    let place = |source: &str| -> Option<PathBuf> { Path::new(source).canonicalize().ok() };
    recorded.is_some_and(|recorded| recorded == source || place(source).is_some_and(|a| place(recorded) == Some(a)))
}
