//! Layout of several attention heads in a row.
//!
//! Heads are the fastest axis: one feature of up to eight heads fills one vector, so every step over an edge
//! is one vector operation for all heads. More than eight heads form groups, one after another. Other numbers
//! of heads are padded with heads of zeros, which stay zero in training because each of their gradients has a
//! zero factor.

/// Numbers in a vector.
pub const LANES: usize = 8;

/// Layout of `heads` x `features` numbers in a row of [`HeadLayout::stride`] numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLayout {
    /// Attention heads.
    pub heads: usize,
    /// Features per head.
    pub features: usize,
    /// Heads in a vector, padding included: 1, 2, 4 or 8.
    pub lane_heads: usize,
    /// Groups of eight heads.
    pub groups: usize,
    /// Vectors per group.
    pub vectors: usize,
}

/// Largest number of heads: more would not fit into the registers of the kernels.
pub const MAX_HEADS: usize = 64;
/// Number of groups of the largest layout.
pub const MAX_GROUPS: usize = MAX_HEADS / LANES;
/// Largest k. The k largest scores of eight heads are kept on the stack.
pub const MOST_CHOSEN: usize = 64;

impl HeadLayout {
    /// Creates a layout. Panics unless `heads` is between 1 and [`MAX_HEADS`].
    pub fn new(heads: usize, features: usize) -> Self {
        assert!((1..=MAX_HEADS).contains(&heads), "between 1 and {MAX_HEADS} heads");
        let lane_heads = heads.next_power_of_two().min(LANES);
        let groups = heads.div_ceil(LANES);
        let vectors = (features * lane_heads).div_ceil(LANES);
        Self { heads, features, lane_heads, groups, vectors }
    }

    /// Creates the layout of a row of features without heads.
    pub fn plain(features: usize) -> Self {
        Self::new(1, features)
    }

    /// Returns the numbers per row, a multiple of `LANES`.
    #[inline]
    pub fn stride(&self) -> usize {
        self.groups * self.vectors * LANES
    }

    /// Returns the numbers per row of per-head values, each repeated in all lanes of its head.
    #[inline]
    pub fn head_stride(&self) -> usize {
        self.groups * LANES
    }

    /// Returns the position of a number in the row.
    #[inline]
    pub fn index(&self, head: usize, feature: usize) -> usize {
        let group = head / LANES;
        group * self.vectors * LANES + feature * self.lane_heads + head % LANES
    }

    /// Returns whether rows have padding.
    #[inline]
    pub fn is_padded(&self) -> bool {
        self.stride() != self.heads * self.features
    }

    /// Returns the lanes of a row's vector that are no padding, as bits.
    #[inline(always)]
    pub fn used_lanes(&self, vector: usize) -> u8 {
        let (group, vector) = (vector / self.vectors, vector % self.vectors);
        let (per_vector, heads) = (LANES / self.lane_heads, (self.heads - group * LANES).min(LANES));
        let is_used = |lane: usize| {
            lane % self.lane_heads < heads && vector * per_vector + lane / self.lane_heads < self.features
        };
        (0..LANES).fold(0, |bits, lane| bits | u8::from(is_used(lane)) << lane)
    }

    /// Returns the positions of all numbers in the order of files and other software: head after head,
    /// features within a head.
    pub fn canonical(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.heads).flat_map(move |h| (0..self.features).map(move |f| self.index(h, f)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_distinct_and_match_the_lanes_of_heads() {
        for heads in [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 64] {
            for features in [1, 2, 3, 7, 8, 40] {
                let layout = HeadLayout::new(heads, features);
                let places: Vec<usize> = layout.canonical().collect();
                let mut sorted = places.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), heads * features);
                assert!(sorted.last().unwrap() < &layout.stride());
                let used = (0..layout.stride()).filter(|at| layout.used_lanes(at / LANES) >> (at % LANES) & 1 == 1);
                assert_eq!(used.collect::<Vec<_>>(), sorted);
                assert_eq!(layout.is_padded(), sorted.len() < layout.stride());
                for (k, &place) in places.iter().enumerate() {
                    let (head, group_width) = (k / features, layout.vectors * LANES);
                    assert_eq!(place / group_width, head / LANES);
                    assert_eq!(place % group_width % layout.lane_heads, head % LANES);
                }
            }
        }
    }

    #[test]
    fn eight_heads_of_eight_features_need_no_padding() {
        assert_eq!(HeadLayout::new(8, 8).stride(), 64);
        assert_eq!(HeadLayout::new(8, 8).index(3, 2), 19);
        assert_eq!(HeadLayout::plain(3).stride(), 8);
    }
}
