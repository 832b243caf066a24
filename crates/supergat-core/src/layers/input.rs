//! What a layer reads: the nodes' features, or the rows of the layer before, under dropout; and the product with its weights.

use super::parameter::Parameter;
use crate::features::{Features, SparseMatrix};
use crate::kernels::{Compressed, Dense, Dropout, Mask, Parts, Primitives};
use crate::random::Stream;

/// Input of a layer.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a, T> {
    /// Features as the user gave them.
    Features(&'a Features<T>),
    /// Output of a hidden layer, padding included.
    Hidden(Dense<'a, T>),
}

/// How the work on one example's input is divided.
#[derive(Debug, Clone)]
pub struct InputParts {
    /// Rows of equal work.
    pub rows: Parts,
    /// Rows of about equally many stored features.
    features: Parts,
    /// Rows for sums in a copy of the weights each: over the features, and over a hidden layer's output.
    copies: [Parts; 2],
}

impl InputParts {
    /// Looks at the features.
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

    /// Copies of the weights that the gradient of a layer needs room for: the first one, or a later one.
    pub fn copies(&self, first: bool) -> usize {
        match self.copies[usize::from(!first)].len() {
            0 | 1 => 0,
            copies => copies,
        }
    }
}

impl<'a, T: Primitives> Input<'a, T> {
    fn dense(&self) -> Option<Dense<'a, T>> {
        match *self {
            Self::Features(Features::Sparse(_)) => None,
            Self::Features(Features::Dense { columns, values, .. }) => Some(Dense { values, columns: *columns }),
            Self::Hidden(dense) => Some(dense),
        }
    }

    /// Bytes of its dropout mask.
    pub fn mask_bytes(&self) -> usize {
        match (self, self.dense()) {
            (_, Some(dense)) => dense.values.len() / dense.columns.max(1) * Dense::<T>::mask_bytes(dense.columns),
            (Self::Features(features), None) => features.stored().div_ceil(8),
            (Self::Hidden(_), None) => unreachable!("hidden rows are dense"),
        }
    }

    /// Draws its dropout mask into `keep`.
    pub fn draw_mask<'k>(&self, dropout: Dropout, stream: Stream, keep: &'k mut [u8]) -> Option<Mask<'k, T>> {
        if dropout.is_none() {
            return None;
        }
        let keep = &mut keep[..self.mask_bytes()];
        dropout.fill(stream, keep);
        Some(Mask { keep, scale: dropout.scale() })
    }

    /// `out = drop(X) W`.
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

    /// Gradient of `W`: `drop(X)^T G`, with room for copies of it.
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
