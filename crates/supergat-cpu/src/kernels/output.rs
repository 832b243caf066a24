//! Outputs of layers from the weighted sums of heads, and their gradients: concatenation of heads, bias and
//! ELU in hidden layers; the mean over heads plus bias in the last layer. A layer without attention has one
//! head.

use super::attention::SHARED;
use super::dropout::Mask;
use super::parts::{Parts, PerPart, Rows};
use super::simd::{
    Arithmetic, Isa, Kernel, Lanes, P, Pair, V, dispatch, dot, load_two, prefetch_ahead, store_two, vectors,
    vectors_mut,
};
use crate::kernels::simd::SimdReal;
use supergat_core::HeadLayout;
use supergat_core::device::STATE;
use supergat_core::heads::LANES;

/// Computes `out = ELU(sums + bias)`, or `sums + bias` if `elu` is false; `bias` is a row in the layout of
/// `sums`.
pub fn concat_forward<T: SimdReal>(parts: &Parts, elu: bool, bias: &[T], sums: &[T], out: &mut [T]) {
    let width = bias.len();
    parts.for_each(Rows { data: out, width }, |nodes, out| {
        dispatch(Concat {
            elu,
            bias: vectors(bias),
            sums: vectors(&sums[nodes.start * width..nodes.end * width]),
            out: vectors_mut(out.data),
        });
    });
}

struct Concat<'a, T> {
    elu: bool,
    bias: &'a [[T; LANES]],
    sums: &'a [[T; LANES]],
    out: &'a mut [[T; LANES]],
}

impl<T: SimdReal> Kernel for Concat<'_, T> {
    type Number = T;
    type Output = ();
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        let width = self.bias.len();
        for (sums, out) in self.sums.chunks_exact(width).zip(self.out.chunks_exact_mut(width)) {
            prefetch_ahead(sums, 0, width);
            prefetch_ahead(out, 0, width);
            for v in (0..width).step_by(2) {
                let y = load_two::<T, I>(sums, v).add(load_two::<T, I>(self.bias, v));
                let y = if self.elu { y.if_positive(y, y.exp().sub(P::<T, I>::splat(T::ONE))) } else { y };
                store_two::<T, I>(out, v, y);
            }
        }
    }
}

/// Computes `out[i][f] = mean over heads of sums[i][f][h] + bias[f]`; `out` has a number per feature, without
/// padding.
pub fn mean_forward<T: SimdReal>(parts: &Parts, layout: HeadLayout, bias: &[T], sums: &[T], out: &mut [T]) {
    let stride = layout.stride();
    parts.for_each(Rows { data: out, width: layout.features }, |nodes, out| {
        let sums = vectors(&sums[nodes.start * stride..nodes.end * stride]);
        dispatch(Mean { layout, bias, sums, out: out.data });
    });
}

struct Mean<'a, T> {
    layout: HeadLayout,
    bias: &'a [T],
    sums: &'a [[T; LANES]],
    out: &'a mut [T],
}

impl<T: SimdReal> Kernel for Mean<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let HeadLayout { heads, features, lane_heads, groups, vectors } = self.layout;
        let (share, per_vector) = (T::from_f64(1.0 / heads as f64), LANES / lane_heads);
        let rows = self.sums.chunks_exact(groups * vectors).zip(self.out.chunks_exact_mut(features));
        for (sums, out) in rows {
            for v in 0..vectors {
                let mut sum = V::<T, I>::zero();
                for g in 0..groups {
                    sum = sum.add(V::<T, I>::load(&sums[g * vectors + v]));
                }
                // A vector contains the heads of one or more features. Padding heads are zero, padding
                // features are skipped.
                let sum = sum_of_neighbours::<T, I>(sum, lane_heads);
                let of_vector = v * per_vector..features.min((v + 1) * per_vector);
                let (out, bias) = (&mut out[of_vector.clone()], &self.bias[of_vector]);
                for (k, (out, bias)) in out.iter_mut().zip(bias).enumerate() {
                    *out = sum[k * lane_heads] * share + *bias;
                }
            }
        }
    }
}

