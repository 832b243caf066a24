//! Forward pass of hidden blocks, row by row: shortcut, bias, layer norm and activation.

use super::activation::activate;
use super::{CHUNK, NORM_EPSILON};
use crate::kernels::dropout::Mask;
use crate::kernels::parts::{Parts, Rows};
use crate::kernels::simd::{
    Arithmetic, Isa, Kernel, Lanes, Registers, SimdReal, V, dispatch, in_blocks, prefetch_ahead, vectors, vectors_mut,
};
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
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let row = self.bias.len();
        for (chunk, out) in self.out.chunks_mut(CHUNK * row).enumerate() {
            let first = chunk * CHUNK;
            let sums = &self.sums[first * row..];
            in_blocks!(I, row, |at, B| {
                add_shortcut::<T, I, B>(sums, self.bias, self.shortcut, self.first + first, row, at, out);
            });
            for (k, out) in (first..).zip(out.chunks_exact_mut(row)) {
                match self.norm {
                    Some(norm) => {
                        let inverse = centre::<T, I>(self.layout, out);
                        if let Some(inverses) = &mut self.inverse {
                            inverses[k] = inverse;
                        }
                        let mut normalised = self.normalised.as_mut().map(|rows| &mut rows[k * row..(k + 1) * row]);
                        in_blocks!(I, row, |at, B| {
                            let x = Registers::<T, I, B>::load(&out[at..]).mul(Registers::splat(inverse));
                            if let Some(row) = &mut normalised {
                                x.store(&mut row[at..]);
                            }
                            let [weight, bias] = norm.map(|row| Registers::load(&row[at..]));
                            let y = x.mul_add(weight, bias);
                            self.activation.map_or(y, |activation| activate(activation, y)).store(&mut out[at..]);
                        });
                    }
                    None => {
                        if let Some(activation) = self.activation {
                            out.iter_mut().for_each(|o| *o = activate(activation, V::<T, I>::load(o)).array());
                        }
                    }
                }
            }
        }
    }
}

/// Computes `out = sums + bias + shortcut` of the `B` vectors from `first` on of rows, the first of which is row `i`.
#[inline(always)]
fn add_shortcut<T: SimdReal, I: Isa, const B: usize>(
    sums: &[[T; LANES]],
    bias: &[[T; LANES]],
    shortcut: Shortcut<'_, T>,
    i: usize,
    row: usize,
    first: usize,
    out: &mut [[T; LANES]],
) {
    let load = Registers::<T, I, B>::load;
    let mut bias = load(&bias[first..]);
    if let Shortcut::Product(second) = shortcut {
        bias = bias.add(load(&vectors(second)[first..]));
    }
    for (k, (out, sums)) in out.chunks_exact_mut(row).zip(sums.chunks_exact(row)).enumerate() {
        let out = &mut out[first..];
        prefetch_ahead(out, 0, B);
        prefetch_ahead(sums, first, B);
        let mut sum = load(&sums[first..]).add(bias);
        match shortcut {
            Shortcut::None => {}
            Shortcut::Product(_) => sum = sum.add(load(out)),
            Shortcut::Rows(rows, mask) => {
                let at = (i + k) * row + first;
                let mut r = load(&vectors(rows)[at..]);
                if let Some(mask) = mask {
                    r = r.mul(Registers::from_bits(&mask.keep[at..], mask.scale));
                }
                sum = sum.add(r);
            }
        }
        sum.store(out);
    }
}

/// Subtracts the mean of a row, without padding, in place. Returns the inverse of its standard deviation.
#[inline(always)]
fn centre<T: SimdReal, I: Isa>(layout: HeadLayout, row: &mut [[T; LANES]]) -> T {
    let share = T::from_f64(1.0 / (layout.heads * layout.features) as f64);
    let (mut sum, mut squares) = (V::<T, I>::zero(), V::<T, I>::zero());
    in_blocks!(I, row.len(), |at, B| sum = sum.add(Registers::<T, I, B>::load(&row[at..]).sum()));
    let mean = sum.fold(1).mul(V::<T, I>::splat(share));
    in_blocks!(I, row.len(), |at, B| {
        let mut centred = Registers::<T, I, B>::load(&row[at..]).sub(Registers::repeat(mean));
        if layout.is_padded() {
            centred = centred.mul(used::<T, I, B>(layout, at));
        }
        squares = squares.add(centred.dot(&centred));
        centred.store(&mut row[at..]);
    });
    let variance = squares.fold(1).array()[0] * share;
    T::ONE / (variance + T::from_f64(NORM_EPSILON)).sqrt()
}

/// Returns one in lanes that are not padding, and zero elsewhere, of `B` vectors of a row from `first` on.
#[inline(always)]
pub(super) fn used<T: SimdReal, I: Isa, const B: usize>(layout: HeadLayout, first: usize) -> Registers<T, I, B> {
    let mut lanes = [0; B];
    for (v, lanes) in lanes.iter_mut().enumerate() {
        *lanes = layout.used_lanes(first + v);
    }
    Registers::from_bits(&lanes, T::ONE)
}
