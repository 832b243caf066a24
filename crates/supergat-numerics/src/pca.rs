//! Principal component analysis of sparse features.
//!
//! With centred columns, `Xc = X - 1 m^T`, the principal coordinates are `U S` of `Xc = U S V^T`. They follow
//! from the leading eigenvectors of `Xc^T Xc` or `Xc Xc^T`, whichever is smaller. Neither matrix is formed: a
//! block Lanczos method (`eigen/`) only multiplies by `X` and its transpose, which stay sparse. The sign of a
//! component is arbitrary; here its coordinate of largest magnitude is positive.

use crate::eigen::{Operator, fix_signs, leading};
use rayon::prelude::*;
use supergat_core::{Features, SparseMatrix};
use supergat_cpu::kernels::{Compressed, Parts, Products};

/// Largest residual norm of a component, relative to the largest eigenvalue.
const TOLERANCE: f64 = 1e-8;

/// Computes the first `components` principal coordinates of each row, at most as many as there are rows or
/// columns.
pub fn principal_components(x: &SparseMatrix<f32>, components: usize) -> Features<f32> {
    let components = components.min(x.rows()).min(x.columns());
    let x = Centred::new(x);
    let found = components.min(x.columns);
    let mut values = vec![0.0; x.rows * components];
    if found > 0 {
        let width = found.next_multiple_of(8);
        let coordinates = x.coordinates(found, width);
        for (row, coordinates) in values.chunks_exact_mut(components).zip(coordinates.chunks_exact(width)) {
            row.iter_mut().zip(&coordinates[..found]).for_each(|(to, &from)| *to = from as f32);
        }
    }
    Features::Dense { rows: x.rows, columns: components, values }
}

/// Principal directions of a matrix: the right singular vectors `V` of the centred matrix `Xc = U S V^T`.
///
/// ```
/// use supergat_core::{Features, SparseMatrix};
/// use supergat_numerics::pca::Directions;
/// // Three points on a line: [0, 0], [3, 4], [6, 8].
/// let x = SparseMatrix::new(2, vec![0, 0, 2, 4], vec![0, 1, 0, 1], vec![3.0f32, 4.0, 6.0, 8.0])?;
/// let line = Directions::of(&x, 1);
/// let coordinates = line.project(&Features::Sparse(x));
/// assert!(coordinates.iter().zip([0.0, 5.0, 10.0]).all(|(found, expected)| (found.abs() - expected).abs() < 1e-5));
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Directions {
    components: usize,
    /// Columns that have entries, in ascending order.
    used: Vec<u32>,
    /// A row of `components` numbers per used column.
    values: Vec<f32>,
}

impl Directions {
    /// Computes the first `components` directions, at most as many as there are rows or columns with entries.
    pub fn of(x: &SparseMatrix<f32>, components: usize) -> Self {
        let used = used_columns(x);
        let x = Centred::new(x);
        let components = components.min(x.rows).min(x.columns);
        let mut values = vec![0.0; x.columns * components];
        if components > 0 {
            let width = components.next_multiple_of(8);
            let pairs = leading(&x, components, width, TOLERANCE, usize::MAX);
            // V = Xc^T U S^-1: a direction is the same up to its length, which becomes 1.
            let mut found = if x.by_columns() { pairs.vectors } else { x.transposed_times(&pairs.vectors, width) };
            fix_signs(&mut found, width);
            let largest = pairs.values.first().map_or(0.0, |value| value.max(0.0));
            for k in 0..components {
                let length = found.iter().skip(k).step_by(width).map(|v| v * v).sum::<f64>().sqrt();
                // A direction without variance has no meaning.
                let factor = if pairs.values[k] > TOLERANCE * largest && length > 0.0 { 1.0 / length } else { 0.0 };
                let rows = values.chunks_exact_mut(components).zip(found.chunks_exact(width));
                rows.for_each(|(to, from)| to[k] = (factor * from[k]) as f32);
            }
        }
        Self { components, used, values }
    }

    /// Restores directions from their parts; `None` unless the columns ascend, each has a row of finite numbers, and there
    /// are at least as many columns as directions.
    ///
    /// ```
    /// use supergat_numerics::pca::Directions;
    /// let directions = Directions::from_parts(2, vec![0, 7], vec![1.0, 0.0, 0.0, 1.0]).unwrap();
    /// assert_eq!(directions.parts(), (2, &[0, 7][..], &[1.0, 0.0, 0.0, 1.0][..]));
    /// assert!(Directions::from_parts(2, vec![0, 7], vec![1.0]).is_none());
    /// ```
    pub fn from_parts(components: usize, used: Vec<u32>, values: Vec<f32>) -> Option<Self> {
        let is_whole = components <= used.len() && used.len().checked_mul(components) == Some(values.len());
        let is_valid =
            is_whole && used.windows(2).all(|pair| pair[0] < pair[1]) && values.iter().all(|v| v.is_finite());
        is_valid.then_some(Self { components, used, values })
    }

