//! Integers in 512-bit registers, for dropout masks and samples, and pairs of vectors, for products of matrices and two
//! edges at a time. Single vectors of floating-point numbers are those of AVX2, because a vector has eight heads.

use super::avx2::{Double, Single};
use super::lanes::{Arithmetic, CELLS, Isa, KEEP_BYTES, Pair};
use std::arch::x86_64::*;
use supergat_core::heads::LANES;
use supergat_core::random::{MIX, Permutation, Stream};

/// Calls intrinsics that need AVX-512 F and BW, or BMI2.
macro_rules! intrinsics {
    ($body:expr) => {
        // SAFETY: `dispatch` chooses `Avx512` only after detecting its features; all memory is accessed
        // through references.
        unsafe { $body }
    };
}

/// x86-64 with AVX-512 F, VL, DQ and BW, and BMI2.
#[derive(Debug, Clone, Copy)]
pub struct Avx512;

impl Isa for Avx512 {
    type F32 = Single;
    type F64 = Double;
    type F32Pair = Wide;
    const UNROLLED: bool = true;

    #[inline(always)]
    fn deposit(bits: u64, places: u64) -> u64 {
        intrinsics!(_pdep_u64(bits, places))
    }

    /// Computes eight Philox blocks in a register, laid out as in `avx2`. The registers are independent of each other,
    /// which hides the latency of the products.
    #[inline(always)]
    fn keep_bytes(stream: &Stream, first: u64, threshold: u16) -> [u8; KEEP_BYTES] {
        let ([mut k0, mut k1], [step, tag]) = stream.words();
        let mut bytes = [0; KEEP_BYTES];
        intrinsics!({
            let mut blocks = [[splat(step), splat(step), splat(step), splat(tag)]; KEEP_BYTES / 8];
            for (h, [c0, c1, ..]) in blocks.iter_mut().enumerate() {
                let start = _mm512_set1_epi64((first + 8 * h as u64) as i64);
                *c0 = _mm512_add_epi64(start, _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
                *c1 = _mm512_srli_epi64::<32>(*c0);
            }
            for _ in 0..10 {
                for [c0, c1, c2, c3] in &mut blocks {
                    let p0 = _mm512_mul_epu32(*c0, splat(0xD251_1F53));
                    let p1 = _mm512_mul_epu32(*c2, splat(0xCD9E_8D57));
                    *c0 = xor3(_mm512_srli_epi64::<32>(p1), *c1, splat(k0));
                    *c2 = xor3(_mm512_srli_epi64::<32>(p0), *c3, splat(k1));
                    (*c1, *c3) = (p1, p0);
                }
                k0 = k0.wrapping_add(0x9E37_79B9);
                k1 = k1.wrapping_add(0xBB67_AE85);
            }
            let threshold = _mm512_set1_epi16(threshold as i16);
            for (words, bytes) in blocks.iter().zip(bytes.as_chunks_mut::<8>().0) {
                let mut bits = _mm512_setzero_si512();
                for (w, word) in words.iter().enumerate() {
                    let place = splat(1 << (2 * w) | 1 << (16 + 2 * w + 1));
                    let reached = _mm512_cmpge_epu16_mask(*word, threshold);
                    bits = _mm512_or_si512(bits, _mm512_maskz_mov_epi16(reached, place));
                }
                let bits = _mm512_or_si512(bits, _mm512_srli_epi64::<16>(bits));
                *bytes = _mm_cvtsi128_si64(_mm512_cvtepi64_epi8(bits)).to_le_bytes();
            }
        });
        bytes
    }

    /// Permutes eight cells per register; see `random::Permutation` for the rounds. The registers are independent of each
    /// other, which hides the latency of the products.
    #[inline(always)]
    fn permute(permutation: &Permutation, [rows, columns]: &mut [[u32; CELLS]; 2]) {
        let [row_side, column_side] = permutation.sides().map(splat);
        let mut cells = [[splat(0); 2]; CELLS / LANES];
        for (k, [row, column]) in cells.iter_mut().enumerate() {
            (*row, *column) = (widen(&rows[k * LANES..]), widen(&columns[k * LANES..]));
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
            narrow(row, &mut rows[k * LANES..]);
            narrow(column, &mut columns[k * LANES..]);
        }
    }
}

/// Sixteen numbers of single precision in a register.
#[derive(Debug, Clone, Copy)]
pub struct Wide(__m512);

impl Arithmetic for Wide {
    type Item = f32;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self(intrinsics!(_mm512_set1_ps(value)))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(intrinsics!(_mm512_add_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(intrinsics!(_mm512_sub_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(intrinsics!(_mm512_mul_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self(intrinsics!(_mm512_div_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(intrinsics!(_mm512_max_ps(self.0, other.0)))
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Self(intrinsics!(_mm512_fmadd_ps(self.0, b.0, c.0)))
    }
    /// Computes the formula of `SimdReal::exp` lane by lane, as [`Single`] does.
    #[inline(always)]
    fn exp(self) -> Self {
        intrinsics!({
            // This order of operands propagates NaN. Numbers below the range need no bound: their result is zero.
            let x = _mm512_min_ps(_mm512_set1_ps(88.0), self.0);
            let shift = _mm512_set1_ps(12_582_912.0);
            let shifted = _mm512_fmadd_ps(x, _mm512_set1_ps(std::f32::consts::LOG2_E), shift);
            let n = _mm512_sub_ps(shifted, shift);
            let r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693_359_4), x);
            let r = _mm512_fmadd_ps(n, _mm512_set1_ps(2.121_944_4e-4), r);
            let mut p = _mm512_set1_ps(1.0 / 5040.0);
            for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
                p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(c));
            }
            let is_inside = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(self.0, _mm512_set1_ps(-87.0));
            Self(_mm512_maskz_scalef_ps(is_inside, p, n))
        })
    }
    #[inline(always)]
    fn if_positive(self, yes: Self, no: Self) -> Self {
        intrinsics!({
            let positive = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, _mm512_setzero_ps());
            Self(_mm512_mask_blend_ps(positive, no.0, yes.0))
        })
    }
}

impl Pair for Wide {
    type Half = Single;
    const IS_ONE_REGISTER: bool = true;

    #[inline(always)]
    fn both(half: Single) -> Self {
        Self(intrinsics!(_mm512_broadcast_f32x8(half.0)))
    }
    #[inline(always)]
    fn join(low: Single, high: Single) -> Self {
        Self(intrinsics!(_mm512_insertf32x8::<1>(_mm512_castps256_ps512(low.0), high.0)))
    }
    #[inline(always)]
    fn from_bits(bits: [u8; 2], value: f32) -> Self {
        Self(intrinsics!(_mm512_maskz_mov_ps(u16::from_le_bytes(bits), _mm512_set1_ps(value))))
    }
    #[inline(always)]
    fn halves(self) -> [Single; 2] {
        intrinsics!([Single(_mm512_castps512_ps256(self.0)), Single(_mm512_extractf32x8_ps::<1>(self.0))])
    }
    #[inline(always)]
    fn load(values: &[[f32; LANES]; 2]) -> Self {
        Self(intrinsics!(_mm512_loadu_ps(values.as_flattened().as_ptr())))
    }
    #[inline(always)]
    fn arrays(self) -> [[f32; LANES]; 2] {
        let mut lanes = [[0.0; LANES]; 2];
        intrinsics!(_mm512_storeu_ps(lanes.as_flattened_mut().as_mut_ptr(), self.0));
        lanes
    }
    #[inline(always)]
    fn widen(halves: &[[u16; LANES]; 2]) -> Self {
        intrinsics!({
            let words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(halves.as_ptr().cast()));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(words)))
        })
    }
    #[inline(always)]
    fn any(self) -> bool {
        intrinsics!(_mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(self.0, _mm512_setzero_ps()) != 0)
    }
    #[inline(always)]
    fn fold(self, heads: usize) -> Self {
        intrinsics!({
            let mut v = self.0;
            if heads <= 4 {
                v = _mm512_add_ps(v, _mm512_shuffle_f32x4::<0b10_11_00_01>(v, v));
            }
            if heads <= 2 {
                v = _mm512_add_ps(v, _mm512_shuffle_ps::<0b01_00_11_10>(v, v));
            }
            if heads == 1 {
                v = _mm512_add_ps(v, _mm512_shuffle_ps::<0b10_11_00_01>(v, v));
            }
            Self(v)
        })
    }
    #[inline(always)]
    fn sum_each(a: Self, b: Self) -> Self {
        let (low, high) = intrinsics!((
            _mm512_shuffle_f32x4::<0b01_00_01_00>(a.0, b.0),
            _mm512_shuffle_f32x4::<0b11_10_11_10>(a.0, b.0)
        ));
        Self(low).add(Self(high))
    }
    /// Adds halves, then quarters, then single lanes of all vectors, and brings the sums into order.
    #[inline(always)]
    fn sums(vectors: &[[f32; LANES]; 2 * LANES]) -> Self {
        let pairs = vectors.as_chunks::<2>().0;
        intrinsics!({
            let mut halves = [_mm512_setzero_ps(); 4];
            for (k, sum) in halves.iter_mut().enumerate() {
                let (a, b) = (Self::load(&pairs[2 * k]).0, Self::load(&pairs[2 * k + 1]).0);
                let (low, high) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xDD>(a, b));
                *sum = _mm512_add_ps(low, high);
            }
            let mut quarters = [_mm512_setzero_ps(); 2];
            for (k, sum) in quarters.iter_mut().enumerate() {
                let (a, b) = (halves[2 * k], halves[2 * k + 1]);
                *sum = _mm512_add_ps(_mm512_shuffle_ps::<0x44>(a, b), _mm512_shuffle_ps::<0xEE>(a, b));
            }
            let [a, b] = quarters;
            let sums = _mm512_add_ps(_mm512_shuffle_ps::<0x88>(a, b), _mm512_shuffle_ps::<0xDD>(a, b));
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            Self(_mm512_permutexvar_ps(order, sums))
        })
    }
}

