//! Borrowed neighbour lists.

use std::ops::Range;

/// Neighbour lists: list `k` is `nodes[offsets[k]..offsets[k + 1]]`.
///
/// By default there is a list for every row, and the position of an edge is that in `nodes`. Lists of a block of
/// edges belong to some rows only: a row then has further neighbours in other blocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Neighbours<'a> {
    /// Start of each list, and the end of the last: one more than there are lists.
    pub offsets: &'a [u64],
    /// All lists, one after another.
    pub nodes: &'a [u32],
    /// The rows of a block; `None` if list `k` is the whole list of row `k`.
    pub block: Option<BlockRows<'a>>,
}

/// Rows of the lists of a block.
#[derive(Debug, Clone, Copy)]
pub struct BlockRows<'a> {
    /// Row of each list, in ascending order.
    pub rows: &'a [u32],
    /// Position of the first edge of each list; further edges follow.
    pub edges: &'a [u64],
}

impl<'a> Neighbours<'a> {
    /// Returns lists of all rows.
    #[inline]
    pub fn new(offsets: &'a [u64], nodes: &'a [u32]) -> Self {
        Self { offsets, nodes, block: None }
    }

    /// Returns the place of list `k` in `nodes`.
    #[inline(always)]
    pub fn range(&self, k: usize) -> Range<usize> {
        self.offsets[k] as usize..self.offsets[k + 1] as usize
    }

    /// Returns the numbers of the lists of consecutive rows.
    #[inline(always)]
    pub fn lists(&self, rows: Range<usize>) -> Range<usize> {
        match self.block {
            None => rows,
            Some(block) => {
                let before = |row: usize| block.rows.partition_point(|&r| (r as usize) < row);
                before(rows.start)..before(rows.end)
            }
        }
    }

    /// Returns the row of list `k`.
    #[inline(always)]
    pub fn row(&self, k: usize) -> usize {
        self.block.map_or(k, |block| block.rows[k] as usize)
    }

    /// Returns the position of the edge at place `at`, which is in list `k`.
    #[inline(always)]
    pub fn edge(&self, k: usize, at: usize) -> usize {
        match self.block {
            None => at,
            Some(block) => block.edges[k] as usize + (at - self.offsets[k] as usize),
        }
    }
}