    /// Returns the number of directions, the columns they are made of, and a row of numbers per column.
    pub fn parts(&self) -> (usize, &[u32], &[f32]) {
        (self.components, &self.used, &self.values)
    }

    /// Computes the coordinates `X V` of each row, which is not centred. Columns without entries in the matrix that the
    /// directions come from do not count. Coordinates that are too large for a number are NaN.
    pub fn project(&self, features: &Features<f32>) -> Vec<f32> {
        let width = self.components;
        let mut out = vec![0.0; features.rows() * width];
        if width == 0 {
            return out;
        }
        let add = |sums: &mut [f64], column: u32, value: f32| {
            if let Ok(place) = self.used.binary_search(&column) {
                let row = &self.values[place * width..(place + 1) * width];
                sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += f64::from(value) * f64::from(*v));
            }
        };
        out.par_chunks_exact_mut(width).enumerate().with_min_len(64).for_each(|(i, out)| {
            let mut sums = vec![0.0; width];
            match features {
                Features::Sparse(x) => {
                    let (columns, values) = x.row(i);
                    columns.iter().zip(values).for_each(|(&column, &value)| add(&mut sums, column, value));
                }
                Features::Dense { columns, values, .. } => {
                    let row = values[i * columns..(i + 1) * columns].iter().enumerate();
                    row.for_each(|(column, &value)| add(&mut sums, column as u32, value));
                }
            }
            let rounded = |sum: f64| if (sum as f32).is_finite() { sum as f32 } else { f32::NAN };
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = rounded(sum));
        });
        out
    }
}

/// Returns the columns that have entries, in ascending order.
fn used_columns(x: &SparseMatrix<f32>) -> Vec<u32> {
    let mut used = x.column_of().to_vec();
    used.sort_unstable();
    used.dedup();
    used
}

/// A sparse matrix with implicitly centred columns.
///
/// Columns without entries are dropped: they contribute nothing, and a file may claim any number of them.
struct Centred {
    rows: usize,
    columns: usize,
    x: SparseMatrix<f64>,
    means: Vec<f64>,
    row_parts: Parts,
    /// Ranges of rows, each with its own copy of the result when summing over rows.
    copies: Parts,
}

impl Centred {
    fn new(x: &SparseMatrix<f32>) -> Self {
        let used = used_columns(x);
        let (rows, columns) = (x.rows(), used.len());
        let index = |column: &u32| used.binary_search(column).expect("column is in the list") as u32;
        let column_of: Vec<u32> = x.column_of().iter().map(index).collect();
        let values = x.values().iter().map(|&value| f64::from(value)).collect();
        let x = SparseMatrix::new(columns, x.offsets().to_vec(), column_of, values).expect("columns keep their order");
        let mut means = vec![0.0; columns];
        for (&column, value) in x.column_of().iter().zip(x.values()) {
            means[column as usize] += value / rows as f64;
        }
        let row_parts = Parts::by_offsets(x.offsets());
        let copies = Parts::for_copies(0..rows, |row| x.offsets()[row], columns);
        Self { rows, columns, means, row_parts, copies, x }
    }

    /// Computes the first `components` coordinates of each row, in rows of `width` values.
    fn coordinates(&self, components: usize, width: usize) -> Vec<f64> {
        let pairs = leading(self, components, width, TOLERANCE, usize::MAX);
        let mut coordinates = pairs.vectors;
        if self.by_columns() {
            coordinates = self.times(&coordinates, width);
        } else {
            let scale =
                |row: &mut [f64]| row.iter_mut().zip(&pairs.values).for_each(|(u, value)| *u *= value.max(0.0).sqrt());
            coordinates.chunks_exact_mut(width).for_each(scale);
        }
        fix_signs(&mut coordinates, width);
        coordinates
    }

