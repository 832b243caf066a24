//! Tests of whole commands of the lab: graph statistics, the recipe, sweeps and hyperparameter searches.

mod checkpoints;
mod datasets;
mod processes;
mod published_statistics;
mod recipe;
mod rounds;
mod sweep;
mod tune;
