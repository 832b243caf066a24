//! Self-supervised graph attention networks (SuperGAT).
//!
//! A graph attention network classifies the nodes of a graph by letting every node weigh its neighbours. SuperGAT
//! teaches these weights with the graph itself: the attention score of a pair of nodes must also predict whether an
//! edge joins them.
//!
//! The way through the crate: a [`Graph`] and [`Features`] become an [`Example`]; a
//! model over examples is trained, and its predictions are read.

pub mod architecture;
pub mod checkpoint;
pub mod config;
pub mod error;
pub mod example;
pub mod features;
pub mod graph;
pub mod hyperparameters;
pub mod kernels;
pub mod labels;
pub mod layers;
pub mod memory;
pub mod model;
pub mod model_kind;
pub mod prepared;
pub mod random;
pub mod sampling;
pub mod session;
pub mod stopwatch;
pub mod train;

pub use architecture::Architecture;
pub use config::{EarlyStop, TrainConfig};
pub use error::{Error, Result};
pub use example::Example;
pub use features::{Features, SparseMatrix};
pub use graph::{Direction, Graph};
pub use kernels::{Form, Primitives, Real};
pub use labels::Labels;
pub use model::{EdgeValues, Model, StepLoss};
pub use model_kind::{Convolution, ModelKind};
pub use prepared::Prepared;
pub use session::Session;
pub use train::{Epoch, Outcome, Score, Trained, Trainer};
