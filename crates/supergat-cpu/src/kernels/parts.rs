//! Division of work among threads. Parts depend on the data only, and each row is computed by one thread in
//! one order, so results do not depend on the number of threads.

use crate::kernels::simd::SimdReal;
use std::ops::Range;

/// Consecutive ranges of rows with about equal work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts(Vec<Range<usize>>);

/// Number of parts: enough to balance the load among threads, and few enough that starting them is cheap.
const PARTS: usize = 32;
/// Largest number of parts of [`Parts::even`].
pub const MOST_PARTS: usize = PARTS;
/// Work of the smallest part, in edges or similar units.
const SMALLEST: u64 = 1024;
/// Numbers per chunk when copies are added.
const CHUNK: usize = 4096;

impl Parts {
    /// Divides rows whose work is the difference of successive `offsets`, plus one for the row itself.
    pub fn by_offsets(offsets: &[u64]) -> Self {
        Self::by_offsets_of(offsets, 0..offsets.len().saturating_sub(1))
    }

    /// Like [`Parts::by_offsets`], for some of the rows.
    pub fn by_offsets_of(offsets: &[u64], rows: Range<usize>) -> Self {
        Self::by_work(rows, |row| offsets[row] + row as u64, PARTS, SMALLEST)
    }

    /// Divides rows for sums over all rows, where each part sums into its own copy. The number of parts is
    /// limited so that adding the copies is cheap compared with the work. The unit of both is the addition of
    /// a row to a sum: `work(row)` is the work of all rows before `row`, `copy` that of adding one copy.
    pub fn for_copies(rows: Range<usize>, work: impl Fn(usize) -> u64, copy: usize) -> Self {
        let total = work(rows.end) - work(rows.start);
        let most = (total / (12 * copy as u64).max(1)).clamp(1, 8) as usize;
        Self::by_work(rows, work, most, SMALLEST)
    }

    /// Divides rows into at most `most` parts (or one more, because of rounding) of at least `smallest` work.
    /// `before(row)` is the work of all rows before `row`.
    fn by_work(rows: Range<usize>, before: impl Fn(usize) -> u64, most: usize, smallest: u64) -> Self {
        let target = (before(rows.end) - before(rows.start)).div_ceil(most as u64).max(smallest);
        let mut parts = Vec::new();
        let mut start = rows.start;
        for row in rows.clone() {
            if before(row + 1) - before(start) >= target || row + 1 == rows.end {
                parts.push(start..row + 1);
                start = row + 1;
            }
        }
        Self(parts)
    }

    /// Divides rows of equal work.
    pub fn even(rows: Range<usize>, work_per_row: usize) -> Self {
        let per_part = (rows.len().div_ceil(PARTS)).max((SMALLEST as usize * 4).div_ceil(work_per_row.max(1))).max(1);
        // A multiple of four, because kernels process four rows at a time.
        let per_part = per_part.next_multiple_of(4);
        Self(rows.clone().step_by(per_part).map(|start| start..(start + per_part).min(rows.end)).collect())
    }

    /// Returns the parts of consecutive ranges of rows, one after another.
    pub fn joined(parts: impl IntoIterator<Item = Self>) -> Self {
        Self(parts.into_iter().flat_map(|parts| parts.0).collect())
    }

    /// Returns the number of parts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `work` for every part with its outputs, on all threads.
    pub fn for_each<O: Split>(&self, outputs: O, work: impl Fn(Range<usize>, O) + Sync) {
        if !self.0.is_empty() {
            halve(&self.0, outputs, &work);
        }
    }

    /// Sums over all rows: calls `work` for every part with its own copy of `out`, taken from `copies`, and
    /// adds the copies in the order of the parts. A single part uses `out` itself; without parts, `out` is
    /// zero.
    pub fn for_each_copy<T: SimdReal>(
        &self,
        copies: &mut [T],
        out: &mut [T],
        work: impl Fn(Range<usize>, &mut [T]) + Sync,
    ) {
        match &self.0[..] {
            [] => out.fill(T::ZERO),
            [all] => work(all.clone(), out),
            parts => {
                let width = out.len();
                let copies = &mut copies[..parts.len() * width];
                self.for_each(PerPart { data: copies, width }, |rows, copy| work(rows, copy.data));
                let copies = &*copies;
                for_each_chunk(width, CHUNK, Rows { data: out, width: 1 }, &|range, out| {
                    out.data.copy_from_slice(&copies[range.clone()]);
                    for copy in copies.chunks_exact(width).skip(1) {
                        out.data.iter_mut().zip(&copy[range.start..]).for_each(|(o, c)| *o += *c);
                    }
                });
            }
        }
    }
}

