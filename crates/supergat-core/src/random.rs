//! Counter-based random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
//! 3", 2011).
//!
//! A [`Stream`] is identified by (seed, step, layer, purpose); each element is a pure function of these and
//! its index. Threads may read elements in any order, so masks and samples do not depend on the number of
//! threads. There is no global state.

/// Computes the Philox 4x32-10 bijection: maps the 128 bits of `counter` to 128 random bits under `key`.
#[inline(always)]
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        counter = round(counter, key);
        key[0] = key[0].wrapping_add(0x9E37_79B9);
        key[1] = key[1].wrapping_add(0xBB67_AE85);
    }
    counter
}

#[inline(always)]
fn round(c: [u32; 4], k: [u32; 2]) -> [u32; 4] {
    let p0 = u64::from(c[0]) * 0xD251_1F53;
    let p1 = u64::from(c[2]) * 0xCD9E_8D57;
    [(p1 >> 32) as u32 ^ c[1] ^ k[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k[1], p0 as u32]
}

/// Purpose of a stream of random numbers. The discriminants determine the random numbers: never renumber
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Purpose {
    /// Initial weights.
    Weights = 0,
    /// Initial attention vectors.
    AttentionVectors = 1,
    /// Dropout of a layer's input.
    InputDropout = 2,
    /// Dropout of attention coefficients.
    AttentionDropout = 3,
    /// Sampled edges of the edge loss.
    PositiveEdges = 4,
    /// Sampled non-edges of the edge loss.
    NegativePairs = 5,
    /// Order of the graphs within an epoch.
    GraphOrder = 6,
    /// Random train/validation/test splits.
    Split = 7,
    /// Edges of generated graphs.
    SyntheticEdges = 8,
    /// Features of generated graphs.
    SyntheticFeatures = 9,
    /// Labels of generated graphs.
    SyntheticLabels = 10,
    /// Unlinked rivals of edges in the contrast loss.
    ContrastRivals = 11,
    /// Linked rivals of other classes in the boundary loss.
    BoundaryRivals = 12,
    /// Hyperparameter search.
    Search = 13,
    /// Held-out edges and non-edges of link prediction.
    HeldOutEdges = 14,
    /// Random vectors that estimate return probabilities of walks.
    WalkProbes = 15,
    /// Initial vectors of edge features.
    EdgeVectors = 16,
    /// Initial matrices of edge features in messages.
    EdgeMessages = 17,
    /// Initial weights of linear residuals.
    SkipWeights = 18,
    /// Initial biases of linear residuals.
    SkipBias = 19,
    /// Initial biases of linear layers before and after the others.
    Bias = 20,
    /// Initial weights of a node's own representation beside the sum over its neighbours.
    EgoWeights = 21,
    /// Initial weights of that sum.
    NeighbourWeights = 22,
    /// Initial weights of the linear layer after both.
    EgoOutput = 23,
    /// Dropout between these linear layers.
    EgoDropout = 24,
    /// Training nodes that show their label as input.
    LabelChoice = 25,
    /// Dropout of labels as input.
    LabelDropout = 26,
    /// Neighbours that a system samples.
    SampledNeighbours = 27,
    /// Seeds of the rounds of GAM.
    RoundSeed = 40,
    /// Initial weights of agreement models.
    AgreementWeights = 41,
    /// Pairs of nodes that agreement models learn from.
    AgreementPairs = 42,
    /// Pairs of nodes held out for the choice of an agreement model.
    AgreementHoldout = 43,
    /// Sampled edges of the agreement loss.
    AgreementEdges = 44,
    /// Sampled graphs of LDS.
    GraphSample = 45,
    /// Halves of the validation nodes of LDS.
    ValidationHalf = 46,
}

/// An endless sequence of random numbers with random access, identified by (seed, step, layer, purpose).
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    key: [u32; 2],
    step: u32,
    tag: u32,
}

