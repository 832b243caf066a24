//! Numerical methods around the networks: principal components, homophily, t-SNE, ridge regression, feature
//! propagation, graph layouts, and features computed from a graph.
//!
//! They are a crate of their own because they need optimised code even in tests.

mod eigen;
pub mod homophily;
pub mod layout;
mod links;
pub mod pca;
pub mod propagate;
pub mod ridge;
pub mod spectral;
pub mod structural;
pub mod tsne;
