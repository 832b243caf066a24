//! Division of work over threads. The parts depend on the data only, never on the number of threads, and each row is computed by
//! one thread in one order: so results do not depend on the number of threads either.

use super::real::Real;
use rayon::prelude::*;
use std::ops::Range;

/// Consecutive ranges of rows with about equal work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts(Vec<Range<usize>>);

/// More parts than threads, so that a thread that is done early can help; few enough that starting them costs nothing.
const PARTS: usize = 32;
/// Work (say, edges) below which a part is not worth starting.
const SMALLEST: u64 = 1024;
/// Numbers added up at a time where copies are.
const CHUNK: usize = 4096;

impl Parts {
    /// Divides rows whose work is the difference of successive `offsets`, plus one for the row itself.
    pub fn by_offsets(offsets: &[u64]) -> Self {
        let rows = offsets.len().saturating_sub(1);
        Self::by_work(rows, |row| offsets[row] + row as u64, PARTS, SMALLEST)
    }

    /// Divides rows for sums over all of them that each part makes in its own copy. There are as many copies as are cheap beside `work`,
    /// which, like `copy`, is counted in rows that are added to the sum: `work` before a row, `copy` for all of a copy.
    pub fn for_copies(rows: usize, work: impl Fn(usize) -> u64, copy: usize) -> Self {
        let most = (work(rows) / (12 * copy as u64).max(1)).clamp(1, 8) as usize;
        Self::by_work(rows, work, most, SMALLEST)
    }

    /// At most `most` parts (and one more for what rounding leaves) of at least `smallest` work, which is given as the sum before a row.
    fn by_work(rows: usize, before: impl Fn(usize) -> u64, most: usize, smallest: u64) -> Self {
        let target = before(rows).div_ceil(most as u64).max(smallest);
        let mut parts = Vec::new();
        let mut start = 0;
        for row in 0..rows {
            if before(row + 1) - before(start) >= target || row + 1 == rows {
                parts.push(start..row + 1);
                start = row + 1;
            }
        }
        Self(parts)
    }

    /// Divides rows of equal work.
    pub fn even(rows: usize, work_per_row: usize) -> Self {
        let per_part = (rows.div_ceil(PARTS)).max((SMALLEST as usize * 4).div_ceil(work_per_row.max(1))).max(1);
        // A multiple of four, so that blocks of four rows stay whole.
        let per_part = per_part.next_multiple_of(4);
        Self((0..rows).step_by(per_part).map(|start| start..(start + per_part).min(rows)).collect())
    }

    /// Number of parts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `work` for every part, on all threads, with the outputs that belong to it.
    pub fn for_each<O: Split>(&self, outputs: O, work: impl Fn(Range<usize>, O) + Sync) {
        if !self.0.is_empty() {
            halve(&self.0, outputs, &work);
        }
    }

    /// Sums over all rows: calls `work` for every part with its own copy of `out`, taken from `copies`, and adds the copies in the order of
    /// the parts. A single part works on `out` itself; without any, `out` is zero.
    pub fn for_each_copy<T: Real>(
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
                out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
                    let first = chunk * CHUNK;
                    out.copy_from_slice(&copies[first..first + out.len()]);
                    for copy in copies.chunks_exact(width).skip(1) {
                        out.iter_mut().zip(&copy[first..]).for_each(|(o, c)| *o += *c);
                    }
                });
            }
        }
    }
}

fn halve<O: Split>(parts: &[Range<usize>], outputs: O, work: &(impl Fn(Range<usize>, O) + Sync)) {
    if let [part] = parts {
        return work(part.clone(), outputs);
    }
    let (left, right) = parts.split_at(parts.len() / 2);
    let (left_out, right_out) = outputs.split(right[0].start - left[0].start, left.len());
    rayon::join(|| halve(left, left_out, work), || halve(right, right_out, work));
}

/// Outputs that can be handed out piecewise.
pub trait Split: Sized + Send {
    /// Cuts after so many rows, which are so many parts.
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

/// Output of `width` numbers per edge, where the edges of row r are `offsets[r]..offsets[r + 1]`.
pub struct EdgeRows<'a, T> {
    /// The edges of this part's rows.
    pub data: &'a mut [T],
    /// From the first row of this part on.
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
        let copies = Parts::for_copies(5000, |row| offsets[row], 1000);
        assert_eq!(copies.len(), 8);
        assert_eq!(Parts::for_copies(5000, |row| row as u64, 100).len(), 4);
        for parts in [Parts::by_offsets(&offsets), Parts::even(5000, 3), Parts::even(5000, 100_000), copies] {
            let mut next = 0;
            for part in &parts.0 {
                assert_eq!(part.start, next);
                assert!(part.end > part.start);
                next = part.end;
            }
            assert_eq!(next, 5000);
        }
        assert!(Parts::by_offsets(&[0]).is_empty() && Parts::even(0, 5).is_empty());
    }

    #[test]
    fn copies_are_added_up() {
        for rows in [0, 10, 100_000] {
            let parts = Parts::for_copies(rows, |row| row as u64, 1);
            let mut copies = vec![9.0; parts.len() * 3];
            let mut out = [9.0; 3];
            parts.for_each_copy(&mut copies, &mut out, |range, out| out.fill(range.len() as f64));
            assert_eq!(out, [rows as f64; 3]);
        }
    }

    #[test]
    fn each_part_gets_its_own_outputs() {
        let parts = Parts::even(1000, 4096);
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
}
