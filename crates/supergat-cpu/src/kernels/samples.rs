//! Loops of the samples of the edge loss: marking edges and proposing non-edges.

use super::parts::{Rows, for_each_chunk};
use super::simd::{CELLS, Isa, Kernel, dispatch};
use supergat_core::graph::Neighbours;
use supergat_core::memory::{prefetch, prefetch_part};
use supergat_core::random::Permutation;

/// Marks the numbers `first + k` below `n` whose image under the permutation is below `count`: bit `k % 8` of byte
/// `k / 8`.
pub fn mark_sample(permutation: &Permutation, first: u64, n: usize, count: usize, marks: &mut [u8]) {
    const CHUNK: usize = 256;
    for_each_chunk(marks.len(), CHUNK, Rows { data: marks, width: 1 }, &|bytes, marks| {
        let (first, n, count) = (first + (bytes.start * 8) as u64, n as u64, count as u64);
        dispatch(Mark { permutation, first, n, count, marks: marks.data });
    });
}

struct Mark<'a> {
    permutation: &'a Permutation,
    first: u64,
    n: u64,
    count: u64,
    marks: &'a mut [u8],
}

impl Kernel for Mark<'_> {
    type Number = f32;
    type Output = ();
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        let permutation = *self.permutation;
        let mut cells = Cells::new(&permutation, self.first);
        let [sampled, inside] = [self.count, self.n].map(|limit| permutation.cell(limit));
        let mut first = self.first;
        for marks in self.marks.chunks_mut(CELLS / 8) {
            let images = cells.take::<I>(&permutation);
            let mut bits = bits_below(&images, sampled);
            let numbers = self.n.saturating_sub(first).min(CELLS as u64);
            let valid = ((1u64 << numbers) - 1) as u32;
            // Few images are outside 0..n: `apply` repeats the step for those.
            let mut outside = valid & !bits_below(&images, inside);
            while outside != 0 {
                let l = outside.trailing_zeros();
                bits |= u32::from(permutation.apply(first + u64::from(l)) < self.count) << l;
                outside &= outside - 1;
            }
            marks.copy_from_slice(&(bits & valid).to_le_bytes()[..marks.len()]);
            first += CELLS as u64;
        }
    }
}

/// Returns bits of the cells whose number is below that of the cell `limit`.
#[inline(always)]
fn bits_below([rows, columns]: &[[u32; CELLS]; 2], limit: [u32; 2]) -> u32 {
    let mut bits = 0;
    for l in 0..CELLS {
        let is_below = (rows[l] < limit[0]) | ((rows[l] == limit[0]) & (columns[l] < limit[1]));
        bits |= u32::from(is_below) << l;
    }
    bits
}

/// Consecutive cells of a permutation's grid.
struct Cells {
    next: [u32; 2],
    columns: u32,
}

impl Cells {
    #[inline(always)]
    fn new(permutation: &Permutation, first: u64) -> Self {
        Self { next: permutation.cell(first), columns: permutation.sides()[1] }
    }

    /// Returns the images of the next cells.
    #[inline(always)]
    fn take<I: Isa>(&mut self, permutation: &Permutation) -> [[u32; CELLS]; 2] {
        let [row, column] = self.next;
        let mut cells = [[row; CELLS], std::array::from_fn(|l| column.wrapping_add(l as u32))];
        if column + (CELLS as u32) < self.columns {
            self.next = [row, column + CELLS as u32];
        } else {
            let [rows, columns] = &mut cells;
            for (row, column) in rows.iter_mut().zip(columns) {
                [*row, *column] = self.next;
                self.next = Permutation::next(self.next, self.columns);
            }
        }
        I::permute(permutation, &mut cells);
        cells
    }
}

/// Calls `visit` with the images of `first`, `first + 1`, ... as pairs `[source, target]`.
pub fn for_each_pair(permutation: &Permutation, first: u64, count: usize, visit: &mut dyn FnMut([u32; 2])) {
    struct Pairs<'a> {
        permutation: &'a Permutation,
        first: u64,
        count: usize,
        visit: &'a mut dyn FnMut([u32; 2]),
    }
    impl Kernel for Pairs<'_> {
        type Number = f32;
        type Output = ();
        const USES_AVX512: bool = true;

        #[inline(always)]
        fn run<I: Isa>(self) {
            let mut cells = Cells::new(self.permutation, self.first);
            for start in (0..self.count).step_by(CELLS) {
                let [sources, targets] = cells.take::<I>(self.permutation);
                for l in 0..CELLS.min(self.count - start) {
                    (self.visit)([sources[l], targets[l]]);
                }
            }
        }
    }
    dispatch(Pairs { permutation, first, count, visit });
}

/// Marks a proposed pair that is an edge.
pub const REJECTED: [u32; 2] = [u32::MAX; 2];

/// Writes the images of `first`, `first + 1`, ... as pairs `[source, target]`, and [`REJECTED`] in place of
/// edges.
///
/// `incoming` are the sorted lists of sources by target; the permutation is one of pairs of nodes.
pub fn offer_pairs(permutation: &Permutation, first: u64, incoming: Neighbours<'_>, pairs: &mut [[u32; 2]]) {
    const CHUNK: usize = 1 << 10;
    for_each_chunk(pairs.len(), CHUNK, Rows { data: pairs, width: 1 }, &|range, pairs| {
        dispatch(Offer { permutation, first: first + range.start as u64, incoming, pairs: pairs.data });
    });
}

struct Offer<'a> {
    permutation: &'a Permutation,
    first: u64,
    incoming: Neighbours<'a>,
    pairs: &'a mut [[u32; 2]],
}

/// Lists up to this length are compared with a source at once, longer ones are searched by bisection.
const SHORT: usize = 16;

impl Kernel for Offer<'_> {
    type Number = f32;
    type Output = ();
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        let permutation = *self.permutation;
        let mut cells = Cells::new(&permutation, self.first);
        let Neighbours { offsets, nodes, .. } = self.incoming;
        // The lists of many pairs are prefetched together, which hides the latency of memory.
        for pairs in self.pairs.chunks_mut(CELLS) {
            let [sources, targets] = cells.take::<I>(&permutation);
            for (pair, (&source, &target)) in pairs.iter_mut().zip(sources.iter().zip(&targets)) {
                *pair = [source, target];
                prefetch(&offsets[target as usize..][..2]);
            }
            for &[_, target] in pairs.iter() {
                let start = offsets[target as usize] as usize;
                prefetch_part(nodes, start, 1);
                prefetch_part(nodes, start + SHORT - 1, 1);
            }
            for pair in pairs {
                let [source, target] = *pair;
                let (start, end) = (offsets[target as usize] as usize, offsets[target as usize + 1] as usize);
                let is_edge = match nodes[start..].first_chunk::<SHORT>() {
                    Some(first) if end - start <= SHORT => is_among(first, (end - start) as u32, source),
                    _ => nodes[start..end].binary_search(&source).is_ok(),
                };
                *pair = if is_edge { REJECTED } else { *pair };
            }
        }
    }
}

/// Returns whether `node` is among the first `len` nodes.
#[inline(always)]
fn is_among(nodes: &[u32; SHORT], len: u32, node: u32) -> bool {
    let mut equal = 0u32;
    for (l, other) in nodes.iter().enumerate() {
        equal |= u32::from(*other == node) << l;
    }
    equal & ((1 << len) - 1) != 0
}
