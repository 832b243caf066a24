//! Block Lanczos method with full orthogonalisation.
//!
//! It finds the leading eigenpairs of a large symmetric matrix that is only available as a product with
//! vectors. The Krylov space grows by one block of vectors per step: the matrix times the previous block,
//! made orthogonal to all earlier blocks. Eigenvectors of the matrix projected onto that space converge to
//! eigenvectors of the matrix, the leading ones first.

use super::symmetric::{Eigen, dot};
use supergat_core::random::{Purpose, Stream};
use supergat_cpu::kernels::{Dense, Parts, Products};

/// A symmetric positive semidefinite matrix.
pub(crate) trait Operator {
    /// Returns the number of rows, which equals the number of columns.
    fn side(&self) -> usize;
    /// Returns the matrix times a block of `width` vectors, both in row-major order.
    fn apply(&self, block: &[f64], width: usize) -> Vec<f64>;
}

/// Eigenvalues in descending order and eigenvectors as columns of a row-major matrix.
pub(crate) struct Pairs {
    pub values: Vec<f64>,
    pub vectors: Vec<f64>,
}

/// Number of vectors added per step.
const BLOCK: usize = 8;
/// Number of basis vectors stored in one matrix.
const PANEL: usize = 256;
/// Relative norm below which a vector is linearly dependent on the basis.
const DEPENDENT: f64 = 1e-11;

/// Computes the `count` leading eigenpairs.
///
/// The space grows until the residual norms of all eigenvectors are at most `tolerance` times the largest
/// eigenvalue, or until it has `most` vectors; then the eigenvectors are the best approximations in it.
/// Rows of the eigenvectors have `width` values: `count` rounded up to a multiple of eight, padded with
/// zeros.
pub(crate) fn leading(operator: &impl Operator, count: usize, width: usize, tolerance: f64, most: usize) -> Pairs {
    let side = operator.side();
    let mut space = Space { side, panels: Vec::new(), vectors: 0, projected: Vec::new() };
    if count == 0 {
        return Pairs { values: Vec::new(), vectors: Vec::new() };
    }
    let mut block = space.random_block(0);
    let mut check_at = (5 * count / 2).min(side);
    let mut largest = 0.0f64;
    loop {
        space.push(&block.rows);
        let mut image = operator.apply(&block.rows, BLOCK);
        let scale = largest_norm(&image);
        largest = largest.max(scale);
        space.project(&mut image);
        let (next, residual) = space.orthonormal(image, largest);
        // A zero image of random vectors means that the matrix is zero on the complement of the space.
        let exhausted = space.vectors >= side || (block.random && scale <= DEPENDENT * largest);
        let full = space.vectors >= most;
        if space.vectors >= check_at || exhausted || full || next.used == 0 {
            let found = Eigen::new(space.projected(), space.columns(), count);
            let largest = found.values().first().copied().unwrap_or(0.0);
            let converged = found.last_coordinates().iter().all(|last| residual.norm_of(last) <= tolerance * largest);
            // Without new vectors the space is invariant: its eigenpairs are exact, but others may lie
            // outside of it.
            if exhausted || full || (converged && next.used > 0) {
                return space.combine(&found, width);
            }
            check_at = space.vectors + space.vectors / 5;
        }
        block = if next.used > 0 { next } else { space.random_block(space.vectors as u32) };
    }
}

/// Orthonormal vectors in row-major order; unused columns are zero.
struct Block {
    rows: Vec<f64>,
    used: usize,
    random: bool,
}

/// Factor of the QR decomposition of the last image: `image = block * factor`.
struct Residual {
    factor: [[f64; BLOCK]; BLOCK],
}

impl Residual {
    /// Returns the residual norm of an eigenvector from its last coordinates in the space.
    fn norm_of(&self, coordinates: &[f64]) -> f64 {
        let last = &coordinates[coordinates.len() - BLOCK..];
        let out = self.factor.iter().map(|row| row.iter().zip(last).map(|(f, c)| f * c).sum::<f64>().powi(2));
        out.sum::<f64>().sqrt()
    }
}

/// The Krylov space.
struct Space {
    side: usize,
    /// Basis vectors as matrices of `side` rows and [`PANEL`] columns; the last one is padded with zero
    /// columns.
    panels: Vec<Vec<f64>>,
    /// Number of basis vectors, that is of nonzero columns.
    vectors: usize,
    /// For each block the inner products of all vectors up to it with its images, [`BLOCK`] values per row.
    projected: Vec<Vec<f64>>,
}

impl Space {
    fn columns(&self) -> usize {
        self.projected.len() * BLOCK
    }

    fn push(&mut self, block: &[f64]) {
        let column = self.columns() % PANEL;
        if column == 0 {
            self.panels.push(vec![0.0; self.side * PANEL]);
        }
        let panel = self.panels.last_mut().expect("a panel was pushed");
        for (row, new) in panel.chunks_exact_mut(PANEL).zip(block.chunks_exact(BLOCK)) {
            row[column..column + BLOCK].copy_from_slice(new);
        }
        self.vectors += (0..BLOCK).filter(|&k| block.chunks_exact(BLOCK).any(|row| row[k] != 0.0)).count();
        self.projected.push(Vec::new());
    }

    /// Makes the images orthogonal to the space and stores the removed components.
    fn project(&mut self, image: &mut [f64]) {
        // In exact arithmetic an image only has components in its own block and the one before. A second pass
        // over all panels removes rounding errors.
        let recent = self.panels.len().saturating_sub(2);
        let most = self.remove(image, recent);
        let mut amounts = self.remove(image, 0);
        amounts[recent * PANEL * BLOCK..].iter_mut().zip(&most).for_each(|(amount, most)| *amount += most);
        *self.projected.last_mut().expect("a block was pushed") = amounts;
    }