    fn entries(&self) -> Compressed<'_, f64> {
        Compressed { offsets: self.x.offsets(), index: self.x.column_of(), values: self.x.values() }
    }

    /// Returns whether to use the eigenvectors of `Xc^T Xc` instead of `Xc Xc^T`.
    fn by_columns(&self) -> bool {
        self.columns <= self.rows
    }

    /// Computes `Xc M` for `M` with `width` columns.
    fn times(&self, m: &[f64], width: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.rows * width];
        f64::sparse_product(&self.row_parts, self.entries(), None, m, width, &mut out);
        let mut shift = vec![0.0; width];
        for (row, mean) in m.chunks_exact(width).zip(&self.means) {
            shift.iter_mut().zip(row).for_each(|(shift, value)| *shift += mean * value);
        }
        subtract(&mut out, width, |_| 1.0, &shift);
        out
    }

    /// Computes `Xc^T M` for `M` with `width` columns.
    fn transposed_times(&self, m: &[f64], width: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.columns * width];
        let mut copies = vec![0.0; self.copies.len() * out.len()];
        f64::sparse_transposed_product(&self.copies, self.entries(), None, m, width, &mut copies, &mut out);
        let mut sums = vec![0.0; width];
        for row in m.chunks_exact(width) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        subtract(&mut out, width, |column| self.means[column], &sums);
        out
    }
}

/// Subtracts `factor(i) * shift` from row `i`.
fn subtract(out: &mut [f64], width: usize, factor: impl Fn(usize) -> f64 + Sync, shift: &[f64]) {
    out.par_chunks_exact_mut(width).enumerate().with_min_len(256).for_each(|(i, row)| {
        let factor = factor(i);
        row.iter_mut().zip(shift).for_each(|(value, shift)| *value -= factor * shift);
    });
}

impl Operator for Centred {
    fn side(&self) -> usize {
        self.rows.min(self.columns)
    }

