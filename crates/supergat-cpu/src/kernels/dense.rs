//! Products of dense features with weights: `X W`, `X^T G` for the gradient of `W`, and `G W^T` for that of
//! `X`. Dropout of `X` is applied during the product, without a masked copy of `X`.
//!
//! A library's matrix product allocates, needs the masked copy, and does not guarantee the same order of
//! additions at any number of threads. The matrices here are tall and narrow, so short kernels suffice.

use super::dropout::Mask;
use super::parts::{Parts, Rows};
use super::simd::{Arithmetic, Isa, Kernel, Lanes, P, Pair, V, dispatch, vectors, vectors_mut};
use crate::kernels::simd::SimdReal;
use std::ops::Range;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch_part;

/// A borrowed dense matrix with `columns` numbers per row.
#[derive(Debug, Clone, Copy)]
pub struct Dense<'a, T> {
    /// All rows, one after another.
    pub values: &'a [T],
    /// Numbers per row.
    pub columns: usize,
}

impl<T> Dense<'_, T> {
    /// Returns the bytes of a dropout mask per row: each row starts a new byte.
    pub fn mask_bytes(columns: usize) -> usize {
        columns.div_ceil(8)
    }
}

/// Computes `out = X M` for dense `X` under a mask; `M` has a row of `stride` numbers for each column of `X`.
pub fn dense_product<T: SimdReal>(
    parts: &Parts,
    x: Dense<'_, T>,
    mask: Option<Mask<'_, T>>,
    m: &[T],
    stride: usize,
    out: &mut [T],
) {
    product(parts, x, mask, m, stride, false, out);
}

/// Computes `out += X M`.
pub fn add_dense_product<T: SimdReal>(parts: &Parts, x: Dense<'_, T>, m: &[T], stride: usize, out: &mut [T]) {
    product(parts, x, None, m, stride, true, out);
}

fn product<T: SimdReal>(
    parts: &Parts,
    x: Dense<'_, T>,
    mask: Option<Mask<'_, T>>,
    m: &[T],
    stride: usize,
    add: bool,
    out: &mut [T],
) {
    parts.for_each(Rows { data: out, width: stride }, |rows, out| {
        dispatch(DenseProduct { x, mask, m, stride, add, rows, out: out.data });
    });
}

struct DenseProduct<'a, T> {
    x: Dense<'a, T>,
    mask: Option<Mask<'a, T>>,
    m: &'a [T],
    stride: usize,
    add: bool,
    rows: Range<usize>,
    out: &'a mut [T],
}

/// Columns of `X` that are added up in registers.
const COLUMNS: usize = 128;
/// Rows of `X` that are added up in registers in the transposed product: with those of `G` they fit into the first cache.
const ROWS: usize = 32;
/// Columns of `X` prepared at a time in the transposed product: whole cache lines of a row, in whole tiles.
const TILES: usize = 96;
/// Rows of `X` (columns in the transposed product) in registers at a time: with short registers, and with long ones.
const SHORT_TILE: usize = 4;
const LONG_TILE: usize = 6;

/// Runs a method with the number of rows that fits into the registers of the instruction set.
macro_rules! with_tile {
    ($self:ident, $T:ty, $I:ty) => {
        if const { <P<$T, $I>>::IS_ONE_REGISTER } {
            $self.multiply::<$I, LONG_TILE>()
        } else {
            $self.multiply::<$I, SHORT_TILE>()
        }
    };
}

impl<T: SimdReal> Kernel for DenseProduct<'_, T> {
    type Number = T;
    type Output = ();
    const USES_AVX512: bool = true;
    const FAST_DOUBLE: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        with_tile!(self, T, I);
    }
}

