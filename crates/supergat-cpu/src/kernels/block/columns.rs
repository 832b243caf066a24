//! Batch norm: statistics of columns over all rows, the normalised rows, and sums for the gradient.

use super::activation::{activate, derivative};
use crate::kernels::dropout::Mask;
use crate::kernels::parts::{Parts, PerPart, Rows};
use crate::kernels::simd::{Arithmetic, Isa, Kernel, Lanes, SimdReal, V, dispatch, in_blocks, vectors, vectors_mut};
use supergat_core::Activation;
use supergat_core::heads::LANES;

/// Rows that are added in registers before they are added to the sum of a part. So sums over many rows lose few digits.
const CHUNK: usize = 64;

/// Writes the sum of each column per part; with a centre, the sum of the squared differences from it.
pub fn column_sums<T: SimdReal>(parts: &Parts, width: usize, rows: &[T], centre: Option<&[T]>, partial: &mut [T]) {
    let outputs = PerPart { data: &mut partial[..parts.len() * width], width };
    parts.for_each(outputs, |nodes, sums| {
        dispatch(ColumnSums {
            rows: vectors(&rows[nodes.start * width..nodes.end * width]),
            centre: centre.map(vectors),
            sums: vectors_mut(sums.data),
        });
    });
}

struct ColumnSums<'a, T> {
    rows: &'a [[T; LANES]],
    centre: Option<&'a [[T; LANES]]>,
    sums: &'a mut [[T; LANES]],
}

impl<T: SimdReal> Kernel for ColumnSums<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let row = self.sums.len();
        self.sums.fill([T::ZERO; LANES]);
        for rows in self.rows.chunks(CHUNK * row) {
            in_blocks!(I, row, |first, B| {
                let sums: &mut [[T; LANES]; B] = (&mut self.sums[first..first + B]).try_into().expect("B vectors");
                let centre = self.centre.map(|centre| &centre[first..first + B]);
                add_rows::<T, I, B>(rows, row, first, centre, sums);
            });
        }
    }
}

/// Adds the vectors from `first` on of all rows, or the squares of their differences from a centre.
#[inline(always)]
fn add_rows<T: SimdReal, I: Isa, const B: usize>(
    rows: &[[T; LANES]],
    row: usize,
    first: usize,
    centre: Option<&[[T; LANES]]>,
    sums: &mut [[T; LANES]; B],
) {
    let mut sum = [V::<T, I>::zero(); B];
    for row in rows.chunks_exact(row) {
        let x: &[[T; LANES]; B] = row[first..first + B].try_into().expect("B vectors");
        match centre {
            None => {
                for b in 0..B {
                    sum[b] = sum[b].add(V::<T, I>::load(&x[b]));
                }
            }
            Some(centre) => {
                for b in 0..B {
                    let difference = V::<T, I>::load(&x[b]).sub(V::<T, I>::load(&centre[b]));
                    sum[b] = difference.mul_add(difference, sum[b]);
                }
            }
        }
    }
    for b in 0..B {
        sums[b] = V::<T, I>::load(&sums[b]).add(sum[b]).array();
    }
}

/// Batch norm with given statistics: rows in the layout of the sums.
#[derive(Debug, Clone, Copy)]
pub struct ColumnNorm<'a, T> {
    /// Mean of each column.
    pub mean: &'a [T],
    /// 1 / sqrt(variance + epsilon) of each column.
    pub inverse: &'a [T],
    /// Weight of each feature.
    pub weight: &'a [T],
    /// Bias of each feature.
    pub bias: &'a [T],
}

/// Normalises the columns of `out` in place, and applies weight, bias and activation. Writes the normalised rows to
/// `normalised` unless it is empty.
pub fn columns_forward<T: SimdReal>(
    parts: &Parts,
    activation: Activation,
    norm: ColumnNorm<'_, T>,
    out: &mut [T],
    normalised: &mut [T],
) {
    let width = norm.mean.len();
    let outputs = (Rows { data: out, width }, (!normalised.is_empty()).then_some(Rows { data: normalised, width }));
    parts.for_each(outputs, |_, (out, normalised)| {
        dispatch(Columns {
            activation,
            norm: [norm.mean, norm.inverse, norm.weight, norm.bias].map(vectors),
            out: vectors_mut(out.data),
            normalised: normalised.map(|rows| vectors_mut(rows.data)),
        });
    });
}

struct Columns<'a, T> {
    activation: Activation,
    norm: [&'a [[T; LANES]]; 4],
    out: &'a mut [[T; LANES]],
    normalised: Option<&'a mut [[T; LANES]]>,
}

impl<T: SimdReal> Kernel for Columns<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let row = self.norm[0].len();
        for (k, out) in self.out.chunks_exact_mut(row).enumerate() {
            for (v, o) in out.iter_mut().enumerate() {
                let [mean, inverse, weight, bias] = self.norm.map(|of| V::<T, I>::load(&of[v]));
                let x = V::<T, I>::load(o).sub(mean).mul(inverse);
                if let Some(rows) = &mut self.normalised {
                    rows[k * row + v] = x.array();
                }
                *o = activate(self.activation, x.mul_add(weight, bias)).array();
            }
        }
    }
}

/// Converts the gradient of the next layer's input after dropout to that of the activation's input, in place. Writes
/// per part the gradients of the bias and of the weight of batch norm, one after the other.
pub fn column_gradients<T: SimdReal>(
    parts: &Parts,
    activation: Activation,
    mask: Option<Mask<'_, T>>,
    [output, normalised]: [&[T]; 2],
    width: usize,
    gradient: &mut [T],
    partial: &mut [T],
) {
    let outputs =
        (Rows { data: gradient, width }, PerPart { data: &mut partial[..parts.len() * 2 * width], width: 2 * width });
    parts.for_each(outputs, |nodes, (gradient, sums)| {
        let of = |rows| vectors(&<[T]>::as_ref(rows)[nodes.start * width..nodes.end * width]);
        dispatch(ColumnGradients {
            activation,
            mask,
            first: nodes.start,
            output: of(output),
            normalised: of(normalised),
            gradient: vectors_mut(gradient.data),
            sums: vectors_mut(sums.data),
        });
    });
}

struct ColumnGradients<'a, T> {
    activation: Activation,
    mask: Option<Mask<'a, T>>,
    first: usize,
    output: &'a [[T; LANES]],
    normalised: &'a [[T; LANES]],
    gradient: &'a mut [[T; LANES]],
    sums: &'a mut [[T; LANES]],
}

impl<T: SimdReal> Kernel for ColumnGradients<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let row = self.sums.len() / 2;
        self.sums.fill([T::ZERO; LANES]);
        let (d_bias, d_weight) = self.sums.split_at_mut(row);
        for (k, gradient) in self.gradient.chunks_exact_mut(row).enumerate() {
            let (output, x) = (&self.output[k * row..(k + 1) * row], &self.normalised[k * row..(k + 1) * row]);
            for (v, g) in gradient.iter_mut().enumerate() {
                let mut value = V::<T, I>::load(g).mul(derivative(self.activation, V::<T, I>::load(&output[v])));
                if let Some(mask) = self.mask {
                    value = value.mul(V::<T, I>::from_bits(mask.keep[(self.first + k) * row + v], mask.scale));
                }
                d_bias[v] = V::<T, I>::load(&d_bias[v]).add(value).array();
                d_weight[v] = value.mul_add(V::<T, I>::load(&x[v]), V::<T, I>::load(&d_weight[v])).array();
                *g = value.array();
            }
        }
    }
}
