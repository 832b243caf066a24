//! Dropout as bits.
//!
//! A value is kept if a random 16-bit number is at least round(2^16 p). Kept values are scaled by the inverse
//! of the exact probability of being kept, so the expectation is unchanged.

use crate::random::Stream;
use crate::real::Real;

/// A dropout probability with a resolution of 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropout {
    threshold: u16,
}

impl Dropout {
    /// Creates dropout with `probability` of dropping a value, in [0, 1).
    #[inline]
    pub fn new(probability: f64) -> Self {
        // The conversion saturates.
        Self { threshold: (probability * 65536.0).round() as u16 }
    }

    /// Returns whether no value is ever dropped.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.threshold == 0
    }

    /// Returns the factor of kept values.
    #[inline]
    pub fn scale<T: Real>(&self) -> T {
        T::from_f64(65536.0 / (65536.0 - f64::from(self.threshold)))
    }

    /// Returns the smallest 16-bit number that keeps a value.
    #[inline]
    pub fn threshold(&self) -> u16 {
        self.threshold
    }

    /// Returns the number of bytes of the mask of a row of `columns` values: each row starts a new byte.
    #[inline]
    pub fn mask_bytes(columns: usize) -> usize {
        columns.div_ceil(8)
    }

    /// Returns byte number `index` of a mask. It depends on block `index` of the stream only.
    #[inline]
    pub fn byte(&self, stream: &Stream, index: u64) -> u8 {
        let block = stream.block(index);
        let keeps = |bit: usize| (block[bit / 2] >> (16 * (bit % 2)) & 0xFFFF) as u16 >= self.threshold;
        (0..8).map(|bit| u8::from(keeps(bit)) << bit).sum()
    }
}
