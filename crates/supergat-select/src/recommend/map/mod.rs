//! The paper's map: which form of attention is best for a graph of some average degree and homophily.
//!
//! | file | content |
//! |---|---|
//! | `squares.rs` | the paper's synthetic graphs over degree and homophily, each with its best form |
//! | `homophily.rs` | homophily estimated from few labels, with an interval |
//! | `labelled.rs` | labels that may be used, labelled nodes and their neighbours |
//! | `links.rs` | homophily from links between labelled nodes |
//! | `features.rs` | homophily from the features of unlabelled neighbours |
//! | `partial_estimate.rs` | combination of the two estimates |
//! | `fitted.rs` | choice of the training nodes of the classifier, and weights of labelled nodes |
//! | `density.rs` | degree and homophily of nodes as a density over the plane |
//! | `mixture.rs` | modes of the density, and whether a graph is a mixture |
//! | `vote.rs` | votes of the map's squares |
//! | `reasons.rs` | reasons as sentences |
//! | `consult.rs` | the answer of the map: a model with confidence and reasons |
//! | `figure.rs` | figure of the map with a graph on it |

mod consult;
pub mod density;
mod features;
mod figure;
mod fitted;
mod homophily;
mod labelled;
mod links;
pub mod mixture;
mod partial_estimate;
mod reasons;
mod squares;
mod vote;

pub use consult::{MapAnswer, consult};
pub use figure::{Square, figure, plane};
pub use homophily::{HomophilyEstimate, Source};
pub use labelled::{Known, Unknown};
pub use squares::{Cell, Map, PreferredForm, differ};
pub use vote::Share;
