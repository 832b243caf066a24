//! Self-supervised graph attention networks: node classification on graphs with noisy links.
//!
//! Graph attention lets every node weigh its neighbours. SuperGAT (Kim & Oh, ICLR 2021) trains these weights with the graph itself:
//! the attention score of a pair of nodes must also predict whether an edge joins them.
//!
//! [`Dataset`] is a graph with features and labels: from arrays ([`Dataset::builder`]), data frames ([`load_frames`]), tables, published
//! files or generators ([`load`]). [`Classifier`] trains, predicts, explains, saves and loads.
//!
//! ```
//! use supergat::{Classifier, Dataset};
//! let dataset = Dataset::builder(6)
//!     .edges(&[(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)])
//!     .dense_features(&[1.0, 0.8, 0.9, -1.0, -0.7, -0.9], 1)
//!     .labels(&[Some(0), Some(0), None, None, Some(1), Some(1)])
//!     .split(&[0, 5], &[1, 4], &[])
//!     .build()?;
//! let model = Classifier::builder().model("supergat-mx").dropout(0.2).fit(&dataset)?;
//! let predictions = model.predict(&dataset)?;
//! assert_eq!(predictions.classes().len(), 6);
//! # Ok::<(), supergat::Error>(())
//! ```
//!
//! The same seed gives the same bits, at any number of threads.

#![forbid(unsafe_code)]

mod attention;
mod builder;
mod choice;
mod choose;
mod classifier;
mod error;
mod members;
mod model;
mod predictions;
mod saved;
mod train;
mod training;

pub use attention::{Attention, EdgeAttention};
pub use builder::ClassifierBuilder;
pub use choice::Choice;
pub use classifier::{Card, Classifier, Evaluation, SplitScore};
pub use error::{Error, Result};
pub use model::{DEFAULT_MODEL, Model};
pub use predictions::Predictions;
pub use saved::MODEL_FILE;
pub use training::Training;

pub use supergat_core::hyperparameters;
pub use supergat_core::{Duplicates, Epoch, ModelKind, Outcome, Score, Select};
pub use supergat_data::{
    Cache, CacheChoice, ClassWeight, Dataset, DatasetBuilder, FeatureChoice, Frame, FrameColumn, LoadOptions,
    NodeOrderChoice, Shares, SplitChoice, Strings, TableOptions, Values,
};
pub use supergat_numerics::metrics::{
    ClassMetric, ClassMetrics, Metric, Metrics, NamedMetric, Threshold, ThresholdRule,
};
pub use supergat_numerics::statistics::Summary;
pub use supergat_train::gpu::{DeviceInfo, devices};
pub use supergat_train::measure::DecisionOptions;
pub use supergat_train::{
    Calibrate, Checkpoints, ClassSummary, CorrectAndSmooth, Decision, DeviceChoice, Interval, Observation,
    PartialSummary, Resources, SeedCorrection, SeedMetrics, SeedRun, Settings,
};

/// Loads a dataset: a folder or file of tables or of a published format, a known name such as `cora`, or a generated graph.
///
/// A dataset that takes long to prepare is stored in the user's cache folder and taken from there the next time, with the same bits;
/// [`LoadOptions::cache`] turns this off.
///
/// ```
/// let dataset = supergat::load("random-partition:classes=3,nodes=200,degree=4")?;
/// assert_eq!((dataset.nodes(), dataset.classes(), dataset.features()), (600, 3, 2));
/// # Ok::<(), supergat::Error>(())
/// ```
pub fn load(source: &str) -> Result<Dataset> {
    Ok(supergat_data::load(source)?)
}

/// Loads a dataset with a choice of split, features computed from the graph, options for tables and a choice of cache.
/// See [`load`].
pub fn load_with(source: &str, options: &LoadOptions) -> Result<Dataset> {
    Ok(supergat_data::load_with(source, options)?)
}

/// Makes a dataset from a data frame of nodes and one of links, as [`load_with`] does from a folder with `nodes.csv` and `edges.csv`:
/// columns are recognised in the same way, and the same notes are given.
///
/// ```
/// use supergat::{Frame, FrameColumn, LoadOptions, Strings};
/// let classes: Strings = [Some("cat"), Some("dog"), None, Some("cat"), Some("dog")].into_iter().collect();
/// let nodes = Frame::new("nodes", [
///     ("id", FrameColumn::from(vec![11i64, 12, 13, 14, 15])),
///     ("label", classes.into()),
///     ("weight", vec![4.5, 9.0, 7.5, 3.5, 8.0].into()),
/// ])?;
/// let edges = Frame::new("edges", [
///     ("source", FrameColumn::from(vec![11i64, 12, 13])),
///     ("target", vec![14i64, 15, 12].into()),
/// ])?;
/// let dataset = supergat::load_frames(nodes, edges, &LoadOptions::default())?;
/// assert_eq!((dataset.nodes(), dataset.features(), dataset.class_names.join(" ")), (5, 1, "cat dog".to_owned()));
/// # Ok::<(), supergat::Error>(())
/// ```
pub fn load_frames(nodes: Frame, edges: Frame, options: &LoadOptions) -> Result<Dataset> {
    Ok(supergat_data::read_frames(nodes, edges, options)?)
}

/// Loads a dataset once per split of its files, for [`ClassifierBuilder::train_splits`]. The files must contain several
/// splits; all datasets share their graph and features.
pub fn load_splits(source: &str, options: &LoadOptions) -> Result<Vec<Dataset>> {
    Ok(supergat_data::load_splits(source, options)?)
}

/// The code of the README, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
