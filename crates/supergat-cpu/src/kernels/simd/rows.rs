//! Loops over rows of vectors.

use super::lanes::{Arithmetic, Isa, Lanes, P, Pair, SimdReal, V};
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch_part;

/// Views a slice as vectors; its length must be a multiple of [`LANES`].
#[inline(always)]
pub fn vectors<T>(values: &[T]) -> &[[T; LANES]] {
    let (chunks, rest) = values.as_chunks();
    debug_assert!(rest.is_empty());
    chunks
}

/// Views a mutable slice as vectors; its length must be a multiple of [`LANES`].
#[inline(always)]
pub fn vectors_mut<T>(values: &mut [T]) -> &mut [[T; LANES]] {
    let (chunks, rest) = values.as_chunks_mut();
    debug_assert!(rest.is_empty());
    chunks
}

/// Loads two vectors of a row from number `first` on; zeros instead of a second one beyond the end of the row.
#[inline(always)]
pub fn load_two<T: SimdReal, I: Isa>(row: &[[T; LANES]], first: usize) -> P<T, I> {
    match row[first..].first_chunk() {
        Some(both) => P::<T, I>::load(both),
        None => P::<T, I>::join(V::<T, I>::load(&row[first]), V::<T, I>::zero()),
    }
}

/// Stores two vectors to a row from number `first` on; only the first one at the end of the row.
#[inline(always)]
pub fn store_two<T: SimdReal, I: Isa>(row: &mut [[T; LANES]], first: usize, both: P<T, I>) {
    match row[first..].first_chunk_mut() {
        Some(to) => *to = both.arrays(),
        None => row[first] = both.halves()[0].array(),
    }
}

/// Returns the largest number of a pair.
#[inline(always)]
pub fn largest_lane<T: SimdReal, I: Isa>(pair: P<T, I>) -> T {
    let [a, b] = pair.halves();
    let [a, b, c, d, e, f, g, h] = a.max(b).array();
    (a.max(e).max(b.max(f))).max(c.max(g).max(d.max(h)))
}

/// Numbers between those that are prefetched and those that are processed, where rows are read one after another.
const AHEAD: usize = 1024;

/// Prefetches some vectors at a distance behind number `first`. They may be beyond the end of the rows.
#[inline(always)]
pub fn prefetch_ahead<T>(rows: &[[T; LANES]], first: usize, vectors: usize) {
    prefetch_part(rows, first + AHEAD / LANES, vectors);
}

/// Runs `body` over a row of `width` vectors in blocks that fit into registers. `first` is the first vector
/// of a block, the constant `B` its number of vectors: at most eight where kernels are unrolled, else at most
/// two.
macro_rules! in_blocks {
    ($I:ty, $width:expr, |$first:ident, $B:ident| $body:expr) => {
        if const { <$I>::UNROLLED } {
            $crate::kernels::simd::in_blocks!($width, |$first, $B| $body, 1 2 3 4 5 6 7, 8)
        } else {
            $crate::kernels::simd::in_blocks!($width, |$first, $B| $body, 1, 2)
        }
    };
    ($width:expr, |$first:ident, $B:ident| $body:expr, $($b:literal)*, $largest:literal) => {{
        let (width, mut $first) = ($width, 0);
        while $first < width {
            match width - $first {
                $($b => {
                    const $B: usize = $b;
                    $body;
                    $first += $B;
                })*
                _ => {
                    const $B: usize = $largest;
                    $body;
                    $first += $B;
                }
            }
        }
    }};
}
pub(crate) use in_blocks;

/// Vectors processed per iteration of a loop over a row.
const UNROLL: usize = 4;

/// Defines loops over rows that are inlined where kernels are unrolled, and called elsewhere.
macro_rules! row_loops {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<T: SimdReal, I: Isa>($($arg: $type),*) $(-> $out)? {
            #[inline(always)]
            fn inlined<T: SimdReal, I: Isa>($($arg: $type),*) $(-> $out)? $body

            #[inline(never)]
            fn called<T: SimdReal, I: Isa>($($arg: $type),*) $(-> $out)? {
                inlined::<T, I>($($arg),*)
            }

            if const { I::UNROLLED } { inlined::<T, I>($($arg),*) } else { called::<T, I>($($arg),*) }
        }
    )*};
}

