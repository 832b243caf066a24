//! Tests of graph statistics, the paper's map, and runs by several processes.

mod datasets;
mod map;
mod processes;
mod published_statistics;
