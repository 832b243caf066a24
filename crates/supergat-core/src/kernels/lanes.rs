//! Eight numbers side by side, and the choice of instruction set at run time.
//!
//! Kernels are written once, over [`Lanes`]. [`dispatch`] compiles each of them for what every processor of the family has, and for AVX2
//! with fused multiply-add, and picks by what the running processor can do. So one binary is fast everywhere.

use super::portable::Portable;
use super::real::Real;
use crate::random::{Permutation, Stream};
use std::sync::OnceLock;

/// Numbers in a vector.
pub const LANES: usize = 8;

/// A vector of [`LANES`] numbers. Operations are lane by lane.
pub trait Lanes: Copy {
    /// Type of the numbers.
    type Item: Real;

    /// The same number in every lane.
    fn splat(value: Self::Item) -> Self;
    /// From memory.
    fn load(values: &[Self::Item; LANES]) -> Self;
    /// As an array.
    fn array(self) -> [Self::Item; LANES];
    /// Sum.
    fn add(self, other: Self) -> Self;
    /// Difference.
    fn sub(self, other: Self) -> Self;
    /// Product.
    fn mul(self, other: Self) -> Self;
    /// Quotient.
    fn div(self, other: Self) -> Self;
    /// The larger; `other` where one is not a number.
    fn max(self, other: Self) -> Self;
    /// `self * b + c`.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// e to the power of it.
    fn exp(self) -> Self;
    /// `yes` where it is greater than zero, else `no`.
    fn if_positive(self, yes: Self, no: Self) -> Self;
    /// Lane l is `value` where bit l of `bits` is set, else zero.
    fn from_bits(bits: u8, value: Self::Item) -> Self;
    /// Adds up the lanes that are equal modulo `heads` (1, 2, 4 or 8) and leaves the sum in each of them.
    fn fold(self, heads: usize) -> Self;
    /// Whether any lane is not zero.
    fn any(self) -> bool;

    /// All zero.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(Self::Item::ZERO)
    }

    /// exp(-|x|), from which both sigmoid(x) and softplus(x) follow.
    #[inline(always)]
    fn exp_of_minus_abs(self) -> Self {
        let negated = Self::zero().sub(self);
        self.if_positive(negated, self).exp()
    }

    /// 1 / (1 + exp(-x)).
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let one = Self::splat(Self::Item::ONE);
        one.div(one.add(Self::zero().sub(self).exp()))
    }
}

/// An instruction set that kernels are compiled for.
pub trait Isa: Copy {
    /// Its vector of single-precision numbers.
    type F32: Lanes<Item = f32>;
    /// Its vector of double-precision numbers.
    type F64: Lanes<Item = f64>;

    /// Bytes of a dropout mask, made from the Philox blocks from `first` on: bit b of a byte is set when the b-th 16-bit
    /// number of its block (from the low half of the first word) reaches the threshold.
    #[inline(always)]
    fn keep_bytes(stream: &Stream, first: u64, threshold: u16) -> [u8; KEEP_BYTES] {
        let mut bytes = [0; KEEP_BYTES];
        for (l, byte) in bytes.iter_mut().enumerate() {
            let block = stream.block(first + l as u64);
            for (w, word) in block.into_iter().enumerate() {
                *byte |= u8::from(word as u16 >= threshold) << (2 * w);
                *byte |= u8::from((word >> 16) as u16 >= threshold) << (2 * w + 1);
            }
        }
        bytes
    }

    /// One step of a permutation's network for the rows and the columns of eight cells.
    #[inline(always)]
    fn permute(permutation: &Permutation, [rows, columns]: &mut [[u32; LANES]; 2]) {
        for (row, column) in rows.iter_mut().zip(columns) {
            [*row, *column] = permutation.step([*row, *column]);
        }
    }
}

/// Bytes of a dropout mask made at once.
pub const KEEP_BYTES: usize = 32;

/// The vector of a number's type in an instruction set.
pub type V<T, I> = <T as Real>::Lanes<I>;

/// A piece of work that is compiled for each instruction set.
///
/// `run` and all it calls must be `#[inline(always)]` functions: what is compiled on its own does not get the instruction set.
pub trait Kernel {
    /// What it computes with.
    type Number: Real;
    /// What it returns.
    type Output;
    /// Does the work.
    fn run<I: Isa>(self) -> Self::Output;
}

