//! Choice of models and settings: sweeps over many runs, statistical comparison, hyperparameter search, recommendation.

#![forbid(unsafe_code)]

pub mod compare;
pub mod recommend;
pub mod sweep;
pub mod tune;

/// Formats a number with its noun.
///
/// ```
/// assert_eq!([1, 12].map(|epochs| supergat_select::count(epochs, "epoch")), ["1 epoch", "12 epochs"]);
/// ```
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
