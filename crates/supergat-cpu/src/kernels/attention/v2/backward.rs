//! Backward pass of GATv2 attention and of the edge loss, one node at a time.

use super::edge::{Formulas, Gathered};
use crate::kernels::attention::backward::AHEAD;
use crate::kernels::attention::edge::Visit;
use crate::kernels::attention::input::{Attention, Gradient, steps_ahead};
use crate::kernels::loss::SoftplusSum;
use crate::kernels::simd::{Isa, Kernel, Lanes, SimdReal};
use std::ops::Range;
use supergat_core::graph::Neighbours;
use supergat_core::heads::{LANES, MAX_GROUPS};
use supergat_core::memory::prefetch;

/// Backward pass over a range of nodes. `G` is 1 for layouts of one group, else the largest number of groups. `E` tells
/// whether edges have weights or features.
pub(in crate::kernels::attention) struct Backward<'a, T, const G: usize, const E: bool> {
    pub(in crate::kernels::attention) input: Attention<'a, T>,
    pub(in crate::kernels::attention) gradient: Gradient<'a, T>,
    pub(in crate::kernels::attention) nodes: Range<usize>,
    pub(in crate::kernels::attention) d_z: &'a mut [[T; LANES]],
    pub(in crate::kernels::attention) d_vectors: &'a mut [[T; LANES]],
}

impl<T: SimdReal, const G: usize, const E: bool> Kernel for Backward<'_, T, G, E> {
    type Number = T;
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        if const { I::UNROLLED } {
            return self.pass::<I>();
        }
        let Self { input, gradient, nodes, d_z, d_vectors } = self;
        Backward::<T, MAX_GROUPS, E> { input, gradient, nodes, d_z, d_vectors }.pass_called::<I>()
    }
}

impl<T: SimdReal, const G: usize, const E: bool> Backward<'_, T, G, E> {
    /// Runs [`Backward::pass`] without inlining it, so that it is compiled once for all numbers of groups.
    #[inline(never)]
    fn pass_called<I: Isa>(self) -> f64 {
        self.pass::<I>()
    }

    #[inline(always)]
    fn pass<I: Isa>(self) -> f64 {
        let Self { input, gradient, nodes, d_z, d_vectors } = self;
        let formulas = Formulas::<T, I, G, E>::new(input, &gradient);
        let row = formulas.row();
        let (incoming, outgoing) = (input.incoming, gradient.outgoing);
        let none = Neighbours::default();
        let (by_target, by_source) =
            gradient.edge_loss.map_or((none, none), |loss| (loss.negatives_by_target, loss.negatives_by_source));
        // Position of the outgoing edge number `at`, which leads to `target`, among the incoming edges.
        let position_at_target =
            |at: usize, target: u32| incoming.offsets[target as usize] as usize + gradient.place_at_target[at] as usize;
        let ahead = steps_ahead::<T>(3 * row, AHEAD);
        let mut losses = SoftplusSum::default();
        d_vectors.fill([T::ZERO; LANES]);
        let (d_a, rest) = d_vectors.split_at_mut(row);
        let (sums_out, d_edge_vectors) = rest.split_at_mut(row);
        for (i, d_z) in nodes.zip(d_z.chunks_exact_mut(2 * row)) {
            d_z.fill([T::ZERO; LANES]);
            sums_out.fill([T::ZERO; LANES]);
            let (messages, sums_in) = d_z.split_at_mut(row);
            let mut gathered = Gathered {
                messages,
                incoming: sums_in,
                outgoing: &mut *sums_out,
                d_edge_vectors: &mut *d_edge_vectors,
            };
            let own = formulas.node(i);
            // On a symmetric graph one pass over the neighbours covers both directions; otherwise there is a
            // second pass.
            let first = incoming.range(i);
            let second = if gradient.symmetric { 0..0 } else { outgoing.range(i) };
            for step in 0..first.len() + second.len() {
                let is_in = step < first.len();
                let (lists, at) = if is_in {
                    (incoming.nodes, first.start + step)
                } else {
                    (outgoing.nodes, second.start + step - first.len())
                };
                let is_out = gradient.symmetric || !is_in;
                if let Some(&next) = lists.get(at + ahead) {
                    formulas.prefetch(next as usize);
                    if is_out {
                        formulas.prefetch_edge(position_at_target(at + ahead, next));
                    }
                }
                if is_out && let Some(&far) = lists.get(at + 2 * ahead) {
                    prefetch(&incoming.offsets[far as usize..][..1]);
                }
                let visit = Visit {
                    incoming: if is_in { at } else { 0 },
                    outgoing: if is_out { position_at_target(at, lists[at]) } else { 0 },
                    is_in,
                    is_out,
                };
                let other = formulas.node(lists[at] as usize);
                formulas.visit(&own, &other, visit, &mut gathered, &mut losses);
            }
            if gradient.edge_loss.is_some() {
                let (as_target, as_source) = (by_target.range(i), by_source.range(i));
                for step in 0..as_target.len() + as_source.len() {
                    let is_target = step < as_target.len();
                    let (lists, at) = if is_target {
                        (by_target.nodes, as_target.start + step)
                    } else {
                        (by_source.nodes, as_source.start + step - as_target.len())
                    };
                    if let Some(&next) = lists.get(at + ahead) {
                        formulas.prefetch_pair(next as usize, is_target);
                    }
                    let other = formulas.node(lists[at] as usize);
                    let (x, small) = if is_target {
                        formulas.visit_negative(&own, &other, gathered.incoming)
                    } else {
                        formulas.visit_negative(&other, &own, gathered.outgoing)
                    };
                    losses.add_if(is_target, x.array()[0], small.array()[0]);
                }
            }
            formulas.finish(&own, gathered, d_a);
        }
        losses.total()
    }
}