impl Stream {
    /// Creates a stream. `step` is the optimisation step (the epoch, if there is one graph).
    #[inline]
    pub fn new(seed: u64, step: u32, layer: u16, purpose: Purpose) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32], step, tag: u32::from(layer) << 16 | purpose as u32 }
    }

    /// Returns the Philox key and the two upper counter words, for kernels that compute many blocks at once.
    #[inline]
    pub fn words(&self) -> ([u32; 2], [u32; 2]) {
        (self.key, [self.step, self.tag])
    }

    /// Returns 128 random bits.
    #[inline(always)]
    pub fn block(&self, index: u64) -> [u32; 4] {
        philox([index as u32, (index >> 32) as u32, self.step, self.tag], self.key)
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&self, index: u64) -> u64 {
        let b = self.block(index);
        u64::from(b[1]) << 32 | u64::from(b[0])
    }

    /// Returns a number in [0, 1) with 53 random bits.
    #[inline]
    pub fn uniform(&self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns an integer in [0, n). The bias is below n / 2^64.
    #[inline]
    pub fn below(&self, index: u64, n: u64) -> u64 {
        ((u128::from(self.bits(index)) * u128::from(n)) >> 64) as u64
    }

    /// Returns two independent standard normal numbers (Box and Muller).
    pub fn normal_pair(&self, index: u64) -> [f64; 2] {
        let b = self.block(index);
        let unit = |hi: u32, lo: u32| ((u64::from(hi) << 32 | u64::from(lo)) >> 11) as f64 / (1u64 << 53) as f64;
        let radius = (-2.0 * (1.0 - unit(b[0], b[1])).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * unit(b[2], b[3])).sin_cos();
        [radius * cos, radius * sin]
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64, i as u64 + 1) as usize);
        }
    }

    /// Returns a random permutation of 0..n that is evaluated element by element, without memory.
    pub fn permutation(&self, n: u64) -> Permutation {
        Permutation::new(self, n)
    }

    /// Returns a random permutation of all pairs of numbers below `side`, which must be between
    /// [`Permutation::SHORTEST`] and [`Permutation::LONGEST`].
    pub fn permutation_of_pairs(&self, side: usize) -> Permutation {
        let side = side as u64;
        Permutation::on_grid(self, side * side, [side, side])
    }
}

const ROUNDS: usize = 6;
/// Multiplier of the rounds.
pub const MIX: u32 = 0xD251_1F53;

/// A keyed random permutation of 0..n: a Feistel network whose round keys come from a [`Stream`].
///
/// Numbers are the cells of a grid, `x = row * columns + column`. Rounds alternately add a hash of the column
/// to the row and a hash of the row to the column, modulo the sides of the grid. Each round is invertible, so
/// the network permutes the cells. The grid may have slightly more than n cells; a result outside 0..n is
/// permuted again until it is inside.
///
/// The set `{ x : apply(x) < k }` has exactly k elements, so samples of exact size are drawn in parallel and
/// without memory. The images `apply(0), apply(1), ...` are distinct, so pairs drawn with them are distinct
/// too.
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    n: u64,
    sides: [u32; 2],
    keys: [u32; ROUNDS],
}

impl Permutation {
    /// Shortest side of a grid: rounds on a smaller grid would not mix.
    pub const SHORTEST: u64 = 8;
    /// Longest side of a grid, so that sums of two rows are below 2^32.
    pub const LONGEST: u64 = 1 << 31;

    fn new(stream: &Stream, n: u64) -> Self {
        let rows = n.isqrt().max(Self::SHORTEST);
        Self::on_grid(stream, n, [rows, n.div_ceil(rows).max(Self::SHORTEST)])
    }

    fn on_grid(stream: &Stream, n: u64, sides: [u64; 2]) -> Self {
        assert!(
            sides.iter().all(|side| (Self::SHORTEST..=Self::LONGEST).contains(side)),
            "grid sides out of range: {sides:?}"
        );
        let (a, b) = (stream.block(0), stream.block(1));
        Self { n, sides: sides.map(|side| side as u32), keys: [a[0], a[1], a[2], a[3], b[0], b[1]] }
    }

    /// Returns the image of `x`, which must be in 0..n.
    #[inline]
    pub fn apply(&self, x: u64) -> u64 {
        debug_assert!(x < self.n);
        let mut cell = self.cell(x);
        loop {
            cell = self.step(cell);
            let y = self.number(cell);
            if y < self.n {
                return y;
            }
        }
    }

