//! Products of sparse features with weights: `X W`, and `X^T G` for the gradient of `W`. Dropout is applied
//! to the entries of `X` during the product.

use super::dropout::Mask;
use super::parts::{Parts, Rows};
use super::simd::{Arithmetic, Isa, Kernel, Registers, V, clear_row, dispatch, in_blocks, vectors, vectors_mut};
use crate::kernels::simd::SimdReal;
use std::ops::Range;
use supergat_core::heads::LANES;

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
    const USES_AVX512: bool = true;
    const FAST_DOUBLE: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut numbers = Numbers::new();
        for (row, out) in self.rows.zip(self.out.chunks_exact_mut(self.width)) {
            clear_row::<T, I>(out);
            let mut left = self.x.offsets[row] as usize..self.x.offsets[row + 1] as usize;
            while !left.is_empty() {
                let entries = Entries::next(self.x, self.mask, &mut left, &mut numbers);
                add_rows::<T, I>(out, entries, self.m, self.width);
            }
        }
    }
}

/// Some entries of a row, a part of which is kept.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a, T> {
    /// Columns of consecutive entries, at most [`GATHER`].
    index: &'a [u32],
    /// Their values.
    values: &'a [T],
    /// Numbers of the kept ones.
    kept: &'a [u8],
    /// Factor of the values.
    scale: T,
}

/// Entries processed together: the number of mask bits that one read yields at any bit offset.
pub(super) const GATHER: usize = 56;

impl<'a, T: SimdReal> Entries<'a, T> {
    /// Creates entries of which those of the set bits are kept.
    #[inline(always)]
    pub(super) fn new(index: &'a [u32], values: &'a [T], bits: u64, scale: T, numbers: &'a mut Numbers) -> Self {
        let kept = numbers.of(bits & ((1 << index.len()) - 1));
        Self { index, values, kept, scale }
    }

    /// Returns the next entries in `left`, without those dropped by the mask, and removes them from `left`.
    #[inline(always)]
    fn next(
        x: Compressed<'a, T>,
        mask: Option<Mask<'_, T>>,
        left: &mut Range<usize>,
        numbers: &'a mut Numbers,
    ) -> Self {
        let entries = left.start..left.end.min(left.start + GATHER);
        left.start = entries.end;
        let (bits, scale) = mask.map_or((u64::MAX, T::ONE), |mask| (mask.bits(entries.start), mask.scale));
        Self::new(&x.index[entries.clone()], &x.values[entries], bits, scale, numbers)
    }

    /// Returns column and scaled value of an entry.
    #[inline(always)]
    fn at(&self, number: u8) -> (usize, T) {
        (self.index[number as usize] as usize, self.values[number as usize] * self.scale)
    }
}

/// Numbers of set bits.
pub(super) struct Numbers([u8; GATHER + 8]);

impl Numbers {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self([0; GATHER + 8])
    }

    /// Lists the numbers of the set bits among the first [`GATHER`], without branches.
    #[inline(always)]
    fn of(&mut self, bits: u64) -> &[u8] {
        let mut len = 0;
        for byte in 0..GATHER / 8 {
            let bits = (bits >> (8 * byte)) as u8;
            let numbers = OF_BYTE[bits as usize] + byte as u64 * 0x0808_0808_0808_0808;
            self.0[len..len + 8].copy_from_slice(&numbers.to_le_bytes());
            len += bits.count_ones() as usize;
        }
        &self.0[..len]
    }
}

/// Numbers of the set bits of each byte, a byte each, from the lowest.
static OF_BYTE: [u64; 256] = {
    let mut of_byte = [0; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut bit, mut len) = (0, 0);
        while bit < 8 {
            if bits >> bit & 1 == 1 {
                of_byte[bits] |= bit << (8 * len);
                len += 1;
            }
            bit += 1;
        }
        bits += 1;
    }
    of_byte
};

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
    const USES_AVX512: bool = true;
    const FAST_DOUBLE: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        self.out.fill([T::ZERO; LANES]);
        let mut numbers = Numbers::new();
        for row in self.rows {
            let g = &self.g[row * self.width..(row + 1) * self.width];
            let mut left = self.x.offsets[row] as usize..self.x.offsets[row + 1] as usize;
            while !left.is_empty() {
                let entries = Entries::next(self.x, self.mask, &mut left, &mut numbers);
                add_to_rows::<T, I>(self.out, entries, g);
            }
        }
    }
}

/// Computes `out += X M` for entries of a row of `X`, up to eight vectors at a time in registers.
#[inline(always)]
pub(super) fn add_rows<T: SimdReal, I: Isa>(
    out: &mut [[T; LANES]],
    entries: Entries<'_, T>,
    m: &[[T; LANES]],
    width: usize,
) {
    in_blocks!(I, width, |first, B| add_block::<T, I, B>(&mut out[first..], entries, &m[first..], width));
}

#[inline(always)]
fn add_block<T: SimdReal, I: Isa, const B: usize>(
    out: &mut [[T; LANES]],
    entries: Entries<'_, T>,
    m: &[[T; LANES]],
    width: usize,
) {
    let mut sum = Registers::<T, I, B>::load(out);
    for &k in entries.kept {
        let (column, value) = entries.at(k);
        sum.add_scaled(V::<T, I>::splat(value), &Registers::<T, I, B>::load(&m[column * width..]));
    }
    sum.store(out);
}

/// Computes `out += X^T G` for entries of a row of `X` and the row `g`, up to eight vectors at a time in registers.
#[inline(always)]
pub(super) fn add_to_rows<T: SimdReal, I: Isa>(out: &mut [[T; LANES]], entries: Entries<'_, T>, g: &[[T; LANES]]) {
    in_blocks!(I, g.len(), |first, B| add_to_block::<T, I, B>(&mut out[first..], entries, &g[first..], g.len()));
}

#[inline(always)]
fn add_to_block<T: SimdReal, I: Isa, const B: usize>(
    out: &mut [[T; LANES]],
    entries: Entries<'_, T>,
    g: &[[T; LANES]],
    width: usize,
) {
    let g = Registers::<T, I, B>::load(g);
    for &k in entries.kept {
        let (column, value) = entries.at(k);
        let out = &mut out[column * width..];
        let mut sum = Registers::<T, I, B>::load(out);
        sum.add_scaled(V::<T, I>::splat(value), &g);
        sum.store(out);
    }
}
