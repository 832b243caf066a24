//! The recipe: which form of attention suits a graph, by its average degree and homophily.
//!
//! | file | what it is |
//! |---|---|
//! | `map.rs` | the plane of degree and homophily, and the best form at each of its synthetic graphs |
//! | `homophily.rs` | homophily from few labels, with an interval |
//! | `links.rs` | the part of it that comes from links between labelled nodes |
//! | `features.rs` | the part of it that comes from the features of their neighbours |
//! | `classifier.rs` | the quick classifier behind that |
//! | `recommend.rs` | from degree and homophily to a form, how sure that is, and why |
//! | `figure.rs` | the map with a graph on it |

mod classifier;
mod features;
mod figure;
pub mod homophily;
mod links;
pub mod map;
mod recommend;

pub use figure::figure;
pub use homophily::{HomophilyEstimate, Known};
pub use map::{Cell, Form, Map};
pub use recommend::{Alternative, Claim, Recommendation, Share, recommend};
