//! Decisions and metrics: how the logits of a model become probabilities and classes, and how good these are.
//!
//! Temperature and threshold are fitted on the validation nodes. Test labels are read for metrics only.

mod decision;
mod ensemble;
mod seed_metrics;
mod summaries;
mod threshold_basis;
mod warnings;

pub use decision::{Calibrate, Decision, DecisionOptions, ENOUGH_NODES};
pub use ensemble::Ensemble;
pub use seed_metrics::{SeedMetrics, measure, split_metrics};
pub use summaries::{ClassSummary, MetricSummaries, PartialSummary, class_summaries, metric_summaries, metric_summary};
pub use threshold_basis::ThresholdBasis;
pub use warnings::warnings;
