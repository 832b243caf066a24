//! Input of a layer on the CPU: node features or hidden rows, the division of their rows among threads, and
//! the products with the weights.

use super::{Cpu, CpuProblem, CpuScratch};
use crate::kernels::{Bitmap, Compressed, Dense, Mask, Parts, Primitives};
use std::ops::Range;
use supergat_core::device::{self, Host, Input, Products};
use supergat_core::memory::Buffer;
use supergat_core::{Features, Result, SparseMatrix};

/// Rows that a layer reads.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a, T> {
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
    pub features: Parts,
    /// Divisions for weight gradients, where each part has its own copy of the weights: for features, and for
    /// the output of a hidden layer.
    copies: [Parts; 2],
    /// Bitmap of features that are stored sparse, but have many entries.
    pub bitmap: Option<Bitmap>,
}

impl InputParts {
    /// Divides the rows of `features`.
    pub fn new<T: Primitives>(features: &Features<T>) -> Self {
        Self::of_rows(features, 0..features.rows())
    }

    /// Divides some of the rows of `features`.
    pub fn of_rows<T: Primitives>(features: &Features<T>, rows: Range<usize>) -> Self {
        let even = Parts::even(rows.clone(), 64);
        let hidden = Parts::for_copies(rows.clone(), |row| row as u64, 1);
        match features {
            Features::Dense { .. } => {
                Self { features: even.clone(), copies: [hidden.clone(), hidden], rows: even, bitmap: None }
            }
            Features::Sparse(m) => Self {
                features: Parts::by_offsets_of(m.offsets(), rows.clone()),
                copies: [Parts::for_copies(rows.clone(), |row| m.offsets()[row], features.columns()), hidden],
                rows: even,
                bitmap: Bitmap::of(entries(m), rows, features.columns()),
            },
        }
    }

    /// Returns the division for weight gradients of features.
    pub fn of_features(&self) -> &Parts {
        &self.copies[0]
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

impl<'a, T: Primitives> Rows<'a, T> {
    /// Returns the rows of a layer's input on `nodes` nodes, without those of labels.
    pub fn of<D: Host<Element = T>>(x: Input<'a, D>, features: &'a Features<T>, nodes: usize) -> Self {
        match x {
            Input::Features | Input::Labelled { .. } => Self::Features(features),
            Input::Hidden { rows, width } => Self::Hidden(Dense { values: &rows[..nodes * width], columns: width }),
        }
    }

    /// Returns the rows, unless they are sparse.
    fn dense(&self) -> Option<Dense<'a, T>> {
        match *self {
            Self::Features(Features::Sparse(_)) => None,
            Self::Features(Features::Dense { columns, values, .. }) => Some(Dense { values, columns: *columns }),
            Self::Hidden(dense) => Some(dense),
        }
    }

    /// Computes `out = drop(X) W`. The bitmap is that of all features, if they have one.
    pub fn product(
        &self,
        parts: &Parts,
        bitmap: Option<&Bitmap>,
        mask: Option<Mask<'_, T>>,
        weight: &[T],
        stride: usize,
        out: &mut [T],
    ) {
        match self {
            Self::Features(Features::Sparse(m)) => match bitmap {
                Some(bitmap) => T::bitmap_product(parts, bitmap, entries(m), mask, weight, stride, out),
                None => T::sparse_product(parts, entries(m), mask, weight, stride, out),
            },
            _ => T::dense_product(parts, self.dense().expect("not sparse"), mask, weight, stride, out),
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
        out: &mut [T],
    ) {
        match self {
            Self::Features(Features::Sparse(m)) => {
                let (x, InputParts { copies: [parts, _], bitmap, .. }) = (entries(m), parts);
                match bitmap {
                    Some(bitmap) => T::bitmap_transposed_product(parts, bitmap, x, mask, g, stride, copies, out),
                    None => T::sparse_transposed_product(parts, x, mask, g, stride, copies, out),
                }
            }
            _ => {
                let parts = &parts.copies[usize::from(matches!(self, Self::Hidden(_)))];
                T::dense_transposed_product(parts, self.dense().expect("not sparse"), mask, g, stride, copies, out);
            }
        }
    }
}

impl<T: Primitives> Products for Cpu<T> {
    fn product(
        &self,
        problem: &CpuProblem<T>,
        x: Input<'_, Self>,
        mask: Option<device::Mask<'_, Self>>,
        weight: &Buffer<T>,
        stride: usize,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        let InputParts { rows, features, bitmap, .. } = &problem.input;
        let parts = if let Input::Hidden { .. } = x { rows } else { features };
        let out = &mut out[..problem.nodes() * stride];
        let labels = problem.labels(x);
        let (weight, of_labels) = weight.split_at(weight.len() - labels.map_or(0, |labels| labels.columns * stride));
        let (input, mask) = (Rows::of(x, &problem.example.features, problem.nodes()), mask.map(Mask::of));
        input.product(parts, bitmap.as_ref(), mask, weight, stride, out);
        if let Some(labels) = labels {
            T::label_product(rows, labels, of_labels, stride, out);
        }
        Ok(())
    }

    fn weight_gradient(
        &self,
        problem: &CpuProblem<T>,
        x: Input<'_, Self>,
        mask: Option<device::Mask<'_, Self>>,
        g: &Buffer<T>,
        stride: usize,
        scratch: &mut CpuScratch<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        let g = &g[..problem.nodes() * stride];
        let (mask, copies, labels) = (mask.map(Mask::of), &mut scratch.copies, problem.labels(x));
        let features = out.len() - labels.map_or(0, |labels| labels.columns * stride);
        let (out, of_labels) = out.split_at_mut(features);
        let rows = Rows::of(x, &problem.example.features, problem.nodes());
        rows.weight_gradient(&problem.input, mask, g, stride, copies, out);
        if let Some(labels) = labels {
            T::label_gradient(problem.input.of_features(), labels, g, stride, copies, of_labels);
        }
        Ok(())
    }

    fn input_gradient(
        &self,
        problem: &CpuProblem<T>,
        g: &Buffer<T>,
        stride: usize,
        weight: &Buffer<T>,
        width: usize,
        scratch: &mut CpuScratch<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        super::input_gradient(&problem.own_rows(), [g, weight], [stride, width], false, &mut scratch.transposed, out);
        Ok(())
    }

    fn add_input_gradient(
        &self,
        problem: &CpuProblem<T>,
        g: &Buffer<T>,
        stride: usize,
        weight: &Buffer<T>,
        width: usize,
        scratch: &mut CpuScratch<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        super::input_gradient(&problem.own_rows(), [g, weight], [stride, width], true, &mut scratch.transposed, out);
        Ok(())
    }
}

fn entries<T: Primitives>(m: &SparseMatrix<T>) -> Compressed<'_, T> {
    Compressed { offsets: m.offsets(), index: m.column_of(), values: m.values() }
}
