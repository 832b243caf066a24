//! Vectors of eight numbers in AVX2 registers: one of single precision, two of double precision.

use super::lanes::{Arithmetic, CELLS, Isa, KEEP_BYTES, Lanes};
use super::portable::Plain;
use std::arch::x86_64::*;
use supergat_core::heads::LANES;
use supergat_core::random::{MIX, Permutation, Stream};

/// Calls intrinsics that need AVX2 and FMA.
macro_rules! intrinsics {
    ($body:expr) => {
        // SAFETY: `dispatch` chooses `Avx2` only after detecting its features; all memory is accessed through
        // references.
        unsafe { $body }
    };
}

/// x86-64 with AVX2 and FMA.
#[derive(Debug, Clone, Copy)]
pub struct Avx2;

impl Isa for Avx2 {
    type F32 = Single;
    type F64 = Double;
    type F32Pair = [Single; 2];
    const UNROLLED: bool = true;

    /// Computes four Philox blocks in a register. Each 32-bit word is the low half of a 64-bit lane: the
    /// multiplication of 32-bit numbers reads the low halves and writes whole lanes. Upper halves left by
    /// products are never read.
    #[inline(always)]
    fn keep_bytes(stream: &Stream, first: u64, threshold: u16) -> [u8; KEEP_BYTES] {
        let (key, [step, tag]) = stream.words();
        let mut bytes = [0; KEEP_BYTES];
        for (eight, bytes) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let index: [u64; 8] = std::array::from_fn(|l| first + (8 * eight + l) as u64);
            let [mut k0, mut k1] = key;
            let mut lanes = [0u64; 8];
            intrinsics!({
                let start = index.as_chunks::<4>().0;
                let mut c0 = [0, 1].map(|h| _mm256_loadu_si256(start[h].as_ptr().cast()));
                let mut c1 = c0.map(|c| _mm256_srli_epi64::<32>(c));
                let (mut c2, mut c3) = ([splat(step); 2], [splat(tag); 2]);
                for _ in 0..10 {
                    for h in 0..2 {
                        let p0 = _mm256_mul_epu32(c0[h], splat(0xD251_1F53));
                        let p1 = _mm256_mul_epu32(c2[h], splat(0xCD9E_8D57));
                        c0[h] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64::<32>(p1), c1[h]), splat(k0));
                        c2[h] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64::<32>(p0), c3[h]), splat(k1));
                        (c1[h], c3[h]) = (p1, p0);
                    }
                    k0 = k0.wrapping_add(0x9E37_79B9);
                    k1 = k1.wrapping_add(0xBB67_AE85);
                }
                let threshold = _mm256_set1_epi16(threshold as i16);
                for (h, lanes) in lanes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                    let mut bits = _mm256_setzero_si256();
                    for (w, word) in [c0[h], c1[h], c2[h], c3[h]].into_iter().enumerate() {
                        // Unsigned >= of 16-bit numbers: the low half of a word sets bit 2w, the high half
                        // bit 16 + 2w + 1.
                        let reached = _mm256_cmpeq_epi16(_mm256_max_epu16(word, threshold), word);
                        let place = splat(1 << (2 * w) | 1 << (16 + 2 * w + 1));
                        bits = _mm256_or_si256(bits, _mm256_and_si256(reached, place));
                    }
                    let bits = _mm256_or_si256(bits, _mm256_srli_epi64::<16>(bits));
                    _mm256_storeu_si256(lanes.as_mut_ptr().cast(), bits);
                }
            });
            *bytes = lanes.map(|lane| lane as u8);
        }
        bytes
    }

    /// Permutes four cells per register, laid out as in `keep_bytes`; see `random::Permutation` for the rounds. Four
    /// registers are independent of each other, which hides the latency of the products.
    #[inline(always)]
    fn permute(permutation: &Permutation, [rows, columns]: &mut [[u32; CELLS]; 2]) {
        let [row_side, column_side] = permutation.sides().map(splat);
        let sixteens = rows.as_chunks_mut::<16>().0.iter_mut().zip(columns.as_chunks_mut::<16>().0);
        for (rows, columns) in sixteens {
            let mut cells = [[splat(0); 2]; 4];
            for (k, [row, column]) in cells.iter_mut().enumerate() {
                (*row, *column) = (widen(&rows[4 * k..]), widen(&columns[4 * k..]));
            }
            for keys in permutation.keys().as_chunks::<2>().0 {
                for [row, column] in &mut cells {
                    *row = shifted(*row, *column, splat(keys[0]), row_side);
                }
                for [row, column] in &mut cells {
                    *column = shifted(*column, *row, splat(keys[1]), column_side);
                }
            }
            for (k, [row, column]) in cells.into_iter().enumerate() {
                narrow(row, &mut rows[4 * k..]);
                narrow(column, &mut columns[4 * k..]);
            }
        }
    }
}

