//! Self-supervised graph attention networks (SuperGAT).
//!
//! A graph attention network classifies the nodes of a graph. Every node attends to its neighbours with
//! learned weights. SuperGAT also trains these weights on the graph itself: the attention score of a pair of
//! nodes must predict whether an edge joins them.
//!
//! Main types, in the order of use:
//!
//! 1. [`Graph`], [`Features`] and [`Labels`] form an [`Example`].
//! 2. [`Architecture`] and [`TrainConfig`] contain the hyperparameters, which [`hyperparameters`] describes.
//! 3. [`Prepared`] validates examples and hyperparameters together. Its documentation has a complete example.
//! 4. [`Trainer`] trains a [`Model`], which predicts classes and attention.
//! 5. [`systems`] trains models that learn or choose the edges of the graph, beside a network.
//! 6. [`checkpoint`] saves and loads models; [`TrainState`] saves trainings and resumes them.

pub mod architecture;
pub mod blocks;
pub mod checkpoint;
pub mod config;
pub mod device;
pub mod edge_attributes;
pub mod error;
pub mod example;
pub mod features;
pub mod graph;
pub mod hash;
pub mod hyperparameters;
pub mod kernels;
pub mod labels;
pub mod layers;
pub mod memory;
pub mod model;
pub mod model_kind;
pub mod order;
pub mod parameter;
pub mod peers;
pub mod prepared;
pub mod random;
pub mod sampling;
mod sealed;
pub mod session;
pub mod stopwatch;
pub mod systems;
pub mod train;
pub mod train_state;

pub use architecture::Architecture;
pub use blocks::{Blocks, Norm, Residual};
pub use config::{EarlyStop, Select, TrainConfig};
pub use device::{Cpu, Device, SingleDevice};
pub use edge_attributes::{Duplicates, EdgeAttributes, EdgeWeights};
pub use error::{Error, Result};
pub use example::Example;
pub use features::{Features, SparseMatrix};
pub use graph::{Direction, Graph};
pub use kernels::{Activation, Form, Primitives, Products, Real};
pub use labels::Labels;
pub use model::{EdgeValues, Model, Network, StepLoss};
pub use model_kind::{Convolution, ModelKind, System};
pub use order::NodeOrder;
pub use prepared::{Prepared, Scorer};
pub use session::Session;
pub use train::{Epoch, Outcome, Score, Trained, Trainer};
pub use train_state::TrainState;
