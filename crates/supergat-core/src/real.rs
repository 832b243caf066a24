//! Single and double precision.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A floating-point number: `f32` for training, `f64` for checking the same code in higher precision.
pub trait Real:
    sealed::Sealed
    + Copy
    + Default
    + Debug
    + Display
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + MulAssign
    + Sum
    + 'static
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// Negative infinity.
    const NEG_INFINITY: Self;
    /// Rounds to the nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// Converts to double precision.
    fn to_f64(self) -> f64;
    /// Returns e to the power of `self`. Single precision uses neither branches nor tables, so that loops
    /// vectorise.
    fn exp(self) -> Self;
    /// Returns the square root.
    fn sqrt(self) -> Self;
    /// Returns the larger of two numbers, or `other` if `self` is NaN.
    fn max(self, other: Self) -> Self;
    /// Returns the absolute value.
    fn abs(self) -> Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const NEG_INFINITY: Self = f32::NEG_INFINITY;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    /// exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln 2 / 2. exp(r) is its Taylor polynomial of
    /// degree 7, whose error is below 2e-8.
    #[inline(always)]
    fn exp(self) -> Self {
        // Outside this range the result underflows to 0 or overflows; the comparisons keep NaN.
        let x = if self < -87.0 { -87.0 } else { self };
        let x = if x > 88.0 { 88.0 } else { x };
        // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
        const SHIFT: f32 = 12_582_912.0;
        let shifted = x * std::f32::consts::LOG2_E + SHIFT;
        let n = shifted - SHIFT;
        let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
        let p = 1.0 / 5040.0;
        let p = p * r + 1.0 / 720.0;
        let p = p * r + 1.0 / 120.0;
        let p = p * r + 1.0 / 24.0;
        let p = p * r + 1.0 / 6.0;
        let p = p * r + 0.5;
        let p = p * r + 1.0;
        let p = p * r + 1.0;
        let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
        if self < -87.0 { 0.0 } else { p * power }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f32::abs(self)
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const NEG_INFINITY: Self = f64::NEG_INFINITY;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn exp(self) -> Self {
        f64::exp(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Real;

    #[test]
    fn single_precision_exp_has_small_relative_error() {
        let mut worst = 0.0f64;
        for k in -86_900..88_000 {
            let x = k as f32 * 1e-3;
            let exact = f64::from(x).exp();
            worst = worst.max((f64::from(Real::exp(x)) - exact).abs() / exact);
        }
        assert!(worst < 3e-7, "worst relative error {worst}");
        assert_eq!(Real::exp(-1000.0f32), 0.0);
        assert_eq!(Real::exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(Real::exp(0.0f32), 1.0);
        assert!(Real::exp(f32::NAN).is_nan());
        assert!(Real::exp(1000.0f32) > 1e38);
    }
}
