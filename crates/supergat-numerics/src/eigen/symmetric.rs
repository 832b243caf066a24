//! Eigendecomposition of a dense symmetric matrix of moderate size.
//!
//! Householder reflections reduce the matrix to tridiagonal form; the implicit QL method diagonalises it. The
//! rotations of QL are recorded and then applied in parallel to strips of the requested eigenvectors.

use rayon::prelude::*;

/// Leading eigenvalues of a symmetric matrix, and the transformations that yield their eigenvectors.
pub(super) struct Eigen {
    tridiagonal: Tridiagonal,
    rotations: Vec<Rotation>,
    /// Positions of the leading eigenvalues on the diagonal, largest eigenvalue first.
    order: Vec<usize>,
}

impl Eigen {
    /// Computes the `count` largest eigenvalues of a symmetric matrix, or all if there are fewer.
    pub fn new(matrix: Vec<f64>, side: usize, count: usize) -> Self {
        let mut tridiagonal = Tridiagonal::new(matrix, side);
        let rotations = tridiagonal.diagonalise();
        let mut order: Vec<usize> = (0..side).collect();
        order.sort_by(|&a, &b| tridiagonal.diagonal[b].total_cmp(&tridiagonal.diagonal[a]));
        order.truncate(count);
        Self { tridiagonal, rotations, order }
    }

    /// Returns the eigenvalues in descending order.
    pub fn values(&self) -> Vec<f64> {
        self.order.iter().map(|&k| self.tridiagonal.diagonal[k]).collect()
    }

    /// Computes only the last [`STRIP`] coordinates of each eigenvector, which is much cheaper than all.
    pub fn last_coordinates(&self) -> Vec<[f64; STRIP]> {
        let side = self.tridiagonal.side;
        let mut strip = vec![[0.0; STRIP]; side];
        for k in 0..STRIP.min(side) {
            let mut row = vec![0.0; side];
            row[side - 1 - k] = 1.0;
            self.tridiagonal.reflect(&mut row);
            strip.iter_mut().zip(row).for_each(|(entry, value)| entry[STRIP - 1 - k] = value);
        }
        rotate(&mut strip, &self.rotations);
        self.order.iter().map(|&k| strip[k]).collect()
    }

    /// Computes the eigenvectors, one per row.
    pub fn vectors(&self) -> Vec<f64> {
        let side = self.tridiagonal.side;
        let strips = (0..side.div_ceil(STRIP)).into_par_iter().map(|s| {
            let mut strip = vec![[0.0; STRIP]; side];
            (s * STRIP..side.min((s + 1) * STRIP)).for_each(|k| strip[k][k - s * STRIP] = 1.0);
            rotate(&mut strip, &self.rotations);
            strip
        });
        let strips: Vec<_> = strips.collect();
        let mut vectors = vec![0.0; self.order.len() * side];
        vectors.par_chunks_exact_mut(side.max(1)).zip(&self.order).for_each(|(vector, &k)| {
            for (part, strip) in vector.chunks_mut(STRIP).zip(&strips) {
                part.copy_from_slice(&strip[k][..part.len()]);
            }
            self.tridiagonal.reflect_back(vector);
        });
        vectors
    }
}

/// Tridiagonal matrix `Q^T A Q`, and the Householder reflections whose product is `Q`.
struct Tridiagonal {
    side: usize,
    diagonal: Vec<f64>,
    /// Entry `k` couples rows `k` and `k + 1`.
    off_diagonal: Vec<f64>,
    /// Reflection `k` is `I - 2 v v^T` for the unit vector `v` in row `k`, which is zero up to index `k`.
    reflections: Vec<f64>,
}

