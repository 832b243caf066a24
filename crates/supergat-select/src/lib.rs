//! Choice of models and settings: sweeps over many runs, statistical comparison, hyperparameter search, recommendation.

#![forbid(unsafe_code)]

pub mod compare;
pub mod recommend;
pub mod sweep;
pub mod tune;
