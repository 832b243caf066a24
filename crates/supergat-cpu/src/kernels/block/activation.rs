//! Activations of hidden blocks, over vectors.

use crate::kernels::simd::Arithmetic;
use supergat_core::{Activation, Real as _};

/// Returns the activation of `x`. NaN stays NaN.
#[inline(always)]
pub(super) fn activate<X: Arithmetic>(activation: Activation, x: X) -> X {
    let below = match activation {
        Activation::Elu => x.exp().sub(X::splat(X::Item::ONE)),
        Activation::Relu => x.sub(x),
    };
    x.if_positive(x, below)
}

/// Returns the derivative from the activation's output.
#[inline(always)]
pub(super) fn derivative<X: Arithmetic>(activation: Activation, output: X) -> X {
    let one = X::splat(X::Item::ONE);
    let below = match activation {
        Activation::Elu => output.add(one),
        Activation::Relu => X::zero(),
    };
    output.if_positive(one, below)
}
