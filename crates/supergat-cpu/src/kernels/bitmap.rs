//! `X W` and `X^T G` for sparse `X` with many entries, whose rows have one value each, such as the words of a text.
//!
//! The products by entries read a row of `W`, or load and store a row of `out`, from the second cache for each entry.
//! Here the entries of 64 rows and 64 columns are a square of bits, from which the dropout mask removes some. `X W`
//! adds the rows of `W` that a row of the square lists; they stay in the first cache for all 64 rows. Transposed, a
//! square lists the rows of each column, whose sum stays in registers while the 64 rows of `G` stay in the first cache.

use super::dropout::Mask;
use super::parts::{Parts, Rows};
use super::simd::{
    Arithmetic, Isa, Kernel, Registers, SimdReal, V, clear_row, dispatch, in_blocks, vectors, vectors_mut,
};
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
    /// Returns the number of words of a row.
    fn words_per_row(&self) -> usize {
        self.columns.div_ceil(SIDE)
    }

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

/// Computes `out = X M` like `sparse_product`, with the same bits, for an `X` with a bitmap.
pub fn bitmap_product<T: SimdReal>(
    parts: &Parts,
    bitmap: &Bitmap,
    x: Compressed<'_, T>,
    mask: Option<Mask<'_, T>>,
    m: &[T],
    stride: usize,
    out: &mut [T],
) {
    parts.for_each(Rows { data: out, width: stride }, |rows, out| {
        let out = vectors_mut(out.data);
        dispatch(Product { bitmap, x, mask, m: vectors(m), width: stride / LANES, rows, out });
    });
}

struct Product<'a, T> {
    bitmap: &'a Bitmap,
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

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { bitmap, x, mask, m, width, rows, out } = self;
        for (start, out) in rows.clone().step_by(SIDE).zip(out.chunks_mut(SIDE * width)) {
            let mut block = Block::new(bitmap, x, mask, start..rows.end.min(start + SIDE));
            clear_row::<T, I>(out);
            for word in 0..bitmap.words_per_row() {
                let m = &m[word * SIDE * width..];
                for (k, out) in out.chunks_exact_mut(width).enumerate() {
                    let columns = block.kept::<I>(k, word);
                    let value = V::<T, I>::splat(block.values[k]);
                    in_blocks!(I, width, |first, B| {
                        add_rows::<T, I, B>(&mut out[first..], columns, |_| value, &m[first..], width)
                    });
                }
            }
        }
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
        let Self { bitmap, x, mask, g, width, rows, out } = self;
        out.fill([T::ZERO; LANES]);
        for start in rows.clone().step_by(SIDE) {
            let mut block = Block::new(bitmap, x, mask, start..rows.end.min(start + SIDE));
            for word in 0..bitmap.words_per_row() {
                let mut square = [0; SIDE];
                for (k, row) in square[..block.len].iter_mut().enumerate() {
                    *row = block.kept::<I>(k, word);
                }
                transpose(&mut square);
                for (column, rows) in (word * SIDE..bitmap.columns).zip(square).filter(|(_, rows)| *rows != 0) {
                    let out = &mut out[column * width..(column + 1) * width];
                    let g = &g[start * width..];
                    let value = |row: usize| V::<T, I>::splat(block.values[row]);
                    in_blocks!(I, width, |first, B| {
                        add_rows::<T, I, B>(&mut out[first..], rows, value, &g[first..], width)
                    });
                }
            }
        }
    }
}

/// At most 64 rows of a matrix, whose words are read one after another.
struct Block<'a, T> {
    /// Words of the rows.
    words: &'a [u64],
    words_per_row: usize,
    mask: Option<Mask<'a, T>>,
    /// Number of rows.
    len: usize,
    /// Number of the first entry of each row in its next word.
    next: [usize; SIDE],
    /// Scaled value of the entries of each row.
    values: [T; SIDE],
}

impl<'a, T: SimdReal> Block<'a, T> {
    #[inline(always)]
    fn new(bitmap: &'a Bitmap, x: Compressed<'_, T>, mask: Option<Mask<'a, T>>, rows: Range<usize>) -> Self {
        let (mut next, mut values) = ([0; SIDE], [T::ZERO; SIDE]);
        for (k, row) in rows.clone().enumerate() {
            next[k] = x.offsets[row] as usize;
            if x.offsets[row] < x.offsets[row + 1] {
                values[k] = x.values[next[k]] * mask.map_or(T::ONE, |mask| mask.scale);
            }
        }
        let words_per_row = bitmap.words_per_row();
        let words = &bitmap.words[(rows.start - bitmap.first) * words_per_row..];
        Self { words, words_per_row, mask, len: rows.len(), next, values }
    }

    /// Returns the bits of the next word of row `k` that the mask keeps; `word` is its number.
    #[inline(always)]
    fn kept<I: Isa>(&mut self, k: usize, word: usize) -> u64 {
        let (word, first) = (self.words[k * self.words_per_row + word], self.next[k]);
        let Some(mask) = self.mask else { return word };
        let entries = word.count_ones();
        self.next[k] += entries as usize;
        if entries <= READ {
            return I::deposit(mask.bits(first), word);
        }
        let [low, high] = [word & u64::from(u32::MAX), word & !u64::from(u32::MAX)];
        I::deposit(mask.bits(first), low) | I::deposit(mask.bits(first + low.count_ones() as usize), high)
    }
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

/// Adds the rows of `from` of the set bits, each multiplied by its value.
#[inline(always)]
fn add_rows<T: SimdReal, I: Isa, const B: usize>(
    out: &mut [[T; LANES]],
    mut rows: u64,
    value: impl Fn(usize) -> V<T, I>,
    from: &[[T; LANES]],
    width: usize,
) {
    let mut sum = Registers::<T, I, B>::load(out);
    while rows != 0 {
        let row = rows.trailing_zeros() as usize;
        rows &= rows - 1;
        sum.add_scaled(value(row), &Registers::<T, I, B>::load(&from[row * width..]));
    }
    sum.store(out);
}

#[cfg(test)]
mod tests {
    use super::super::sparse::{sparse_product, sparse_transposed_product};
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
    fn has_the_bits_of_the_products_by_entries() {
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
            let parts = Parts::for_copies(range.clone(), |row| offsets[row], 1);
            let weights = &g[..columns * stride];
            let of_rows = Parts::by_offsets_of(&offsets, range.clone());
            let [mut expected, mut found] = [9.0, 8.0].map(|filled| vec![filled; columns * stride]);
            let [mut expected_rows, mut found_rows] = [9.0, 8.0].map(|filled| vec![filled; range.len() * stride]);
            let mut copies = vec![7.0; parts.len() * found.len()];
            for mask in [None, Some(Mask { keep: &keep, scale: 1.25 })] {
                sparse_transposed_product(&parts, x, mask, &g, stride, &mut copies, &mut expected);
                bitmap_transposed_product(&parts, &bitmap, x, mask, &g, stride, &mut copies, &mut found);
                assert!(expected == found && found.iter().any(|sum| *sum != 0.0));
                sparse_product(&of_rows, x, mask, weights, stride, &mut expected_rows);
                bitmap_product(&of_rows, &bitmap, x, mask, weights, stride, &mut found_rows);
                assert!(expected_rows == found_rows && found_rows.iter().any(|sum| *sum != 0.0));
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
