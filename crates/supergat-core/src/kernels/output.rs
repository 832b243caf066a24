//! From the heads' weighted sums to a layer's output, and back: concatenation (heads side by side, bias, ELU) in hidden layers, the mean
//! over heads plus bias in the last one. A layer without attention is the case of one head.

use super::attention::{SHARED, STATE};
use super::dropout::Mask;
use super::heads::HeadLayout;
use super::lanes::{Isa, Kernel, LANES, Lanes, V, dispatch, dot, vectors, vectors_mut};
use super::parts::{Parts, PerPart, Rows};
use super::real::Real;

/// `out = ELU(sums + bias)`, or without ELU; `bias` is a row in the same layout.
pub fn concat_forward<T: Real>(parts: &Parts, elu: bool, bias: &[T], sums: &[T], out: &mut [T]) {
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

impl<T: Real> Kernel for Concat<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let width = self.bias.len();
        for (sums, out) in self.sums.chunks_exact(width).zip(self.out.chunks_exact_mut(width)) {
            for ((o, s), b) in out.iter_mut().zip(sums).zip(self.bias) {
                let y = V::<T, I>::load(s).add(V::<T, I>::load(b));
                let y = if self.elu { y.if_positive(y, y.exp().sub(V::<T, I>::splat(T::ONE))) } else { y };
                *o = y.array();
            }
        }
    }
}

/// `out[i][f] = mean over heads of sums[i][f][h] + bias[f]`; `out` has a number per feature, without padding.
pub fn mean_forward<T: Real>(parts: &Parts, layout: HeadLayout, bias: &[T], sums: &[T], out: &mut [T]) {
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

impl<T: Real> Kernel for Mean<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let HeadLayout { heads, features, lane_heads, groups, vectors } = self.layout;
        let share = T::from_f64(1.0 / heads as f64);
        let rows = self.sums.chunks_exact(groups * vectors).zip(self.out.chunks_exact_mut(features));
        for (sums, out) in rows {
            for v in 0..vectors {
                let mut sum = V::<T, I>::zero();
                for g in 0..groups {
                    sum = sum.add(V::<T, I>::load(&sums[g * vectors + v]));
                }
                // A vector holds the heads of one or more features; padding heads are zero, padding features are left out.
                let sum = sum_of_neighbours::<T, I>(sum, lane_heads);
                let first = v * LANES / lane_heads;
                for (f, o) in out.iter_mut().enumerate().skip(first).take(LANES / lane_heads) {
                    *o = sum[(f - first) * lane_heads] * share + self.bias[f];
                }
            }
        }
    }
}

/// Lane k * `heads` becomes the sum of the lanes from there to (k + 1) * `heads`.
#[inline(always)]
fn sum_of_neighbours<T: Real, I: Isa>(v: V<T, I>, heads: usize) -> [T; LANES] {
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

/// Where the gradient of a layer's output goes on its way to the weighted sums.
pub struct OutputGradient<'a, T> {
    /// Gradient of the weighted sums, a row per node.
    pub sums: &'a mut [T],
    /// Per node, whether that row is not all zero.
    pub active: &'a mut [bool],
    /// State of the attention's nodes: its last slot is written. `None` for a layer without attention.
    pub state: Option<&'a mut [T]>,
    /// Per part, the gradient of the bias: a row in the layout of the sums, or a number per feature for the mean.
    pub bias: &'a mut [T],
}

/// Turns the gradient of the *next layer's dropped input* (in `to.sums`) into that of the weighted sums, in place.
///
/// `g <- g * mask * ELU'(output)`, where ELU'(x) = 1 for x > 0, else ELU(x) + 1. Activity, shared term and bias gradient come along.
pub fn concat_backward<T: Real>(
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

impl<T: Real> Kernel for ConcatBackward<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let (groups, width) = (self.layout.groups, self.layout.vectors);
        let row = groups * width;
        self.bias.fill([T::ZERO; LANES]);
        for (k, gradient) in self.gradient.chunks_exact_mut(row).enumerate() {
            let output = &self.output[k * row..(k + 1) * row];
            let mut any = false;
            for (v, g) in gradient.iter_mut().enumerate() {
                let mut value = V::<T, I>::load(g);
                if self.elu {
                    let (y, one) = (V::<T, I>::load(&output[v]), V::<T, I>::splat(T::ONE));
                    value = value.mul(y.if_positive(one, y.add(one)));
                }
                if let Some(mask) = self.mask {
                    value = value.mul(V::<T, I>::from_bits(mask.keep[(self.first + k) * row + v], mask.scale));
                }
                any |= value.any();
                self.bias[v] = V::<T, I>::load(&self.bias[v]).add(value).array();
                *g = value.array();
            }
            self.active[k] = any;
            if let Some(state) = &mut self.state {
                let state = &mut state[k * STATE * groups..(k + 1) * STATE * groups];
                shared_term::<T, I>(self.layout, gradient, &self.sums[k * row..(k + 1) * row], state);
            }
        }
    }
}

/// Per head `g_i . out_i`.
#[inline(always)]
fn shared_term<T: Real, I: Isa>(
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

/// The gradient of the mean over heads: every head gets its share of `d_out`, the gradient of the layer's output (unpadded).
pub fn mean_backward<T: Real>(parts: &Parts, layout: HeadLayout, d_out: &[T], sums: &[T], to: OutputGradient<'_, T>) {
    let stride = layout.stride();
    let features = layout.features;
    let share = T::from_f64(1.0 / layout.heads as f64);
    let outputs = (
        Rows { data: to.sums, width: stride },
        Rows { data: to.active, width: 1 },
        to.state.map(|data| Rows { data, width: STATE * layout.head_stride() }),
        PerPart { data: &mut to.bias[..parts.len() * features], width: features },
    );
    parts.for_each(outputs, |nodes, (gradient, active, mut state, bias)| {
        bias.data.fill(T::ZERO);
        for (k, i) in nodes.enumerate() {
            let d_out = &d_out[i * features..(i + 1) * features];
            let gradient = &mut gradient.data[k * stride..(k + 1) * stride];
            gradient.fill(T::ZERO);
            active.data[k] = d_out.iter().any(|d| *d != T::ZERO);
            if !active.data[k] {
                continue;
            }
            for (f, &d) in d_out.iter().enumerate() {
                bias.data[f] += d;
                for group in 0..layout.groups {
                    let heads = (layout.heads - group * LANES).min(LANES);
                    let at = layout.index(group * LANES, f);
                    gradient[at..at + heads].fill(d * share);
                }
            }
            if let Some(state) = &mut state {
                let width = STATE * layout.head_stride();
                dispatch(SharedTerm {
                    layout,
                    gradient: vectors(gradient),
                    sums: vectors(&sums[i * stride..(i + 1) * stride]),
                    state: vectors_mut(&mut state.data[k * width..(k + 1) * width]),
                });
            }
        }
    });
}

struct SharedTerm<'a, T> {
    layout: HeadLayout,
    gradient: &'a [[T; LANES]],
    sums: &'a [[T; LANES]],
    state: &'a mut [[T; LANES]],
}

impl<T: Real> Kernel for SharedTerm<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        shared_term::<T, I>(self.layout, self.gradient, self.sums, self.state);
    }
}

/// `out[c] = sum over parts of partial[part][c]`, in the order of the parts.
pub fn sum_parts<T: Real>(parts: usize, partial: &[T], out: &mut [T]) {
    out.fill(T::ZERO);
    for row in partial.chunks_exact(out.len()).take(parts) {
        out.iter_mut().zip(row).for_each(|(o, p)| *o += *p);
    }
}