/// Writes to lane k * `heads` the sum of the lanes from k * `heads` to (k + 1) * `heads`.
#[inline(always)]
fn sum_of_neighbours<T: SimdReal, I: Isa>(v: V<T, I>, heads: usize) -> [T; LANES] {
    if heads == LANES {
        return v.fold(1).array();
    }
    let mut lanes = v.array();
    for k in (0..LANES).step_by(heads) {
        for l in 1..heads {
            let next = lanes[k + l];
            lanes[k] += next;
        }
    }
    lanes
}

/// Gradients that the backward pass of an output writes.
pub struct OutputGradient<'a, T> {
    /// Gradient of the weighted sums, a row per node.
    pub sums: &'a mut [T],
    /// Whether a node's row of `sums` is not all zero.
    pub active: &'a mut [bool],
    /// State of attention, whose last slot is written; `None` for a layer without attention.
    pub state: Option<&'a mut [T]>,
    /// Gradient of the bias per part: a row in the layout of the sums, or a number per feature for the mean.
    pub bias: &'a mut [T],
}

/// Converts the gradient of the next layer's input after dropout (in `to.sums`) to that of the weighted sums,
/// in place.
///
/// `g <- g * mask * ELU'(output)`, where ELU'(x) = 1 for x > 0, else ELU(x) + 1. The other fields of `to` are
/// computed in the same pass.
pub fn concat_backward<T: SimdReal>(
    parts: &Parts,
    layout: HeadLayout,
    elu: bool,
    mask: Option<Mask<'_, T>>,
    output: &[T],
    sums: &[T],
    to: OutputGradient<'_, T>,
) {
    let stride = layout.stride();
    let outputs = (
        Rows { data: to.sums, width: stride },
        Rows { data: to.active, width: 1 },
        to.state.map(|data| Rows { data, width: STATE * layout.head_stride() }),
        PerPart { data: &mut to.bias[..parts.len() * stride], width: stride },
    );
    parts.for_each(outputs, |nodes, (gradient, active, state, bias)| {
        dispatch(ConcatBackward {
            layout,
            elu,
            mask,
            first: nodes.start,
            output: vectors(&output[nodes.start * stride..nodes.end * stride]),
            sums: vectors(&sums[nodes.start * stride..nodes.end * stride]),
            gradient: vectors_mut(gradient.data),
            active: active.data,
            state: state.map(|s| vectors_mut(s.data)),
            bias: vectors_mut(bias.data),
        });
    });
}

struct ConcatBackward<'a, T> {
    layout: HeadLayout,
    elu: bool,
    mask: Option<Mask<'a, T>>,
    first: usize,
    output: &'a [[T; LANES]],
    sums: &'a [[T; LANES]],
    gradient: &'a mut [[T; LANES]],
    active: &'a mut [bool],
    state: Option<&'a mut [[T; LANES]]>,
    bias: &'a mut [[T; LANES]],
}

impl<T: SimdReal> Kernel for ConcatBackward<'_, T> {
    type Number = T;
    type Output = ();
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let HeadLayout { groups, vectors: width, lane_heads, .. } = self.layout;
        let one = P::<T, I>::splat(T::ONE);
        self.bias.fill([T::ZERO; LANES]);
        for (k, active) in self.active.iter_mut().enumerate() {
            *active = false;
            for group in 0..groups {
                let start = (k * groups + group) * width;
                let (output, sums) = (&self.output[start..start + width], &self.sums[start..start + width]);
                let gradient = &mut self.gradient[start..start + width];
                let bias = &mut self.bias[group * width..(group + 1) * width];
                prefetch_ahead(output, 0, width);
                prefetch_ahead(sums, 0, width);
                prefetch_ahead(gradient, 0, width);
                let mut shared = P::<T, I>::zero();
                for v in (0..width).step_by(2) {
                    let mut value = load_two::<T, I>(gradient, v);
                    if self.elu {
                        let y = load_two::<T, I>(output, v);
                        value = value.mul(y.if_positive(one, y.add(one)));
                    }
                    if let Some(mask) = self.mask {
                        let keep = &mask.keep[self.first * groups * width + start + v..];
                        let bits = [keep[0], if v + 1 < width { keep[1] } else { 0 }];
                        value = value.mul(P::<T, I>::from_bits(bits, mask.scale));
                    }
                    *active |= value.any();
                    store_two::<T, I>(bias, v, load_two::<T, I>(bias, v).add(value));
                    store_two::<T, I>(gradient, v, value);
                    if self.state.is_some() {
                        shared = value.mul_add(load_two::<T, I>(sums, v), shared);
                    }
                }
                if let Some(state) = &mut self.state {
                    state[(k * STATE + SHARED) * groups + group] = shared.sum().fold(lane_heads).array();
                }
            }
        }
    }
}

