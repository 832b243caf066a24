//! Dropout as bits: one random bit mask per step, shared by forward and backward.
//!
//! A value is kept if a random 16-bit number is at least round(2^16 p). Kept values are scaled by the inverse
//! of the exact probability of being kept, so the expectation is unchanged.

use super::parts::{Rows, for_each_chunk};
use super::simd::{Isa, KEEP_BYTES, Kernel, dispatch};
use supergat_core::device::Host;
use supergat_core::random::Stream;
use supergat_core::stopwatch::timed;
use supergat_core::{Dropout, Real};

/// A dropout mask: a bit for each value, and the factor of kept values.
#[derive(Debug, Clone, Copy)]
pub struct Mask<'a, T> {
    /// Whether value `k` is kept: bit `k % 8` of byte `k / 8`.
    pub keep: &'a [u8],
    /// Factor of kept values.
    pub scale: T,
}

impl<'a, T: Real> Mask<'a, T> {
    /// Returns the mask of a device whose memory is that of the CPU.
    pub fn of<D: Host<Element = T>>(mask: supergat_core::device::Mask<'a, D>) -> Self {
        Self { keep: mask.keep, scale: mask.dropout.scale() }
    }

    /// Returns at least 56 bits from bit `first` on, padded with zeros at the end of the mask.
    #[inline(always)]
    pub fn bits(&self, first: usize) -> u64 {
        let bytes = &self.keep[first / 8..];
        let word = match bytes.first_chunk::<8>() {
            Some(word) => *word,
            None => {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                word
            }
        };
        u64::from_le_bytes(word) >> (first % 8)
    }
}

/// Masks of a dropout probability.
pub trait DropoutMask {
    /// Fills all bytes with random bits of this probability. Byte b depends on block b of the stream only.
    fn fill(&self, stream: Stream, bytes: &mut [u8]);
    /// Like [`DropoutMask::fill`], for bytes from number `start` on.
    fn fill_from(&self, stream: Stream, start: u64, bytes: &mut [u8]);
    /// Fills a byte per vector, like [`DropoutMask::fill`], where lanes l and l + `heads` belong to the same head
    /// and share a bit.
    fn fill_heads(&self, stream: Stream, heads: usize, bytes: &mut [u8]);
    /// Like [`DropoutMask::fill_heads`], for bytes from number `start` on.
    fn fill_heads_from(&self, stream: Stream, heads: usize, start: u64, bytes: &mut [u8]);
    /// Like [`DropoutMask::fill_heads`], for groups of `width` bytes: group k is number `places[k]` among all groups.
    fn fill_heads_at(&self, stream: Stream, heads: usize, width: usize, places: &[u64], bytes: &mut [u8]);
}

impl DropoutMask for Dropout {
    fn fill(&self, stream: Stream, bytes: &mut [u8]) {
        self.fill_from(stream, 0, bytes);
    }

    fn fill_from(&self, stream: Stream, start: u64, bytes: &mut [u8]) {
        const CHUNK: usize = 2048;
        timed("dropout", || {
            for_each_chunk(bytes.len(), CHUNK, Rows { data: bytes, width: 1 }, &|range, bytes| {
                let (first, threshold) = (start + range.start as u64, self.threshold());
                dispatch(Fill { stream, first, threshold, bytes: bytes.data });
            });
        });
    }

    fn fill_heads(&self, stream: Stream, heads: usize, bytes: &mut [u8]) {
        self.fill(stream, bytes);
        repeat_heads(heads, bytes);
    }

    fn fill_heads_from(&self, stream: Stream, heads: usize, start: u64, bytes: &mut [u8]) {
        self.fill_from(stream, start, bytes);
        repeat_heads(heads, bytes);
    }

    fn fill_heads_at(&self, stream: Stream, heads: usize, width: usize, places: &[u64], bytes: &mut [u8]) {
        let chunk = (1 << 12) / width.max(1);
        for_each_chunk(places.len(), chunk.max(1), Rows { data: bytes, width }, &|range, bytes| {
            for (bytes, place) in bytes.data.chunks_exact_mut(width).zip(&places[range]) {
                for (b, byte) in bytes.iter_mut().enumerate() {
                    *byte = self.byte(&stream, place * width as u64 + b as u64);
                }
            }
        });
        repeat_heads(heads, bytes);
    }
}

