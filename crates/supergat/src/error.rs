//! The error type of the library.

use std::io;
use std::path::PathBuf;

/// Errors of the library. Every message says what was expected and what was found.
///
/// ```
/// let error = supergat::Classifier::builder().model("supergat-xm").choose(&supergat::load("random-partition")?).unwrap_err();
/// assert!(error.to_string().starts_with("unknown model `supergat-xm`: expected one of supergat-mx, "));
/// # Ok::<(), supergat::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A dataset that cannot be read or built.
    #[error(transparent)]
    Data(#[from] supergat_data::Error),
    /// A model that cannot be trained or run.
    #[error(transparent)]
    Model(#[from] supergat_core::Error),
    /// A model name that does not exist.
    #[error("unknown model `{name}`: expected one of {}", known.join(", "))]
    UnknownModel {
        /// Name as given.
        name: String,
        /// All names, the most similar first.
        known: Vec<String>,
    },
    /// A preset that does not exist.
    #[error("unknown preset `{name}`: expected one of {}", known.join(", "))]
    UnknownPreset {
        /// Name as given.
        name: String,
        /// All names, the most similar first.
        known: Vec<String>,
    },
    /// A model or a preset besides settings, which include a model.
    #[error("settings include a model: give either settings, or a model and a preset")]
    ModelAndSettings,
    /// The observer of a comparison of models stopped it, so no model was chosen.
    #[error("the comparison of models was stopped before a model was chosen; name a model to train without it")]
    Interrupted,
    /// Time for a comparison of models that is not a number of seconds.
    #[error("choose_seconds = {0}: must be 0 or more, and below 10000000")]
    ChooseSeconds(f64),
    /// A saved model that cannot be opened.
    #[error("{}: {reason}", path.display())]
    Open {
        /// File or folder.
        path: PathBuf,
        /// Reason and remedy.
        reason: String,
    },
    /// A file that cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// File.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A saved model that does not name its training data.
    #[error("the model does not say which dataset it was trained on: name one")]
    NoTrainingData,
    /// Data whose classes are not those of the model.
    #[error("{data}: the model knows the classes {}, but the data has {}", expected.join(", "), found.join(", "))]
    OtherClasses {
        /// Name of the data.
        data: String,
        /// Classes of the model.
        expected: Vec<String>,
        /// Classes of the data.
        found: Vec<String>,
    },
    /// Data that does not fit the model.
    #[error("{data}: {source}")]
    Incompatible {
        /// Name of the data.
        data: String,
        /// Expected and found sizes.
        source: supergat_core::Error,
    },
    /// Data of another graph than the one that the features of the model describe.
    #[error(
        "{data}: the model was trained with spectral features, which have no meaning on another graph: train with structural ones instead"
    )]
    OtherGraph {
        /// Name of the data.
        data: String,
    },
    /// Attention of a model that has none.
    #[error("{model} has no attention: expected a gat, supergat or cgat model")]
    NoAttention {
        /// Name of the model.
        model: String,
    },
    /// A model that cannot predict with several processes.
    #[error("{model} cannot use a dataset that is divided among processes: use one process")]
    NotDivided {
        /// Name of the model.
        model: String,
    },
    /// A graph or node that does not exist.
    #[error("{what} {found} does not exist: expected a number below {count}")]
    OutOfRange {
        /// Kind of number: graph or node.
        what: &'static str,
        /// Number as given.
        found: usize,
        /// Number of graphs or nodes.
        count: usize,
    },
    /// A positive class that cannot be one.
    #[error("{data}: expected one of two classes as the positive one, found `{name}`; {}", positive_reason(classes, *multi_label))]
    PositiveClass {
        /// Name of the data.
        data: String,
        /// Class as given.
        name: String,
        /// Classes of the data.
        classes: Vec<String>,
        /// Whether a node may have several classes.
        multi_label: bool,
    },
    /// No seed to train with.
    #[error("no seed to train with: expected at least one")]
    NoSeeds,
}

/// Returns what to do about a wrong positive class.
fn positive_reason(classes: &[String], multi_label: bool) -> String {
    match classes {
        [first, second] if !multi_label => format!("name {first} or {second}"),
        _ if multi_label => "nodes may have several classes, so leave it out".to_owned(),
        _ => format!("the data has {} classes, so leave it out", classes.len()),
    }
}

/// Result of the library; see [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;