/// Writes `g_i . out_i` of each head to the state.
#[inline(always)]
pub(super) fn shared_term<T: SimdReal, I: Isa>(
    layout: HeadLayout,
    gradient: &[[T; LANES]],
    sums: &[[T; LANES]],
    state: &mut [[T; LANES]],
) {
    for g in 0..layout.groups {
        let part = g * layout.vectors..(g + 1) * layout.vectors;
        state[SHARED * layout.groups + g] =
            dot::<T, I>(&gradient[part.clone()], &sums[part]).fold(layout.lane_heads).array();
    }
}

/// Computes the gradient of the mean over heads from `d_out`, the gradient of the layer's output (unpadded).
pub fn mean_backward<T: SimdReal>(
    parts: &Parts,
    layout: HeadLayout,
    d_out: &[T],
    sums: &[T],
    to: OutputGradient<'_, T>,
) {
    let stride = layout.stride();
    let features = layout.features;
    let outputs = (
        Rows { data: to.sums, width: stride },
        Rows { data: to.active, width: 1 },
        to.state.map(|data| Rows { data, width: STATE * layout.head_stride() }),
        PerPart { data: &mut to.bias[..parts.len() * features], width: features },
    );
    parts.for_each(outputs, |nodes, (gradient, active, state, bias)| {
        dispatch(MeanBackward {
            layout,
            d_out: &d_out[nodes.start * features..nodes.end * features],
            sums: vectors(&sums[nodes.start * stride..nodes.end * stride]),
            gradient: vectors_mut(gradient.data),
            active: active.data,
            state: state.map(|s| vectors_mut(s.data)),
            bias: bias.data,
        });
    });
}

struct MeanBackward<'a, T> {
    layout: HeadLayout,
    d_out: &'a [T],
    sums: &'a [[T; LANES]],
    gradient: &'a mut [[T; LANES]],
    active: &'a mut [bool],
    state: Option<&'a mut [[T; LANES]]>,
    bias: &'a mut [T],
}

impl<T: SimdReal> Kernel for MeanBackward<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let HeadLayout { heads, features, groups, vectors, .. } = self.layout;
        let (row, share) = (groups * vectors, T::from_f64(1.0 / heads as f64));
        self.bias.fill(T::ZERO);
        for (k, (gradient, d_out)) in
            self.gradient.chunks_exact_mut(row).zip(self.d_out.chunks_exact(features)).enumerate()
        {
            gradient.fill([T::ZERO; LANES]);
            self.active[k] = d_out.iter().any(|d| *d != T::ZERO);
            if !self.active[k] {
                continue;
            }
            for (f, &d) in d_out.iter().enumerate() {
                self.bias[f] += d;
                for group in 0..groups {
                    let at = self.layout.index(group * LANES, f);
                    let of_group = (heads - group * LANES).min(LANES);
                    // The lanes of the heads of this feature.
                    let bits = ((1u32 << of_group) - 1) << (at % LANES);
                    let to = &mut gradient[at / LANES];
                    *to = V::<T, I>::load(to).add(V::<T, I>::from_bits(bits as u8, d * share)).array();
                }
            }
            if let Some(state) = &mut self.state {
                let state = &mut state[k * STATE * groups..(k + 1) * STATE * groups];
                shared_term::<T, I>(self.layout, gradient, &self.sums[k * row..(k + 1) * row], state);
            }
        }
    }
}

/// Computes `out[c] = sum over parts of partial[part][c]`, in the order of the parts.
pub fn sum_parts<T: SimdReal>(parts: usize, partial: &[T], out: &mut [T]) {
    sum_columns(parts, partial, out.len(), 0, out);
}

/// Like [`sum_parts`], for the columns from `first` on of rows of `width` numbers.
pub fn sum_columns<T: SimdReal>(parts: usize, partial: &[T], width: usize, first: usize, out: &mut [T]) {
    out.fill(T::ZERO);
    for row in partial.chunks_exact(width.max(1)).take(parts) {
        out.iter_mut().zip(&row[first..]).for_each(|(o, p)| *o += *p);
    }
}