impl<T: SimdReal> DenseProduct<'_, T> {
    #[inline(always)]
    fn multiply<I: Isa, const R: usize>(self) {
        let width = self.stride / LANES;
        let m = vectors(self.m);
        let mut x = [[T::ZERO; COLUMNS]; R];
        let (mut row, mut left) = (self.rows.start, vectors_mut(self.out));
        while !left.is_empty() {
            let rows = (left.len() / width).min(R);
            let (out, next) = left.split_at_mut(rows * width);
            let x_next = &self.x.values[(row + rows) * self.x.columns..];
            let steps = self.x.columns * tiles_of::<T, I>(width);
            let mut ahead =
                Ahead::new([x_next, next.as_flattened()], [self.x.columns, self.stride].map(|n| n * R), steps);
            // A matrix without columns has a product, too: zeros.
            for first in (0..self.x.columns.max(1)).step_by(COLUMNS) {
                let columns = (self.x.columns - first).min(COLUMNS);
                // Rows that the last block lacks keep old numbers, whose sums are not stored.
                for (r, x) in x[..rows].iter_mut().enumerate() {
                    copy_masked::<T, I>(self.x, self.mask, row + r, first, &mut x[..columns]);
                }
                let m = &m[first * width..(first + columns) * width];
                let x = |d: usize| std::array::from_fn(|r| x[r][d % COLUMNS]);
                tiles::<T, I, R>(x, m, width, Sums { out, rows, add: self.add || first > 0 }, &mut ahead);
            }
            (row, left) = (row + rows, next);
        }
    }
}

/// Numbers that are read or written next. They are prefetched evenly while others are multiplied: all at once would wait
/// for each other.
struct Ahead<'a, T> {
    lists: [&'a [T]; 2],
    next: [usize; 2],
    step: [usize; 2],
}

impl<'a, T> Ahead<'a, T> {
    /// Prepares the first numbers of two lists, `lengths` of them, to be prefetched in `steps` steps.
    #[inline(always)]
    fn new(lists: [&'a [T]; 2], lengths: [usize; 2], steps: usize) -> Self {
        Self { lists, next: [0; 2], step: lengths.map(|length| length.div_ceil(steps.max(1))) }
    }

    #[inline(always)]
    fn step(&mut self) {
        for k in 0..2 {
            prefetch_part(self.lists[k], self.next[k], 1);
            self.next[k] += self.step[k];
        }
    }
}

/// Rows of the output that sums are written to.
struct Sums<'a, T> {
    out: &'a mut [[T; LANES]],
    /// Number of rows; a tile may have more.
    rows: usize,
    /// Whether the sums are added to the output.
    add: bool,
}

/// Copies part of a row of `X` under the mask; `first` is a multiple of [`LANES`].
#[inline(always)]
fn copy_masked<T: SimdReal, I: Isa>(
    x: Dense<'_, T>,
    mask: Option<Mask<'_, T>>,
    row: usize,
    first: usize,
    to: &mut [T],
) {
    let values = &x.values[row * x.columns + first..][..to.len()];
    let pairs = values.as_chunks().0.as_chunks().0;
    let (to_pairs, to_rest) = to.split_at_mut(2 * LANES * pairs.len());
    let to_pairs = to_pairs.as_chunks_mut().0.as_chunks_mut().0;
    let rest = to_rest.iter_mut().zip(&values[2 * LANES * pairs.len()..]);
    let Some(mask) = mask else {
        to_pairs.iter_mut().zip(pairs).for_each(|(to, pair)| *to = P::<T, I>::load(pair).arrays());
        return rest.for_each(|(to, v)| *to = *v);
    };
    let keep = &mask.keep[row * Dense::<T>::mask_bytes(x.columns) + first / LANES..];
    let (keep, keep_rest) = keep.split_at(2 * pairs.len());
    for ((to, pair), bits) in to_pairs.iter_mut().zip(pairs).zip(keep.as_chunks().0) {
        *to = P::<T, I>::load(pair).mul(P::<T, I>::from_bits(*bits, mask.scale)).arrays();
    }
    for (k, (to, v)) in rest.enumerate() {
        *to = if keep_rest[k / LANES] >> (k % LANES) & 1 == 1 { *v * mask.scale } else { T::ZERO };
    }
}