/// Calls `work` for every element with its number, on all threads. Needs no allocation.
pub fn for_each_part<T: Send>(items: &mut [T], work: &(dyn Fn(usize, &mut T) + Sync)) {
    let count = items.len();
    for_each_chunk(count, 1, Rows { data: items, width: 1 }, &|range, items| {
        range.zip(items.data).for_each(|(number, item)| work(number, item));
    });
}

/// A function that computes the outputs of a range of rows.
type Work<'a, O> = &'a (dyn Fn(Range<usize>, O) + Sync);

/// Calls `work` for chunks of `chunk` rows (fewer in the last) with their outputs, on all threads. Needs no
/// allocation.
pub fn for_each_chunk<O: Split>(rows: usize, chunk: usize, outputs: O, work: Work<'_, O>) {
    halve_chunks(0..rows, chunk, outputs, work);
}

fn halve_chunks<O: Split>(rows: Range<usize>, chunk: usize, outputs: O, work: Work<'_, O>) {
    let chunks = rows.len().div_ceil(chunk);
    if chunks <= 1 {
        return work(rows, outputs);
    }
    let left = chunks / 2 * chunk;
    let middle = rows.start + left;
    let (left_out, right_out) = outputs.split(left, chunks / 2);
    join(left_out, right_out, &|is_left, out| {
        let rows = if is_left { rows.start..middle } else { middle..rows.end };
        halve_chunks(rows, chunk, out, work);
    });
}

fn halve<O: Split>(parts: &[Range<usize>], outputs: O, work: Work<'_, O>) {
    if let [part] = parts {
        return work(part.clone(), outputs);
    }
    let (left, right) = parts.split_at(parts.len() / 2);
    let (left_out, right_out) = outputs.split(right[0].start - left[0].start, left.len());
    join(left_out, right_out, &|is_left, out| halve(if is_left { left } else { right }, out, work));
}

/// Calls `work(true, left)` and `work(false, right)`, possibly on two threads.
fn join<O: Send>(left: O, right: O, work: &(dyn Fn(bool, O) + Sync)) {
    let (mut left, mut right) = (Some(left), Some(right));
    join_erased(&mut || work(true, left.take().expect("called once")), &mut || {
        work(false, right.take().expect("called once"))
    });
}

/// Calls both functions, possibly on two threads. Not generic: every instance of `rayon::join` is slow to
/// compile.
fn join_erased(left: &mut (dyn FnMut() + Send), right: &mut (dyn FnMut() + Send)) {
    rayon::join(left, right);
}

/// Outputs that can be split among threads.
pub trait Split: Sized + Send {
    /// Splits after the first `rows` rows, which are the first `parts` parts.
    fn split(self, rows: usize, parts: usize) -> (Self, Self);
}

/// Output of `width` numbers per row.
pub struct Rows<'a, T> {
    /// The rows of this part.
    pub data: &'a mut [T],
    /// Numbers per row.
    pub width: usize,
}

/// Output of `width` numbers per part, for sums over rows.
pub struct PerPart<'a, T> {
    /// The numbers of this part.
    pub data: &'a mut [T],
    /// Numbers per part.
    pub width: usize,
}

/// Output of `width` numbers per edge; the edges of row r are `offsets[r]..offsets[r + 1]`.
pub struct EdgeRows<'a, T> {
    /// The edges of this part's rows.
    pub data: &'a mut [T],
    /// Start of each row's edges, from the first row of this part on.
    pub offsets: &'a [u64],
    /// Numbers per edge.
    pub width: usize,
}

impl<T: Send> Split for EdgeRows<'_, T> {
    fn split(self, rows: usize, _: usize) -> (Self, Self) {
        let edges = (self.offsets[rows] - self.offsets[0]) as usize;
        let (a, b) = self.data.split_at_mut(edges * self.width);
        let part = |data, offsets| Self { data, offsets, width: self.width };
        (part(a, self.offsets), part(b, &self.offsets[rows..]))
    }
}