#[inline(always)]
fn splat(word: u32) -> __m512i {
    intrinsics!(_mm512_set1_epi64(i64::from(word)))
}

#[inline(always)]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    intrinsics!(_mm512_ternarylogic_epi64::<0x96>(a, b, c))
}

#[inline(always)]
fn widen(words: &[u32]) -> __m512i {
    let words: &[u32; LANES] = words.first_chunk().expect("eight numbers");
    intrinsics!(_mm512_cvtepu32_epi64(_mm256_loadu_si256(words.as_ptr().cast())))
}

#[inline(always)]
fn narrow(words: __m512i, to: &mut [u32]) {
    let to: &mut [u32; LANES] = to.first_chunk_mut().expect("eight numbers");
    intrinsics!(_mm256_storeu_si256(to.as_mut_ptr().cast(), _mm512_cvtepi64_epi32(words)));
}

/// Computes `random::shifted` for eight numbers.
#[inline(always)]
fn shifted(value: __m512i, other: __m512i, key: __m512i, side: __m512i) -> __m512i {
    intrinsics!({
        let product = _mm512_mul_epu32(_mm512_xor_si512(other, key), splat(MIX));
        let hash = _mm512_xor_si512(product, _mm512_srli_epi64::<32>(product));
        let sum = _mm512_add_epi64(value, _mm512_srli_epi64::<32>(_mm512_mul_epu32(hash, side)));
        _mm512_min_epu32(sum, _mm512_sub_epi64(sum, side))
    })
}
