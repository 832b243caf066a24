//! Tests of sweeps and hyperparameter searches.

mod sweep;
mod tune;