    /// Returns the row and column of a number.
    #[inline]
    pub fn cell(&self, x: u64) -> [u32; 2] {
        let columns = u64::from(self.sides[1]);
        [(x / columns) as u32, (x % columns) as u32]
    }

    /// Returns the number of a cell; n or more if the grid has more than n cells.
    #[inline(always)]
    pub fn number(&self, [row, column]: [u32; 2]) -> u64 {
        u64::from(row) * u64::from(self.sides[1]) + u64::from(column)
    }

    /// Returns the next cell in the order of numbers.
    #[inline(always)]
    pub fn next([row, column]: [u32; 2], columns: u32) -> [u32; 2] {
        if column + 1 == columns { [row + 1, 0] } else { [row, column + 1] }
    }

    /// Returns the number of rows and of columns of the grid.
    #[inline]
    pub fn sides(&self) -> [u32; 2] {
        self.sides
    }

    /// Applies the network to a cell once; the number of the result may be outside 0..n.
    #[inline(always)]
    pub fn step(&self, [mut row, mut column]: [u32; 2]) -> [u32; 2] {
        for keys in self.keys.as_chunks::<2>().0 {
            row = shifted(row, column ^ keys[0], self.sides[0]);
            column = shifted(column, row ^ keys[1], self.sides[1]);
        }
        [row, column]
    }

    /// Returns the round keys, for kernels that permute many cells at once.
    #[inline]
    pub fn keys(&self) -> [u32; ROUNDS] {
        self.keys
    }
}

/// Returns `(value + hash) mod side`, where the hash is that of `other`, scaled to 0..side.
#[inline(always)]
fn shifted(value: u32, other: u32, side: u32) -> u32 {
    let product = u64::from(other) * u64::from(MIX);
    let hash = (product ^ product >> 32) as u32;
    let sum = value + ((u64::from(hash) * u64::from(side)) >> 32) as u32;
    sum.min(sum.wrapping_sub(side))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the Random123 library (kat_vectors, philox4x32 10).
    #[test]
    fn philox_matches_published_vectors() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn streams_with_different_identities_differ() {
        let of = |seed, step, layer, purpose| Stream::new(seed, step, layer, purpose).block(0);
        let base = of(1, 2, 3, Purpose::Weights);
        assert_ne!(base, of(2, 2, 3, Purpose::Weights));
        assert_ne!(base, of(1 << 32 | 1, 2, 3, Purpose::Weights));
        assert_ne!(base, of(1, 3, 3, Purpose::Weights));
        assert_ne!(base, of(1, 2, 4, Purpose::Weights));
        assert_ne!(base, of(1, 2, 3, Purpose::InputDropout));
    }

    #[test]
    fn permutation_is_a_bijection() {
        for n in [1, 2, 3, 5, 63, 64, 65, 1000, 4097] {
            let permutation = Stream::new(7, 0, 0, Purpose::PositiveEdges).permutation(n);
            let mut images: Vec<u64> = (0..n).map(|x| permutation.apply(x)).collect();
            images.sort_unstable();
            assert_eq!(images, (0..n).collect::<Vec<_>>(), "n = {n}");
        }
        let n = Permutation::LONGEST.pow(2);
        let permutation = Stream::new(7, 0, 0, Purpose::PositiveEdges).permutation(n);
        assert!((0..1000).all(|x| permutation.apply(n - 1 - x) < n));
    }

    /// All 120 subsets of three of ten elements are equally likely: chi-square with 119 degrees of freedom is
    /// below its 99.9 % quantile.
    #[test]
    fn samples_are_uniform_over_subsets() {
        let draws = 60_000;
        let mut counts = std::collections::HashMap::new();
        for step in 0..draws {
            let permutation = Stream::new(11, step, 0, Purpose::PositiveEdges).permutation(10);
            let subset: u32 = (0..10).filter(|&x| permutation.apply(x) < 3).map(|x| 1 << x).sum();
            *counts.entry(subset).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 120);
        let expected = f64::from(draws) / 120.0;
        let chi2: f64 = counts.values().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
        assert!(chi2 < 173.6, "chi-square {chi2}");
    }

    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let stream = Stream::new(3, 0, 0, Purpose::SyntheticFeatures);
        let values: Vec<f64> = (0..20_000).flat_map(|i| stream.normal_pair(i)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