/// Computes the sums `sum_d x(d)[r] m_d` over all rows of `m`.
#[inline(always)]
fn tiles<T: SimdReal, I: Isa, const R: usize>(
    x: impl Fn(usize) -> [T; R],
    m: &[[T; LANES]],
    width: usize,
    mut to: Sums<'_, T>,
    ahead: &mut Ahead<'_, T>,
) {
    let mut first = 0;
    if const { <P<T, I>>::IS_ONE_REGISTER } {
        while first + 1 < width {
            first += match (width - first) / 2 {
                1 => tile_of_pairs::<T, I, R, 1>(&x, m, width, first, &mut to, ahead),
                2 => tile_of_pairs::<T, I, R, 2>(&x, m, width, first, &mut to, ahead),
                3 | 5 | 6 => tile_of_pairs::<T, I, R, 3>(&x, m, width, first, &mut to, ahead),
                _ => tile_of_pairs::<T, I, R, 4>(&x, m, width, first, &mut to, ahead),
            };
        }
    }
    // A vector of double precision takes two registers, so only one fits.
    let narrow = const { !I::UNROLLED || size_of::<T>() > size_of::<f32>() };
    while first < width {
        first += match width - first {
            _ if narrow => tile::<T, I, R, 1>(&x, m, width, first, &mut to, ahead),
            1 => tile::<T, I, R, 1>(&x, m, width, first, &mut to, ahead),
            2 | 4 => tile::<T, I, R, 2>(&x, m, width, first, &mut to, ahead),
            _ => tile::<T, I, R, 3>(&x, m, width, first, &mut to, ahead),
        };
    }
}

/// Returns about the number of tiles in a row of `width` vectors.
#[inline(always)]
fn tiles_of<T: SimdReal, I: Isa>(width: usize) -> usize {
    width.div_ceil(if const { <P<T, I>>::IS_ONE_REGISTER } { 8 } else { 3 })
}

/// Computes [`tiles`] for the `B` vectors from `first` on, in registers; returns `B`.
#[inline(always)]
fn tile<T: SimdReal, I: Isa, const R: usize, const B: usize>(
    x: &impl Fn(usize) -> [T; R],
    m: &[[T; LANES]],
    width: usize,
    first: usize,
    to: &mut Sums<'_, T>,
    ahead: &mut Ahead<'_, T>,
) -> usize {
    let mut sum = [[V::<T, I>::zero(); B]; R];
    for (d, m) in m.chunks_exact(width).enumerate() {
        ahead.step();
        let (x, m): ([T; R], &[[T; LANES]; B]) = (x(d), m[first..first + B].try_into().expect("B vectors"));
        for r in 0..R {
            for b in 0..B {
                sum[r][b] = V::<T, I>::splat(x[r]).mul_add(V::<T, I>::load(&m[b]), sum[r][b]);
            }
        }
    }
    for (sum, out) in sum.iter().zip(to.out.chunks_exact_mut(width)).take(to.rows) {
        for (sum, o) in sum.iter().zip(&mut out[first..first + B]) {
            *o = if to.add { V::<T, I>::load(o).add(*sum) } else { *sum }.array();
        }
    }
    B
}

/// Computes [`tiles`] for `B` pairs of vectors from vector `first` on, in registers; returns the number of vectors.
#[inline(always)]
fn tile_of_pairs<T: SimdReal, I: Isa, const R: usize, const B: usize>(
    x: &impl Fn(usize) -> [T; R],
    m: &[[T; LANES]],
    width: usize,
    first: usize,
    to: &mut Sums<'_, T>,
    ahead: &mut Ahead<'_, T>,
) -> usize {
    let mut sum = [[P::<T, I>::splat(T::ZERO); B]; R];
    for (d, m) in m.chunks_exact(width).enumerate() {
        ahead.step();
        let (x, m) = (x(d), m[first..first + 2 * B].as_chunks::<2>().0);
        let m: &[[[T; LANES]; 2]; B] = m.try_into().expect("B pairs");
        for r in 0..R {
            for b in 0..B {
                sum[r][b] = P::<T, I>::splat(x[r]).mul_add(P::<T, I>::load(&m[b]), sum[r][b]);
            }
        }
    }
    for (sum, out) in sum.iter().zip(to.out.chunks_exact_mut(width)).take(to.rows) {
        let out = out[first..first + 2 * B].as_chunks_mut::<2>().0;
        for (sum, o) in sum.iter().zip(out) {
            *o = if to.add { P::<T, I>::load(o).add(*sum) } else { *sum }.arrays();
        }
    }
    2 * B
}

