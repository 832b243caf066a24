//! Forms of attention: the unnormalised attention `e` and the edge logit as functions of two raw scores, and their
//! gradients. See [`Form`](supergat_core::Form) for the formulas.

use super::simd::Arithmetic;
use supergat_core::Real as _;

/// Formulas of a form, over vectors of heads. `go` is the additive score, `dp` the dot product, `scale` is 1
/// / sqrt(F).
pub trait FormKernel: Copy + Send + Sync {
    /// Whether `go` is the score of GATv2, which applies LeakyReLU itself, in place of the additive score. Its gradient
    /// has kernels of its own (`attention/v2`).
    const V2: bool = false;
    /// Whether the form depends on the additive score.
    const GO: bool;
    /// Whether the form depends on `dp`.
    const DP: bool;
    /// Whether an edge and its reverse have the same logit, because it depends on `dp` only.
    const SYMMETRIC_LOGIT: bool;
    /// Returns the unnormalised attention.
    fn score<X: Arithmetic>(go: X, dp: X, scale: X) -> X;
    /// Returns the edge logit.
    fn logit<X: Arithmetic>(go: X, dp: X, scale: X) -> X;
    /// Returns the gradients of `go` and `dp` from that of the score.
    fn score_backward<X: Arithmetic>(d: X, go: X, dp: X, scale: X) -> (X, X);
    /// Returns the gradients of `go` and `dp` from that of the logit, which is linear in them.
    fn logit_backward<X: Arithmetic>(d: X, scale: X) -> (X, X);
}

/// Formulas of [`Form::Go`](supergat_core::Form::Go).
#[derive(Debug, Clone, Copy)]
pub struct Go;
/// Formulas of [`Form::Dp`](supergat_core::Form::Dp).
#[derive(Debug, Clone, Copy)]
pub struct Dp;
/// Formulas of [`Form::Sd`](supergat_core::Form::Sd).
#[derive(Debug, Clone, Copy)]
pub struct Sd;
/// Formulas of [`Form::Mx`](supergat_core::Form::Mx).
#[derive(Debug, Clone, Copy)]
pub struct Mx;
/// Formulas of [`Form::V2`](supergat_core::Form::V2).
#[derive(Debug, Clone, Copy)]
pub struct V2;

impl FormKernel for Go {
    const GO: bool = true;
    const DP: bool = false;
    const SYMMETRIC_LOGIT: bool = false;
    #[inline(always)]
    fn score<X: Arithmetic>(go: X, _: X, _: X) -> X {
        go
    }
    #[inline(always)]
    fn logit<X: Arithmetic>(go: X, _: X, _: X) -> X {
        go
    }
    #[inline(always)]
    fn score_backward<X: Arithmetic>(d: X, _: X, _: X, _: X) -> (X, X) {
        (d, X::zero())
    }
    #[inline(always)]
    fn logit_backward<X: Arithmetic>(d: X, _: X) -> (X, X) {
        (d, X::zero())
    }
}

impl FormKernel for Dp {
    const GO: bool = false;
    const DP: bool = true;
    const SYMMETRIC_LOGIT: bool = true;
    #[inline(always)]
    fn score<X: Arithmetic>(_: X, dp: X, _: X) -> X {
        dp
    }
    #[inline(always)]
    fn logit<X: Arithmetic>(_: X, dp: X, _: X) -> X {
        dp
    }
    #[inline(always)]
    fn score_backward<X: Arithmetic>(d: X, _: X, _: X, _: X) -> (X, X) {
        (X::zero(), d)
    }
    #[inline(always)]
    fn logit_backward<X: Arithmetic>(d: X, _: X) -> (X, X) {
        (X::zero(), d)
    }
}

impl FormKernel for Sd {
    const GO: bool = false;
    const DP: bool = true;
    const SYMMETRIC_LOGIT: bool = true;
    #[inline(always)]
    fn score<X: Arithmetic>(_: X, dp: X, scale: X) -> X {
        dp.mul(scale)
    }
    #[inline(always)]
    fn logit<X: Arithmetic>(_: X, dp: X, scale: X) -> X {
        dp.mul(scale)
    }
    #[inline(always)]
    fn score_backward<X: Arithmetic>(d: X, _: X, _: X, scale: X) -> (X, X) {
        (X::zero(), d.mul(scale))
    }
    #[inline(always)]
    fn logit_backward<X: Arithmetic>(d: X, scale: X) -> (X, X) {
        (X::zero(), d.mul(scale))
    }
}

