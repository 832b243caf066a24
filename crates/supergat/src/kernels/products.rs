//! Products of features with weights: `X W`, its transposed product `X^T G` for the gradient of `W`, and `G W^T` for that of `X`.
//! Dropout of `X` happens inside, on what is stored only: neither a dense copy nor a dropped copy of `X` is ever made.
//!
//! A general matrix product would do for the dense case, but it allocates, wants the dropped copy, and does not promise the same order
//! of additions at any number of threads. The matrices here are tall and narrow, for which the short kernels below suffice.

use super::dropout::Mask;
use super::lanes::{Isa, Kernel, LANES, Lanes, V, dispatch, prefetch, vectors, vectors_mut};
use super::parts::{Parts, Rows};
use super::real::Real;

/// Compressed rows, borrowed: of a sparse matrix, or of its transpose.
#[derive(Debug, Clone, Copy)]
pub struct Compressed<'a, T> {
    /// One more than there are rows.
    pub offsets: &'a [u64],
    /// Column of each entry.
    pub index: &'a [u32],
    /// Value of each entry.
    pub values: &'a [T],
    /// Where each entry stands in the order of the dropout mask; `None`: in this order.
    pub position: Option<&'a [u32]>,
}

/// Dense rows, borrowed, `columns` numbers each.
#[derive(Debug, Clone, Copy)]
pub struct Dense<'a, T> {
    /// Row after row.
    pub values: &'a [T],
    /// Numbers per row.
    pub columns: usize,
}

impl<T> Dense<'_, T> {
    /// Bytes of a dropout mask per row: each row starts a new byte.
    pub fn mask_bytes(columns: usize) -> usize {
        columns.div_ceil(8)
    }
}

/// `out = S M` for sparse `S` and dense `M` with `stride` numbers per row; entries of `S` pass the mask.
///
/// With the rows of X this is `X W`; with those of its transpose it is `X^T G`.
pub fn sparse_product<T: Real>(
    parts: &Parts,
    s: Compressed<'_, T>,
    mask: Option<Mask<'_, T>>,
    m: &[T],
    stride: usize,
    out: &mut [T],
) {
    parts.for_each(Rows { data: out, width: stride }, |rows, out| {
        dispatch(SparseProduct { s, mask, m, stride, rows, out: out.data });
    });
}

struct SparseProduct<'a, T> {
    s: Compressed<'a, T>,
    mask: Option<Mask<'a, T>>,
    m: &'a [T],
    stride: usize,
    rows: std::ops::Range<usize>,
    out: &'a mut [T],
}

/// Surviving entries gathered before they are multiplied.
const GATHER: usize = 64;
/// Entries between asking for a row of the dense matrix and using it.
const AHEAD: usize = 8;

impl<T: Real> Kernel for SparseProduct<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let width = self.stride / LANES;
        let m = vectors(self.m);
        let mut index = [0u32; GATHER];
        let mut value = [T::ZERO; GATHER];
        for (row, out) in self.rows.zip(vectors_mut(self.out).chunks_exact_mut(width)) {
            out.fill([T::ZERO; LANES]);
            let (mut at, end) = (self.s.offsets[row] as usize, self.s.offsets[row + 1] as usize);
            while at < end {
                // Keep what the mask keeps, without a branch that nobody could predict.
                let stop = end.min(at + GATHER);
                let mut kept = 0;
                match self.mask {
                    Some(mask) => {
                        for k in at..stop {
                            let p = self.s.position.map_or(k, |p| p[k] as usize);
                            index[kept] = self.s.index[k];
                            value[kept] = self.s.values[k] * mask.scale;
                            kept += usize::from(mask.keep[p / 8] >> (p % 8) & 1);
                        }
                    }
                    None => {
                        kept = stop - at;
                        index[..kept].copy_from_slice(&self.s.index[at..stop]);
                        value[..kept].copy_from_slice(&self.s.values[at..stop]);
                    }
                }
                add_rows::<T, I>(out, &index[..kept], &value[..kept], m, width);
                at = stop;
            }
        }
    }
}

/// `out += sum_k value[k] * m[index[k]]`, eight vectors at a time in registers.
#[inline(always)]
fn add_rows<T: Real, I: Isa>(out: &mut [[T; LANES]], index: &[u32], value: &[T], m: &[[T; LANES]], width: usize) {
    let mut first = 0;
    while first < width {
        let block = (width - first).min(8);
        match block {
            1 => add_block::<T, I, 1>(out, index, value, m, width, first),
            2 => add_block::<T, I, 2>(out, index, value, m, width, first),
            3 => add_block::<T, I, 3>(out, index, value, m, width, first),
            4 => add_block::<T, I, 4>(out, index, value, m, width, first),
            5 => add_block::<T, I, 5>(out, index, value, m, width, first),
            6 => add_block::<T, I, 6>(out, index, value, m, width, first),
            7 => add_block::<T, I, 7>(out, index, value, m, width, first),
            _ => add_block::<T, I, 8>(out, index, value, m, width, first),
        }
        first += block;
    }
}

