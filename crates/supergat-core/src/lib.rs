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
//! 4. [`Trainer`] trains a [`Network`], which predicts classes and attention.
//! 5. [`checkpoint`] saves and loads models; [`TrainState`] saves trainings and resumes them.

pub mod activation;
pub mod architecture;
pub mod blocks;
pub mod checkpoint;
pub mod config;
pub mod contrast;
pub mod counts;
pub mod device;
pub mod dropout;
pub mod edge_attributes;
pub mod error;
pub mod example;
pub mod features;
pub mod form;
pub mod graph;
pub mod hash;
pub mod heads;
pub mod hyperparameters;
pub mod labels;
pub mod layers;
pub mod memory;
pub mod model;
pub mod model_kind;
pub mod order;
pub mod parameter;
mod precision;
pub mod prepared;
pub mod random;
pub mod real;
pub mod sampling;
pub mod sealed;
pub mod selection;
pub mod session;
pub mod stopwatch;
pub mod train;
pub mod train_state;
pub mod words;

pub use activation::Activation;
pub use architecture::Architecture;
pub use blocks::{Norm, Residual};
pub use config::{Select, TrainConfig};
pub use contrast::Contrast;
pub use counts::{Counts, argmax};
pub use device::{Device, SingleDevice};
pub use dropout::Dropout;
pub use edge_attributes::{Duplicates, EdgeAttributes, EdgeWeights};
pub use error::{Error, Result};
pub use example::Example;
pub use features::{Features, SparseMatrix};
pub use form::Form;
pub use graph::{Direction, Graph};
pub use heads::HeadLayout;
pub use labels::Labels;
pub use model::{EdgeValues, Network, StepLoss};
pub use model_kind::{Convolution, ModelKind, System};
pub use order::NodeOrder;
pub use precision::Precision;
pub use prepared::{Prepared, Scorer};
pub use real::Real;
pub use selection::{Epoch, Outcome, Score};
pub use session::Session;
pub use train::{Trained, Trainer};
pub use train_state::TrainState;
