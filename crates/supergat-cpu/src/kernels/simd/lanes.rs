//! Traits of numbers, of vectors of eight numbers, and of instruction sets. They refer to each other, so they
//! share a file.

use supergat_core::Real;
use supergat_core::heads::LANES;
use supergat_core::random::{Permutation, Stream};

/// A number with vectors in every instruction set.
pub trait SimdReal: Real {
    /// Whether instruction sets have their own vectors of this type. If not, only the portable kernels are
    /// compiled.
    const HAS_VECTORS: bool;
    /// Vector of eight numbers of this type in the instruction set `I`.
    type Lanes<I: Isa>: Lanes<Item = Self>;
    /// Two vectors of eight numbers in the instruction set `I`.
    type Pair<I: Isa>: Pair<Item = Self, Half = Self::Lanes<I>>;
}

impl SimdReal for f32 {
    const HAS_VECTORS: bool = true;
    type Lanes<I: Isa> = I::F32;
    type Pair<I: Isa> = I::F32Pair;
}

impl SimdReal for f64 {
    const HAS_VECTORS: bool = false;
    type Lanes<I: Isa> = I::F64;
    type Pair<I: Isa> = [I::F64; 2];
}

/// Arithmetic of vectors. Operations are lane by lane, so results do not depend on the length of registers.
pub trait Arithmetic: Copy {
    /// Type of the numbers.
    type Item: SimdReal;

    /// Returns a vector with `value` in every lane.
    fn splat(value: Self::Item) -> Self;
    /// Adds two vectors.
    fn add(self, other: Self) -> Self;
    /// Subtracts `other`.
    fn sub(self, other: Self) -> Self;
    /// Multiplies two vectors.
    fn mul(self, other: Self) -> Self;
    /// Divides by `other`.
    fn div(self, other: Self) -> Self;
    /// Returns the larger number of each lane, or `other` where one is NaN.
    fn max(self, other: Self) -> Self;
    /// Returns `self * b + c`.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// Returns e to the power of each lane.
    fn exp(self) -> Self;
    /// Selects `yes` in lanes greater than zero, `no` in the others.
    fn if_positive(self, yes: Self, no: Self) -> Self;

    /// Returns a vector of zeros.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(Self::Item::ZERO)
    }

    /// Returns exp(-|x|), from which both sigmoid(x) and softplus(x) follow.
    #[inline(always)]
    fn exp_of_minus_abs(self) -> Self {
        let negated = Self::zero().sub(self);
        self.if_positive(negated, self).exp()
    }

    /// Returns 1 / (1 + exp(-x)).
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let one = Self::splat(Self::Item::ONE);
        one.div(one.add(Self::zero().sub(self).exp()))
    }
}

/// A vector of [`LANES`] numbers.
pub trait Lanes: Arithmetic {
    /// Loads a vector from memory.
    fn load(values: &[Self::Item; LANES]) -> Self;
    /// Returns the lanes as an array.
    fn array(self) -> [Self::Item; LANES];
    /// Returns a vector with `value` in lane l where bit l of `bits` is set, and zero elsewhere.
    fn from_bits(bits: u8, value: Self::Item) -> Self;
    /// Sums the lanes that are equal modulo `heads` (1, 2, 4 or 8) and writes each sum to all of its lanes.
    fn fold(self, heads: usize) -> Self;
    /// Returns whether any lane is not zero.
    fn any(self) -> bool;
    /// Loads a vector that is stored as bfloat16.
    fn widen(halves: &[u16; LANES]) -> Self;

    /// Returns the sum of the lanes of each vector, the bits of which are those of [`Lanes::fold`].
    #[inline(always)]
    fn sums(vectors: &[[Self::Item; LANES]; LANES]) -> Self {
        let mut sums = [Self::Item::ZERO; LANES];
        for (sum, vector) in sums.iter_mut().zip(vectors) {
            *sum = Self::load(vector).fold(1).array()[0];
        }
        Self::load(&sums)
    }
}

/// Two vectors that are next to each other in memory: one register, where the instruction set has registers that long.
pub trait Pair: Arithmetic {
    /// One of the two vectors.
    type Half: Lanes<Item = Self::Item>;
    /// Whether both vectors are in one register.
    const IS_ONE_REGISTER: bool;

    /// Returns a pair of equal vectors.
    fn both(half: Self::Half) -> Self;
    /// Returns a pair of two vectors.
    fn join(low: Self::Half, high: Self::Half) -> Self;
    /// Like [`Lanes::from_bits`], with a byte per vector.
    fn from_bits(bits: [u8; 2], value: Self::Item) -> Self;
    /// Returns the two vectors.
    fn halves(self) -> [Self::Half; 2];
    /// Loads a pair from memory.
    fn load(values: &[[Self::Item; LANES]; 2]) -> Self;
    /// Returns the lanes as arrays.
    fn arrays(self) -> [[Self::Item; LANES]; 2];
    /// Loads a pair that is stored as bfloat16.
    fn widen(halves: &[[u16; LANES]; 2]) -> Self;
    /// Returns whether any lane is not zero.
    fn any(self) -> bool;

    /// Applies [`Lanes::fold`] to both vectors.
    #[inline(always)]
    fn fold(self, heads: usize) -> Self {
        let [a, b] = self.halves();
        Self::join(a.fold(heads), b.fold(heads))
    }

    /// Returns the sums of the two vectors of `a` and of those of `b`.
    #[inline(always)]
    fn sum_each(a: Self, b: Self) -> Self {
        Self::join(a.sum(), b.sum())
    }

