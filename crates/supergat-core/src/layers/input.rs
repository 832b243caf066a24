//! Input of a layer: node features or the output of the previous layer, its dropout mask, and its product
//! with the weights.

use super::parameter::Parameter;
use crate::features::{Features, SparseMatrix};
use crate::kernels::{Compressed, Dense, Dropout, Mask, Parts, Primitives};
use crate::random::Stream;

/// Input of a layer.
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a, T> {
    /// Node features.
    Features(&'a Features<T>),
    /// Output of a hidden layer, including padding.
    Hidden(Dense<'a, T>),
}

/// Division of the work on one example's input among threads.
#[derive(Debug, Clone)]
pub struct InputParts {
    /// Division into equal numbers of rows.
    pub rows: Parts,
    /// Division into about equal numbers of stored features.
    features: Parts,
    /// Divisions for weight gradients, where each part has its own copy of the weights: for features, and for
    /// the output of a hidden layer.
    copies: [Parts; 2],
}

impl InputParts {
    /// Divides the rows of `features`.
    pub fn new<T: Primitives>(features: &Features<T>) -> Self {
        let (rows, columns) = (features.rows(), features.columns());
        let even = Parts::even(rows, 64);
        let hidden = Parts::for_copies(rows, |row| row as u64, 1);
        match features {
            Features::Dense { .. } => Self { features: even.clone(), copies: [hidden.clone(), hidden], rows: even },
            Features::Sparse(m) => Self {
                features: Parts::by_offsets(m.offsets()),
                copies: [Parts::for_copies(rows, |row| m.offsets()[row], columns), hidden],
                rows: even,
            },
        }
    }

    /// Returns the number of copies of the weights that the weight gradient of the first or a later layer
    /// needs.
    pub fn copies(&self, first: bool) -> usize {
        match self.copies[usize::from(!first)].len() {
            0 | 1 => 0,
            copies => copies,
        }
    }
}

impl<'a, T: Primitives> Input<'a, T> {
    /// Returns the rows, unless they are sparse.
    fn dense(&self) -> Option<Dense<'a, T>> {
        match *self {
            Self::Features(Features::Sparse(_)) => None,
            Self::Features(Features::Dense { columns, values, .. }) => Some(Dense { values, columns: *columns }),
            Self::Hidden(dense) => Some(dense),
        }
    }

    /// Returns the number of bytes of the dropout mask.
    pub fn mask_bytes(&self) -> usize {
        match (self, self.dense()) {
            (_, Some(dense)) => dense.values.len() / dense.columns.max(1) * Dense::<T>::mask_bytes(dense.columns),
            (Self::Features(features), None) => features.stored().div_ceil(8),
            (Self::Hidden(_), None) => unreachable!("hidden rows are dense"),
        }
    }

    /// Draws the dropout mask into `keep`; `None` without dropout.
    pub fn draw_mask<'k>(&self, dropout: Dropout, stream: Stream, keep: &'k mut [u8]) -> Option<Mask<'k, T>> {
        if dropout.is_none() {
            return None;
        }
        let keep = &mut keep[..self.mask_bytes()];
        dropout.fill(stream, keep);
        Some(Mask { keep, scale: dropout.scale() })
    }

    /// Computes `out = drop(X) W`.
    pub fn product(
        &self,
        parts: &InputParts,
        mask: Option<Mask<'_, T>>,
        weight: &Parameter<T>,
        stride: usize,
        out: &mut [T],
    ) {
        match self {
            Self::Features(Features::Sparse(m)) => {
                T::sparse_product(&parts.features, entries(m), mask, &weight.value, stride, out);
            }
            _ => {
                T::dense_product(&parts.rows, self.dense().expect("not sparse"), mask, &weight.value, stride, out);
            }
        }
    }

    /// Computes the gradient of `W`, `drop(X)^T G`. Parts add up their sums in `copies`.
    pub fn weight_gradient(
        &self,
        parts: &InputParts,
        mask: Option<Mask<'_, T>>,
        g: &[T],
        stride: usize,
        copies: &mut [T],
        weight: &mut Parameter<T>,
    ) {
        let out = &mut weight.gradient;
        match self {
            Self::Features(Features::Sparse(m)) => {
                T::sparse_transposed_product(&parts.copies[0], entries(m), mask, g, stride, copies, out);
            }
            _ => {
                let parts = &parts.copies[usize::from(matches!(self, Self::Hidden(_)))];
                T::dense_transposed_product(parts, self.dense().expect("not sparse"), mask, g, stride, copies, out);
            }
        }
    }
}

fn entries<T: Primitives>(m: &SparseMatrix<T>) -> Compressed<'_, T> {
    Compressed { offsets: m.offsets(), index: m.column_of(), values: m.values() }
}