/// The instruction sets to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Simd {
    /// What every processor of the family can do.
    Portable,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// The same vectors of numbers where there are twice as many registers, and whole numbers in longer ones (AVX-512 F, VL, DQ, BW).
    Avx512,
}

impl Simd {
    /// The one in use: the best that the processor has, or one that the environment variable `SUPERGAT_SIMD` asks for
    /// (`portable` or `avx2`).
    pub fn active() -> Self {
        static ACTIVE: OnceLock<Simd> = OnceLock::new();
        *ACTIVE.get_or_init(|| {
            let most = match std::env::var("SUPERGAT_SIMD").as_deref() {
                Ok("portable") => return Self::Portable,
                Ok("avx2") => Self::Avx2,
                _ => Self::Avx512,
            };
            Self::detect().min(most)
        })
    }

    #[cfg(target_arch = "x86_64")]
    fn detect() -> Self {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw");
        match (avx2, avx512) {
            (true, true) => Self::Avx512,
            (true, false) => Self::Avx2,
            _ => Self::Portable,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn detect() -> Self {
        Self::Portable
    }
}

/// Runs a kernel with the best instruction set there is.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    // A plain constant as the condition: the compiler then leaves out the instances that a number without vectors never runs.
    if K::Number::HAS_VECTORS {
        match Simd::active() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Simd::active` returns `Avx2` only after detecting its features.
            Simd::Avx2 => unsafe { run_avx2(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Simd::active` returns `Avx512` only after detecting its features and those of `Avx2`.
            Simd::Avx512 => unsafe { run_avx512(kernel) },
            _ => run_portable(kernel),
        }
    } else {
        run_portable(kernel)
    }
}

/// Not inlined: kernels are long, and every copy in a caller would be compiled again.
#[inline(never)]
fn run_portable<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Portable>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<super::avx2::Avx2>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<super::avx512::Avx512>()
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

/// Runs `body` over a row of `width` vectors in blocks that registers hold: `first` is a block's first vector, the constant `B` how many it has, up
/// to eight.
macro_rules! in_blocks {
    ($width:expr, |$first:ident, $B:ident| $body:expr) => {
        $crate::kernels::lanes::in_blocks!($width, |$first, $B| $body, 1 2 3 4 5 6 7)
    };
    ($width:expr, |$first:ident, $B:ident| $body:expr, $($b:literal)*) => {{
        let (width, mut $first) = ($width, 0);
        while $first < width {
            match width - $first {
                $($b => {
                    const $B: usize = $b;
                    $body;
                    $first += $B;
                })*
                _ => {
                    const $B: usize = 8;
                    $body;
                    $first += $B;
                }
            }
        }
    }};
}
pub(crate) use in_blocks;

