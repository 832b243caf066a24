//! What a layer reads: the nodes' features, or the rows of the layer before, under dropout; and the product with its weights.

use super::parameter::Parameter;
use crate::features::Features;
use crate::kernels::{Compressed, Dense, Dropout, Mask, Parts, Real};
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
    sparse: Option<[Parts; 2]>,
}

impl InputParts {
    /// Looks at the features.
    pub fn new<T: Real>(features: &Features<T>) -> Self {
        let sparse = match features {
            Features::Dense { .. } => None,
            Features::Sparse(m) => Some([Parts::by_offsets(m.offsets()), Parts::by_offsets(&m.transpose().offsets)]),
        };
        Self { rows: Parts::even(features.rows(), 64), sparse }
    }
}

impl<'a, T: Real> Input<'a, T> {
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
                let rows =
                    Compressed { offsets: m.offsets(), index: m.column_of(), values: m.values(), position: None };
                let parts = &parts.sparse.as_ref().expect("parts of these features")[0];
                T::sparse_product(parts, rows, mask, &weight.value, stride, out);
            }
            _ => {
                T::dense_product(&parts.rows, self.dense().expect("not sparse"), mask, &weight.value, stride, out);
            }
        }
    }

    /// Gradient of `W`: `drop(X)^T G`. `columns` divides the columns of a dense input.
    pub fn weight_gradient(
        &self,
        parts: &InputParts,
        columns: &Parts,
        mask: Option<Mask<'_, T>>,
        g: &[T],
        stride: usize,
        weight: &mut Parameter<T>,
    ) {
        match self {
            Self::Features(Features::Sparse(m)) => {
                let t = m.transpose();
                let rows = Compressed {
                    offsets: &t.offsets,
                    index: &t.row_of,
                    values: &t.values,
                    position: Some(&t.position),
                };
                let parts = &parts.sparse.as_ref().expect("parts of these features")[1];
                T::sparse_product(parts, rows, mask, g, stride, &mut weight.gradient);
            }
            _ => {
                let x = self.dense().expect("not sparse");
                T::dense_transposed_product(columns, x, mask, g, stride, &mut weight.gradient);
            }
        }
    }
}