impl FormKernel for Mx {
    const GO: bool = true;
    const DP: bool = true;
    const SYMMETRIC_LOGIT: bool = true;
    #[inline(always)]
    fn score<X: Arithmetic>(go: X, dp: X, _: X) -> X {
        go.mul(dp.sigmoid())
    }
    #[inline(always)]
    fn logit<X: Arithmetic>(_: X, dp: X, _: X) -> X {
        dp
    }
    /// sigmoid' = sigmoid (1 - sigmoid).
    #[inline(always)]
    fn score_backward<X: Arithmetic>(d: X, go: X, dp: X, _: X) -> (X, X) {
        let gate = dp.sigmoid();
        let slope = gate.mul(X::splat(X::Item::ONE).sub(gate));
        (d.mul(gate), d.mul(go).mul(slope))
    }
    #[inline(always)]
    fn logit_backward<X: Arithmetic>(d: X, _: X) -> (X, X) {
        (X::zero(), d)
    }
}

impl FormKernel for V2 {
    const V2: bool = true;
    const GO: bool = false;
    const DP: bool = false;
    const SYMMETRIC_LOGIT: bool = false;
    #[inline(always)]
    fn score<X: Arithmetic>(go: X, _: X, _: X) -> X {
        go
    }
    #[inline(always)]
    fn logit<X: Arithmetic>(go: X, _: X, _: X) -> X {
        go
    }
    #[inline(always)]
    fn score_backward<X: Arithmetic>(d: X, _: X, _: X, _: X) -> (X, X) {
        (d, X::zero())
    }
    #[inline(always)]
    fn logit_backward<X: Arithmetic>(d: X, _: X) -> (X, X) {
        (d, X::zero())
    }
}

/// Runs `$body` with the type `$F` bound to the formulas of a [`Form`](supergat_core::Form).
macro_rules! with_form {
    ($form:expr, $F:ident => $body:expr) => {
        match $form {
            supergat_core::Form::Go => {
                type $F = $crate::kernels::forms::Go;
                $body
            }
            supergat_core::Form::Dp => {
                type $F = $crate::kernels::forms::Dp;
                $body
            }
            supergat_core::Form::Sd => {
                type $F = $crate::kernels::forms::Sd;
                $body
            }
            supergat_core::Form::Mx => {
                type $F = $crate::kernels::forms::Mx;
                $body
            }
            supergat_core::Form::V2 => {
                type $F = $crate::kernels::forms::V2;
                $body
            }
        }
    };
}
pub(crate) use with_form;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::simd::{Arithmetic, Lanes as _, Plain};

    #[test]
    fn gradients_match_finite_differences() {
        fn check<F: FormKernel>() {
            let (go, dp, scale) = (0.7, -0.4, 0.5);
            let of = Plain::<f64>::splat;
            let f = |go: f64, dp: f64| {
                let (score, logit) = (F::score(of(go), of(dp), of(scale)), F::logit(of(go), of(dp), of(scale)));
                1.3 * score.array()[0] - 0.6 * logit.array()[0]
            };
            let step = 1e-6;
            let by_go = (f(go + step, dp) - f(go - step, dp)) / (2.0 * step);
            let by_dp = (f(go, dp + step) - f(go, dp - step)) / (2.0 * step);
            let a = F::score_backward(of(1.3), of(go), of(dp), of(scale));
            let b = F::logit_backward(of(-0.6), of(scale));
            let (d_go, d_dp) = (a.0.add(b.0).array()[0], a.1.add(b.1).array()[0]);
            assert!((d_go - by_go).abs() < 1e-9 && (d_dp - by_dp).abs() < 1e-9);
        }
        check::<Go>();
        check::<Dp>();
        check::<Sd>();
        check::<Mx>();
        check::<V2>();
    }
}