/// Asks for a row that will be read soon, so that it is in the cache by then.
#[inline(always)]
pub fn prefetch<T>(row: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        const LINE: usize = 64;
        let start = row.as_ptr().cast::<i8>();
        for line in 0..size_of_val(row).div_ceil(LINE) {
            // SAFETY: prefetching reads nothing a program can see and is allowed at any address; SSE is part of x86-64.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(start.wrapping_add(line * LINE))
            };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// Vectors handled per turn of a loop over a row.
const UNROLL: usize = 4;

/// Lane-wise sum of products of two rows of vectors.
#[inline(always)]
pub fn dot<T: Real, I: Isa>(a: &[[T; LANES]], b: &[[T; LANES]]) -> V<T, I> {
    // Two sums: one alone would wait for the latency of each addition.
    let mut sums = [V::<T, I>::zero(); 2];
    let (a, a_rest) = a.as_chunks::<UNROLL>();
    let (b, b_rest) = b.as_chunks::<UNROLL>();
    for (a, b) in a.iter().zip(b) {
        for k in 0..UNROLL {
            sums[k % 2] = V::<T, I>::load(&a[k]).mul_add(V::<T, I>::load(&b[k]), sums[k % 2]);
        }
    }
    for (k, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[k % 2] = V::<T, I>::load(a).mul_add(V::<T, I>::load(b), sums[k % 2]);
    }
    sums[0].add(sums[1])
}

/// `out += factor * row`, vector by vector.
#[inline(always)]
pub fn add_scaled<T: Real, I: Isa>(out: &mut [[T; LANES]], factor: V<T, I>, row: &[[T; LANES]]) {
    let (out, out_rest) = out.as_chunks_mut::<UNROLL>();
    let (row, row_rest) = row.as_chunks::<UNROLL>();
    for (o, r) in out.iter_mut().zip(row) {
        for k in 0..UNROLL {
            o[k] = factor.mul_add(V::<T, I>::load(&r[k]), V::<T, I>::load(&o[k])).array();
        }
    }
    for (o, r) in out_rest.iter_mut().zip(row_rest) {
        *o = factor.mul_add(V::<T, I>::load(r), V::<T, I>::load(o)).array();
    }
}

/// `out += a * x + b * y`, vector by vector.
#[inline(always)]
pub fn add_two_scaled<T: Real, I: Isa>(
    out: &mut [[T; LANES]],
    a: V<T, I>,
    x: &[[T; LANES]],
    b: V<T, I>,
    y: &[[T; LANES]],
) {
    let (out, out_rest) = out.as_chunks_mut::<UNROLL>();
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<UNROLL>(), y.as_chunks::<UNROLL>());
    for ((o, x), y) in out.iter_mut().zip(x).zip(y) {
        for k in 0..UNROLL {
            let sum = a.mul_add(V::<T, I>::load(&x[k]), V::<T, I>::load(&o[k]));
            o[k] = b.mul_add(V::<T, I>::load(&y[k]), sum).array();
        }
    }
    for ((o, x), y) in out_rest.iter_mut().zip(x_rest).zip(y_rest) {
        let sum = a.mul_add(V::<T, I>::load(x), V::<T, I>::load(o));
        *o = b.mul_add(V::<T, I>::load(y), sum).array();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks one vector type against plain arithmetic.
    fn check<X: Lanes>() {
        let number = X::Item::from_f64;
        let of = |values: [f64; 8]| X::load(&values.map(number));
        let same = |found: X, expected: [f64; 8]| {
            for (f, e) in found.array().into_iter().zip(expected) {
                assert!((f.to_f64() - e).abs() <= 1e-6 * e.abs().max(1.0), "{:?} {expected:?}", found.array());
            }
        };
        let x = [1.0, -2.0, 4.0, 0.0, 16.0, -32.0, 64.0, -0.5];
        let y = [3.0, 5.0, -7.0, 2.0, 1.0, 4.0, -1.0, 8.0];
        let each = |f: fn(f64, f64) -> f64| std::array::from_fn(|l| f(x[l], y[l]));
        same(of(x).add(of(y)), each(|a, b| a + b));
        same(of(x).sub(of(y)), each(|a, b| a - b));
        same(of(x).mul(of(y)), each(|a, b| a * b));
        same(of(x).div(of(y)), each(|a, b| a / b));
        same(of(x).max(of(y)), each(f64::max));
        same(of(x).mul_add(of(y), X::splat(number(0.5))), each(|a, b| a * b + 0.5));
        same(of(y).exp(), each(|_, b| b.exp()));
        same(of(y).sigmoid(), each(|_, b| 1.0 / (1.0 + (-b).exp())));
        same(of(x).if_positive(of(y), X::zero()), each(|a, b| if a > 0.0 { b } else { 0.0 }));
        same(X::from_bits(0b1000_0101, number(2.0)), [2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
        let powers = of([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        same(powers.fold(8), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        same(powers.fold(4), [17.0, 34.0, 68.0, 136.0, 17.0, 34.0, 68.0, 136.0]);
        same(powers.fold(2), [85.0, 170.0, 85.0, 170.0, 85.0, 170.0, 85.0, 170.0]);
        same(powers.fold(1), [255.0; 8]);
        assert!(of(x).any() && !X::zero().any());
        assert!(X::splat(number(f64::NAN)).exp().array()[3].to_f64().is_nan());
        assert!(X::splat(number(f64::NAN)).any());
        same(X::splat(X::Item::NEG_INFINITY).exp(), [0.0; 8]);
        same(X::splat(number(-1000.0)).exp(), [0.0; 8]);
    }

    struct Check;

    impl Kernel for Check {
        type Number = f32;
        type Output = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            check::<I::F32>();
            check::<I::F64>();
            let rows = [[1.0f64; 8], [2.0; 8], [3.0; 8]];
            assert_eq!(dot::<f64, I>(&rows, &rows).array(), [14.0; 8]);
        }
    }

    #[test]
    fn every_instruction_set_computes_the_same() {
        dispatch(Check);
        Check.run::<Portable>();
    }
}