    fn apply(&self, block: &[f64], width: usize) -> Vec<f64> {
        if self.by_columns() {
            self.transposed_times(&self.times(block, width), width)
        } else {
            self.times(&self.transposed_times(block, width), width)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(columns: usize, rows: &[&[f32]]) -> SparseMatrix<f32> {
        let (mut offsets, mut column_of, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            for (column, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                column_of.push(column as u32);
                values.push(value);
            }
            offsets.push(values.len() as u64);
        }
        SparseMatrix::new(columns, offsets, column_of, values).unwrap()
    }

    fn coordinates(features: Features<f32>) -> Vec<f32> {
        let Features::Dense { values, .. } = features else { panic!("dense") };
        values
    }

    /// Expected values computed with scikit-learn 1.9, `PCA(n_components=2, svd_solver="full")`, up to signs.
    #[test]
    fn matches_scikit_learn() {
        let x = sparse(3, &[&[1.0, 0.0, 2.0], &[0.0, 1.0, 0.0], &[1.0, 1.0, 0.0], &[3.0, 0.0, 1.0], &[0.0, 0.0, 1.0]]);
        let expected = [
            0.51647373f64,
            1.12476289,
            -1.33414452,
            -0.46625506,
            -0.43256556,
            -0.89449339,
            1.97748662,
            -0.52436471,
            -0.72725028,
            0.76035027,
        ];
        let found = coordinates(principal_components(&x, 2));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    /// Also checks that coordinates are uncorrelated and in order of descending variance.
    #[test]
    fn all_components_preserve_distances() {
        for (rows, columns) in [(70, 40), (40, 70)] {
            let stream = supergat_core::random::Stream::new(5, 0, 0, supergat_core::random::Purpose::SyntheticFeatures);
            let value =
                |i: usize| if stream.uniform(i as u64) < 0.2 { stream.normal_pair(i as u64)[0] as f32 } else { 0.0 };
            let dense: Vec<Vec<f32>> =
                (0..rows).map(|row| (0..columns).map(|column| value(row * columns + column)).collect()).collect();
            let x = sparse(columns, &dense.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let found = coordinates(principal_components(&x, 1000));
            let found: Vec<&[f32]> = found.chunks_exact(40).collect();
            let distance = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
            for (i, j) in [(0, 1), (3, 30), (17, 39)] {
                let (before, after) = (distance(&dense[i], &dense[j]), distance(found[i], found[j]));
                assert!((before - after).abs() < 1e-5 * before, "{before} {after}");
            }
            let moment =
                |a: usize, b: usize| found.iter().map(|row| f64::from(row[a]) * f64::from(row[b])).sum::<f64>();
            assert!((0..39).all(|k| moment(k, k) >= moment(k + 1, k + 1) - 1e-6 && moment(k, k + 1).abs() < 1e-4));
        }
    }

    /// Projections on directions are principal coordinates, up to a shift of each.
    #[test]
    fn directions_give_coordinates() {
        for (rows, columns) in [(30, 20), (20, 30)] {
            let stream = supergat_core::random::Stream::new(6, 0, 0, supergat_core::random::Purpose::SyntheticFeatures);
            let value =
                |i: usize| if stream.uniform(i as u64) < 0.4 { stream.normal_pair(i as u64)[0] as f32 } else { 0.0 };
            let dense: Vec<Vec<f32>> =
                (0..rows).map(|row| (0..columns).map(|column| value(row * columns + column)).collect()).collect();
            let x = sparse(columns, &dense.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let directions = Directions::of(&x, 4);
            let found = directions.project(&Features::Sparse(x.clone()));
            let all = Features::dense(rows, columns, dense.concat()).unwrap();
            assert_eq!(directions.project(&all), found);
            let expected = coordinates(principal_components(&x, 4));
            for k in 0..4 {
                let column = |of: &[f32]| of.iter().skip(k).step_by(4).map(|v| f64::from(*v)).collect::<Vec<_>>();
                let (found, expected) = (column(&found), column(&expected));
                let from_first = |of: &[f64]| of.iter().map(|v| v - of[0]).collect::<Vec<_>>();
                let (found, expected) = (from_first(&found), from_first(&expected));
                let is_equal = |sign: f64| {
                    found.iter().zip(&expected).all(|(found, expected)| (found * sign - expected).abs() < 1e-4)
                };
                assert!(is_equal(1.0) || is_equal(-1.0), "component {k}: {found:?} {expected:?}");
            }
            let (components, used, values) = directions.parts();
            let restored = Directions::from_parts(components, used.to_vec(), values.to_vec());
            assert_eq!(restored.as_ref(), Some(&directions));
        }
        let constant = Directions::of(&sparse(2, &[&[1.0, 2.0][..]; 4]), 2);
        assert!(constant.values.iter().all(|&v| v == 0.0), "no variance");
        assert!(Directions::of(&sparse(3, &[]), 3).project(&Features::dense(0, 3, vec![]).unwrap()).is_empty());
        for (used, values) in [(vec![1, 0], vec![0.0; 2]), (vec![0], vec![f32::NAN]), (vec![0, 1], vec![0.0])] {
            assert!(Directions::from_parts(1, used, values).is_none());
        }
    }

    /// Copies of three rows span two dimensions, so further coordinates are zero.
    #[test]
    fn handles_low_rank_and_empty_matrices() {
        let rows: Vec<&[f32]> = (0..300)
            .map(|i| [&[1.0, 0.0, 0.0, 1.0][..], &[0.0, 1.0, 0.0, 0.0], &[0.0, 0.0, 1.0, 0.0]][i % 3])
            .collect();
        let found = coordinates(principal_components(&sparse(4, &rows), 4));
        for row in found.chunks_exact(4) {
            assert!(row[2].abs() < 1e-6 && row[3].abs() < 1e-6, "{row:?}");
        }
        assert!(
            coordinates(principal_components(&sparse(4, &[&[0.0; 4][..]; 5]), 3)).iter().all(|&value| value == 0.0)
        );
        assert!(coordinates(principal_components(&sparse(0, &[&[][..]; 2]), 3)).is_empty());
        assert!(coordinates(principal_components(&sparse(3, &[]), 3)).is_empty());
    }

    #[test]
    fn empty_columns_do_not_change_coordinates() {
        let rows: [&[f32]; 4] = [&[1.0, 0.0, 2.0], &[0.0, 1.0, 0.0], &[1.0, 1.0, 0.0], &[3.0, 0.0, 1.0]];
        let narrow = sparse(3, &rows);
        let column_of = narrow.column_of().iter().map(|column| column * 1_000_000_000).collect();
        let wide = SparseMatrix::new(3_000_000_000, narrow.offsets().to_vec(), column_of, narrow.values().to_vec());
        let wide = coordinates(principal_components(&wide.unwrap(), 4));
        let narrow = coordinates(principal_components(&narrow, 3));
        for (wide, narrow) in wide.chunks_exact(4).zip(narrow.chunks_exact(3)) {
            assert_eq!((&wide[..3], wide[3]), (narrow, 0.0));
        }
    }

    #[test]
    fn result_does_not_depend_on_thread_count() {
        let stream = supergat_core::random::Stream::new(6, 0, 0, supergat_core::random::Purpose::SyntheticFeatures);
        let dense: Vec<Vec<f32>> = (0..400u64)
            .map(|row| (0..300).map(|column| f32::from(stream.uniform(row * 300 + column) < 0.05)).collect())
            .collect();
        let x = sparse(300, &dense.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            coordinates(pool.install(|| principal_components(&x, 20)))
        };
        assert_eq!(on(1), on(3));
    }
}