row_loops! {
    /// Writes zeros, two vectors at a time: a load of two vectors waits long for two earlier stores of one.
    fn clear_row(row: &mut [[T; LANES]]) {
        let (pairs, rest) = row.as_chunks_mut::<2>();
        for pair in pairs {
            *pair = P::<T, I>::zero().arrays();
        }
        for vector in rest {
            *vector = V::<T, I>::zero().array();
        }
    }

    /// Multiplies a row by a factor.
    fn scale_row(row: &mut [[T; LANES]], factor: V<T, I>) {
        let (pairs, rest) = row.as_chunks_mut::<2>();
        for pair in pairs {
            *pair = P::<T, I>::load(pair).mul(P::<T, I>::both(factor)).arrays();
        }
        for vector in rest {
            *vector = V::<T, I>::load(vector).mul(factor).array();
        }
    }

    /// Returns the lane-wise sum of products of two rows of vectors.
    fn dot(a: &[[T; LANES]], b: &[[T; LANES]]) -> V<T, I> {
        // Two sums: each addition to a single one would wait for the one before.
        let mut sums = P::<T, I>::zero();
        let (a, a_rest) = a.as_chunks::<2>();
        let (b, b_rest) = b.as_chunks::<2>();
        for (a, b) in a.iter().zip(b) {
            sums = P::<T, I>::load(a).mul_add(P::<T, I>::load(b), sums);
        }
        let [mut even, odd] = sums.halves();
        for (a, b) in a_rest.iter().zip(b_rest) {
            even = V::<T, I>::load(a).mul_add(V::<T, I>::load(b), even);
        }
        even.add(odd)
    }

    /// Returns the lane-wise sum of `a * LeakyReLU(x + y)` over rows of vectors; the slope is at most 1.
    fn dot_leaky(a: &[[T; LANES]], x: &[[T; LANES]], y: &[[T; LANES]], slope: V<T, I>) -> V<T, I> {
        let mut sums = [V::<T, I>::zero(); 2];
        let (a, a_rest) = a.as_chunks::<UNROLL>();
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<UNROLL>(), y.as_chunks::<UNROLL>());
        for ((a, x), y) in a.iter().zip(x).zip(y) {
            for k in 0..UNROLL {
                let sum = V::<T, I>::load(&x[k]).add(V::<T, I>::load(&y[k]));
                sums[k % 2] = V::<T, I>::load(&a[k]).mul_add(sum.mul(slope).max(sum), sums[k % 2]);
            }
        }
        for (k, ((a, x), y)) in a_rest.iter().zip(x_rest).zip(y_rest).enumerate() {
            let sum = V::<T, I>::load(x).add(V::<T, I>::load(y));
            sums[k % 2] = V::<T, I>::load(a).mul_add(sum.mul(slope).max(sum), sums[k % 2]);
        }
        sums[0].add(sums[1])
    }

    /// Adds `positive` to the lanes of `out` where `x + y` is above zero, and `other` to the others.
    fn add_by_sign(out: &mut [[T; LANES]], x: &[[T; LANES]], y: &[[T; LANES]], positive: V<T, I>, other: V<T, I>) {
        let (out, out_rest) = out.as_chunks_mut::<UNROLL>();
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<UNROLL>(), y.as_chunks::<UNROLL>());
        for ((o, x), y) in out.iter_mut().zip(x).zip(y) {
            for k in 0..UNROLL {
                let sum = V::<T, I>::load(&x[k]).add(V::<T, I>::load(&y[k]));
                o[k] = V::<T, I>::load(&o[k]).add(sum.if_positive(positive, other)).array();
            }
        }
        for ((o, x), y) in out_rest.iter_mut().zip(x_rest).zip(y_rest) {
            let sum = V::<T, I>::load(x).add(V::<T, I>::load(y));
            *o = V::<T, I>::load(o).add(sum.if_positive(positive, other)).array();
        }
    }

    /// Computes `out += factor * row`, vector by vector.
    fn add_scaled(out: &mut [[T; LANES]], factor: V<T, I>, row: &[[T; LANES]]) {
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

    /// Computes `out += a * x + b * y`, vector by vector.
    fn add_two_scaled(
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
}
