//! The recipe: which form of attention suits a graph, by its average degree and homophily.
//!
//! | file | what it is |
//! |---|---|
//! | `map.rs` | the plane of degree and homophily, and the best form at each of its synthetic graphs |
//! | `homophily.rs` | homophily from few labels, with an interval |
//! | `sample.rs` | which labels may be looked at, the nodes that have them and what these are linked with |
//! | `links.rs` | the part of it that comes from links between labelled nodes |
//! | `features.rs` | the part of it that comes from the features of their neighbours |
//! | `part.rs` | what the two come to together |
//! | `taught.rs` | which labelled nodes teach a classifier, and what each stands for |
//! | `classifier.rs` | the classifier |
//! | `recommend.rs` | from degree and homophily to a form, how sure that is, and why |
//! | `vote.rs` | the votes of the map's squares |
//! | `reasons.rs` | the sentences that say why |
//! | `figure.rs` | the plane of degree and homophily, and a graph on it |

mod classifier;
mod features;
mod figure;
pub mod homophily;
mod links;
pub mod map;
mod part;
mod reasons;
mod recommend;
mod sample;
mod taught;
mod vote;

pub use figure::{Square, figure, plane};
pub use homophily::HomophilyEstimate;
pub use map::{Cell, Form, Map};
pub use recommend::{Alternative, Claim, Recommendation, recommend};
pub use sample::{Known, Unknown};
pub use vote::Share;
