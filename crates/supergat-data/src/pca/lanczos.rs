//! The leading eigenvectors of a large symmetric matrix that is only known by what it does to vectors: block Lanczos with full
//! orthogonalisation. The space grows by a block of vectors at a time, each being the matrix times the block before, made orthogonal to all
//! earlier ones; eigenvectors of the matrix within that space approach its own, the leading ones first.

use super::symmetric::{Solved, dot};
use supergat_core::kernels::{Dense, Parts, Primitives};
use supergat_core::random::{Purpose, Stream};

/// A symmetric matrix without negative eigenvalues.
pub(super) trait Operator {
    /// Rows and columns.
    fn side(&self) -> usize;
    /// The matrix times a block of `width` vectors, given and returned row after row.
    fn apply(&self, block: &[f64], width: usize) -> Vec<f64>;
}

/// Eigenvalues, largest first, and eigenvectors, one per column, `width` numbers per row.
pub(super) struct Pairs {
    pub values: Vec<f64>,
    pub vectors: Vec<f64>,
}

/// Vectors per step.
const BLOCK: usize = 8;
/// Vectors kept side by side in memory.
const PANEL: usize = 256;
/// An eigenvector is found when the matrix turns it by no more than this share of the largest eigenvalue.
const TOLERANCE: f64 = 1e-8;
/// What is left of a vector after orthogonalisation when it held nothing new.
const NOTHING: f64 = 1e-11;

/// The first `count` eigenpairs; `width` is `count` rounded up to a multiple of eight, columns beyond `count` are zero.
pub(super) fn leading(operator: &impl Operator, count: usize, width: usize) -> Pairs {
    let side = operator.side();
    let mut space = Space { side, panels: Vec::new(), vectors: 0, projected: Vec::new() };
    if count == 0 {
        return Pairs { values: Vec::new(), vectors: Vec::new() };
    }
    let mut block = space.fresh(0);
    let mut check_at = (5 * count / 2).min(side);
    let mut largest = 0.0f64;
    loop {
        space.push(&block.rows);
        let mut image = operator.apply(&block.rows, BLOCK);
        let scale = largest_norm(&image);
        largest = largest.max(scale);
        space.project(&mut image);
        let (next, rest) = space.orthonormal(image, largest);
        // Random vectors that the matrix takes to nothing: it takes everything outside of the space to nothing.
        let exhausted = space.vectors >= side || (block.random && scale <= NOTHING * largest);
        if space.vectors >= check_at || exhausted || next.used == 0 {
            let found = Solved::of(space.projected(), space.columns(), count);
            let largest = found.values().first().copied().unwrap_or(0.0);
            let converged = found.last_coordinates().iter().all(|last| rest.norm_of(last) <= TOLERANCE * largest);
            // Within an exhausted space everything has converged, but other eigenvectors may lie outside of it.
            if exhausted || (converged && next.used > 0) {
                return space.combine(&found, width);
            }
            check_at = space.vectors + space.vectors / 5;
        }
        block = if next.used > 0 { next } else { space.fresh(space.vectors as u32) };
    }
}

/// Vectors of length one, orthogonal to each other, row after row; columns that are not used are zero.
struct Block {
    rows: Vec<f64>,
    used: usize,
    random: bool,
}

/// How the last image is made of the next block: `image = block * factor`.
struct Rest {
    factor: [[f64; BLOCK]; BLOCK],
}

impl Rest {
    /// How far the matrix leads out of the space, for a vector whose coordinates end with these.
    fn norm_of(&self, coordinates: &[f64]) -> f64 {
        let last = &coordinates[coordinates.len() - BLOCK..];
        let out = self.factor.iter().map(|row| row.iter().zip(last).map(|(f, c)| f * c).sum::<f64>().powi(2));
        out.sum::<f64>().sqrt()
    }
}

/// The space so far.
struct Space {
    side: usize,
    /// Each of `side` rows and [`PANEL`] columns; the last one may have columns of zeros at its end.
    panels: Vec<Vec<f64>>,
    /// Columns that are not zero.
    vectors: usize,
    /// For each block the products of all vectors up to it with the images of its vectors, [`BLOCK`] numbers per row.
    projected: Vec<Vec<f64>>,
}

impl Space {
    fn columns(&self) -> usize {
        self.projected.len() * BLOCK
    }