/// Computes `out = X^T G` for dense `X` under a mask; `G` has `stride` numbers per row, `out` as many per
/// column of `X`.
///
/// Each part of the rows sums into its own copy of `out` in `copies`; the copies are then added in the order
/// of the parts.
pub fn dense_transposed_product<T: SimdReal>(
    parts: &Parts,
    x: Dense<'_, T>,
    mask: Option<Mask<'_, T>>,
    g: &[T],
    stride: usize,
    copies: &mut [T],
    out: &mut [T],
) {
    parts.for_each_copy(copies, out, |rows, out| {
        dispatch(DenseTransposed { x, mask, g: vectors(g), width: stride / LANES, rows, out: vectors_mut(out) });
    });
}

struct DenseTransposed<'a, T> {
    x: Dense<'a, T>,
    mask: Option<Mask<'a, T>>,
    g: &'a [[T; LANES]],
    width: usize,
    rows: Range<usize>,
    out: &'a mut [[T; LANES]],
}

impl<T: SimdReal> Kernel for DenseTransposed<'_, T> {
    type Number = T;
    type Output = ();
    const USES_AVX512: bool = true;
    const FAST_DOUBLE: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        with_tile!(self, T, I);
    }
}

impl<T: SimdReal> DenseTransposed<'_, T> {
    #[inline(always)]
    fn multiply<I: Isa, const R: usize>(self) {
        let width = self.width;
        self.out.fill([T::ZERO; LANES]);
        // The last columns are followed by zeros, whose sums are not stored.
        let mut x = [[T::ZERO; TILES]; ROWS];
        for start in self.rows.clone().step_by(ROWS) {
            let end = (start + ROWS).min(self.rows.end);
            let g = &self.g[start * width..end * width];
            let next = [&self.x.values[end * self.x.columns..], self.g[end * width..].as_flattened()];
            let steps = ROWS * self.x.columns.div_ceil(R) * tiles_of::<T, I>(width);
            let mut ahead = Ahead::new(next, [self.x.columns, width * LANES].map(|n| n * ROWS), steps);
            for (block, out) in self.out.chunks_mut(TILES * width).enumerate() {
                let columns = out.len() / width;
                for (row, x) in (start..end).zip(&mut x) {
                    copy_masked::<T, I>(self.x, self.mask, row, block * TILES, &mut x[..columns]);
                }
                for (k, out) in out.chunks_mut(R * width).enumerate() {
                    let x = |d: usize| -> [T; R] { x[d % ROWS][k * R..(k + 1) * R].try_into().expect("R columns") };
                    let rows = out.len() / width;
                    tiles::<T, I, R>(x, g, width, Sums { out, rows, add: true }, &mut ahead);
                }
            }
        }
    }
}

