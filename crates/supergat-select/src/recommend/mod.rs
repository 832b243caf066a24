//! Which model for a graph?
//!
//! [`quick`] answers within seconds: it compares families of models with their default settings on labelled nodes that are no
//! test nodes. [`thorough`] answers within minutes: it searches settings and compares on test nodes. Both make a plan
//! from a question, run it, and return an answer. [`map`] is the paper's map of forms of attention: prior knowledge of the quick
//! answer, and its only source if there is no time or no label.
//!
//! | file | content |
//! |---|---|
//! | `families.rs` | the compared families of models |
//! | `metric.rs` | the metric, and whether classes are imbalanced |
//! | `cost.rs` | time and memory of runs |

mod cost;
mod families;
pub mod map;
mod metric;
pub mod quick;
pub mod thorough;

pub use families::{DEEP, FAMILIES, Family, LeftOut};
pub use metric::{METRICS, MetricChoice};

/// Number of scored nodes below which metrics mean little.
const FEW_NODES: usize = 50;
