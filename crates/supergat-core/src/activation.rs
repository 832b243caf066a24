//! Activations of hidden blocks.

use serde::{Deserialize, Serialize};

/// Activation of hidden layers.
///
/// ```
/// use supergat_core::Activation;
/// assert_eq!("relu".parse(), Ok(Activation::Relu));
/// assert_eq!(Activation::default().name(), "elu");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// x if positive, else exp(x) - 1.
    #[default]
    Elu,
    /// x if positive, else 0.
    Relu,
}
