//! `X^T G` for sparse `X` with many entries, whose rows have one value each, such as the words of a text.
//!
//! The product by entries loads and stores a row of `out` for each of them. Here the entries of 64 rows and 64
//! columns are a square of bits, from which the dropout mask removes some. Transposed, it lists the rows of each
//! column, whose sum stays in registers while the 64 rows of `G` stay in the first cache.

use super::dropout::Mask;
use super::parts::Parts;
use super::simd::{Arithmetic, Isa, Kernel, Registers, SimdReal, V, dispatch, in_blocks, vectors, vectors_mut};
use super::sparse::Compressed;
use std::ops::Range;
use supergat_core::heads::LANES;
use supergat_core::memory::defaults;

/// Rows and columns of a square.
const SIDE: usize = u64::BITS as usize;
/// Entries of the matrix are at least one in this many, so that squares have enough of them.
const SPARSEST: usize = 4;
/// Bits of a mask that one read yields.
const READ: u32 = 56;

/// Columns of the entries of some rows of a sparse matrix, as bits.
#[derive(Debug, Clone)]
pub struct Bitmap {
    /// First row.
    first: usize,
    /// Number of columns.
    columns: usize,
    /// Bits of the columns, row by row, from the lowest bit of a word.
    words: Vec<u64>,
}

impl Bitmap {
    /// Lists the entries of `rows`; returns `None` if there are too few, if a row has different values, or if its
    /// columns are not in ascending order.
    pub fn of<T: SimdReal>(x: Compressed<'_, T>, rows: Range<usize>, columns: usize) -> Option<Self> {
        let entries = (x.offsets[rows.end] - x.offsets[rows.start]) as usize;
        if entries == 0 || entries < rows.len() * columns / SPARSEST {
            return None;
        }
        let per_row = columns.div_ceil(SIDE);
        let mut words = defaults(rows.len() * per_row);
        for (row, words) in rows.clone().zip(words.chunks_exact_mut(per_row)) {
            let entries = x.offsets[row] as usize..x.offsets[row + 1] as usize;
            let (index, values) = (&x.index[entries.clone()], &x.values[entries]);
            if !index.is_sorted_by(|a, b| a < b) || values.iter().any(|value| *value != values[0]) {
                return None;
            }
            for column in index {
                words[*column as usize / SIDE] |= 1 << (*column as usize % SIDE);
            }
        }
        Some(Self { first: rows.start, columns, words })
    }
}

/// Computes `out = X^T G` like `sparse_transposed_product`, with the same bits, for an `X` with a bitmap.
#[allow(clippy::too_many_arguments)]
pub fn bitmap_transposed_product<T: SimdReal>(
    parts: &Parts,
    bitmap: &Bitmap,
    x: Compressed<'_, T>,
    mask: Option<Mask<'_, T>>,
    g: &[T],
    stride: usize,
    copies: &mut [T],
    out: &mut [T],
) {
    parts.for_each_copy(copies, out, |rows, out| {
        dispatch(Transposed { bitmap, x, mask, g: vectors(g), width: stride / LANES, rows, out: vectors_mut(out) });
    });
}

struct Transposed<'a, T> {
    bitmap: &'a Bitmap,
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

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { bitmap: &Bitmap { first, columns, ref words }, x, mask, g, width, rows, out } = self;
        out.fill([T::ZERO; LANES]);
        let per_row = columns.div_ceil(SIDE);
        for start in rows.clone().step_by(SIDE) {
            let block = start..rows.end.min(start + SIDE);
            // The next entry of each row, and the value of its entries.
            let (mut next, mut values) = ([0; SIDE], [T::ZERO; SIDE]);
            for (k, row) in block.clone().enumerate() {
                next[k] = x.offsets[row] as usize;
                if x.offsets[row] < x.offsets[row + 1] {
                    values[k] = x.values[next[k]] * mask.map_or(T::ONE, |mask| mask.scale);
                }
            }
            let words = &words[(start - first) * per_row..(block.end - first) * per_row];
            for word in 0..per_row {
                let mut square = [0; SIDE];
                for (k, row) in words.chunks_exact(per_row).enumerate() {
                    square[k] = kept::<T, I>(row[word], mask, &mut next[k]);
                }
                transpose(&mut square);
                for (column, rows) in (word * SIDE..columns).zip(square).filter(|(_, rows)| *rows != 0) {
                    let out = &mut out[column * width..(column + 1) * width];
                    let g = &g[start * width..];
                    in_blocks!(I, width, |first, B| {
                        add_rows::<T, I, B>(&mut out[first..], rows, &values, &g[first..], width)
                    });
                }
            }
        }
    }
}

/// Returns the bits of a word of the bitmap that a mask keeps, and advances `next` behind the entries of the word.
#[inline(always)]
fn kept<T: SimdReal, I: Isa>(word: u64, mask: Option<Mask<'_, T>>, next: &mut usize) -> u64 {
    let Some(mask) = mask else { return word };
    let (first, entries) = (*next, word.count_ones());
    *next += entries as usize;
    if entries <= READ {
        return I::deposit(mask.bits(first), word);
    }
    let [low, high] = [word & u64::from(u32::MAX), word & !u64::from(u32::MAX)];
    I::deposit(mask.bits(first), low) | I::deposit(mask.bits(first + low.count_ones() as usize), high)
}