impl Tridiagonal {
    fn new(mut a: Vec<f64>, n: usize) -> Self {
        let mut tridiagonal =
            Self { side: n, diagonal: vec![0.0; n], off_diagonal: vec![0.0; n], reflections: vec![0.0; n * n] };
        for k in 0..n {
            tridiagonal.diagonal[k] = a[k * n + k];
            if k + 1 == n {
                break;
            }
            let v = &mut tridiagonal.reflections[k * n..(k + 1) * n];
            v[k + 1..].copy_from_slice(&a[k * n + k + 1..(k + 1) * n]);
            let norm = v.iter().map(|value| value * value).sum::<f64>().sqrt();
            let target = if v[k + 1] > 0.0 { -norm } else { norm };
            tridiagonal.off_diagonal[k] = target;
            v[k + 1] -= target;
            let length = v.iter().map(|value| value * value).sum::<f64>().sqrt();
            if length <= f64::MIN_POSITIVE {
                v.fill(0.0);
                continue;
            }
            v.iter_mut().for_each(|value| *value /= length);
            reflect_both_sides(&mut a, n, k + 1, v);
        }
        tridiagonal
    }

    /// Multiplies a vector by `Q` in place.
    fn reflect_back(&self, vector: &mut [f64]) {
        (0..self.side.saturating_sub(1)).rev().for_each(|k| self.reflect_by(k, vector));
    }

    /// Multiplies a vector by `Q^T` in place.
    fn reflect(&self, vector: &mut [f64]) {
        (0..self.side.saturating_sub(1)).for_each(|k| self.reflect_by(k, vector));
    }

    fn reflect_by(&self, k: usize, vector: &mut [f64]) {
        let v = &self.reflections[k * self.side + k + 1..(k + 1) * self.side];
        let part = &mut vector[k + 1..];
        let twice = 2.0 * dot(v, part);
        part.iter_mut().zip(v).for_each(|(value, v)| *value -= twice * v);
    }

    /// Replaces the diagonal by the eigenvalues; returns the rotations that turn the identity into the
    /// eigenvectors, one per row.
    fn diagonalise(&mut self) -> Vec<Rotation> {
        let n = self.side;
        let mut rotations = Vec::new();
        for l in 0..n {
            // An iteration limit far above the few steps that an eigenvalue usually needs.
            for _ in 0..200 {
                let Some(m) = (l..n - 1).find(|&m| self.splits_after(m)).or(Some(n - 1)).filter(|&m| m != l) else {
                    break;
                };
                self.sweep(l, m, &mut rotations);
            }
        }
        rotations
    }

    /// Returns whether the off-diagonal entry after row `m` is negligible.
    fn splits_after(&self, m: usize) -> bool {
        let around = self.diagonal[m].abs() + self.diagonal[m + 1].abs();
        self.off_diagonal[m].abs() <= f64::EPSILON * around || self.off_diagonal[m] == 0.0
    }

    /// Performs one implicit QL step on the rows `l..=m`.
    fn sweep(&mut self, l: usize, m: usize, rotations: &mut Vec<Rotation>) {
        let (d, e) = (&mut self.diagonal, &mut self.off_diagonal);
        let mut g = (d[l + 1] - d[l]) / (2.0 * e[l]);
        let r = g.hypot(1.0);
        g = d[m] - d[l] + e[l] / (g + if g >= 0.0 { r } else { -r });
        let (mut sine, mut cosine, mut p) = (1.0, 1.0, 0.0);
        for i in (l..m).rev() {
            let (f, b) = (sine * e[i], cosine * e[i]);
            let r = f.hypot(g);
            e[i + 1] = r;
            if r == 0.0 {
                d[i + 1] -= p;
                e[m] = 0.0;
                return;
            }
            (sine, cosine) = (f / r, g / r);
            g = d[i + 1] - p;
            let r = (d[i] - g) * sine + 2.0 * cosine * b;
            p = sine * r;
            d[i + 1] = g + p;
            g = cosine * r - b;
            rotations.push(Rotation { row: i as u32, sine, cosine });
        }
        d[l] -= p;
        e[l] = g;
        e[m] = 0.0;
    }
}

