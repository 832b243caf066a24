//! Generated graphs: the paper's, simple ones for timing, and variants of other datasets.

pub mod random_graph;
pub mod random_partition;
mod spec;
pub mod variant;
