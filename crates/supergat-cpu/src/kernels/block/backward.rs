//! Gradient of hidden blocks, row by row.
//!
//! With `d = gradient of weight x^ + bias` and n numbers that are normalised together:
//!
//! ```text
//! layer  d y = (weight d - mean(weight d) - x^ mean(weight d x^)) / sigma           mean over the row
//! batch  d y = weight (d - mean(d) - x^ mean(d x^)) / sigma                         mean over the column
//! ```
//!
//! Both means of batch norm follow from the gradients of its bias and weight, which are computed first. With running
//! statistics, both are zero.

use super::CHUNK;
use super::activation::derivative;
use super::columns::add_rows;
use super::forward::used;
use crate::kernels::dropout::Mask;
use crate::kernels::output::{OutputGradient, shared_term};
use crate::kernels::parts::{Parts, PerPart, Rows};
use crate::kernels::simd::{
    Arithmetic, Isa, Kernel, Lanes, Registers, SimdReal, V, dispatch, in_blocks, prefetch_ahead, vectors, vectors_mut,
};
use supergat_core::device::STATE;
use supergat_core::heads::LANES;
use supergat_core::{Activation, HeadLayout};

/// Norm of a block in its gradient.
#[derive(Debug, Clone, Copy)]
pub enum NormGradient<'a, T> {
    /// No norm: activation only.
    None(Activation, Option<Mask<'a, T>>),
    /// Layer norm after the activation's gradient.
    Layer {
        /// Activation.
        activation: Activation,
        /// Dropout of the next layer's input.
        mask: Option<Mask<'a, T>>,
        /// Weight of each feature.
        weight: &'a [T],
        /// Normalised rows.
        normalised: &'a [T],
        /// 1 / sqrt(variance + epsilon) of each row.
        inverse: &'a [T],
    },
    /// Batch norm. The gradient is that of the activation's input already.
    Batch {
        /// Weight of each feature.
        weight: &'a [T],
        /// Normalised rows.
        normalised: &'a [T],
        /// 1 / sqrt(variance + epsilon) of each column.
        inverse: &'a [T],
        /// Gradients of the bias and of the weight.
        sums: [&'a [T]; 2],
        /// 1 / number of rows; zero if the statistics are running ones.
        share: T,
    },
}

/// Returns how many numbers `block_backward` needs per part for sums over rows: the gradient of the bias, and for
/// layer norm those of its weight and bias.
pub fn block_sums(layout: HeadLayout, layer_norm: bool) -> usize {
    layout.stride() * if layer_norm { 3 } else { 1 }
}

/// Converts the gradient in `to.sums` to that of the sums over neighbours, in place. `to.bias` has [`block_sums`]
/// numbers per part.
pub fn block_backward<T: SimdReal>(
    parts: &Parts,
    layout: HeadLayout,
    norm: NormGradient<'_, T>,
    output: &[T],
    sums: &[T],
    to: OutputGradient<'_, T>,
) {
    let stride = layout.stride();
    let width = block_sums(layout, matches!(norm, NormGradient::Layer { .. }));
    let outputs = (
        Rows { data: to.sums, width: stride },
        Rows { data: to.active, width: 1 },
        to.state.map(|data| Rows { data, width: STATE * layout.head_stride() }),
        PerPart { data: &mut to.bias[..parts.len() * width], width },
    );
    parts.for_each(outputs, |nodes, (gradient, active, state, partial)| {
        dispatch(Backward {
            layout,
            norm,
            first: nodes.start,
            output: vectors(output),
            sums: vectors(sums),
            gradient: vectors_mut(gradient.data),
            active: active.data,
            state: state.map(|state| vectors_mut(state.data)),
            partial: vectors_mut(partial.data),
        });
    });
}

struct Backward<'a, T> {
    layout: HeadLayout,
    norm: NormGradient<'a, T>,
    first: usize,
    output: &'a [[T; LANES]],
    sums: &'a [[T; LANES]],
    gradient: &'a mut [[T; LANES]],
    active: &'a mut [bool],
    state: Option<&'a mut [[T; LANES]]>,
    partial: &'a mut [[T; LANES]],
}

