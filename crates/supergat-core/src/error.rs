//! Error type of the crate. Each variant contains the information needed to fix the input.

/// Error of building graphs and models or of training.
///
/// ```
/// use supergat_core::{Direction, Error, Graph};
/// let error = Graph::from_edges(2, &[(0, 1), (1, 5)], Direction::Directed).unwrap_err();
/// assert_eq!(error, Error::NodeOutOfRange { edge: 1, from: 1, to: 5, nodes: 2 });
/// assert_eq!(error.to_string(), "edge 1 joins 1 -> 5, but the graph has only 2 nodes (ids 0 to 1)");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An edge with a node that does not exist.
    #[error("edge {edge} joins {from} -> {to}, but the graph has only {nodes} nodes (ids 0 to {})", nodes.saturating_sub(1))]
    NodeOutOfRange {
        /// Position of the edge in the given list, counted from 0.
        edge: usize,
        /// Source node as given.
        from: u32,
        /// Target node as given.
        to: u32,
        /// Number of nodes.
        nodes: usize,
    },
    /// More nodes than node ids.
    #[error("{nodes} nodes are more than the {} that can be numbered", crate::random::Permutation::LONGEST)]
    TooManyNodes {
        /// Requested number of nodes.
        nodes: usize,
    },
    /// Two parts of the input whose sizes must be equal but differ.
    #[error("{what}: expected {expected}, found {found}")]
    SizeMismatch {
        /// Description of the compared size.
        what: &'static str,
        /// Required size.
        expected: usize,
        /// Given size.
        found: usize,
    },
    /// A value of the input outside of its range.
    #[error("{what} at position {position}: expected {expected}, found {found}")]
    OutOfRange {
        /// Description of the value.
        what: &'static str,
        /// Position of the value, counted from 0.
        position: usize,
        /// Allowed range, in words.
        expected: String,
        /// Given value.
        found: String,
    },
    /// A link that is listed twice, where that is an error.
    #[error("link {link} joins nodes {from} and {to}, as an earlier one does")]
    DuplicateLink {
        /// Number of the link, counted from 0.
        link: usize,
        /// Source of the link.
        from: u32,
        /// Target of the link.
        to: u32,
    },
    /// A hyperparameter outside of its range.
    #[error("{name} = {value}: {reason}")]
    Hyperparameter {
        /// Name of the hyperparameter, as in configuration files.
        name: &'static str,
        /// Given value of the hyperparameter.
        value: String,
        /// Allowed values, in words.
        reason: String,
    },
    /// A name that is not a hyperparameter.
    #[error("unknown hyperparameter `{name}`: expected one of {}", known.join(", "))]
    UnknownHyperparameter {
        /// Given name.
        name: String,
        /// Names of all hyperparameters, the most similar first.
        known: Vec<&'static str>,
    },
    /// More sampled non-edges requested than the graph has.
    #[error(
        "self-supervision asks for {wanted} negative pairs per step (p_n * p_e * {edges} edges with self-loops), but a graph of {nodes} nodes has only {available} pairs without an edge: lower p_n or p_e"
    )]
    TooFewNonEdges {
        /// Requested number of negative pairs.
        wanted: u64,
        /// Number of pairs without an edge.
        available: u64,
        /// Number of edges, including self-loops.
        edges: u64,
        /// Number of nodes of the graph.
        nodes: usize,
    },
    /// A loss that became infinite or NaN.
    #[error(
        "the loss became {loss} in epoch {epoch}: lower lr{}, or check the features for extreme values",
        if *has_edge_loss { " or lambda_e" } else { "" }
    )]
    Diverged {
        /// Epoch in which it happened, counted from 0.
        epoch: usize,
        /// Value of the loss.
        loss: f64,
        /// Whether the model has an edge loss, which lambda_e weighs.
        has_edge_loss: bool,
    },
    /// A split without labelled nodes that training needs.
    #[error(
        "the {split} split has no labelled node: give some of its nodes a class, or choose another split with parameter \
         `split`"
    )]
    EmptySplit {
        /// Name of the split.
        split: &'static str,
    },
    /// Threads that the operating system could not start.
    #[error("cannot start {}: {reason}", crate::words::count(*threads, "thread"))]
    Threads {
        /// Requested number of threads.
        threads: usize,
        /// Message of the operating system.
        reason: String,
    },
    /// A saved model that cannot be used.
    #[error("the saved model cannot be used: {reason}")]
    Checkpoint {
        /// Reason, with the expected and the found content.
        reason: String,
    },
    /// A checkpoint that a training cannot be resumed from.
    #[error("the training cannot be resumed: {reason}")]
    Resume {
        /// Reason, with the expected and the found content.
        reason: String,
    },
    /// A model whose architecture differs from the one that examples were prepared for.
    #[error("the examples were prepared for {expected}, but the model is {found}")]
    OtherArchitecture {
        /// Architecture of the prepared examples.
        expected: String,
        /// Architecture of the model.
        found: String,
    },
    /// A saved model that does not fit the data.
    #[error("the model expects {what} = {expected}, but the data has {found}")]
    Incompatible {
        /// Description of the compared number.
        what: &'static str,
        /// Number that the model was built for.
        expected: usize,
        /// Number in the data.
        found: usize,
    },
    /// A model that uses labels of the graph that it was trained on, and data of another graph.
    #[error("{what} uses the labels of its training nodes, and this is another graph: train a model on it")]
    OtherGraph {
        /// Name of the model, or of the part of it that uses labels.
        what: String,
    },
    /// Processes that cannot work together.
    #[error("training with several processes failed: {reason}")]
    Peers {
        /// Cause.
        reason: String,
    },
    /// A device that cannot be used, or that failed.
    #[error("{message}")]
    Device {
        /// Cause and remedy.
        message: String,
    },
}

/// Result with the [`Error`] of this crate.
pub type Result<T> = std::result::Result<T, Error>;
