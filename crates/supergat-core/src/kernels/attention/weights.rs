//! Gradient of the weights of edges in attention.
//!
//! ```text
//! alpha_e     = softmax over the edges of i of LeakyReLU(e_e) + ln w_e        for each head
//! out_i       = sum_e m_e alpha_e z_j                                         m_e is the factor of dropout
//! d (ln w_e)  = sum over heads of alpha_e (m_e g_i . z_j - g_i . out_i)       g_i is the gradient of out_i
//! ```
//!
//! The edge loss reads scores without weights, so it adds nothing.

use super::edge::Formulas;
use super::input::{Attention, Gradient};
use super::v2::{AttentionV2, FormulasV2, GradientV2};
use crate::kernels::forms::{FormKernel, with_form};
use crate::kernels::heads::{HeadLayout, MAX_GROUPS};
use crate::kernels::neighbours::Neighbours;
use crate::kernels::parts::{EdgeRows, Parts};
use crate::kernels::simd::{Isa, Kernel, LANES, Lanes, Real, V, dispatch};
use std::marker::PhantomData;
use std::ops::Range;

/// Adds the gradient of the logarithm of every edge's weight to `out`, in the order of the incoming lists, which must be
/// whole. `input` must have weights.
pub fn attention_weight_gradient<T: Real>(
    parts: &Parts,
    input: Attention<'_, T>,
    gradient: Gradient<'_, T>,
    out: &mut [T],
) {
    let out = EdgeRows { data: out, offsets: input.incoming.offsets, width: 1 };
    parts.for_each(out, |nodes, out| {
        with_form!(input.form, F => {
            let (nodes, form) = (nodes.clone(), PhantomData::<F>);
            dispatch(Weights { input, gradient, nodes, out: out.data, form });
        });
    });
}

/// Adds the gradient of the logarithm of every edge's weight in GATv2 attention to `out`, in the order of the incoming
/// lists. `input` must have weights.
pub fn v2_weight_gradient<T: Real>(
    parts: &Parts,
    input: AttentionV2<'_, T>,
    gradient: GradientV2<'_, T>,
    out: &mut [T],
) {
    let out = EdgeRows { data: out, offsets: input.incoming.offsets, width: 1 };
    parts.for_each(out, |nodes, out| dispatch(WeightsV2 { input, gradient, nodes, out: out.data }));
}

/// Pass over the incoming edges of a range of nodes.
struct Weights<'a, T, F> {
    input: Attention<'a, T>,
    gradient: Gradient<'a, T>,
    nodes: Range<usize>,
    out: &'a mut [T],
    form: PhantomData<F>,
}

impl<T: Real, F: FormKernel> Kernel for Weights<'_, T, F> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { input, gradient, nodes, out, .. } = self;
        let formulas = Formulas::<T, F, I, MAX_GROUPS, true>::new(input, &gradient);
        add_to_edges::<T, I>(input.incoming, input.layout, gradient.active, nodes, out, |i, j, e| {
            formulas.log_weight_gradient(&formulas.node(i), &formulas.other(j), e)
        });
    }
}

/// Pass of GATv2 over the incoming edges of a range of nodes.
struct WeightsV2<'a, T> {
    input: AttentionV2<'a, T>,
    gradient: GradientV2<'a, T>,
    nodes: Range<usize>,
    out: &'a mut [T],
}

impl<T: Real> Kernel for WeightsV2<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { input, gradient, nodes, out } = self;
        let formulas = FormulasV2::<T, I, MAX_GROUPS, true>::new(input, &gradient);
        add_to_edges::<T, I>(input.incoming, input.layout, gradient.active, nodes, out, |i, j, e| {
            formulas.log_weight_gradient(&formulas.node(i), &formulas.node(j), e)
        });
    }
}

/// Adds the gradient of every edge `j -> i` of some nodes, from its sums over groups of heads.
#[inline(always)]
fn add_to_edges<T: Real, I: Isa>(
    incoming: Neighbours<'_>,
    layout: HeadLayout,
    active: &[bool],
    nodes: Range<usize>,
    out: &mut [T],
    of_edge: impl Fn(usize, usize, usize) -> V<T, I>,
) {
    let first = incoming.range(nodes.start).start;
    // Lanes repeat a head if there are fewer heads than lanes.
    let share = T::from_f64(layout.lane_heads as f64 / LANES as f64);
    for i in nodes.filter(|&i| active[i]) {
        for e in incoming.range(i) {
            let sum = of_edge(i, incoming.nodes[e] as usize, e).fold(1).array()[0];
            out[e - first] += share * sum;
        }
    }
}