impl<T: Send> Split for Rows<'_, T> {
    fn split(self, rows: usize, _: usize) -> (Self, Self) {
        let (a, b) = self.data.split_at_mut(rows * self.width);
        (Self { data: a, width: self.width }, Self { data: b, width: self.width })
    }
}

impl<T: Send> Split for PerPart<'_, T> {
    fn split(self, _: usize, parts: usize) -> (Self, Self) {
        let (a, b) = self.data.split_at_mut(parts * self.width);
        (Self { data: a, width: self.width }, Self { data: b, width: self.width })
    }
}

impl<A: Split> Split for Option<A> {
    fn split(self, rows: usize, parts: usize) -> (Self, Self) {
        self.map(|a| a.split(rows, parts)).unzip()
    }
}

macro_rules! split_tuple {
    ($($name:ident),+) => {
        impl<$($name: Split),+> Split for ($($name,)+) {
            #[allow(non_snake_case)]
            fn split(self, rows: usize, parts: usize) -> (Self, Self) {
                let ($($name,)+) = self;
                $(let $name = $name.split(rows, parts);)+
                (($($name.0,)+), ($($name.1,)+))
            }
        }
    };
}
split_tuple!(A, B);
split_tuple!(A, B, C);
split_tuple!(A, B, C, D);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_rows_once() {
        let offsets: Vec<u64> = (0..=5000u64).map(|i| i * i / 7).collect();
        let copies = Parts::for_copies(0..5000, |row| offsets[row], 1000);
        assert_eq!(copies.len(), 8);
        assert_eq!(Parts::for_copies(0..5000, |row| row as u64, 100).len(), 4);
        let ranges = [0..7, 7..3000, 3000..5000].map(|rows| Parts::by_offsets_of(&offsets, rows));
        let (even, small) = (Parts::even(0..5000, 3), Parts::even(0..5000, 100_000));
        for parts in [Parts::by_offsets(&offsets), even, small, copies, Parts::joined(ranges)] {
            let mut next = 0;
            for part in &parts.0 {
                assert_eq!(part.start, next);
                assert!(part.end > part.start);
                next = part.end;
            }
            assert_eq!(next, 5000);
        }
        assert!(Parts::by_offsets(&[0]).is_empty() && Parts::even(0..0, 5).is_empty());
    }

    #[test]
    fn for_each_copy_adds_all_copies() {
        for rows in [0, 10, 100_000] {
            let parts = Parts::for_copies(0..rows, |row| row as u64, 1);
            let mut copies = vec![9.0; parts.len() * 3];
            let mut out = [9.0; 3];
            parts.for_each_copy(&mut copies, &mut out, |range, out| out.fill(range.len() as f64));
            assert_eq!(out, [rows as f64; 3]);
        }
    }

    #[test]
    fn for_each_passes_the_outputs_of_each_part() {
        let parts = Parts::even(0..1000, 4096);
        let mut rows = vec![0usize; 2000];
        let mut sums = vec![0usize; parts.len()];
        parts.for_each(
            (Rows { data: &mut rows, width: 2 }, PerPart { data: &mut sums, width: 1 }),
            |range, (rows, sum)| {
                for (row, i) in rows.data.chunks_mut(2).zip(range) {
                    row.fill(i);
                    sum.data[0] += i;
                }
            },
        );
        assert_eq!(sums.iter().sum::<usize>(), 499_500);
        assert!((0..1000).all(|i| rows[2 * i..2 * i + 2] == [i, i]));
    }

    #[test]
    fn for_each_chunk_covers_all_rows_once() {
        for rows in [0, 1, 7, 8, 9, 100] {
            let mut found = vec![0usize; 2 * rows];
            for_each_chunk(rows, 8, Rows { data: &mut found, width: 2 }, &|range, out| {
                assert!(range.start % 8 == 0 && (range.len() == 8 || range.end == rows));
                for (row, i) in out.data.chunks_mut(2).zip(range) {
                    row.iter_mut().for_each(|v| *v += i + 1);
                }
            });
            assert!((0..rows).all(|i| found[2 * i..2 * i + 2] == [i + 1, i + 1]));
        }
    }
}
