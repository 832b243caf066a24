//! Formats of rows in memory: numbers as they are computed with, or rounded to 16 bits.

use super::dispatch::{Kernel, dispatch};
use super::lanes::{Isa, Lanes, P, Pair, SimdReal, V};
use super::registers::Registers;
use super::rows::{dot, in_blocks, vectors};
use supergat_core::heads::LANES;

/// A vector of a row in memory.
pub trait Stored<T: SimdReal>: Copy + Send + Sync {
    /// Loads the vector.
    fn vector<I: Isa>(&self) -> V<T, I>;
    /// Loads two vectors that are next to each other.
    fn pair<I: Isa>(pair: &[Self; 2]) -> P<T, I>;
    /// Returns the lane-wise sum of products of two rows.
    fn dot<I: Isa>(a: &[Self], b: &[Self]) -> V<T, I>;
    /// Returns rows of full precision as they are; panics for others.
    fn full(rows: &[Self]) -> &[[T; LANES]];
}

impl<T: SimdReal> Stored<T> for [T; LANES] {
    #[inline(always)]
    fn vector<I: Isa>(&self) -> V<T, I> {
        V::<T, I>::load(self)
    }
    #[inline(always)]
    fn pair<I: Isa>(pair: &[Self; 2]) -> P<T, I> {
        P::<T, I>::load(pair)
    }
    #[inline(always)]
    fn dot<I: Isa>(a: &[Self], b: &[Self]) -> V<T, I> {
        dot::<T, I>(a, b)
    }
    #[inline(always)]
    fn full(rows: &[Self]) -> &[[T; LANES]] {
        rows
    }
}

/// Numbers as bfloat16: the upper half of a number of single precision.
impl<T: SimdReal> Stored<T> for [u16; LANES] {
    #[inline(always)]
    fn vector<I: Isa>(&self) -> V<T, I> {
        V::<T, I>::widen(self)
    }
    #[inline(always)]
    fn pair<I: Isa>(pair: &[Self; 2]) -> P<T, I> {
        P::<T, I>::widen(pair)
    }
    #[inline(always)]
    fn dot<I: Isa>(a: &[Self], b: &[Self]) -> V<T, I> {
        use super::lanes::Arithmetic;
        let mut sum = V::<T, I>::zero();
        in_blocks!(I, a.len(), |first, B| {
            let row = Registers::<T, I, B>::load(&a[first..]);
            sum = sum.add(row.dot(&Registers::load(&b[first..])));
        });
        sum
    }
    fn full(_: &[Self]) -> &[[T; LANES]] {
        unreachable!("rows of GATv2 have full precision")
    }
}

/// Returns the number of single precision whose upper half is given.
#[inline(always)]
pub fn widened<T: SimdReal>(half: u16) -> T {
    T::from_f64(f64::from(f32::from_bits(u32::from(half) << 16)))
}

/// Rounds a number to the nearest bfloat16, of two equally near ones to the even one; NaN remains NaN.
#[inline(always)]
fn rounded<T: SimdReal>(value: T) -> u16 {
    let value = value.to_f64() as f32;
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1));
    (if value.is_nan() { bits | 0x40_0000 } else { rounded } >> 16) as u16
}

/// Rounds numbers to bfloat16.
pub fn round<T: SimdReal>(values: &[T], out: &mut [u16]) {
    struct Round<'a, T>(&'a [T], &'a mut [u16]);
    impl<T: SimdReal> Kernel for Round<'_, T> {
        type Number = T;
        type Output = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            for (values, out) in vectors(self.0).iter().zip(self.1.as_chunks_mut::<LANES>().0) {
                for (value, out) in values.iter().zip(out) {
                    *out = rounded(*value);
                }
            }
        }
    }
    dispatch(Round(values, out));
}

/// Returns numbers of full precision.
pub fn widen<T: SimdReal>(halves: &[u16]) -> Vec<T> {
    halves.iter().map(|half| widened(*half)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_the_nearest_even_half() {
        let halves = |values: [f32; 8]| {
            let mut out = [0; 8];
            round(&values, &mut out);
            out
        };
        let tiny = f32::MIN_POSITIVE / 2.0;
        let values = [1.0, -2.5, 1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, f32::INFINITY, f32::MAX, tiny, 0.0];
        let expected = [1.0, -2.5, 1.0, 1.0 + 4.0 / 256.0, f32::INFINITY, f32::INFINITY, tiny, 0.0];
        assert_eq!(widen::<f32>(&halves(values)), expected);
        assert!(widen::<f32>(&halves([f32::from_bits(0x7F80_0001); 8]))[0].is_nan());
        // Numbers of double precision are rounded twice, which is exact for these.
        let mut out = [0; 8];
        round(&[0.5f64, -3.0, 1e300, 0.0, 1.0, 2.0, 4.0, 8.0], &mut out);
        assert_eq!(widen::<f64>(&out), [0.5, -3.0, f64::INFINITY, 0.0, 1.0, 2.0, 4.0, 8.0]);
    }
}
