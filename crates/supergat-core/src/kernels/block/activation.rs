//! Activations of hidden blocks.

use crate::kernels::simd::{Lanes, Real as _};
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

impl Activation {
    /// Returns the activation of `x`. NaN stays NaN.
    #[inline(always)]
    pub(super) fn apply<X: Lanes>(self, x: X) -> X {
        let below = match self {
            Self::Elu => x.exp().sub(X::splat(X::Item::ONE)),
            Self::Relu => x.sub(x),
        };
        x.if_positive(x, below)
    }

    /// Returns the derivative from the activation's output.
    #[inline(always)]
    pub(super) fn derivative<X: Lanes>(self, output: X) -> X {
        let one = X::splat(X::Item::ONE);
        let below = match self {
            Self::Elu => output.add(one),
            Self::Relu => X::zero(),
        };
        output.if_positive(one, below)
    }
}
