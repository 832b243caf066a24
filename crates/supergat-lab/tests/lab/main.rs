//! Tests of whole commands of the lab: graph statistics, the recipe, sweeps and hyperparameter searches.

mod datasets;
mod published_statistics;
mod recipe;
mod sweep;
mod tune;
