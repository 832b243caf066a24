//! Error of a comparison within minutes.

use crate::sweep::SweepError;

/// Error of a comparison within minutes.
#[derive(Debug, thiserror::Error)]
pub enum ThoroughError {
    /// The dataset, the question or the plan cannot be used.
    #[error("{0}")]
    Input(String),
    /// The runs failed, or results cannot be written.
    #[error("{0}")]
    Sweep(#[from] SweepError),
}
