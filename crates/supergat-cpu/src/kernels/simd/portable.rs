//! Vectors for every processor: arrays, which the compiler maps to the vectors of the baseline instruction
//! set.

use super::lanes::{Arithmetic, Isa, Lanes, SimdReal};
use super::stored::widened;
use supergat_core::heads::LANES;

/// The baseline instruction set of the processor family.
#[derive(Debug, Clone, Copy)]
pub struct Portable;

impl Isa for Portable {
    type F32 = Plain<f32>;
    type F64 = Plain<f64>;
    type F32Pair = [Plain<f32>; 2];
    // On x86-64 this is the fallback for processors without AVX2; elsewhere it is the only instruction set.
    const UNROLLED: bool = cfg!(not(target_arch = "x86_64"));
}

/// A vector in an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plain<T>([T; LANES]);

impl<T: SimdReal> Plain<T> {
    #[inline(always)]
    fn zip(mut self, other: Self, f: impl Fn(T, T) -> T) -> Self {
        for (o, b) in self.0.iter_mut().zip(other.0) {
            *o = f(*o, b);
        }
        self
    }

    #[inline(always)]
    fn exp_inlined(mut self) -> Self {
        for v in &mut self.0 {
            *v = v.exp();
        }
        self
    }

    #[inline(never)]
    fn exp_called(self) -> Self {
        self.exp_inlined()
    }

    #[inline(always)]
    fn fold_inlined(self, heads: usize) -> Self {
        let mut v = self;
        if heads <= 4 {
            let [a, b, c, d, e, f, g, h] = v.0;
            v = v.add(Self([e, f, g, h, a, b, c, d]));
        }
        if heads <= 2 {
            let [a, b, c, d, e, f, g, h] = v.0;
            v = v.add(Self([c, d, a, b, g, h, e, f]));
        }
        if heads == 1 {
            let [a, b, c, d, e, f, g, h] = v.0;
            v = v.add(Self([b, a, d, c, f, e, h, g]));
        }
        v
    }

    #[inline(never)]
    fn fold_called(self, heads: usize) -> Self {
        self.fold_inlined(heads)
    }
}

impl<T: SimdReal> Arithmetic for Plain<T> {
    type Item = T;
    #[inline(always)]
    fn splat(value: T) -> Self {
        Self([value; LANES])
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, T::max)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        self.mul(b).add(c)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        if const { T::HAS_VECTORS && Portable::UNROLLED } { self.exp_inlined() } else { self.exp_called() }
    }
    #[inline(always)]
    fn if_positive(self, mut yes: Self, no: Self) -> Self {
        for ((y, n), x) in yes.0.iter_mut().zip(no.0).zip(self.0) {
            *y = if x > T::ZERO { *y } else { n };
        }
        yes
    }
}

impl<T: SimdReal> Lanes for Plain<T> {
    #[inline(always)]
    fn load(values: &[T; LANES]) -> Self {
        Self(*values)
    }
    #[inline(always)]
    fn array(self) -> [T; LANES] {
        self.0
    }
    #[inline(always)]
    fn from_bits(bits: u8, value: T) -> Self {
        let mut out = [T::ZERO; LANES];
        for (l, o) in out.iter_mut().enumerate() {
            *o = if bits & 1 << l != 0 { value } else { T::ZERO };
        }
        Self(out)
    }
    #[inline(always)]
    fn fold(self, heads: usize) -> Self {
        if const { T::HAS_VECTORS && Portable::UNROLLED } { self.fold_inlined(heads) } else { self.fold_called(heads) }
    }
    #[inline(always)]
    fn widen(halves: &[u16; LANES]) -> Self {
        let mut lanes = [T::ZERO; LANES];
        for (lane, half) in lanes.iter_mut().zip(halves) {
            *lane = widened(*half);
        }
        Self(lanes)
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0.iter().any(|x| *x != T::ZERO)
    }
}
