//! Borrowed neighbour lists.

use std::ops::Range;

/// Neighbour lists: those of node `i` are `nodes[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, Copy)]
pub struct Neighbours<'a> {
    /// Start of each list, and the end of the last: one more than there are nodes.
    pub offsets: &'a [u64],
    /// All lists, one after another.
    pub nodes: &'a [u32],
}

impl Neighbours<'_> {
    /// Returns the positions of node `i`'s list.
    #[inline(always)]
    pub(super) fn range(&self, i: usize) -> Range<usize> {
        self.offsets[i] as usize..self.offsets[i + 1] as usize
    }
}
