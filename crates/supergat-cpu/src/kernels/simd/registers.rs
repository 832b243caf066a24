//! Short rows in registers.

use super::lanes::{Arithmetic, Isa, Lanes, P, Pair, SimdReal, V};
use super::stored::Stored;
use supergat_core::heads::LANES;

/// A row of `B` vectors, at most eight, in registers: `B / 2` pairs, and a last vector if `B` is odd.
#[derive(Clone, Copy)]
pub struct Registers<T: SimdReal, I: Isa, const B: usize> {
    pairs: [P<T, I>; 4],
    last: V<T, I>,
}

impl<T: SimdReal, I: Isa, const B: usize> Registers<T, I, B> {
    /// Loads the first `B` vectors.
    #[inline(always)]
    pub fn load<S: Stored<T>>(row: &[S]) -> Self {
        let row: &[S; B] = row.first_chunk().expect("a row");
        let (pairs, last) = row.as_chunks::<2>();
        let mut loaded = Self { pairs: [P::<T, I>::zero(); 4], last: V::<T, I>::zero() };
        for (to, pair) in loaded.pairs.iter_mut().zip(pairs) {
            *to = S::pair::<I>(pair);
        }
        if B % 2 == 1 {
            loaded.last = last[0].vector::<I>();
        }
        loaded
    }

    /// Stores the row to the first `B` vectors.
    #[inline(always)]
    pub fn store(self, row: &mut [[T; LANES]]) {
        let row: &mut [[T; LANES]; B] = row.first_chunk_mut().expect("a row");
        let (pairs, last) = row.as_chunks_mut::<2>();
        for (to, pair) in pairs.iter_mut().zip(self.pairs) {
            *to = pair.arrays();
        }
        if B % 2 == 1 {
            last[0] = self.last.array();
        }
    }

    /// Returns a row of equal vectors.
    #[inline(always)]
    pub fn repeat(vector: V<T, I>) -> Self {
        Self { pairs: [P::<T, I>::both(vector); 4], last: vector }
    }

    /// Returns `value` where a bit is set, and zero elsewhere, from a byte per vector.
    #[inline(always)]
    pub fn from_bits(bytes: &[u8], value: T) -> Self {
        let bytes: &[u8; B] = bytes.first_chunk().expect("a byte per vector");
        let mut row = Self::zero();
        for k in 0..B / 2 {
            row.pairs[k] = P::<T, I>::from_bits([bytes[2 * k], bytes[2 * k + 1]], value);
        }
        if B % 2 == 1 {
            row.last = V::<T, I>::from_bits(bytes[B - 1], value);
        }
        row
    }

    /// Adds `factor * row`.
    #[inline(always)]
    pub fn add_scaled(&mut self, factor: V<T, I>, row: &Self) {
        let both = P::<T, I>::both(factor);
        for k in 0..B / 2 {
            self.pairs[k] = both.mul_add(row.pairs[k], self.pairs[k]);
        }
        if B % 2 == 1 {
            self.last = factor.mul_add(row.last, self.last);
        }
    }

    /// Returns the lane-wise sum of the vectors.
    #[inline(always)]
    pub fn sum(&self) -> V<T, I> {
        let mut sums = P::<T, I>::zero();
        for k in 0..B / 2 {
            sums = sums.add(self.pairs[k]);
        }
        let sum = sums.sum();
        if B % 2 == 1 { sum.add(self.last) } else { sum }
    }

    /// Returns the lane-wise sums of products with each of two rows.
    #[inline(always)]
    pub fn dot_each(&self, rows: [&Self; 2]) -> P<T, I> {
        let mut sums = [P::<T, I>::zero(); 2];
        for k in 0..B / 2 {
            sums[0] = self.pairs[k].mul_add(rows[0].pairs[k], sums[0]);
            sums[1] = self.pairs[k].mul_add(rows[1].pairs[k], sums[1]);
        }
        let sum = P::<T, I>::sum_each(sums[0], sums[1]);
        if B % 2 == 1 {
            return P::<T, I>::both(self.last).mul_add(P::<T, I>::join(rows[0].last, rows[1].last), sum);
        }
        sum
    }

    /// Returns the lane-wise sum of products.
    #[inline(always)]
    pub fn dot(&self, row: &Self) -> V<T, I> {
        let mut sums = P::<T, I>::zero();
        for k in 0..B / 2 {
            sums = self.pairs[k].mul_add(row.pairs[k], sums);
        }
        let [mut even, odd] = sums.halves();
        if B % 2 == 1 {
            even = self.last.mul_add(row.last, even);
        }
        even.add(odd)
    }
}

/// Defines operations that are those of each pair and of the last vector.
macro_rules! lane_wise {
    ($($name:ident($($other:ident),*);)*) => {$(
        #[inline(always)]
        fn $name(mut self, $($other: Self),*) -> Self {
            for k in 0..B / 2 {
                self.pairs[k] = self.pairs[k].$name($($other.pairs[k]),*);
            }
            if B % 2 == 1 {
                self.last = self.last.$name($($other.last),*);
            }
            self
        }
    )*};
}

impl<T: SimdReal, I: Isa, const B: usize> Arithmetic for Registers<T, I, B> {
    type Item = T;

    #[inline(always)]
    fn splat(value: T) -> Self {
        Self { pairs: [P::<T, I>::splat(value); 4], last: V::<T, I>::splat(value) }
    }

    lane_wise! {
        add(other);
        sub(other);
        mul(other);
        div(other);
        max(other);
        mul_add(b, c);
        exp();
        if_positive(yes, no);
    }
}
