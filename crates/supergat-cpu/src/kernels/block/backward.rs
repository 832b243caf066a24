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

use super::activation::derivative;
use crate::kernels::dropout::Mask;
use crate::kernels::output::{OutputGradient, shared_term};
use crate::kernels::parts::{Parts, PerPart, Rows};
use crate::kernels::simd::{Arithmetic, Isa, Kernel, Lanes, SimdReal, V, dispatch, vectors, vectors_mut};
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

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let groups = self.layout.groups;
        let row = groups * self.layout.vectors;
        self.partial.fill([T::ZERO; LANES]);
        let (d_bias, d_norm) = self.partial.split_at_mut(row);
        for (k, g) in self.gradient.chunks_exact_mut(row).enumerate() {
            let i = self.first + k;
            let of_row = i * row..(i + 1) * row;
            let output = &self.output[of_row.clone()];
            match self.norm {
                NormGradient::None(activation, mask) => through_activation::<T, I>(activation, mask, i, output, g),
                NormGradient::Layer { activation, mask, weight, normalised, inverse } => {
                    through_activation::<T, I>(activation, mask, i, output, g);
                    let x = &vectors(normalised)[of_row.clone()];
                    through_layer_norm::<T, I>(self.layout, vectors(weight), x, inverse[i], g, d_norm);
                }
                NormGradient::Batch { weight, normalised, inverse, sums, share } => {
                    let x = &vectors(normalised)[of_row.clone()];
                    let rows = [weight, inverse, sums[0], sums[1]].map(vectors);
                    through_batch_norm::<T, I>(rows, share, x, g);
                }
            }
            let mut any = false;
            for (g, b) in g.iter().zip(d_bias.iter_mut()) {
                let value = V::<T, I>::load(g);
                any |= value.any();
                *b = V::<T, I>::load(b).add(value).array();
            }
            self.active[k] = any;
            if let Some(state) = &mut self.state {
                let state = &mut state[k * STATE * groups..(k + 1) * STATE * groups];
                shared_term::<T, I>(self.layout, g, &self.sums[of_row], state);
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
    for (v, (g, o)) in g.iter_mut().zip(output).enumerate() {
        let mut value = V::<T, I>::load(g).mul(derivative(activation, V::<T, I>::load(o)));
        if let Some(mask) = mask {
            value = value.mul(V::<T, I>::from_bits(mask.keep[i * row + v], mask.scale));
        }
        *g = value.array();
    }
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
    let (d_weight, d_bias) = sums.split_at_mut(g.len());
    let (mut sum, mut product) = (V::<T, I>::zero(), V::<T, I>::zero());
    for (v, g) in g.iter_mut().enumerate() {
        let (d, x) = (V::<T, I>::load(g), V::<T, I>::load(&x[v]));
        d_weight[v] = d.mul_add(x, V::<T, I>::load(&d_weight[v])).array();
        d_bias[v] = V::<T, I>::load(&d_bias[v]).add(d).array();
        let d = d.mul(V::<T, I>::load(&weight[v]));
        sum = sum.add(d);
        product = d.mul_add(x, product);
        *g = d.array();
    }
    let share = V::<T, I>::splat(T::from_f64(1.0 / (layout.heads * layout.features) as f64));
    let (mean, slope) = (sum.fold(1).mul(share), product.fold(1).mul(share));
    let (inverse, padded) = (V::<T, I>::splat(inverse), layout.is_padded());
    for (v, (g, x)) in g.iter_mut().zip(x).enumerate() {
        let mut d = V::<T, I>::load(g).sub(mean).sub(V::<T, I>::load(x).mul(slope)).mul(inverse);
        if padded {
            d = d.mul(V::<T, I>::from_bits(layout.used_lanes(v), T::ONE));
        }
        *g = d.array();
    }
}

/// Computes the gradient of a row before batch norm, in place.
#[inline(always)]
fn through_batch_norm<T: SimdReal, I: Isa>(rows: [&[[T; LANES]]; 4], share: T, x: &[[T; LANES]], g: &mut [[T; LANES]]) {
    let share = V::<T, I>::splat(share);
    for (v, (g, x)) in g.iter_mut().zip(x).enumerate() {
        let [weight, inverse, d_bias, d_weight] = rows.map(|row| V::<T, I>::load(&row[v]));
        let slope = V::<T, I>::load(x).mul(d_weight.mul(share));
        let d = V::<T, I>::load(g).sub(d_bias.mul(share)).sub(slope);
        *g = d.mul(weight.mul(inverse)).array();
    }
}