/// Computes `out = M^T` for `M` of `rows` by `columns`.
pub fn transpose<T: SimdReal>(m: &[T], rows: usize, columns: usize, out: &mut [T]) {
    debug_assert!(m.len() == rows * columns && out.len() == m.len());
    for (r, row) in m.chunks_exact(columns.max(1)).enumerate() {
        for (c, v) in row.iter().enumerate() {
            out[c * rows + r] = *v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sparse::*;
    use super::*;
    use crate::kernels::DropoutMask;
    use supergat_core::Dropout;
    use supergat_core::random::{Purpose, Stream};

    /// Returns deterministic numbers in [-1, 1), about a third of them zero if `sparse`.
    fn numbers(n: usize, salt: u16, sparse: bool) -> Vec<f64> {
        let stream = Stream::new(1, 0, salt, Purpose::Weights);
        (0..n as u64)
            .map(|i| if sparse && stream.below(i + 1_000_000, 3) == 0 { 0.0 } else { 2.0 * stream.uniform(i) - 1.0 })
            .collect()
    }

    fn close(a: &[f64], b: &[f64]) {
        assert_eq!(a.len(), b.len());
        for (k, (a, b)) in a.iter().zip(b).enumerate() {
            assert!((a - b).abs() < 1e-12, "element {k}: {a} and {b}");
        }
    }

    /// All three products, sparse and dense, with and without dropout, against three plain loops.
    #[test]
    fn products_agree_with_plain_loops() {
        for (rows, columns, stride) in [(1, 1, 8), (7, 5, 8), (130, 37, 56), (33, 200, 64), (9, 3, 136)] {
            for dropout in [0.0, 0.4] {
                let x = numbers(rows * columns, 1, true);
                let w = numbers(columns * stride, 2, false);
                let g = numbers(rows * stride, 3, false);
                let mut offsets = vec![0u64];
                let (mut index, mut values) = (vec![], vec![]);
                for row in x.chunks(columns) {
                    for (k, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                        index.push(k as u32);
                        values.push(*v);
                    }
                    offsets.push(index.len() as u64);
                }
                let drop = Dropout::new(dropout);
                let stream = Stream::new(2, 0, 0, Purpose::InputDropout);
                let mut dense_bits = vec![0u8; rows * columns.div_ceil(8)];
                drop.fill(stream, &mut dense_bits);
                let mut sparse_bits = vec![0u8; values.len().div_ceil(8)];
                drop.fill(stream, &mut sparse_bits);
                let mask = |keep| (dropout > 0.0).then_some(Mask { keep, scale: drop.scale() });

                let entries = Compressed { offsets: &offsets, index: &index, values: &values };
                let kept = |bits: &[u8], k: usize| dropout == 0.0 || bits[k / 8] >> (k % 8) & 1 == 1;
                let scale: f64 = drop.scale();
                let mut as_dense = x.clone();
                let mut as_sparse = vec![0.0; x.len()];
                for i in 0..rows {
                    for k in 0..columns {
                        let bit = i * columns.div_ceil(8) * 8 + k;
                        as_dense[i * columns + k] *= if kept(&dense_bits, bit) { scale } else { 0.0 };
                    }
                    for e in offsets[i] as usize..offsets[i + 1] as usize {
                        let at = i * columns + index[e] as usize;
                        as_sparse[at] = if kept(&sparse_bits, e) { values[e] * scale } else { 0.0 };
                    }
                }
                let forward = |x: &[f64]| {
                    let mut out = vec![0.0; rows * stride];
                    for i in 0..rows {
                        for k in 0..columns {
                            (0..stride).for_each(|c| out[i * stride + c] += x[i * columns + k] * w[k * stride + c]);
                        }
                    }
                    out
                };
                let backward = |x: &[f64]| {
                    let mut out = vec![0.0; columns * stride];
                    for i in 0..rows {
                        for k in 0..columns {
                            (0..stride).for_each(|c| out[k * stride + c] += x[i * columns + k] * g[i * stride + c]);
                        }
                    }
                    out
                };

                let mut out = vec![9.0; rows * stride];
                let mut grad = vec![9.0; columns * stride];
                let even = Parts::even(0..rows, 1);
                let dense = Dense { values: &x, columns };
                dense_product(&even, dense, mask(&dense_bits), &w, stride, &mut out);
                close(&out, &forward(&as_dense));
                dense_product(&even, dense, None, &w, stride, &mut out);
                add_dense_product(&even, dense, &w, stride, &mut out);
                close(&out, &forward(&x).iter().map(|sum| 2.0 * sum).collect::<Vec<_>>());
                let copies = Parts::for_copies(0..rows, |row| (row * columns) as u64, 1);
                let mut room = vec![9.0; copies.len() * grad.len()];
                dense_transposed_product(&copies, dense, mask(&dense_bits), &g, stride, &mut room, &mut grad);
                close(&grad, &backward(&as_dense));

                sparse_product(&Parts::by_offsets(entries.offsets), entries, mask(&sparse_bits), &w, stride, &mut out);
                close(&out, &forward(&as_sparse));
                let mask = mask(&sparse_bits);
                sparse_transposed_product(&copies, entries, mask, &g, stride, &mut room, &mut grad);
                close(&grad, &backward(&as_sparse));
            }
        }
    }

    #[test]
    fn product_without_columns_is_zero() {
        let mut out = [9.0f32; 80];
        dense_product(&Parts::even(0..5, 1), Dense { values: &[], columns: 0 }, None, &[], 16, &mut out);
        assert_eq!(out, [0.0; 80]);
    }

    #[test]
    fn transposes_a_matrix() {
        let mut out = [0.0f32; 6];
        transpose(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3, &mut out);
        assert_eq!(out, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
