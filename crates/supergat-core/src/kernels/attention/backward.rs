//! Backward pass of attention and of the edge loss, one node at a time.

use super::edge::{Formulas, Gathered, Visit};
use super::input::{Attention, Gradient, steps_ahead, vector_sums};
use crate::kernels::forms::{FormKernel, with_form};
use crate::kernels::heads::MAX_GROUPS;
use crate::kernels::loss::SoftplusSum;
use crate::kernels::parts::{Parts, PerPart, Rows};
use crate::kernels::simd::{
    Isa, Kernel, LANES, Lanes, Real, V, add_scaled, add_two_scaled, dispatch, prefetch, vectors, vectors_mut,
};
use std::marker::PhantomData;
use std::ops::Range;

/// Writes the gradient of `z` to `d_z`. Writes per part the gradients of `a_target` and `a_source` to
/// `d_vectors`, and the unweighted sum of the terms of the edge loss to `losses`.
pub fn attention_backward<T: Real>(
    parts: &Parts,
    input: Attention<'_, T>,
    gradient: Gradient<'_, T>,
    d_z: &mut [T],
    d_vectors: &mut [T],
    losses: &mut [f64],
) {
    let outputs = (
        Rows { data: d_z, width: input.layout.stride() },
        PerPart { data: d_vectors, width: vector_sums(input.layout) },
        PerPart { data: losses, width: 1 },
    );
    parts.for_each(outputs, |nodes, (d_z, d_vectors, loss)| {
        let (d_z, d_vectors) = (vectors_mut(d_z.data), vectors_mut(d_vectors.data));
        with_form!(input.form, F => {
            let form = PhantomData::<F>;
            loss.data[0] = if input.layout.groups == 1 {
                dispatch(Backward::<T, F, 1> { input, gradient, nodes, d_z, d_vectors, form })
            } else {
                dispatch(Backward::<T, F, MAX_GROUPS> { input, gradient, nodes, d_z, d_vectors, form })
            };
        });
    });
}

/// Backward pass over a range of nodes. `G` is 1 for layouts of one group, else the largest number of groups.
struct Backward<'a, T, F, const G: usize> {
    input: Attention<'a, T>,
    gradient: Gradient<'a, T>,
    nodes: Range<usize>,
    d_z: &'a mut [[T; LANES]],
    d_vectors: &'a mut [[T; LANES]],
    form: PhantomData<F>,
}

impl<T: Real, F: FormKernel, const G: usize> Kernel for Backward<'_, T, F, G> {
    type Number = T;
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        if const { I::UNROLLED } {
            return self.pass::<I>();
        }
        let Self { input, gradient, nodes, d_z, d_vectors, form } = self;
        Backward::<T, F, MAX_GROUPS> { input, gradient, nodes, d_z, d_vectors, form }.pass_called::<I>()
    }
}

impl<T: Real, F: FormKernel, const G: usize> Backward<'_, T, F, G> {
    /// Runs [`Backward::pass`] without inlining it, so that it is compiled once for all numbers of groups.
    #[inline(never)]
    fn pass_called<I: Isa>(self) -> f64 {
        self.pass::<I>()
    }

    #[inline(always)]
    fn pass<I: Isa>(self) -> f64 {
        let Self { input, gradient, nodes, d_z, d_vectors, .. } = self;
        let formulas = Formulas::<T, F, I, G>::new(input, &gradient);
        let (row, groups) = (formulas.row(), formulas.groups());
        let vector = [vectors(gradient.vectors[0]), vectors(gradient.vectors[1])];
        let loss = &gradient.edge_loss;
        // Position of the outgoing edge number `at`, which leads to `target`, among the incoming edges.
        let position_at_target = |at: usize, target: u32| {
            input.incoming.offsets[target as usize] as usize + gradient.place_at_target[at] as usize
        };
        let ahead = steps_ahead::<T>(2 * row, AHEAD);
        let mut losses = SoftplusSum::default();
        d_vectors.fill([T::ZERO; LANES]);
        let (d_target_vector, d_source_vector) = d_vectors.split_at_mut(row);
        for (i, d_z) in nodes.zip(d_z.chunks_exact_mut(row)) {
            d_z.fill([T::ZERO; LANES]);
            let zero = [V::<T, I>::zero(); G];
            let mut gathered = Gathered { d_z, d_target_score: zero, d_source_score: zero };
            let own = formulas.node(i);
            // On a symmetric graph one pass over the neighbours covers both directions; otherwise there is a
            // second pass.
            let walk = input.incoming.range(i);
            let second = if gradient.symmetric { 0..0 } else { gradient.outgoing.range(i) };
            for step in 0..walk.len() + second.len() {
                let first = step < walk.len();
                let (lists, at) = if first {
                    (input.incoming.nodes, walk.start + step)
                } else {
                    (gradient.outgoing.nodes, second.start + step - walk.len())
                };
                let is_out = gradient.symmetric || !first;
                if let Some(&next) = lists.get(at + ahead) {
                    formulas.prefetch(next as usize);
                    if is_out {
                        formulas.prefetch_edge(loss, position_at_target(at + ahead, next));
                    }
                }
                if is_out && let Some(&far) = lists.get(at + 2 * ahead) {
                    prefetch(&input.incoming.offsets[far as usize..][..1]);
                }
                let node = lists[at] as usize;
                let outgoing = if is_out { position_at_target(at, lists[at]) } else { 0 };
                let visit = Visit { incoming: if first { at } else { 0 }, outgoing, is_in: first, is_out };
                formulas.visit(&own, &formulas.node(node), visit, loss, &mut gathered, &mut losses);
            }
            let Gathered { d_z, mut d_target_score, mut d_source_score } = gathered;
            if let Some(loss) = loss {
                let as_target = loss.negatives_by_target.range(i);
                let as_source = loss.negatives_by_source.range(i);
                for step in 0..as_target.len() + as_source.len() {
                    let is_target = step < as_target.len();
                    let (lists, at) = if is_target {
                        (loss.negatives_by_target.nodes, as_target.start + step)
                    } else {
                        (loss.negatives_by_source.nodes, as_source.start + step - as_target.len())
                    };
                    if let Some(&next) = lists.get(at + ahead) {
                        formulas.prefetch_pair(next as usize);
                    }
                    let other = formulas.node(lists[at] as usize);
                    let (target, source) = if is_target { (&own, &other) } else { (&other, &own) };
                    let d_score = if is_target { &mut d_target_score } else { &mut d_source_score };
                    let (x, small) = formulas.visit_negative(target, source, other.z, d_z, d_score);
                    losses.add_if(is_target, x.array()[0], small.array()[0]);
                }
            }
            if F::GO {
                for g in 0..groups {
                    let part = formulas.part(g);
                    let (target, source) = (d_target_score[g], d_source_score[g]);
                    let (a_target, a_source) = (&vector[0][part.clone()], &vector[1][part.clone()]);
                    add_two_scaled::<T, I>(&mut d_z[part.clone()], target, a_target, source, a_source);
                    add_scaled::<T, I>(&mut d_target_vector[part.clone()], target, &own.z[part.clone()]);
                    add_scaled::<T, I>(&mut d_source_vector[part.clone()], source, &own.z[part]);
                }
            }
        }
        losses.total()
    }
}

/// Largest number of edges between prefetching a neighbour's rows and using them.
const AHEAD: usize = 6;