#[inline(always)]
fn add_block<T: Real, I: Isa, const B: usize>(
    out: &mut [[T; LANES]],
    index: &[u32],
    value: &[T],
    m: &[[T; LANES]],
    width: usize,
    first: usize,
) {
    let out: &mut [[T; LANES]; B] = (&mut out[first..first + B]).try_into().expect("B vectors");
    let mut sum = [V::<T, I>::zero(); B];
    for b in 0..B {
        sum[b] = V::<T, I>::load(&out[b]);
    }
    for (k, (&i, &x)) in index.iter().zip(value).enumerate() {
        if let Some(&ahead) = index.get(k + AHEAD) {
            prefetch(&m[ahead as usize * width + first..][..B]);
        }
        let start = i as usize * width + first;
        let row: &[[T; LANES]; B] = m[start..start + B].try_into().expect("B vectors");
        let x = V::<T, I>::splat(x);
        for b in 0..B {
            sum[b] = x.mul_add(V::<T, I>::load(&row[b]), sum[b]);
        }
    }
    for b in 0..B {
        out[b] = sum[b].array();
    }
}

/// `out = X M` for dense `X` under a mask; `M` has a row of `stride` numbers for each column of `X`.
pub fn dense_product<T: Real>(
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
    rows: std::ops::Range<usize>,
    out: &'a mut [T],
}

/// Columns of `X` (or, in the transposed product, rows) prepared at a time.
const DEPTH: usize = 128;
/// Rows of `X` (or, in the transposed product, columns) in registers at a time.
const TILE: usize = 4;

impl<T: Real> Kernel for DenseProduct<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let width = self.stride / LANES;
        let m = vectors(self.m);
        let mut x = [[T::ZERO; TILE]; DEPTH];
        let mut values = [T::ZERO; DEPTH];
        for (block, out) in vectors_mut(self.out).chunks_mut(TILE * width).enumerate() {
            let rows = out.len() / width;
            out.fill([T::ZERO; LANES]);
            for depth in (0..self.x.columns).step_by(DEPTH) {
                let columns = (self.x.columns - depth).min(DEPTH);
                for r in 0..TILE {
                    if r < rows {
                        let row = self.rows.start + block * TILE + r;
                        prepare::<T, I>(self.x, self.mask, row, depth, &mut values[..columns]);
                    } else {
                        values[..columns].fill(T::ZERO);
                    }
                    for (x, v) in x[..columns].iter_mut().zip(&values) {
                        x[r] = *v;
                    }
                }
                let m = &m[depth * width..(depth + columns) * width];
                tiles::<T, I>(&x[..columns], m, width, out, rows);
            }
        }
    }
}