/// Transposes a square of bits: exchanges its upper right with its lower left quarter, then those of each quarter,
/// and so on.
#[inline(always)]
fn transpose(square: &mut [u64; SIDE]) {
    let mut mask = u64::from(u32::MAX);
    for shift in [32, 16, 8, 4, 2, 1] {
        for pair in square.chunks_exact_mut(2 * shift) {
            let (above, below) = pair.split_at_mut(shift);
            for (above, below) in above.iter_mut().zip(below) {
                let exchanged = (*above >> shift ^ *below) & mask;
                *above ^= exchanged << shift;
                *below ^= exchanged;
            }
        }
        mask ^= mask << (shift / 2);
    }
}

/// Adds the rows of the set bits, each multiplied by its value.
#[inline(always)]
fn add_rows<T: SimdReal, I: Isa, const B: usize>(
    out: &mut [[T; LANES]],
    mut rows: u64,
    values: &[T; SIDE],
    g: &[[T; LANES]],
    width: usize,
) {
    let mut sum = Registers::<T, I, B>::load(out);
    while rows != 0 {
        let row = rows.trailing_zeros() as usize;
        rows &= rows - 1;
        sum.add_scaled(V::<T, I>::splat(values[row]), &Registers::<T, I, B>::load(&g[row * width..]));
    }
    sum.store(out);
}

#[cfg(test)]
mod tests {
    use super::super::sparse::sparse_transposed_product;
    use super::*;
    use supergat_core::random::{Purpose, Stream};

    #[test]
    fn transposes_squares() {
        let stream = Stream::new(1, 0, 0, Purpose::SyntheticFeatures);
        let before: [u64; SIDE] = std::array::from_fn(|row| {
            let [low, high, ..] = stream.block(row as u64);
            u64::from(low) << 32 | u64::from(high)
        });
        let mut square = before;
        transpose(&mut square);
        let bit = |of: &[u64; SIDE], row: usize, column: usize| of[row] >> column & 1;
        let same = |row, column| bit(&before, row, column) == bit(&square, column, row);
        assert!((0..SIDE).all(|row| (0..SIDE).all(|column| same(row, column))));
    }

    #[test]
    fn has_the_bits_of_the_product_by_entries() {
        let (rows, columns, stride) = (200, 150, 72);
        let stream = Stream::new(2, 0, 0, Purpose::SyntheticFeatures);
        let random = |k: usize| stream.block(k as u64)[0];
        let (mut offsets, mut index, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..rows {
            // Rows without entries, with all, and with some.
            let share = [0, 8, 3][row % 3];
            let of_row = (0..columns).filter(|column| random(row * columns + column) % 8 < share);
            index.extend(of_row.map(|column| column as u32));
            values.resize(index.len(), 1.0 / (row + 1) as f32);
            offsets.push(index.len() as u64);
        }
        let keep: Vec<u8> = (0..index.len().div_ceil(8)).map(|k| random(k) as u8).collect();
        let g: Vec<f32> = (0..rows * stride).map(|k| random(k) as f32).collect();
        let x = Compressed { offsets: &offsets, index: &index, values: &values };
        for range in [0..rows, 60..200, 3..67, 6..7] {
            let Some(bitmap) = Bitmap::of(x, range.clone(), columns) else {
                assert_eq!(range, 6..7);
                continue;
            };
            let parts = Parts::for_copies(range, |row| offsets[row], 1);
            let [mut expected, mut found] = [9.0, 8.0].map(|filled| vec![filled; columns * stride]);
            let mut copies = vec![7.0; parts.len() * found.len()];
            for mask in [None, Some(Mask { keep: &keep, scale: 1.25 })] {
                sparse_transposed_product(&parts, x, mask, &g, stride, &mut copies, &mut expected);
                bitmap_transposed_product(&parts, &bitmap, x, mask, &g, stride, &mut copies, &mut found);
                assert!(expected == found && found.iter().any(|sum| *sum != 0.0));
            }
        }
    }

    #[test]
    fn needs_many_entries_in_order_with_one_value_per_row() {
        let of = |index: &[u32], values: &[f32]| {
            let offsets = [0, 2, index.len() as u64];
            Bitmap::of(Compressed { offsets: &offsets, index, values }, 0..2, 8).is_some()
        };
        assert!(of(&[1, 2, 0, 7], &[1.0, 1.0, 2.0, 2.0]));
        assert!(!of(&[1, 2, 0, 7], &[1.0, 1.0, 2.0, 3.0]));
        assert!(!of(&[2, 1, 0, 7], &[1.0; 4]) && !of(&[1, 1, 0, 7], &[1.0; 4]));
        assert!(!of(&[1, 2, 0], &[1.0; 3]));
    }
}
