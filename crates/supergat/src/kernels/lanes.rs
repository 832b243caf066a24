//! Eight numbers side by side, and the choice of instruction set at run time.
//!
//! Kernels are written once, over [`V`]. [`dispatch`] compiles each of them twice: for what every processor of the family has, and
//! for AVX2 with fused multiply-add, and picks by what the running processor can do. So one binary is fast everywhere.

use super::real::Real;
use std::sync::OnceLock;

/// Numbers in a vector.
pub const LANES: usize = 8;

/// A vector of [`LANES`] numbers. The loops below have a constant length: they become vector instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(transparent)]
pub struct V<T>(pub [T; LANES]);

/// An instruction set that kernels are compiled for.
pub trait Isa: Copy {
    /// Whether multiply-add is one instruction. Where it is not, fusing would be a call into a library.
    const FUSED: bool;
}

/// What every processor of the family can do.
#[derive(Debug, Clone, Copy)]
pub struct Portable;

impl Isa for Portable {
    const FUSED: bool = cfg!(target_arch = "aarch64");
}

/// x86-64 with AVX2 and FMA.
#[derive(Debug, Clone, Copy)]
pub struct Avx2;

impl Isa for Avx2 {
    const FUSED: bool = true;
}

/// A piece of work that is compiled for each instruction set. `run` must be `#[inline(always)]`.
pub trait Kernel {
    /// What it returns.
    type Output;
    /// Does the work.
    fn run<I: Isa>(self) -> Self::Output;
}

/// The instruction sets to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Simd {
    /// See [`Portable`].
    Portable,
    /// See [`Avx2`].
    Avx2,
}

impl Simd {
    /// The one in use: the best that the processor has, or `portable` when the environment variable `SUPERGAT_SIMD` says so.
    pub fn active() -> Self {
        static ACTIVE: OnceLock<Simd> = OnceLock::new();
        *ACTIVE.get_or_init(|| {
            if std::env::var_os("SUPERGAT_SIMD").is_some_and(|v| v == "portable") {
                return Self::Portable;
            }
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
            Self::Portable
        })
    }
}

/// Runs a kernel with the best instruction set there is.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    match Simd::active() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Simd::active` returns `Avx2` only after detecting both features.
        Simd::Avx2 => unsafe { run_avx2(kernel) },
        _ => kernel.run::<Portable>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

impl<T: Real> V<T> {
    /// All zero.
    pub const ZERO: Self = Self([T::ZERO; LANES]);

    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(value: T) -> Self {
        Self([value; LANES])
    }

    /// Lane by lane.
    #[inline(always)]
    pub fn map(self, f: impl Fn(T) -> T) -> Self {
        Self(std::array::from_fn(|l| f(self.0[l])))
    }

    /// Lane by lane with another vector.
    #[inline(always)]
    pub fn zip(self, other: Self, f: impl Fn(T, T) -> T) -> Self {
        Self(std::array::from_fn(|l| f(self.0[l], other.0[l])))
    }

    /// Sum.
    #[inline(always)]
    pub fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    /// Difference.
    #[inline(always)]
    pub fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    /// Product.
    #[inline(always)]
    pub fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    /// The larger, lane by lane.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        self.zip(other, T::max)
    }

    /// `self * b + c`.
    #[inline(always)]
    pub fn mul_add<I: Isa>(self, b: Self, c: Self) -> Self {
        Self(std::array::from_fn(|l| {
            if I::FUSED { self.0[l].fused(b.0[l], c.0[l]) } else { self.0[l] * b.0[l] + c.0[l] }
        }))
    }

    /// e to the power of each lane.
    #[inline(always)]
    pub fn exp(self) -> Self {
        self.map(T::exp)
    }

    /// 1 / (1 + exp(-x)).
    #[inline(always)]
    pub fn sigmoid(self) -> Self {
        self.map(|x| T::ONE / (T::ONE + (-x).exp()))
    }

    /// Lane l is `value` where bit l of `bits` is set, else zero.
    #[inline(always)]
    pub fn from_bits(bits: u8, value: T) -> Self {
        Self(std::array::from_fn(|l| if bits & 1 << l != 0 { value } else { T::ZERO }))
    }

    /// Adds up the lanes that are equal modulo `heads` (1, 2, 4 or 8) and leaves the sum in each of them.
    #[inline(always)]
    pub fn fold(self, heads: usize) -> Self {
        let mut v = self.0;
        if heads <= 4 {
            v = std::array::from_fn(|l| v[l] + v[l ^ 4]);
        }
        if heads <= 2 {
            v = std::array::from_fn(|l| v[l] + v[l ^ 2]);
        }
        if heads == 1 {
            v = std::array::from_fn(|l| v[l] + v[l ^ 1]);
        }
        Self(v)
    }
}

/// A slice as vectors; its length must be a multiple of [`LANES`].
#[inline(always)]
pub fn vectors<T>(values: &[T]) -> &[[T; LANES]] {
    let (chunks, rest) = values.as_chunks();
    debug_assert!(rest.is_empty());
    chunks
}

/// A mutable slice as vectors; its length must be a multiple of [`LANES`].
#[inline(always)]
pub fn vectors_mut<T>(values: &mut [T]) -> &mut [[T; LANES]] {
    let (chunks, rest) = values.as_chunks_mut();
    debug_assert!(rest.is_empty());
    chunks
}

/// Lane-wise sum of products of two rows of vectors.
#[inline(always)]
pub fn dot<T: Real, I: Isa>(a: &[[T; LANES]], b: &[[T; LANES]]) -> V<T> {
    // Two sums: one alone would wait for the latency of each addition.
    let (mut even, mut odd) = (V::ZERO, V::ZERO);
    let (a2, a1) = a.as_chunks::<2>();
    let (b2, b1) = b.as_chunks::<2>();
    for (a, b) in a2.iter().zip(b2) {
        even = V(a[0]).mul_add::<I>(V(b[0]), even);
        odd = V(a[1]).mul_add::<I>(V(b[1]), odd);
    }
    for (a, b) in a1.iter().zip(b1) {
        even = V(*a).mul_add::<I>(V(*b), even);
    }
    even.add(odd)
}

/// `out += factor * row`, vector by vector.
#[inline(always)]
pub fn add_scaled<T: Real, I: Isa>(out: &mut [[T; LANES]], factor: V<T>, row: &[[T; LANES]]) {
    for (o, r) in out.iter_mut().zip(row) {
        *o = factor.mul_add::<I>(V(*r), V(*o)).0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fold_sums_the_lanes_of_a_head() {
        let v = V([1.0f64, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        assert_eq!(v.fold(8), v);
        assert_eq!(v.fold(4), V([17.0, 34.0, 68.0, 136.0, 17.0, 34.0, 68.0, 136.0]));
        assert_eq!(v.fold(2), V([85.0, 170.0, 85.0, 170.0, 85.0, 170.0, 85.0, 170.0]));
        assert_eq!(v.fold(1), V::splat(255.0));
    }

    #[test]
    fn bits_become_lanes() {
        assert_eq!(V::from_bits(0b1000_0101, 2.0f32).0, [2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
    }

    #[test]
    fn dot_of_three_vectors() {
        let rows = [[1.0f64; 8], [2.0; 8], [3.0; 8]];
        assert_eq!(dot::<f64, Portable>(&rows, &rows), V::splat(14.0));
    }
}