/// Copies part of a row of `X` through the mask; `first` is a multiple of [`LANES`].
#[inline(always)]
fn prepare<T: Real, I: Isa>(x: Dense<'_, T>, mask: Option<Mask<'_, T>>, row: usize, first: usize, to: &mut [T]) {
    let values = &x.values[row * x.columns + first..][..to.len()];
    let Some(mask) = mask else {
        return to.copy_from_slice(values);
    };
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

/// `out[r] += sum_k x_k[r] m_k` for at most [`TILE`] rows, three vectors at a time.
#[inline(always)]
fn tiles<T: Real, I: Isa>(x: &[[T; TILE]], m: &[[T; LANES]], width: usize, out: &mut [[T; LANES]], rows: usize) {
    let mut first = 0;
    while first < width {
        first += match width - first {
            1 => tile::<T, I, 1>(x, m, width, first, out, rows),
            2 | 4 => tile::<T, I, 2>(x, m, width, first, out, rows),
            _ => tile::<T, I, 3>(x, m, width, first, out, rows),
        };
    }
}

/// The same for `B` vectors from `first` on, held in registers; returns `B`.
#[inline(always)]
fn tile<T: Real, I: Isa, const B: usize>(
    x: &[[T; TILE]],
    m: &[[T; LANES]],
    width: usize,
    first: usize,
    out: &mut [[T; LANES]],
    rows: usize,
) -> usize {
    let mut sum = [[V::<T, I>::zero(); B]; TILE];
    for (x, m) in x.iter().zip(m.chunks_exact(width)) {
        let m: &[[T; LANES]; B] = m[first..first + B].try_into().expect("B vectors");
        for r in 0..TILE {
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

/// `out = X^T G` for dense `X` under a mask; `G` has `stride` numbers per row, `out` as many per column of `X`.
///
/// `parts` divides the columns of `X` ([`Parts::few`]): each part reads all of `G`.
pub fn dense_transposed_product<T: Real>(
    parts: &Parts,
    x: Dense<'_, T>,
    mask: Option<Mask<'_, T>>,
    g: &[T],
    stride: usize,
    out: &mut [T],
) {
    parts.for_each(Rows { data: out, width: stride }, |columns, out| {
        dispatch(DenseTransposed { x, mask, g, stride, columns, out: out.data });
    });
}

struct DenseTransposed<'a, T> {
    x: Dense<'a, T>,
    mask: Option<Mask<'a, T>>,
    g: &'a [T],
    stride: usize,
    columns: std::ops::Range<usize>,
    out: &'a mut [T],
}

impl<T: Real> Kernel for DenseTransposed<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let width = self.stride / LANES;
        let g = vectors(self.g);
        let out = vectors_mut(self.out);
        out.fill([T::ZERO; LANES]);
        let rows = g.len() / width.max(1);
        let mut x = [[[T::ZERO; TILE]; DEPTH]; LANES / TILE];
        for start in (0..rows).step_by(DEPTH) {
            let depth = (rows - start).min(DEPTH);
            let g = &g[start * width..(start + depth) * width];
            // Eight columns of X are one byte of the mask and two tiles.
            for (block, out) in out.chunks_mut(LANES * width).enumerate() {
                let columns = out.len() / width;
                for d in 0..depth {
                    let first = self.columns.start + block * LANES;
                    let mut values = [T::ZERO; LANES];
                    prepare::<T, I>(self.x, self.mask, start + d, first, &mut values[..columns]);
                    for (x, values) in x.iter_mut().zip(values.as_chunks::<TILE>().0) {
                        x[d] = *values;
                    }
                }
                for (x, out) in x.iter().zip(out.chunks_mut(TILE * width)) {
                    let columns = out.len() / width;
                    tiles::<T, I>(&x[..depth], g, width, out, columns);
                }
            }
        }
    }
}

/// `out = M^T` for `M` of `rows` by `columns`.
pub fn transpose<T: Real>(m: &[T], rows: usize, columns: usize, out: &mut [T]) {
    debug_assert!(m.len() == rows * columns && out.len() == m.len());
    for (r, row) in m.chunks_exact(columns.max(1)).enumerate() {
        for (c, v) in row.iter().enumerate() {
            out[c * rows + r] = *v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::SparseMatrix;
    use crate::kernels::Dropout;
    use crate::random::{Purpose, Stream};

    /// Deterministic numbers in [-1, 1), about a third of them zero when `sparse`.
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
    fn products_equal_plain_loops() {
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

                let sparse = SparseMatrix::new(columns, offsets, index, values).unwrap();
                let kept = |bits: &[u8], k: usize| dropout == 0.0 || bits[k / 8] >> (k % 8) & 1 == 1;
                let scale: f64 = drop.scale();
                let mut as_dense = x.clone();
                let mut as_sparse = vec![0.0; x.len()];
                for i in 0..rows {
                    for k in 0..columns {
                        let bit = i * columns.div_ceil(8) * 8 + k;
                        as_dense[i * columns + k] *= if kept(&dense_bits, bit) { scale } else { 0.0 };
                    }
                    let at = sparse.offsets()[i] as usize;
                    for (e, (&k, &v)) in sparse.row(i).0.iter().zip(sparse.row(i).1).enumerate() {
                        as_sparse[i * columns + k as usize] = if kept(&sparse_bits, at + e) { v * scale } else { 0.0 };
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
                let even = Parts::even(rows, 1);
                let dense = Dense { values: &x, columns };
                dense_product(&even, dense, mask(&dense_bits), &w, stride, &mut out);
                close(&out, &forward(&as_dense));
                dense_transposed_product(&Parts::few(columns), dense, mask(&dense_bits), &g, stride, &mut grad);
                close(&grad, &backward(&as_dense));

                let by_row = Compressed {
                    offsets: sparse.offsets(),
                    index: sparse.column_of(),
                    values: sparse.values(),
                    position: None,
                };
                sparse_product(&Parts::by_offsets(by_row.offsets), by_row, mask(&sparse_bits), &w, stride, &mut out);
                close(&out, &forward(&as_sparse));
                let t = sparse.transpose();
                let by_column = Compressed {
                    offsets: &t.offsets,
                    index: &t.row_of,
                    values: &t.values,
                    position: Some(&t.position),
                };
                let parts = Parts::by_offsets(&t.offsets);
                sparse_product(&parts, by_column, mask(&sparse_bits), &g, stride, &mut grad);
                close(&grad, &backward(&as_sparse));
            }
        }
    }

    #[test]
    fn transpose_of_a_small_matrix() {
        let mut out = [0.0f32; 6];
        transpose(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3, &mut out);
        assert_eq!(out, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
