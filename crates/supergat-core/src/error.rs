//! The one error type of the crate. Each variant carries what a person needs to mend the input.

/// What can go wrong when building graphs and models or when training.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An edge names a node that does not exist.
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
    /// More nodes than can be numbered.
    #[error("{nodes} nodes are more than the {} that can be numbered", crate::random::Permutation::LONGEST)]
    TooManyNodes {
        /// Number of nodes asked for.
        nodes: usize,
    },
    /// Two parts of the input that must agree in size do not.
    #[error("{what}: expected {expected}, found {found}")]
    SizeMismatch {
        /// What was compared, in words.
        what: &'static str,
        /// The size required.
        expected: usize,
        /// The size given.
        found: usize,
    },
    /// A number in the input lies outside its range.
    #[error("{what} at position {position}: expected {expected}, found {found}")]
    OutOfRange {
        /// What was read, in words.
        what: &'static str,
        /// Where it stands, counted from 0.
        position: usize,
        /// The range allowed, in words.
        expected: String,
        /// The value given.
        found: String,
    },
    /// A hyperparameter that cannot work.
    #[error("{name} = {value}: {reason}")]
    Hyperparameter {
        /// Its name as in the configuration.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is allowed, in words.
        reason: String,
    },
    /// A name that is no hyperparameter.
    #[error("unknown hyperparameter `{name}`: expected one of {}", known.join(", "))]
    UnknownHyperparameter {
        /// Name as given.
        name: String,
        /// All names, the most similar first.
        known: Vec<&'static str>,
    },
    /// Self-supervision asks for more non-edges than the graph has.
    #[error(
        "self-supervision asks for {wanted} negative pairs per step (p_n * p_e * {edges} edges with self-loops), but a graph of {nodes} nodes has only {available} pairs without an edge: lower p_n or p_e"
    )]
    TooFewNonEdges {
        /// Negatives asked for.
        wanted: u64,
        /// Pairs without an edge.
        available: u64,
        /// Edges, self-loops included.
        edges: u64,
        /// Nodes.
        nodes: usize,
    },
    /// The loss stopped being a number.
    #[error("the loss became {loss} in epoch {epoch}: lower lr or lambda_e, or check the features for extreme values")]
    Diverged {
        /// Epoch, counted from 0.
        epoch: usize,
        /// The loss found.
        loss: f64,
    },
    /// There is nothing to train on or to evaluate.
    #[error("the {split} split holds no labelled node")]
    EmptySplit {
        /// Name of the split.
        split: &'static str,
    },
    /// The operating system gives no more threads.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// Threads asked for.
        threads: usize,
        /// What the operating system said.
        reason: String,
    },
    /// A saved model that cannot be used.
    #[error("the saved model cannot be used: {reason}")]
    Checkpoint {
        /// What was expected and found.
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
        /// What was compared.
        what: &'static str,
        /// What the model was made for.
        expected: usize,
        /// What the data has.
        found: usize,
    },
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
