//! Loops of the samples of the edge loss: marking edges and proposing non-edges.

use super::parts::{Rows, for_each_chunk};
use super::simd::{Isa, Kernel, dispatch};
use supergat_core::graph::Neighbours;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch;
use supergat_core::random::Permutation;

/// Marks the numbers `first + k` below `n` whose image under the permutation is below `count`: bit `k % 8` of byte
/// `k / 8`.
pub fn mark_sample(permutation: &Permutation, first: u64, n: usize, count: usize, marks: &mut [u8]) {
    const CHUNK: usize = 512;
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
        let mut first = self.first;
        for byte in self.marks {
            let [rows, columns] = cells.take::<I>(&permutation);
            let images: [u64; LANES] = std::array::from_fn(|l| permutation.number([rows[l], columns[l]]));
            let mut bits = 0;
            for (l, image) in images.iter().enumerate() {
                bits |= u8::from(*image < self.count) << l;
            }
            // Few images are outside 0..n (apart from numbers beyond n in the last byte): `apply` repeats the
            // step for those.
            for (l, _) in images.iter().enumerate().filter(|(_, image)| **image >= self.n) {
                let x = first + l as u64;
                let marked = x < self.n && permutation.apply(x) < self.count;
                bits |= u8::from(marked) << l;
            }
            let inside = self.n.saturating_sub(first).min(LANES as u64);
            *byte = bits & ((1u16 << inside) - 1) as u8;
            first += LANES as u64;
        }
    }
}

/// Consecutive cells of a permutation's grid, eight at a time.
struct Cells {
    next: [u32; 2],
    columns: u32,
}

impl Cells {
    #[inline(always)]
    fn new(permutation: &Permutation, first: u64) -> Self {
        Self { next: permutation.cell(first), columns: permutation.sides()[1] }
    }

    /// Returns the images of the next eight cells.
    #[inline(always)]
    fn take<I: Isa>(&mut self, permutation: &Permutation) -> [[u32; LANES]; 2] {
        let [row, column] = self.next;
        let mut cells = [[row; LANES], std::array::from_fn(|l| column.wrapping_add(l as u32))];
        if column + (LANES as u32) < self.columns {
            self.next = [row, column + LANES as u32];
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

/// Calls `visit` with the images of `first`, `first + 1`, ... as pairs `[source, target]`, eight or fewer at a time.
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
            for start in (0..self.count).step_by(LANES) {
                let [sources, targets] = cells.take::<I>(self.permutation);
                for l in 0..LANES.min(self.count - start) {
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
    const CHUNK: usize = 1 << 12;
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

/// Pairs processed together: their lists are prefetched together, which hides the latency of memory.
const FLIGHT: usize = 32;
/// Lists up to this length are searched linearly, without branches; longer ones by bisection.
const SHORT: usize = 32;

impl Kernel for Offer<'_> {
    type Number = f32;
    type Output = ();
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        let permutation = *self.permutation;
        let mut cells = Cells::new(&permutation, self.first);
        let Neighbours { offsets, nodes, .. } = self.incoming;
        for pairs in self.pairs.chunks_mut(FLIGHT) {
            for pairs in pairs.chunks_mut(LANES) {
                let [sources, targets] = cells.take::<I>(&permutation);
                for (l, pair) in pairs.iter_mut().enumerate() {
                    *pair = [sources[l], targets[l]];
                    prefetch(&offsets[targets[l] as usize..][..2]);
                }
            }
            for &[_, target] in pairs.iter() {
                let (start, end) = (offsets[target as usize] as usize, offsets[target as usize + 1] as usize);
                prefetch(&nodes[start..end.min(start + SHORT)]);
            }
            for pair in pairs {
                let [source, target] = *pair;
                let list = &nodes[offsets[target as usize] as usize..offsets[target as usize + 1] as usize];
                let is_edge = if list.len() <= SHORT {
                    list.iter().fold(false, |found, &node| found | (node == source))
                } else {
                    list.binary_search(&source).is_ok()
                };
                *pair = if is_edge { REJECTED } else { *pair };
            }
        }
    }
}
