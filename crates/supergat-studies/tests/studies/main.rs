//! Tests of graph statistics, the recipe, and runs by several processes.

mod datasets;
mod processes;
mod published_statistics;
mod recipe;