/// Computes `A = (I - 2 v v^T) A (I - 2 v v^T)` in place on the rows and columns from `first` on; `v` is zero
/// before.
fn reflect_both_sides(a: &mut [f64], n: usize, first: usize, v: &[f64]) {
    let v = &v[first..];
    // Each row is computed by one thread in a fixed order, so results do not depend on the number of threads.
    let rows = a[first * n..].par_chunks_exact(n).with_min_len(64);
    let mut w: Vec<f64> = rows.map(|row| dot(&row[first..], v)).collect();
    let half = dot(&w, v);
    w.iter_mut().zip(v).for_each(|(w, v)| *w = 2.0 * (*w - half * v));
    let rows = a[first * n..].par_chunks_exact_mut(n).with_min_len(64).zip(&w).zip(v);
    rows.for_each(|((row, &w_i), &v_i)| {
        for ((value, w), v) in row[first..].iter_mut().zip(&w).zip(v) {
            *value -= v_i * w + w_i * v;
        }
    });
}

/// Givens rotation of the rows `row` and `row + 1`.
#[derive(Clone, Copy)]
struct Rotation {
    row: u32,
    sine: f64,
    cosine: f64,
}

/// Number of columns that are rotated together: small enough for a thousand rows to stay in the cache.
pub(super) const STRIP: usize = 32;

/// Applies all rotations to a strip, in order.
fn rotate(strip: &mut [[f64; STRIP]], rotations: &[Rotation]) {
    for &Rotation { row, sine, cosine } in rotations {
        let [upper, lower] = &mut strip[row as usize..row as usize + 2] else { continue };
        for (upper, lower) in upper.iter_mut().zip(lower) {
            (*upper, *lower) = (cosine * *upper - sine * *lower, sine * *upper + cosine * *lower);
        }
    }
}

/// Returns the inner product, accumulated in eight independent sums for vector instructions.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_blocks, b_blocks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_blocks.zip(b_blocks) {
        (0..8).for_each(|k| sums[k] += a[k] * b[k]);
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second-difference matrix has the eigenvalues 2 - 2 cos(pi k / (n + 1)).
    #[test]
    fn finds_eigenvalues_of_second_differences() {
        let n = 57;
        let entry = |i: usize, j: usize| if i == j { 2.0 } else { -f64::from(i.abs_diff(j) == 1) };
        let found = Eigen::new((0..n * n).map(|at| entry(at / n, at % n)).collect(), n, n);
        for (k, value) in found.values().iter().enumerate() {
            let expected = 2.0 - 2.0 * (std::f64::consts::PI * (n - k) as f64 / (n + 1) as f64).cos();
            assert!((value - expected).abs() < 1e-12, "{value} {expected}");
        }
    }

    #[test]
    fn eigenvectors_are_orthonormal_and_satisfy_equation() {
        for n in [1usize, 2, 3, 40, 97] {
            let stream = supergat_core::random::Stream::new(1, 0, 0, supergat_core::random::Purpose::SyntheticFeatures);
            let entry = |i: usize, j: usize| stream.uniform((i.min(j) * n + i.max(j)) as u64) - 0.5;
            let a: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
            let found = Eigen::new(a.clone(), n, n);
            let (values, vectors, last) = (found.values(), found.vectors(), found.last_coordinates());
            let vector = |k: usize| &vectors[k * n..(k + 1) * n];
            for k in 0..n {
                let v = vector(k);
                let ends = v.iter().rev().zip(last[k].iter().rev());
                assert!(ends.clone().count() == n.min(STRIP) && ends.into_iter().all(|(a, b)| (a - b).abs() < 1e-12));
                for i in 0..n {
                    let image = dot(&a[i * n..(i + 1) * n], v);
                    assert!((image - values[k] * v[i]).abs() < 1e-12 * n as f64);
                    let product = dot(vector(i), v);
                    assert!((product - f64::from(u8::from(i == k))).abs() < 1e-12);
                }
            }
        }
        assert!(Eigen::new(Vec::new(), 0, 3).values().is_empty());
        assert_eq!(Eigen::new(vec![0.0; 9], 3, 2).values(), [0.0, 0.0]);
    }
}
