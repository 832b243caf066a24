//! Numerical methods around the networks: principal components, homophily, t-SNE, ridge regression, feature
//! propagation, graph layouts, features computed from a graph, and metrics of classifications.
//!
//! They are a crate of their own because they need optimised code even in tests.

mod eigen;
pub mod homophily;
pub mod layout;
mod links;
pub mod locality;
pub mod metrics;
pub mod pca;
pub mod propagate;
pub mod propagation;
pub mod ridge;
pub mod spectral;
pub mod structural;
pub mod tsne;
