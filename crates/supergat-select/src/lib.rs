//! Choice of models and settings: sweeps over many runs, statistical comparison, hyperparameter search, recommendation.

#![forbid(unsafe_code)]

pub mod advice;
pub mod benchmark;
pub mod compare;
pub mod density;
pub mod mixture;
pub mod recipe;
pub mod sweep;
pub mod tune;