impl<T: SimdReal> Kernel for Backward<'_, T> {
    type Number = T;
    type Output = ();
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let groups = self.layout.groups;
        let row = groups * self.layout.vectors;
        self.partial.fill([T::ZERO; LANES]);
        let (d_bias, d_norm) = self.partial.split_at_mut(row);
        for (chunk, gradient) in self.gradient.chunks_mut(CHUNK * row).enumerate() {
            let first = chunk * CHUNK;
            match self.norm {
                NormGradient::None(activation, mask) => {
                    for (i, g) in (self.first + first..).zip(gradient.chunks_exact_mut(row)) {
                        through_activation::<T, I>(activation, mask, i, &self.output[i * row..(i + 1) * row], g);
                    }
                }
                NormGradient::Layer { activation, mask, weight, normalised, inverse } => {
                    for (i, g) in (self.first + first..).zip(gradient.chunks_exact_mut(row)) {
                        let of_row = i * row..(i + 1) * row;
                        through_activation::<T, I>(activation, mask, i, &self.output[of_row.clone()], g);
                        let x = &vectors(normalised)[of_row];
                        through_layer_norm::<T, I>(self.layout, vectors(weight), x, inverse[i], g, d_norm);
                    }
                }
                NormGradient::Batch { weight, normalised, inverse, sums, share } => {
                    let x = &vectors(normalised)[(self.first + first) * row..];
                    let rows = [weight, inverse, sums[0], sums[1]].map(vectors);
                    in_blocks!(I, row, |at, B| through_batch_norm::<T, I, B>(rows, share, row, at, x, gradient));
                }
            }
            in_blocks!(I, row, |at, B| add_rows::<T, I, B>(gradient, row, at, None, d_bias));
            for (k, g) in (first..).zip(gradient.chunks_exact(row)) {
                self.active[k] = g.iter().any(|g| V::<T, I>::load(g).any());
                if let Some(state) = &mut self.state {
                    prefetch_ahead(self.sums, (self.first + k) * row, row);
                    let (i, state) = (self.first + k, &mut state[k * STATE * groups..(k + 1) * STATE * groups]);
                    shared_term::<T, I>(self.layout, g, &self.sums[i * row..(i + 1) * row], state);
                }
            }
        }
    }
}

/// Computes `g <- g * mask * act'` of row `i`.
#[inline(always)]
fn through_activation<T: SimdReal, I: Isa>(
    activation: Activation,
    mask: Option<Mask<'_, T>>,
    i: usize,
    output: &[[T; LANES]],
    g: &mut [[T; LANES]],
) {
    let row = g.len();
    in_blocks!(I, row, |at, B| {
        let output = Registers::<T, I, B>::load(&output[at..]);
        let mut value = Registers::<T, I, B>::load(&g[at..]).mul(derivative(activation, output));
        if let Some(mask) = mask {
            value = value.mul(Registers::from_bits(&mask.keep[i * row + at..], mask.scale));
        }
        value.store(&mut g[at..]);
    });
}

/// Computes the gradient of a row before layer norm, in place, and adds the gradients of weight and bias to `sums`.
#[inline(always)]
fn through_layer_norm<T: SimdReal, I: Isa>(
    layout: HeadLayout,
    weight: &[[T; LANES]],
    x: &[[T; LANES]],
    inverse: T,
    g: &mut [[T; LANES]],
    sums: &mut [[T; LANES]],
) {
    let row = g.len();
    let (d_weight, d_bias) = sums.split_at_mut(row);
    let (mut sum, mut product) = (V::<T, I>::zero(), V::<T, I>::zero());
    in_blocks!(I, row, |at, B| {
        let load = Registers::<T, I, B>::load;
        prefetch_ahead(g, at, B);
        prefetch_ahead(x, at, B);
        let (d, x, d_weight, d_bias) = (load(&g[at..]), load(&x[at..]), &mut d_weight[at..], &mut d_bias[at..]);
        d.mul_add(x, load(d_weight)).store(d_weight);
        load(d_bias).add(d).store(d_bias);
        let d = d.mul(load(&weight[at..]));
        sum = sum.add(d.sum());
        product = product.add(d.dot(&x));
        d.store(&mut g[at..]);
    });
    let share = V::<T, I>::splat(T::from_f64(1.0 / (layout.heads * layout.features) as f64));
    let (mean, slope) = (sum.fold(1).mul(share), product.fold(1).mul(share));
    in_blocks!(I, row, |at, B| {
        let load = Registers::<T, I, B>::load;
        let shift = load(&x[at..]).mul_add(Registers::repeat(slope), Registers::repeat(mean));
        let mut d = load(&g[at..]).sub(shift).mul(Registers::splat(inverse));
        if layout.is_padded() {
            d = d.mul(used::<T, I, B>(layout, at));
        }
        d.store(&mut g[at..]);
    });
}

/// Computes the gradient of the `B` vectors from `first` on of all rows before batch norm, in place.
#[inline(always)]
fn through_batch_norm<T: SimdReal, I: Isa, const B: usize>(
    rows: [&[[T; LANES]]; 4],
    share: T,
    row: usize,
    first: usize,
    x: &[[T; LANES]],
    g: &mut [[T; LANES]],
) {
    let load = Registers::<T, I, B>::load;
    let share = Registers::<T, I, B>::splat(share);
    let [weight, inverse, d_bias, d_weight] = rows.map(|row| load(&row[first..]));
    let (factor, mean, slope) = (weight.mul(inverse), d_bias.mul(share), d_weight.mul(share));
    for (g, x) in g.chunks_exact_mut(row).zip(x.chunks_exact(row)) {
        let (g, x) = (&mut g[first..], &x[first..]);
        prefetch_ahead(g, 0, B);
        prefetch_ahead(x, 0, B);
        load(g).sub(mean).sub(load(x).mul(slope)).mul(factor).store(g);
    }
}