    fn push(&mut self, block: &[f64]) {
        let place = self.columns() % PANEL;
        if place == 0 {
            self.panels.push(vec![0.0; self.side * PANEL]);
        }
        let panel = self.panels.last_mut().expect("just made");
        for (row, new) in panel.chunks_exact_mut(PANEL).zip(block.chunks_exact(BLOCK)) {
            row[place..place + BLOCK].copy_from_slice(new);
        }
        self.vectors += (0..BLOCK).filter(|&k| block.chunks_exact(BLOCK).any(|row| row[k] != 0.0)).count();
        self.projected.push(Vec::new());
    }

    /// Takes out of the images what lies within the space, and remembers how much that was.
    fn project(&mut self, image: &mut [f64]) {
        // But for rounding an image lies within the last two blocks, its own and the one before, and what it brings that is new.
        let recent = self.panels.len().saturating_sub(2);
        let most = self.remove(image, recent);
        let mut amounts = self.remove(image, 0);
        amounts[recent * PANEL * BLOCK..].iter_mut().zip(&most).for_each(|(amount, most)| *amount += most);
        *self.projected.last_mut().expect("a block was pushed") = amounts;
    }

    /// Takes out of a block what lies within the panels from `first` on; returns how much of each of their vectors that was.
    fn remove(&self, block: &mut [f64], first: usize) -> Vec<f64> {
        let mut amounts = Vec::with_capacity((self.panels.len() - first) * PANEL * BLOCK);
        let mut within = vec![0.0; block.len()];
        let parts = Parts::for_copies(self.side, |row| row as u64, 1);
        let mut copies = vec![0.0; parts.len() * PANEL * BLOCK];
        for panel in &self.panels[first..] {
            let panel = Dense { values: panel, columns: PANEL };
            let mut amount = vec![0.0; PANEL * BLOCK];
            f64::dense_transposed_product(&parts, panel, None, block, BLOCK, &mut copies, &mut amount);
            f64::dense_product(&Parts::even(self.side, PANEL * BLOCK), panel, None, &amount, BLOCK, &mut within);
            block.iter_mut().zip(&within).for_each(|(value, within)| *value -= within);
            amounts.extend(amount);
        }
        amounts
    }

    /// An orthonormal basis of a block that is orthogonal to the space already, and how the block is made of it.
    fn orthonormal(&self, block: Vec<f64>, scale: f64) -> (Block, Rest) {
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
            if norm > NOTHING * scale && norm > 0.0 && self.vectors + used < self.side {
                vectors[k].iter_mut().for_each(|value| *value /= norm);
                factor[used][k] = norm;
                vectors.swap(used, k);
                used += 1;
            }
        }
        vectors[used..].iter_mut().for_each(|vector| vector.fill(0.0));
        (Block { rows: rows_of(&vectors, self.side), used, random: false }, Rest { factor })
    }

    /// Random vectors outside of the space.
    fn fresh(&self, step: u32) -> Block {
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

    /// The matrix within the space, whole and symmetric.
    fn projected(&self) -> Vec<f64> {
        let side = self.columns();
        let mut whole = vec![0.0; side * side];
        for (block, amounts) in self.projected.iter().enumerate() {
            for (row, amounts) in amounts.chunks_exact(BLOCK).enumerate().take((block + 1) * BLOCK) {
                for (k, &amount) in amounts.iter().enumerate() {
                    let column = block * BLOCK + k;
                    if row <= column {
                        whole[row * side + column] = amount;
                        whole[column * side + row] = amount;
                    }
                }
            }
        }
        whole
    }

    /// From coordinates within the space to vectors.
    fn combine(&self, found: &Solved, width: usize) -> Pairs {
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
            f64::dense_product(&Parts::even(self.side, PANEL * width), panel, None, &coordinates, width, &mut part);
            vectors.iter_mut().zip(&part).for_each(|(value, part)| *value += part);
        }
        Pairs { values, vectors }
    }
}

fn columns_of(block: &[f64]) -> Vec<Vec<f64>> {
    (0..BLOCK).map(|k| block.iter().skip(k).step_by(BLOCK).copied().collect()).collect()
}

fn rows_of(vectors: &[Vec<f64>], side: usize) -> Vec<f64> {
    (0..side).flat_map(|row| vectors.iter().map(move |vector| vector[row])).collect()
}

/// The length of the longest vector of a block.
fn largest_norm(block: &[f64]) -> f64 {
    let mut squares = [0.0; BLOCK];
    for row in block.chunks_exact(BLOCK) {
        squares.iter_mut().zip(row).for_each(|(square, value)| *square += value * value);
    }
    squares.into_iter().fold(0.0, f64::max).sqrt()
}
