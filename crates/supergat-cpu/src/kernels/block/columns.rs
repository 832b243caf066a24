//! Batch norm: statistics of columns over all rows, the normalised rows, and sums for the gradient.

use super::CHUNK;
use super::activation::{activate, derivative};
use crate::kernels::dropout::Mask;
use crate::kernels::parts::{Parts, PerPart, Rows};
use crate::kernels::simd::{
    Arithmetic, Isa, Kernel, Registers, SimdReal, dispatch, in_blocks, prefetch_ahead, vectors, vectors_mut,
};
use std::ops::Range;
use supergat_core::Activation;
use supergat_core::heads::LANES;

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
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        let row = self.sums.len();
        self.sums.fill([T::ZERO; LANES]);
        for rows in self.rows.chunks(CHUNK * row) {
            in_blocks!(I, row, |first, B| add_rows::<T, I, B>(rows, row, first, self.centre, self.sums));
        }
    }
}

/// Adds the `B` vectors from `first` on of all rows to `sums`, or the squares of their differences from a centre. They are
/// added in registers first, so sums over many rows lose few digits.
#[inline(always)]
pub(super) fn add_rows<T: SimdReal, I: Isa, const B: usize>(
    rows: &[[T; LANES]],
    row: usize,
    first: usize,
    centre: Option<&[[T; LANES]]>,
    sums: &mut [[T; LANES]],
) {
    let load = Registers::<T, I, B>::load;
    let centre = centre.map(|centre| load(&centre[first..]));
    let mut sum = Registers::<T, I, B>::zero();
    for row in rows.chunks_exact(row) {
        let x = load(&row[first..]);
        sum = match centre {
            None => sum.add(x),
            Some(centre) => {
                let difference = x.sub(centre);
                difference.mul_add(difference, sum)
            }
        };
    }
    let sums = &mut sums[first..];
    load(sums).add(sum).store(sums);
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
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let row = self.norm[0].len();
        for (k, out) in self.out.chunks_mut(CHUNK * row).enumerate() {
            let mut normalised = self.normalised.as_mut().map(|rows| &mut rows[k * CHUNK * row..]);
            in_blocks!(I, row, |first, B| {
                let normalised = normalised.as_deref_mut();
                normalise_columns::<T, I, B>(self.activation, self.norm, row, first, out, normalised);
            });
        }
    }
}

/// Applies norm and activation to the `B` vectors from `first` on of all rows.
#[inline(always)]
fn normalise_columns<T: SimdReal, I: Isa, const B: usize>(
    activation: Activation,
    norm: [&[[T; LANES]]; 4],
    row: usize,
    first: usize,
    out: &mut [[T; LANES]],
    mut normalised: Option<&mut [[T; LANES]]>,
) {
    let load = Registers::<T, I, B>::load;
    let [mean, inverse, weight, bias] = norm.map(|of| load(&of[first..]));
    for (k, out) in out.chunks_exact_mut(row).enumerate() {
        let out = &mut out[first..];
        prefetch_ahead(out, 0, B);
        if let Some(rows) = &normalised {
            prefetch_ahead(rows, k * row + first, B);
        }
        let x = load(out).sub(mean).mul(inverse);
        if let Some(rows) = &mut normalised {
            x.store(&mut rows[k * row + first..]);
        }
        activate(activation, x.mul_add(weight, bias)).store(out);
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
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let row = self.sums.len() / 2;
        self.sums.fill([T::ZERO; LANES]);
        let rows = self.gradient.len() / row;
        for start in (0..rows).step_by(CHUNK) {
            let chunk = start..(start + CHUNK).min(rows);
            in_blocks!(I, row, |first, B| self.add::<I, B>(chunk.clone(), first));
        }
    }
}

impl<T: SimdReal> ColumnGradients<'_, T> {
    /// Processes the `B` vectors from `first` on of some rows.
    #[inline(always)]
    fn add<I: Isa, const B: usize>(&mut self, rows: Range<usize>, first: usize) {
        let load = Registers::<T, I, B>::load;
        let row = self.sums.len() / 2;
        let (mut d_bias, mut d_weight) = (Registers::<T, I, B>::zero(), Registers::<T, I, B>::zero());
        for k in rows {
            let at = k * row + first;
            for rows in [&*self.gradient, self.output, self.normalised] {
                prefetch_ahead(rows, at, B);
            }
            let mut value = load(&self.gradient[at..]).mul(derivative(self.activation, load(&self.output[at..])));
            if let Some(mask) = self.mask {
                value = value.mul(Registers::from_bits(&mask.keep[self.first * row + at..], mask.scale));
            }
            d_bias = d_bias.add(value);
            d_weight = value.mul_add(load(&self.normalised[at..]), d_weight);
            value.store(&mut self.gradient[at..]);
        }
        for (sum, at) in [(d_bias, first), (d_weight, row + first)] {
            let sums = &mut self.sums[at..];
            load(sums).add(sum).store(sums);
        }
    }
}