#[inline(always)]
fn splat(word: u32) -> __m256i {
    intrinsics!(_mm256_set1_epi64x(i64::from(word)))
}

#[inline(always)]
fn widen(words: &[u32]) -> __m256i {
    let words: &[u32; 4] = words.first_chunk().expect("four numbers");
    intrinsics!(_mm256_cvtepu32_epi64(_mm_loadu_si128(words.as_ptr().cast())))
}

/// Stores the low halves of four 64-bit lanes.
#[inline(always)]
fn narrow(words: __m256i, to: &mut [u32]) {
    let to: &mut [u32; 4] = to.first_chunk_mut().expect("four numbers");
    intrinsics!({
        let low = _mm256_permutevar8x32_epi32(words, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
        _mm_storeu_si128(to.as_mut_ptr().cast(), _mm256_castsi256_si128(low));
    });
}

/// Computes `random::shifted` for four numbers.
#[inline(always)]
fn shifted(value: __m256i, other: __m256i, key: __m256i, side: __m256i) -> __m256i {
    intrinsics!({
        let product = _mm256_mul_epu32(_mm256_xor_si256(other, key), splat(MIX));
        let hash = _mm256_xor_si256(product, _mm256_srli_epi64::<32>(product));
        let sum = _mm256_add_epi64(value, _mm256_srli_epi64::<32>(_mm256_mul_epu32(hash, side)));
        _mm256_min_epu32(sum, _mm256_sub_epi64(sum, side))
    })
}

/// Eight numbers in a register. Values exist only inside kernels that `dispatch` runs after detecting AVX2
/// and FMA.
#[derive(Debug, Clone, Copy)]
pub struct Single(pub(super) __m256);

impl Arithmetic for Single {
    type Item = f32;
    #[inline(always)]
    fn splat(value: f32) -> Self {
        intrinsics!(Self(_mm256_set1_ps(value)))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        intrinsics!(Self(_mm256_add_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        intrinsics!(Self(_mm256_sub_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        intrinsics!(Self(_mm256_mul_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        intrinsics!(Self(_mm256_div_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        intrinsics!(Self(_mm256_max_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        intrinsics!(Self(_mm256_fmadd_ps(self.0, b.0, c.0)))
    }
    /// Computes the formula of `SimdReal::exp` lane by lane.
    #[inline(always)]
    fn exp(self) -> Self {
        intrinsics!({
            // This order of operands propagates NaN. Numbers below the range need no bound: their result is zero.
            let x = _mm256_min_ps(_mm256_set1_ps(88.0), self.0);
            let shift = _mm256_set1_ps(12_582_912.0);
            let shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(std::f32::consts::LOG2_E), shift);
            let n = _mm256_sub_ps(shifted, shift);
            let r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693_359_4), x);
            let r = _mm256_fmadd_ps(n, _mm256_set1_ps(2.121_944_4e-4), r);
            let mut p = _mm256_set1_ps(1.0 / 5040.0);
            for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
                p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(c));
            }
            let bits = _mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(127));
            let power = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(bits));
            let underflow = _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, _mm256_set1_ps(-87.0));
            Self(_mm256_andnot_ps(underflow, _mm256_mul_ps(p, power)))
        })
    }
    #[inline(always)]
    fn if_positive(self, yes: Self, no: Self) -> Self {
        intrinsics!(Self(_mm256_blendv_ps(no.0, yes.0, _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, _mm256_setzero_ps()))))
    }
}

impl Lanes for Single {
    #[inline(always)]
    fn load(values: &[f32; LANES]) -> Self {
        intrinsics!(Self(_mm256_loadu_ps(values.as_ptr())))
    }
    #[inline(always)]
    fn array(self) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        intrinsics!(_mm256_storeu_ps(out.as_mut_ptr(), self.0));
        out
    }
    #[inline(always)]
    fn from_bits(bits: u8, value: f32) -> Self {
        intrinsics!({
            let lane_bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let set = _mm256_and_si256(_mm256_set1_epi32(i32::from(bits)), lane_bits);
            let chosen = _mm256_cmpeq_epi32(set, lane_bits);
            Self(_mm256_and_ps(_mm256_castsi256_ps(chosen), _mm256_set1_ps(value)))
        })
    }
    #[inline(always)]
    fn fold(self, heads: usize) -> Self {
        intrinsics!({
            let mut v = self.0;
            if heads <= 4 {
                v = _mm256_add_ps(v, _mm256_permute2f128_ps::<0x01>(v, v));
            }
            if heads <= 2 {
                v = _mm256_add_ps(v, _mm256_shuffle_ps::<0b01_00_11_10>(v, v));
            }
            if heads == 1 {
                v = _mm256_add_ps(v, _mm256_shuffle_ps::<0b10_11_00_01>(v, v));
            }
            Self(v)
        })
    }
    #[inline(always)]
    fn widen(halves: &[u16; LANES]) -> Self {
        intrinsics!({
            let words = _mm256_cvtepu16_epi32(_mm_loadu_si128(halves.as_ptr().cast()));
            Self(_mm256_castsi256_ps(_mm256_slli_epi32::<16>(words)))
        })
    }
    #[inline(always)]
    fn any(self) -> bool {
        intrinsics!(_mm256_movemask_ps(_mm256_cmp_ps::<_CMP_NEQ_UQ>(self.0, _mm256_setzero_ps())) != 0)
    }
    /// Adds halves, then quarters, then single lanes of all vectors, which stay in order.
    #[inline(always)]
    fn sums(vectors: &[[f32; LANES]; LANES]) -> Self {
        intrinsics!({
            let mut halves = [_mm256_setzero_ps(); 4];
            for (k, sum) in halves.iter_mut().enumerate() {
                let (a, b) = (Self::load(&vectors[k]).0, Self::load(&vectors[k + 4]).0);
                let (low, high) = (_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
                *sum = _mm256_add_ps(low, high);
            }
            let mut quarters = [_mm256_setzero_ps(); 2];
            for (k, sum) in quarters.iter_mut().enumerate() {
                let (a, b) = (halves[2 * k], halves[2 * k + 1]);
                *sum = _mm256_add_ps(_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xEE>(a, b));
            }
            let [a, b] = quarters;
            Self(_mm256_add_ps(_mm256_shuffle_ps::<0x88>(a, b), _mm256_shuffle_ps::<0xDD>(a, b)))
        })
    }
}

/// Eight numbers in two registers. Every operation rounds as [`Plain`] does, so principal components have the
/// same bits on every processor; in particular, multiplication and addition are not fused.
#[derive(Debug, Clone, Copy)]
pub struct Double([__m256d; 2]);

impl Double {
    #[inline(always)]
    fn plain(self) -> Plain<f64> {
        Plain::load(&self.array())
    }
}

impl Arithmetic for Double {
    type Item = f64;
    #[inline(always)]
    fn splat(value: f64) -> Self {
        intrinsics!(Self([_mm256_set1_pd(value); 2]))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        intrinsics!(Self([_mm256_add_pd(a, c), _mm256_add_pd(b, d)]))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        intrinsics!(Self([_mm256_sub_pd(a, c), _mm256_sub_pd(b, d)]))
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        intrinsics!(Self([_mm256_mul_pd(a, c), _mm256_mul_pd(b, d)]))
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        intrinsics!(Self([_mm256_div_pd(a, c), _mm256_div_pd(b, d)]))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        intrinsics!(Self([_mm256_max_pd(a, c), _mm256_max_pd(b, d)]))
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        self.mul(b).add(c)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        Self::load(&self.plain().exp().array())
    }
    #[inline(always)]
    fn if_positive(self, yes: Self, no: Self) -> Self {
        Self::load(&self.plain().if_positive(yes.plain(), no.plain()).array())
    }
}

impl Lanes for Double {
    #[inline(always)]
    fn load(values: &[f64; LANES]) -> Self {
        let (low, high) = values.split_at(LANES / 2);
        intrinsics!(Self([_mm256_loadu_pd(low.as_ptr()), _mm256_loadu_pd(high.as_ptr())]))
    }
    #[inline(always)]
    fn array(self) -> [f64; LANES] {
        let mut out = [0.0; LANES];
        let (low, high) = out.split_at_mut(LANES / 2);
        intrinsics!({
            _mm256_storeu_pd(low.as_mut_ptr(), self.0[0]);
            _mm256_storeu_pd(high.as_mut_ptr(), self.0[1]);
        });
        out
    }
    #[inline(always)]
    fn from_bits(bits: u8, value: f64) -> Self {
        Self::load(&Plain::from_bits(bits, value).array())
    }
    #[inline(always)]
    fn fold(self, heads: usize) -> Self {
        Self::load(&self.plain().fold(heads).array())
    }
    #[inline(always)]
    fn widen(halves: &[u16; LANES]) -> Self {
        Self::load(&Plain::widen(halves).array())
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.plain().any()
    }
}
