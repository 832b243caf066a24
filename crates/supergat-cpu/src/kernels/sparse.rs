//! Products of sparse features with weights: `X W`, and `X^T G` for the gradient of `W`. Dropout is applied
//! to the entries of `X` during the product.

use super::dropout::Mask;
use super::parts::{Parts, Rows};
use super::simd::{Arithmetic, Isa, Kernel, Lanes, V, dispatch, in_blocks, vectors, vectors_mut};
use crate::kernels::simd::SimdReal;
use std::ops::Range;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch;

/// A borrowed matrix in compressed rows.
#[derive(Debug, Clone, Copy)]
pub struct Compressed<'a, T> {
    /// Start of each row, and the end of the last: one more than there are rows.
    pub offsets: &'a [u64],
    /// Column of each entry.
    pub index: &'a [u32],
    /// Value of each entry.
    pub values: &'a [T],
}

/// Computes `out = X M` for sparse `X` under a mask and dense `M` with `stride` numbers per row.
pub fn sparse_product<T: SimdReal>(
    parts: &Parts,
    x: Compressed<'_, T>,
    mask: Option<Mask<'_, T>>,
    m: &[T],
    stride: usize,
    out: &mut [T],
) {
    parts.for_each(Rows { data: out, width: stride }, |rows, out| {
        dispatch(Product { x, mask, m: vectors(m), width: stride / LANES, rows, out: vectors_mut(out.data) });
    });
}

struct Product<'a, T> {
    x: Compressed<'a, T>,
    mask: Option<Mask<'a, T>>,
    m: &'a [[T; LANES]],
    width: usize,
    rows: Range<usize>,
    out: &'a mut [[T; LANES]],
}

impl<T: SimdReal> Kernel for Product<'_, T> {
    type Number = T;
    type Output = ();
    const FAST_DOUBLE: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut kept = Kept::new();
        for (row, out) in self.rows.zip(self.out.chunks_exact_mut(self.width)) {
            out.fill([T::ZERO; LANES]);
            let mut left = self.x.offsets[row] as usize..self.x.offsets[row + 1] as usize;
            while !left.is_empty() {
                kept.fill(self.x, self.mask, &mut left);
                add_rows::<T, I>(out, kept.index(), kept.value(), self.m, self.width);
            }
        }
    }
}

/// Some entries of a row that survive dropout.
struct Kept<T> {
    index: [u32; GATHER],
    value: [T; GATHER],
    len: usize,
}

/// Entries gathered before they are multiplied: the number of mask bits that one read yields at any bit
/// offset.
pub(super) const GATHER: usize = 56;

impl<T: SimdReal> Kept<T> {
    #[inline(always)]
    fn new() -> Self {
        Self { index: [0; GATHER], value: [T::ZERO; GATHER], len: 0 }
    }

    #[inline(always)]
    fn index(&self) -> &[u32] {
        &self.index[..self.len]
    }

    #[inline(always)]
    fn value(&self) -> &[T] {
        &self.value[..self.len]
    }

    /// Gathers the kept ones of the next entries in `left`, and removes those entries from `left`.
    #[inline(always)]
    fn fill(&mut self, x: Compressed<'_, T>, mask: Option<Mask<'_, T>>, left: &mut Range<usize>) {
        let entries = left.start..left.end.min(left.start + GATHER);
        left.start = entries.end;
        let (index, values) = (&x.index[entries.clone()], &x.values[entries.clone()]);
        let Some(mask) = mask else {
            self.len = index.len();
            self.index[..self.len].copy_from_slice(index);
            self.value[..self.len].copy_from_slice(values);
            return;
        };
        let mut bits = mask.bits(entries.start) & ((1 << index.len()) - 1);
        self.len = 0;
        while bits != 0 {
            let k = bits.trailing_zeros() as usize;
            self.index[self.len] = index[k];
            self.value[self.len] = values[k] * mask.scale;
            self.len += 1;
            bits &= bits - 1;
        }
    }
}

/// Computes `out = X^T G` for sparse `X` under a mask; `G` has `stride` numbers per row, `out` as many per
/// column of `X`.
///
/// Each part of the rows sums into its own copy of `out` in `copies`; the copies are then added in the order
/// of the parts.
pub fn sparse_transposed_product<T: SimdReal>(
    parts: &Parts,
    x: Compressed<'_, T>,
    mask: Option<Mask<'_, T>>,
    g: &[T],
    stride: usize,
    copies: &mut [T],
    out: &mut [T],
) {
    parts.for_each_copy(copies, out, |rows, out| {
        dispatch(Transposed { x, mask, g: vectors(g), width: stride / LANES, rows, out: vectors_mut(out) });
    });
}

struct Transposed<'a, T> {
    x: Compressed<'a, T>,
    mask: Option<Mask<'a, T>>,
    g: &'a [[T; LANES]],
    width: usize,
    rows: Range<usize>,
    out: &'a mut [[T; LANES]],
}

impl<T: SimdReal> Kernel for Transposed<'_, T> {
    type Number = T;
    type Output = ();
    const FAST_DOUBLE: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        self.out.fill([T::ZERO; LANES]);
        let mut kept = Kept::new();
        for row in self.rows {
            let g = &self.g[row * self.width..(row + 1) * self.width];
            let mut left = self.x.offsets[row] as usize..self.x.offsets[row + 1] as usize;
            while !left.is_empty() {
                kept.fill(self.x, self.mask, &mut left);
                add_to_rows::<T, I>(self.out, kept.index(), kept.value(), g);
            }
        }
    }
}

/// Computes `out += sum_k value[k] * m[index[k]]`, up to eight vectors at a time in registers.
#[inline(always)]
pub(super) fn add_rows<T: SimdReal, I: Isa>(
    out: &mut [[T; LANES]],
    index: &[u32],
    value: &[T],
    m: &[[T; LANES]],
    width: usize,
) {
    in_blocks!(I, width, |first, B| add_block::<T, I, B>(out, index, value, m, width, first));
}

#[inline(always)]
fn add_block<T: SimdReal, I: Isa, const B: usize>(
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

/// Computes `out[index[k]] += value[k] * g` for all k, up to eight vectors of `g` at a time in registers.
#[inline(always)]
pub(super) fn add_to_rows<T: SimdReal, I: Isa>(out: &mut [[T; LANES]], index: &[u32], value: &[T], g: &[[T; LANES]]) {
    in_blocks!(I, g.len(), |first, B| add_to_block::<T, I, B>(out, index, value, g, first));
}

#[inline(always)]
fn add_to_block<T: SimdReal, I: Isa, const B: usize>(
    out: &mut [[T; LANES]],
    index: &[u32],
    value: &[T],
    g: &[[T; LANES]],
    first: usize,
) {
    let width = g.len();
    let mut row = [V::<T, I>::zero(); B];
    for b in 0..B {
        row[b] = V::<T, I>::load(&g[first + b]);
    }
    for (&i, &x) in index.iter().zip(value) {
        let start = i as usize * width + first;
        let out: &mut [[T; LANES]; B] = (&mut out[start..start + B]).try_into().expect("B vectors");
        let x = V::<T, I>::splat(x);
        for b in 0..B {
            out[b] = x.mul_add(row[b], V::<T, I>::load(&out[b])).array();
        }
    }
}

/// Number of entries between prefetching a row of the dense matrix and using it.
const AHEAD: usize = 8;
