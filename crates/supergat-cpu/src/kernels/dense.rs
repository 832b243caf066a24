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
    parts.for_each(Rows { data: out, width: stride }, |rows, out| {
        dispatch(DenseProduct { x, mask, m, stride, rows, out: out.data });
    });
}

struct DenseProduct<'a, T> {
    x: Dense<'a, T>,
    mask: Option<Mask<'a, T>>,
    m: &'a [T],
    stride: usize,
    rows: Range<usize>,
    out: &'a mut [T],
}

/// Columns of `X` (rows in the transposed product) that are added up before the sum is added to the output.
const DEPTH: usize = 128;
/// Rows of `X` (columns in the transposed product) in registers at a time: with short registers, and with long ones.
const SHORT_TILE: usize = 4;
const LONG_TILE: usize = 6;
/// Columns of `X` prepared at a time in the transposed product: whole cache lines of a row, in whole tiles.
const COLUMNS: usize = 48;

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
        let mut x = [[T::ZERO; DEPTH]; R];
        for (block, out) in vectors_mut(self.out).chunks_mut(R * width).enumerate() {
            let rows = out.len() / width;
            let first = self.rows.start + block * R;
            out.fill([T::ZERO; LANES]);
            for depth in (0..self.x.columns).step_by(DEPTH) {
                let columns = (self.x.columns - depth).min(DEPTH);
                // Rows that the last block lacks keep old numbers, whose sums are not stored.
                for (r, x) in x[..rows].iter_mut().enumerate() {
                    copy_masked::<T, I>(self.x, self.mask, first + r, depth, &mut x[..columns]);
                }
                let m = &m[depth * width..(depth + columns) * width];
                tiles::<T, I, R>(|d| std::array::from_fn(|r| x[r][d % DEPTH]), columns, m, width, out, rows);
            }
        }
    }
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
    let Some(mask) = mask else { return to.copy_from_slice(values) };
    let keep = &mask.keep[row * Dense::<T>::mask_bytes(x.columns) + first / LANES..];
    let (values, tail) = values.as_chunks::<LANES>();
    let (to, to_tail) = to.as_chunks_mut::<LANES>();
    for ((to, v), &bits) in to.iter_mut().zip(values).zip(keep) {
        *to = V::<T, I>::load(v).mul(V::<T, I>::from_bits(bits, mask.scale)).array();
    }
    if let Some(&bits) = keep.get(values.len()) {
        let factor = V::<T, I>::from_bits(bits, mask.scale).array();
        for ((to, v), f) in to_tail.iter_mut().zip(tail).zip(factor) {
            *to = *v * f;
        }
    }
}

/// Computes `out[r] += sum_d x(d)[r] m_d` over `depth` rows of `m`, for the first `rows` of `R` rows of the output.
#[inline(always)]
fn tiles<T: SimdReal, I: Isa, const R: usize>(
    x: impl Fn(usize) -> [T; R],
    depth: usize,
    m: &[[T; LANES]],
    width: usize,
    out: &mut [[T; LANES]],
    rows: usize,
) {
    let m = &m[..depth * width];
    let mut first = 0;
    if const { <P<T, I>>::IS_ONE_REGISTER } {
        while first + 1 < width {
            first += match (width - first) / 2 {
                1 => tile_of_pairs::<T, I, R, 1>(&x, m, width, first, out, rows),
                2 => tile_of_pairs::<T, I, R, 2>(&x, m, width, first, out, rows),
                3 | 5 | 6 => tile_of_pairs::<T, I, R, 3>(&x, m, width, first, out, rows),
                _ => tile_of_pairs::<T, I, R, 4>(&x, m, width, first, out, rows),
            };
        }
    }
    // A vector of double precision takes two registers, so only one fits.
    let narrow = const { !I::UNROLLED || size_of::<T>() > size_of::<f32>() };
    while first < width {
        first += match width - first {
            _ if narrow => tile::<T, I, R, 1>(&x, m, width, first, out, rows),
            1 => tile::<T, I, R, 1>(&x, m, width, first, out, rows),
            2 | 4 => tile::<T, I, R, 2>(&x, m, width, first, out, rows),
            _ => tile::<T, I, R, 3>(&x, m, width, first, out, rows),
        };
    }
}

/// Computes [`tiles`] for the `B` vectors from `first` on, in registers; returns `B`.
#[inline(always)]
fn tile<T: SimdReal, I: Isa, const R: usize, const B: usize>(
    x: &impl Fn(usize) -> [T; R],
    m: &[[T; LANES]],
    width: usize,
    first: usize,
    out: &mut [[T; LANES]],
    rows: usize,
) -> usize {
    let mut sum = [[V::<T, I>::zero(); B]; R];
    for (d, m) in m.chunks_exact(width).enumerate() {
        let (x, m): ([T; R], &[[T; LANES]; B]) = (x(d), m[first..first + B].try_into().expect("B vectors"));
        for r in 0..R {
            for b in 0..B {
                sum[r][b] = V::<T, I>::splat(x[r]).mul_add(V::<T, I>::load(&m[b]), sum[r][b]);
            }
        }
    }
    for (r, sum) in sum.iter().enumerate().take(rows) {
        for (b, sum) in sum.iter().enumerate() {
            let o = &mut out[r * width + first + b];
            *o = V::<T, I>::load(o).add(*sum).array();
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
    out: &mut [[T; LANES]],
    rows: usize,
) -> usize {
    let mut sum = [[P::<T, I>::splat(T::ZERO); B]; R];
    for (d, m) in m.chunks_exact(width).enumerate() {
        let (x, m) = (x(d), m[first..first + 2 * B].as_chunks::<2>().0);
        let m: &[[[T; LANES]; 2]; B] = m.try_into().expect("B pairs");
        for r in 0..R {
            for b in 0..B {
                sum[r][b] = P::<T, I>::splat(x[r]).mul_add(P::<T, I>::load(&m[b]), sum[r][b]);
            }
        }
    }
    for (r, sum) in sum.iter().enumerate().take(rows) {
        let out = &mut out[r * width + first..][..2 * B];
        for (o, sum) in out.as_chunks_mut::<2>().0.iter_mut().zip(sum) {
            *o = P::<T, I>::load(o).add(*sum).arrays();
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
        let mut x = [[T::ZERO; COLUMNS]; DEPTH];
        for start in self.rows.clone().step_by(DEPTH) {
            let depth = (self.rows.end - start).min(DEPTH);
            let g = &self.g[start * width..(start + depth) * width];
            for (block, out) in self.out.chunks_mut(COLUMNS * width).enumerate() {
                let columns = out.len() / width;
                for (d, x) in x[..depth].iter_mut().enumerate() {
                    copy_masked::<T, I>(self.x, self.mask, start + d, block * COLUMNS, &mut x[..columns]);
                }
                for (k, out) in out.chunks_mut(R * width).enumerate() {
                    let tile = |d: usize| -> [T; R] { x[d % DEPTH][k * R..(k + 1) * R].try_into().expect("R columns") };
                    tiles::<T, I, R>(tile, depth, g, width, out, out.len() / width);
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
    fn transposes_a_matrix() {
        let mut out = [0.0f32; 6];
        transpose(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3, &mut out);
        assert_eq!(out, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
