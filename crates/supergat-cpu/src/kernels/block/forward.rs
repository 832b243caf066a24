//! Forward pass of hidden blocks, row by row: shortcut, bias, layer norm and activation.

use super::NORM_EPSILON;
use super::activation::activate;
use crate::kernels::dropout::Mask;
use crate::kernels::parts::{Parts, Rows};
use crate::kernels::simd::{Arithmetic, Isa, Kernel, Lanes, SimdReal, V, dispatch, vectors, vectors_mut};
use supergat_core::heads::LANES;
use supergat_core::{Activation, HeadLayout};

/// Shortcut that is added to the sums over neighbours, besides the bias.
#[derive(Debug, Clone, Copy)]
pub enum Shortcut<'a, T> {
    /// Nothing.
    None,
    /// The rows that are in the output already, plus this bias.
    Product(&'a [T]),
    /// Rows under a dropout mask.
    Rows(&'a [T], Option<Mask<'a, T>>),
}

/// Steps after the addition of the shortcut.
pub enum Finish<'a, T> {
    /// None: batch norm follows, which needs all rows.
    Sum,
    /// Activation only.
    Activation(Activation),
    /// Layer norm and activation.
    Layer(Activation, RowNorm<'a, T>),
}

/// Layer norm: its parameters, and what its gradient needs. The latter may be empty lists, which are not written.
pub struct RowNorm<'a, T> {
    /// Weight of each feature, a row in the layout of the sums.
    pub weight: &'a [T],
    /// Bias of each feature.
    pub bias: &'a [T],
    /// Normalised rows.
    pub normalised: &'a mut [T],
    /// 1 / sqrt(variance + epsilon) of each row.
    pub inverse: &'a mut [T],
}

/// Computes `out` from the sums over neighbours.
pub fn block_forward<T: SimdReal>(
    parts: &Parts,
    layout: HeadLayout,
    bias: &[T],
    sums: &[T],
    shortcut: Shortcut<'_, T>,
    finish: Finish<'_, T>,
    out: &mut [T],
) {
    let stride = layout.stride();
    let (activation, norm) = match finish {
        Finish::Sum => (None, None),
        Finish::Activation(activation) => (Some(activation), None),
        Finish::Layer(activation, norm) => (Some(activation), Some(norm)),
    };
    let (parameters, normalised, inverse) = match norm {
        Some(norm) => (Some([vectors(norm.weight), vectors(norm.bias)]), norm.normalised, norm.inverse),
        None => (None, &mut [][..], &mut [][..]),
    };
    let outputs = (
        Rows { data: out, width: stride },
        (!normalised.is_empty()).then_some(Rows { data: normalised, width: stride }),
        (!inverse.is_empty()).then_some(Rows { data: inverse, width: 1 }),
    );
    parts.for_each(outputs, |nodes, (out, normalised, inverse)| {
        dispatch(Forward {
            layout,
            first: nodes.start,
            bias: vectors(bias),
            sums: vectors(&sums[nodes.start * stride..nodes.end * stride]),
            shortcut,
            activation,
            norm: parameters,
            out: vectors_mut(out.data),
            normalised: normalised.map(|rows| vectors_mut(rows.data)),
            inverse: inverse.map(|rows| rows.data),
        });
    });
}

struct Forward<'a, T> {
    layout: HeadLayout,
    first: usize,
    bias: &'a [[T; LANES]],
    sums: &'a [[T; LANES]],
    shortcut: Shortcut<'a, T>,
    activation: Option<Activation>,
    norm: Option<[&'a [[T; LANES]]; 2]>,
    out: &'a mut [[T; LANES]],
    normalised: Option<&'a mut [[T; LANES]]>,
    inverse: Option<&'a mut [T]>,
}

impl<T: SimdReal> Kernel for Forward<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let row = self.bias.len();
        for (k, out) in self.out.chunks_exact_mut(row).enumerate() {
            let sums = &self.sums[k * row..(k + 1) * row];
            add_shortcut::<T, I>(sums, self.bias, self.shortcut, self.first + k, out);
            if let Some([weight, bias]) = self.norm {
                let inverse = normalise::<T, I>(self.layout, out);
                if let Some(rows) = &mut self.normalised {
                    rows[k * row..(k + 1) * row].copy_from_slice(out);
                }
                if let Some(inverses) = &mut self.inverse {
                    inverses[k] = inverse;
                }
                for ((o, w), b) in out.iter_mut().zip(weight).zip(bias) {
                    *o = V::<T, I>::load(o).mul_add(V::<T, I>::load(w), V::<T, I>::load(b)).array();
                }
            }
            if let Some(activation) = self.activation {
                out.iter_mut().for_each(|o| *o = activate(activation, V::<T, I>::load(o)).array());
            }
        }
    }
}

/// Computes `out = sums + bias + shortcut` of row `i`.
#[inline(always)]
fn add_shortcut<T: SimdReal, I: Isa>(
    sums: &[[T; LANES]],
    bias: &[[T; LANES]],
    shortcut: Shortcut<'_, T>,
    i: usize,
    out: &mut [[T; LANES]],
) {
    let biased = |s: &[T; LANES], b: &[T; LANES]| V::<T, I>::load(s).add(V::<T, I>::load(b));
    let row = out.len();
    match shortcut {
        Shortcut::None => {
            for ((o, s), b) in out.iter_mut().zip(sums).zip(bias) {
                *o = biased(s, b).array();
            }
        }
        Shortcut::Product(second) => {
            for (((o, s), b), c) in out.iter_mut().zip(sums).zip(bias).zip(vectors(second)) {
                *o = biased(s, b).add(biased(o, c)).array();
            }
        }
        Shortcut::Rows(rows, mask) => {
            let rows = &vectors(rows)[i * row..(i + 1) * row];
            for (v, (((o, s), b), r)) in out.iter_mut().zip(sums).zip(bias).zip(rows).enumerate() {
                let mut r = V::<T, I>::load(r);
                if let Some(mask) = mask {
                    r = r.mul(V::<T, I>::from_bits(mask.keep[i * row + v], mask.scale));
                }
                *o = biased(s, b).add(r).array();
            }
        }
    }
}

/// Subtracts the mean of a row and divides by its standard deviation, without padding, in place. Returns the inverse of
/// the standard deviation.
#[inline(always)]
fn normalise<T: SimdReal, I: Isa>(layout: HeadLayout, row: &mut [[T; LANES]]) -> T {
    let share = T::from_f64(1.0 / (layout.heads * layout.features) as f64);
    let padded = layout.is_padded();
    let mut sum = V::<T, I>::zero();
    for x in row.iter() {
        sum = sum.add(V::<T, I>::load(x));
    }
    let mean = sum.fold(1).mul(V::<T, I>::splat(share));
    let mut squares = V::<T, I>::zero();
    for (v, x) in row.iter_mut().enumerate() {
        let mut centred = V::<T, I>::load(x).sub(mean);
        if padded {
            centred = centred.mul(V::<T, I>::from_bits(layout.used_lanes(v), T::ONE));
        }
        squares = centred.mul_add(centred, squares);
        *x = centred.array();
    }
    let variance = squares.fold(1).array()[0] * share;
    let inverse = T::ONE / (variance + T::from_f64(NORM_EPSILON)).sqrt();
    for x in row.iter_mut() {
        *x = V::<T, I>::load(x).mul(V::<T, I>::splat(inverse)).array();
    }
    inverse
}
