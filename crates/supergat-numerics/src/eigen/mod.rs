//! Leading eigenpairs of large symmetric matrices.
//!
//! A block Lanczos method (`lanczos.rs`) only multiplies by the matrix. The small projected matrix is solved
//! by a dense method (`symmetric.rs`).

mod lanczos;
mod symmetric;

pub(crate) use lanczos::{Operator, leading};

/// Flips the signs of columns so that the first entry of largest magnitude is positive.
pub(crate) fn fix_signs(values: &mut [f64], width: usize) {
    let mut largest = vec![0.0f64; width];
    for row in values.chunks_exact(width) {
        for (largest, value) in largest.iter_mut().zip(row) {
            if value.abs() > largest.abs() {
                *largest = *value;
            }
        }
    }
    for row in values.chunks_exact_mut(width) {
        for (value, largest) in row.iter_mut().zip(&largest) {
            *value *= largest.signum();
        }
    }
}