fn repeat_heads(heads: usize, bytes: &mut [u8]) {
    let repeat = match heads {
        1 => 0xFF,
        2 => 0x55,
        4 => 0x11,
        _ => return,
    };
    let own = (1u8 << heads) - 1;
    for_each_chunk(bytes.len(), 1 << 14, Rows { data: bytes, width: 1 }, &|_, bytes| {
        bytes.data.iter_mut().for_each(|b| *b = (*b & own) * repeat);
    });
}

struct Fill<'a> {
    stream: Stream,
    first: u64,
    threshold: u16,
    bytes: &'a mut [u8],
}

impl Kernel for Fill<'_> {
    type Number = f32;
    type Output = ();
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        // Whole groups are stored by vector instructions; a call of `memcpy` would cost the constants in registers.
        let (groups, rest) = self.bytes.as_chunks_mut::<KEEP_BYTES>();
        let mut first = self.first;
        for bytes in groups {
            *bytes = I::keep_bytes(&self.stream, first, self.threshold);
            first += KEEP_BYTES as u64;
        }
        if !rest.is_empty() {
            rest.copy_from_slice(&I::keep_bytes(&self.stream, first, self.threshold)[..rest.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::random::Purpose;

    fn stream() -> Stream {
        Stream::new(9, 4, 1, Purpose::InputDropout)
    }

    #[test]
    fn each_byte_depends_on_its_philox_block() {
        let dropout = Dropout::new(0.6);
        let mut bytes = vec![0u8; 5003];
        dropout.fill(stream(), &mut bytes);
        for (b, &byte) in bytes.iter().enumerate() {
            let block = stream().block(b as u64);
            for bit in 0..8 {
                let half = block[bit / 2] >> (16 * (bit % 2)) & 0xFFFF;
                assert_eq!(byte >> bit & 1 == 1, half >= 39322, "byte {b} bit {bit}");
            }
        }
    }

    #[test]
    fn bytes_can_be_drawn_anywhere() {
        let dropout = Dropout::new(0.6);
        let mut all = vec![0u8; 300];
        let mut some = vec![0u8; 40];
        for heads in [1, 2, 4, 8] {
            dropout.fill_heads(stream(), heads, &mut all);
            dropout.fill_heads_from(stream(), heads, 133, &mut some);
            assert_eq!(some, all[133..173]);
            let places = [7, 0, 99, 12];
            dropout.fill_heads_at(stream(), heads, 3, &places, &mut some[..12]);
            for (bytes, place) in some.chunks(3).zip(places) {
                assert_eq!(bytes, &all[3 * place as usize..][..3]);
            }
        }
    }

    #[test]
    fn keeps_expected_share_of_values() {
        let mut bytes = vec![0u8; 100_000];
        for p in [0.2, 0.5, 0.6] {
            Dropout::new(p).fill(stream(), &mut bytes);
            let kept = bytes.iter().map(|b| f64::from(b.count_ones())).sum::<f64>() / 800_000.0;
            assert!((kept - (1.0 - p)).abs() < 0.003, "{p}: {kept}");
            assert!((Dropout::new(p).scale::<f64>() - 1.0 / (1.0 - p)).abs() < 1e-4);
        }
    }

    #[test]
    fn lanes_of_a_head_share_a_bit() {
        let mut bytes = vec![0u8; 1000];
        for (heads, allowed) in [(1, 2), (2, 4), (4, 16), (8, 256)] {
            Dropout::new(0.5).fill_heads(stream(), heads, &mut bytes);
            let kinds: std::collections::BTreeSet<u8> = bytes.iter().copied().collect();
            assert!(kinds.len() <= allowed && kinds.len() > allowed / 2);
            assert!(bytes.iter().all(|b| b.rotate_left(heads as u32) == *b));
        }
    }
}
