//! Division of work over threads. The parts depend on the data only, never on the number of threads, and each row is computed by
//! one thread in one order: so results do not depend on the number of threads either.

use std::ops::Range;

/// Consecutive ranges of rows with about equal work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts(Vec<Range<usize>>);

/// More parts than threads, so that a thread that is done early can help; few enough that starting them costs nothing.
const PARTS: usize = 32;
/// Work (say, edges) below which a part is not worth starting.
const SMALLEST: u64 = 1024;

impl Parts {
    /// Divides rows whose work is the difference of successive `offsets`, plus one for the row itself.
    pub fn by_offsets(offsets: &[u64]) -> Self {
        let rows = offsets.len().saturating_sub(1);
        let total = offsets.last().copied().unwrap_or(0) + rows as u64;
        let target = (total / PARTS as u64).max(SMALLEST);
        let mut parts = Vec::new();
        let mut start = 0;
        let mut done = 0;
        for row in 0..rows {
            let work = offsets[row + 1] + row as u64 + 1;
            if work - done >= target || row + 1 == rows {
                parts.push(start..row + 1);
                start = row + 1;
                done = work;
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

    /// Divides rows that are all much work into eight parts at most.
    pub fn few(rows: usize) -> Self {
        // A multiple of eight: a byte of a dropout mask is never divided.
        let per_part = rows.div_ceil(8).next_multiple_of(8).max(8);
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
        for parts in [Parts::by_offsets(&offsets), Parts::even(5000, 3), Parts::even(5000, 100_000), Parts::few(5000)] {
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