    /// Subtracts from a block its projection onto the panels from `first` on; returns the coefficients.
    fn remove(&self, block: &mut [f64], first: usize) -> Vec<f64> {
        let mut amounts = Vec::with_capacity((self.panels.len() - first) * PANEL * BLOCK);
        let mut within = vec![0.0; block.len()];
        let parts = Parts::for_copies(0..self.side, |row| row as u64, 1);
        let mut copies = vec![0.0; parts.len() * PANEL * BLOCK];
        for panel in &self.panels[first..] {
            let panel = Dense { values: panel, columns: PANEL };
            let mut amount = vec![0.0; PANEL * BLOCK];
            f64::dense_transposed_product(&parts, panel, None, block, BLOCK, &mut copies, &mut amount);
            f64::dense_product(&Parts::even(0..self.side, PANEL * BLOCK), panel, None, &amount, BLOCK, &mut within);
            block.iter_mut().zip(&within).for_each(|(value, within)| *value -= within);
            amounts.extend(amount);
        }
        amounts
    }

    /// Orthonormalises a block that is orthogonal to the space; returns the basis and its factor.
    fn orthonormal(&self, block: Vec<f64>, scale: f64) -> (Block, Residual) {
        let mut vectors = columns_of(&block);
        let mut factor = [[0.0; BLOCK]; BLOCK];
        let mut used = 0;
        for k in 0..BLOCK {
            for _ in 0..2 {
                for earlier in 0..used {
                    let (basis, rest) = vectors.split_at_mut(k);
                    let amount = dot(&basis[earlier], &rest[0]);
                    factor[earlier][k] += amount;
                    rest[0].iter_mut().zip(&basis[earlier]).for_each(|(value, b)| *value -= amount * b);
                }
            }
            let norm = dot(&vectors[k], &vectors[k]).sqrt();
            if norm > DEPENDENT * scale && norm > 0.0 && self.vectors + used < self.side {
                vectors[k].iter_mut().for_each(|value| *value /= norm);
                factor[used][k] = norm;
                vectors.swap(used, k);
                used += 1;
            }
        }
        vectors[used..].iter_mut().for_each(|vector| vector.fill(0.0));
        (Block { rows: rows_of(&vectors, self.side), used, random: false }, Residual { factor })
    }

    /// Draws random vectors orthogonal to the space.
    fn random_block(&self, step: u32) -> Block {
        let stream = Stream::new(0, step, 0, Purpose::SyntheticFeatures);
        let mut block: Vec<f64> =
            (0..(self.side * BLOCK / 2) as u64).flat_map(|index| stream.normal_pair(index)).collect();
        let scale = largest_norm(&block);
        for _ in 0..2 {
            self.remove(&mut block, 0);
        }
        let (block, _) = self.orthonormal(block, scale);
        Block { random: true, ..block }
    }

    /// Returns the projection of the matrix onto the space as a full symmetric matrix.
    fn projected(&self) -> Vec<f64> {
        let side = self.columns();
        let mut full = vec![0.0; side * side];
        for (block, amounts) in self.projected.iter().enumerate() {
            for (row, amounts) in amounts.chunks_exact(BLOCK).enumerate().take((block + 1) * BLOCK) {
                for (k, &amount) in amounts.iter().enumerate() {
                    let column = block * BLOCK + k;
                    if row <= column {
                        full[row * side + column] = amount;
                        full[column * side + row] = amount;
                    }
                }
            }
        }
        full
    }

    /// Converts eigenvectors from coordinates in the space to full vectors.
    fn combine(&self, found: &Eigen, width: usize) -> Pairs {
        let (values, within) = (found.values(), found.vectors());
        let mut vectors = vec![0.0; self.side * width];
        let mut part = vec![0.0; self.side * width];
        for (p, panel) in self.panels.iter().enumerate() {
            let mut coordinates = vec![0.0; PANEL * width];
            for (k, vector) in within.chunks_exact(self.columns()).enumerate() {
                let of_panel = vector.iter().skip(p * PANEL).take(PANEL);
                of_panel.enumerate().for_each(|(row, &value)| coordinates[row * width + k] = value);
            }
            let panel = Dense { values: panel, columns: PANEL };
            f64::dense_product(&Parts::even(0..self.side, PANEL * width), panel, None, &coordinates, width, &mut part);
            vectors.iter_mut().zip(&part).for_each(|(value, part)| *value += part);
        }
        Pairs { values, vectors }
    }
}

/// Splits a row-major block into its columns.
fn columns_of(block: &[f64]) -> Vec<Vec<f64>> {
    (0..BLOCK).map(|k| block.iter().skip(k).step_by(BLOCK).copied().collect()).collect()
}

/// Joins columns into a row-major block.
fn rows_of(vectors: &[Vec<f64>], side: usize) -> Vec<f64> {
    (0..side).flat_map(|row| vectors.iter().map(move |vector| vector[row])).collect()
}

/// Returns the largest norm of the vectors of a block.
fn largest_norm(block: &[f64]) -> f64 {
    let mut squares = [0.0; BLOCK];
    for row in block.chunks_exact(BLOCK) {
        squares.iter_mut().zip(row).for_each(|(square, value)| *square += value * value);
    }
    squares.into_iter().fold(0.0, f64::max).sqrt()
}
