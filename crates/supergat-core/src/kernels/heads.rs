//! Where the numbers of several attention heads lie in a row.
//!
//! Heads are the fastest axis: the same feature of up to eight heads fills one vector, so that every step over an edge is one
//! vector operation for all heads. More than eight heads form groups, one after another; a number of heads that does not fit is padded with
//! heads of zeros, which stay zero through training because every gradient of theirs has a zero factor.

use super::lanes::LANES;

/// Layout of `heads` x `features` numbers in a row of [`HeadLayout::stride`] numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLayout {
    /// Attention heads.
    pub heads: usize,
    /// Features per head.
    pub features: usize,
    /// Heads in a vector, padded: 1, 2, 4 or 8.
    pub lane_heads: usize,
    /// Groups of eight heads.
    pub groups: usize,
    /// Vectors per group.
    pub vectors: usize,
}

/// More heads than this would not fit the kernels' registers.
pub const MAX_HEADS: usize = 64;
/// Groups of the largest layout.
pub const MAX_GROUPS: usize = MAX_HEADS / LANES;

impl HeadLayout {
    /// The layout. `heads` must be between 1 and [`MAX_HEADS`].
    pub fn new(heads: usize, features: usize) -> Self {
        assert!((1..=MAX_HEADS).contains(&heads), "between 1 and {MAX_HEADS} heads");
        let lane_heads = heads.next_power_of_two().min(LANES);
        let groups = heads.div_ceil(LANES);
        let vectors = (features * lane_heads).div_ceil(LANES);
        Self { heads, features, lane_heads, groups, vectors }
    }

    /// A plain row of features.
    pub fn plain(features: usize) -> Self {
        Self::new(1, features)
    }

    /// Numbers per row, a multiple of `LANES`.
    pub fn stride(&self) -> usize {
        self.groups * self.vectors * LANES
    }

    /// Numbers per row of per-head values, each repeated in all lanes of its head.
    pub fn head_stride(&self) -> usize {
        self.groups * LANES
    }

    /// Place of a number in the row.
    pub fn index(&self, head: usize, feature: usize) -> usize {
        let group = head / LANES;
        group * self.vectors * LANES + feature * self.lane_heads + head % LANES
    }

    /// Places of all numbers in the order other software keeps them: head after head, features within a head.
    pub fn canonical(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.heads).flat_map(move |h| (0..self.features).map(move |f| self.index(h, f)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_distinct_and_lanes_belong_to_heads() {
        for heads in [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 64] {
            for features in [1, 2, 3, 7, 8, 40] {
                let layout = HeadLayout::new(heads, features);
                let places: Vec<usize> = layout.canonical().collect();
                let mut sorted = places.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), heads * features);
                assert!(sorted.last().unwrap() < &layout.stride());
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
