//! Recommends a form of attention for a graph from its average degree and homophily (the paper's recipe).
//!
//! | file | what it is |
//! |---|---|
//! | `map.rs` | the paper's synthetic graphs over degree and homophily, each with its best form |
//! | `homophily.rs` | homophily estimated from few labels, with an interval |
//! | `labelled.rs` | labels that may be used, labelled nodes and their neighbours |
//! | `links.rs` | homophily from links between labelled nodes |
//! | `features.rs` | homophily from the features of unlabelled neighbours |
//! | `partial_estimate.rs` | combination of the two estimates |
//! | `fitted.rs` | choice of the training nodes of the classifier, and weights of labelled nodes |
//! | `classifier.rs` | the classifier: ridge regression with leave-one-out scores |
//! | `recommend.rs` | recommendation with confidence and reasons |
//! | `vote.rs` | votes of the map's squares |
//! | `reasons.rs` | reasons as sentences |
//! | `figure.rs` | figure of the map with a graph on it |

mod features;
mod figure;
mod fitted;
pub mod homophily;
mod labelled;
mod links;
pub mod map;
mod partial_estimate;
mod reasons;
mod recommend;
mod vote;

pub use figure::{Square, figure, plane};
pub use homophily::HomophilyEstimate;
pub use labelled::{Known, Unknown};
pub use map::{Cell, Map, PreferredForm};
pub use recommend::{Alternative, Claim, Recommendation, recommend};
pub use vote::Share;
