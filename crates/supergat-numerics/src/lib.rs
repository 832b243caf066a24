//! Numerical methods around the networks: principal components, homophily, t-SNE, ridge regression, feature
//! propagation, graph layouts, features computed from a graph, boosted trees, metrics of
//! classifications, and statistical tests.
//!
//! They are a crate of their own because they need optimised code even in tests.

pub mod boosted_trees;
mod eigen;
pub mod homophily;
pub mod layout;
mod links;
pub mod locality;
pub mod metrics;
pub mod node_columns;
pub mod pagerank;
pub mod pca;
pub mod propagate;
pub mod propagation;
pub mod ridge;
pub mod spectral;
pub mod statistics;
pub mod structural;
pub mod tsne;