    /// Returns the sum of the lanes of each vector, like [`Lanes::sums`].
    #[inline(always)]
    fn sums(vectors: &[[Self::Item; LANES]; 2 * LANES]) -> Self {
        let halves = vectors.as_chunks::<LANES>().0;
        Self::join(Self::Half::sums(&halves[0]), Self::Half::sums(&halves[1]))
    }

    /// Returns the sum of the two vectors.
    #[inline(always)]
    fn sum(self) -> Self::Half {
        let [a, b] = self.halves();
        a.add(b)
    }
}

impl<X: Arithmetic> Arithmetic for [X; 2] {
    type Item = X::Item;

    #[inline(always)]
    fn splat(value: Self::Item) -> Self {
        [X::splat(value), X::splat(value)]
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        [self[0].add(other[0]), self[1].add(other[1])]
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        [self[0].sub(other[0]), self[1].sub(other[1])]
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        [self[0].mul(other[0]), self[1].mul(other[1])]
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        [self[0].div(other[0]), self[1].div(other[1])]
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        [self[0].max(other[0]), self[1].max(other[1])]
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        [self[0].mul_add(b[0], c[0]), self[1].mul_add(b[1], c[1])]
    }
    #[inline(always)]
    fn exp(self) -> Self {
        // Not `map`: a function that is passed to another is not compiled for the instruction set.
        [self[0].exp(), self[1].exp()]
    }
    #[inline(always)]
    fn if_positive(self, yes: Self, no: Self) -> Self {
        [self[0].if_positive(yes[0], no[0]), self[1].if_positive(yes[1], no[1])]
    }
}

impl<X: Lanes> Pair for [X; 2] {
    type Half = X;
    const IS_ONE_REGISTER: bool = false;

    #[inline(always)]
    fn both(half: X) -> Self {
        [half; 2]
    }
    #[inline(always)]
    fn join(low: X, high: X) -> Self {
        [low, high]
    }
    #[inline(always)]
    fn from_bits(bits: [u8; 2], value: Self::Item) -> Self {
        [X::from_bits(bits[0], value), X::from_bits(bits[1], value)]
    }
    #[inline(always)]
    fn halves(self) -> [X; 2] {
        self
    }
    #[inline(always)]
    fn load(values: &[[Self::Item; LANES]; 2]) -> Self {
        [X::load(&values[0]), X::load(&values[1])]
    }
    #[inline(always)]
    fn arrays(self) -> [[Self::Item; LANES]; 2] {
        [self[0].array(), self[1].array()]
    }
    #[inline(always)]
    fn widen(halves: &[[u16; LANES]; 2]) -> Self {
        [X::widen(&halves[0]), X::widen(&halves[1])]
    }
    #[inline(always)]
    fn any(self) -> bool {
        self[0].any() | self[1].any()
    }
}

/// Number of bytes of a dropout mask that [`Isa::keep_bytes`] computes in one call.
pub const KEEP_BYTES: usize = 32;

/// Number of cells that [`Isa::permute`] permutes in one call.
pub const CELLS: usize = 32;

/// An instruction set that kernels are compiled for.
pub trait Isa: Copy {
    /// Vector of single-precision numbers.
    type F32: Lanes<Item = f32>;
    /// Vector of double-precision numbers.
    type F64: Lanes<Item = f64>;
    /// Two vectors of single-precision numbers.
    type F32Pair: Pair<Item = f32, Half = Self::F32>;
    /// Whether loops over rows are inlined and unrolled into kernels. A fallback for old processors favours
    /// short code, which compiles faster.
    const UNROLLED: bool;

    /// Computes bytes of a dropout mask from the Philox blocks from `first` on. Bit b of a byte is set if the
    /// b-th 16-bit number of its block, counted from the low half of the first word, is at least `threshold`.
    #[inline(always)]
    fn keep_bytes(stream: &Stream, first: u64, threshold: u16) -> [u8; KEEP_BYTES] {
        let mut bytes = [0; KEEP_BYTES];
        for (l, byte) in bytes.iter_mut().enumerate() {
            let block = stream.block(first + l as u64);
            for (w, word) in block.into_iter().enumerate() {
                *byte |= u8::from(word as u16 >= threshold) << (2 * w);
                *byte |= u8::from((word >> 16) as u16 >= threshold) << (2 * w + 1);
            }
        }
        bytes
    }

    /// Returns the lowest bits in the places of the set bits of `places`, from the lowest.
    #[inline(always)]
    fn deposit(mut bits: u64, mut places: u64) -> u64 {
        let mut found = 0;
        while places != 0 {
            found |= (bits & 1).wrapping_neg() & places & places.wrapping_neg();
            (bits, places) = (bits >> 1, places & (places - 1));
        }
        found
    }

    /// Applies [`Permutation::step`] to cells, given as their rows and their columns.
    #[inline(always)]
    fn permute(permutation: &Permutation, [rows, columns]: &mut [[u32; CELLS]; 2]) {
        for (row, column) in rows.iter_mut().zip(columns) {
            [*row, *column] = permutation.step([*row, *column]);
        }
    }
}

/// Vector of numbers of type `T` in the instruction set `I`.
pub type V<T, I> = <T as SimdReal>::Lanes<I>;
/// Two vectors of numbers of type `T` in the instruction set `I`.
pub type P<T, I> = <T as SimdReal>::Pair<I>;
