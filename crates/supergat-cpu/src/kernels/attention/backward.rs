//! Backward pass of attention and of the edge loss, one node at a time.

use super::edge::{Formulas, Gathered, Visit};
use super::input::{Attention, Gradient, score_sums, steps_ahead, vector_sums};
use super::symmetric::{self, Symmetric};
use super::v2;
use crate::kernels::forms::{FormKernel, with_form};
use crate::kernels::loss::SoftplusSum;
use crate::kernels::parts::{Parts, PerPart, Rows};
use crate::kernels::simd::{
    Arithmetic, Isa, Kernel, Lanes, SimdReal, Stored, V, add_two_scaled, dispatch, vectors, vectors_mut,
};
use std::marker::PhantomData;
use std::ops::Range;
use supergat_core::HeadLayout;
use supergat_core::graph::Neighbours;
use supergat_core::heads::{LANES, MAX_GROUPS};
use supergat_core::memory::prefetch;

/// Writes the gradient of `z` to `d_z`. Writes per part the gradients of the vectors and of `u` to `d_vectors`, which has
/// the length of [`vector_sums`], and the unweighted sum of the terms of the edge loss to `losses`.
///
/// With lists of blocks, it adds to `d_z`, to `losses`, per part to the gradients of `u` in `d_vectors`, and to the
/// gradients of the scores in `d_scores` ([`score_sums`] numbers per node), which are otherwise not used, one block
/// after another; [`attention_backward_end`] then completes the gradients.
pub fn attention_backward<T: SimdReal>(
    parts: &Parts,
    blocks: &[(Attention<'_, T>, Gradient<'_, T>)],
    d_z: &mut [T],
    d_scores: &mut [T],
    d_vectors: &mut [T],
    losses: &mut [f64],
) {
    let Some((Attention { layout, form, edges, .. }, _)) = blocks.first() else { return };
    let (layout, continues) = (*layout, !d_scores.is_empty());
    let is_symmetric = !continues && matches!(blocks, [(input, gradient)] if symmetric::applies(input, gradient));
    let edge_features = edges.map_or(0, |terms| terms.width);
    let outputs = (
        Rows { data: d_z, width: form.projections() * layout.stride() },
        Rows { data: d_scores, width: if continues { score_sums(layout) } else { 0 } },
        PerPart {
            data: d_vectors,
            width: vector_sums(layout, edge_features) - if continues { vector_sums(layout, 0) } else { 0 },
        },
        PerPart { data: losses, width: 1 },
    );
    parts.for_each(outputs, |nodes, (d_z, d_scores, d_vectors, loss)| {
        let (d_z, d_vectors) = (vectors_mut(d_z.data), vectors_mut(d_vectors.data));
        let d_scores = vectors_mut(d_scores.data);
        with_form!(*form, F => {
            for &(input, gradient) in blocks {
                let nodes = nodes.clone();
                let (d_z, d_scores, d_vectors) = (&mut *d_z, &mut *d_scores, &mut *d_vectors);
                macro_rules! run {
                    ($groups:expr, $edges:expr) => {
                        // A constant condition, so that only one of the kernels is compiled.
                        if const { F::V2 } {
                            dispatch(v2::Backward::<T, $groups, $edges> { input, gradient, nodes, d_z, d_vectors })
                        } else if is_symmetric {
                            let form = PhantomData::<F>;
                            match (input.half, gradient.half) {
                                (Some(z), Some(out)) => {
                                    let rows = [z.as_chunks::<LANES>().0, out.as_chunks().0];
                                    dispatch(Symmetric { input, gradient, rows, nodes, d_z, d_vectors, form })
                                }
                                _ => {
                                    let rows = [vectors(input.z), vectors(gradient.out)];
                                    dispatch(Symmetric { input, gradient, rows, nodes, d_z, d_vectors, form })
                                }
                            }
                        } else {
                            let form = PhantomData::<F>;
                            dispatch(Backward::<T, F, $groups, $edges> {
                                input,
                                gradient,
                                nodes,
                                d_z,
                                d_scores,
                                d_vectors,
                                form,
                            })
                        }
                    };
                }
                let sum = match (input.edges, layout.groups) {
                    (None, 1) => run!(1, false),
                    (None, _) => run!(MAX_GROUPS, false),
                    (Some(_), 1) => run!(1, true),
                    (Some(_), _) => run!(MAX_GROUPS, true),
                };
                loss.data[0] = if continues { loss.data[0] + sum } else { sum };
            }
        });
    });
}

/// Completes [`attention_backward`] by blocks: the gradient of `z` through the scores of GO and MX, and per part
/// the gradients of the vectors.
pub fn attention_backward_end<T: SimdReal>(
    parts: &Parts,
    layout: HeadLayout,
    z: &[T],
    a: &[T],
    d_scores: &[T],
    d_z: &mut [T],
    d_vectors: &mut [T],
) {
    struct End<'a, T> {
        layout: HeadLayout,
        nodes: Range<usize>,
        z: &'a [[T; LANES]],
        vectors: [&'a [[T; LANES]]; 2],
        d_scores: &'a [[T; LANES]],
        d_z: &'a mut [[T; LANES]],
        d_vectors: &'a mut [[T; LANES]],
    }
    impl<T: SimdReal> Kernel for End<'_, T> {
        type Number = T;
        type Output = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            let (groups, width) = (self.layout.groups, self.layout.vectors);
            let row = groups * width;
            self.d_vectors.fill([T::ZERO; LANES]);
            let (d_target_vector, d_source_vector) = self.d_vectors.split_at_mut(row);
            for (i, d_z) in self.nodes.zip(self.d_z.chunks_exact_mut(row)) {
                let scores = &self.d_scores[i * 2 * groups..(i + 1) * 2 * groups];
                for g in 0..groups {
                    let part = g * width..(g + 1) * width;
                    let d_scores = [g, groups + g].map(|k| V::<T, I>::load(&scores[k]));
                    let z = &self.z[i * row..(i + 1) * row][part.clone()];
                    let vectors = self.vectors.map(|a| &a[part.clone()]);
                    let d_vectors = [&mut d_target_vector[part.clone()], &mut d_source_vector[part.clone()]];
                    through_scores::<T, _, I>(d_scores, z, vectors, &mut d_z[part], d_vectors);
                }
            }
        }
    }
    let outputs =
        (Rows { data: d_z, width: layout.stride() }, PerPart { data: d_vectors, width: vector_sums(layout, 0) });
    parts.for_each(outputs, |nodes, (d_z, d_vectors)| {
        dispatch(End {
            layout,
            nodes,
            z: vectors(z),
            vectors: <[&[T]; 2]>::from(a.split_at(layout.stride())).map(vectors),
            d_scores: vectors(d_scores),
            d_z: vectors_mut(d_z.data),
            d_vectors: vectors_mut(d_vectors.data),
        });
    });
}

/// Adds the gradients of a node's row and of the vectors from those of its scores as target and as source.
#[inline(always)]
pub(super) fn through_scores<T: SimdReal, S: Stored<T>, I: Isa>(
    [target, source]: [V<T, I>; 2],
    z: &[S],
    [a_target, a_source]: [&[[T; LANES]]; 2],
    d_z: &mut [[T; LANES]],
    [d_target_vector, d_source_vector]: [&mut [[T; LANES]]; 2],
) {
    add_two_scaled::<T, I>(d_z, target, a_target, source, a_source);
    for (z, (d_target, d_source)) in z.iter().zip(d_target_vector.iter_mut().zip(d_source_vector)) {
        *d_target = target.mul_add(z.vector::<I>(), V::<T, I>::load(d_target)).array();
        *d_source = source.mul_add(z.vector::<I>(), V::<T, I>::load(d_source)).array();
    }
}

/// Backward pass over a range of nodes. `G` is 1 for layouts of one group, else the largest number of groups. `E` tells
/// whether edges have weights or features.
struct Backward<'a, T, F, const G: usize, const E: bool> {
    input: Attention<'a, T>,
    gradient: Gradient<'a, T>,
    nodes: Range<usize>,
    d_z: &'a mut [[T; LANES]],
    d_scores: &'a mut [[T; LANES]],
    d_vectors: &'a mut [[T; LANES]],
    form: PhantomData<F>,
}

impl<T: SimdReal, F: FormKernel, const G: usize, const E: bool> Kernel for Backward<'_, T, F, G, E> {
    type Number = T;
    type Output = f64;

    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        if const { I::UNROLLED } {
            return self.pass::<I>();
        }
        let Self { input, gradient, nodes, d_z, d_scores, d_vectors, form } = self;
        Backward::<T, F, MAX_GROUPS, E> { input, gradient, nodes, d_z, d_scores, d_vectors, form }.pass_called::<I>()
    }
}

impl<T: SimdReal, F: FormKernel, const G: usize, const E: bool> Backward<'_, T, F, G, E> {
    /// Runs [`Backward::pass`] without inlining it, so that it is compiled once for all numbers of groups.
    #[inline(never)]
    fn pass_called<I: Isa>(self) -> f64 {
        self.pass::<I>()
    }

    #[inline(always)]
    fn pass<I: Isa>(self) -> f64 {
        let Self { input, gradient, nodes, d_z, d_scores, d_vectors, .. } = self;
        let formulas = Formulas::<T, F, I, G, E>::new(input, &gradient);
        let (row, groups) = (formulas.row(), formulas.groups());
        let vector: [_; 2] = if F::GO { vectors(input.vectors).split_at(row).into() } else { [&[][..]; 2] };
        let loss = &gradient.edge_loss;
        let (incoming, outgoing) = (input.incoming, gradient.outgoing);
        let none = Neighbours::default();
        let (by_target, by_source) = loss.map_or((none, none), |l| (l.negatives_by_target, l.negatives_by_source));
        // A block has lists of one kind, which belong to some of the nodes.
        let block = [incoming, outgoing, by_target, by_source].into_iter().find(|lists| lists.block.is_some());
        let range = |lists: &Neighbours<'_>, i: usize, list: usize| match (&block, lists.block) {
            (None, _) => lists.range(i),
            (Some(_), None) => 0..0,
            (Some(_), Some(_)) => lists.range(list),
        };
        // Position of the outgoing edge number `at`, which leads to `target`, among the incoming edges. Blocks
        // have positions, whole lists have places after the first edge of the target.
        let first_edges = if block.is_some() { &[] } else { incoming.offsets };
        let position_at_target = |at: usize, target: u32| {
            let first = first_edges.get(target as usize).map_or(0, |&first| first as usize);
            first + gradient.place_at_target[at] as usize
        };
        let ahead = steps_ahead::<[T; LANES]>(2 * row, AHEAD);
        let mut losses = SoftplusSum::default();
        if block.is_none() {
            d_vectors.fill([T::ZERO; LANES]);
        }
        let (d_target_vector, rest) = d_vectors.split_at_mut(if block.is_none() { row } else { 0 });
        let (d_source_vector, d_edge_vectors) = rest.split_at_mut(if block.is_none() { row } else { 0 });
        let first_node = nodes.start;
        for list in block.map_or(nodes.clone(), |block| block.lists(nodes)) {
            let i = block.map_or(list, |block| block.row(list));
            let d_z = &mut d_z[(i - first_node) * row..][..row];
            let zero = [V::<T, I>::zero(); G];
            let d_edge_vectors = &mut *d_edge_vectors;
            let mut gathered = Gathered { d_z, d_target_score: zero, d_source_score: zero, d_edge_vectors };
            if block.is_none() {
                gathered.d_z.fill([T::ZERO; LANES]);
            } else {
                let scores = &d_scores[(i - first_node) * 2 * groups..][..2 * groups];
                for g in 0..groups {
                    gathered.d_target_score[g] = V::<T, I>::load(&scores[g]);
                    gathered.d_source_score[g] = V::<T, I>::load(&scores[groups + g]);
                }
            }
            let own = formulas.node(i);
            // On a symmetric graph one pass over the neighbours covers both directions; otherwise there is a
            // second pass.
            let walk = range(&incoming, i, list);
            // Difference between the position of an incoming edge and its place in the lists.
            let shift = if walk.is_empty() { 0 } else { incoming.edge(list, walk.start).wrapping_sub(walk.start) };
            let second = if gradient.symmetric { 0..0 } else { range(&outgoing, i, list) };
            for step in 0..walk.len() + second.len() {
                let first = step < walk.len();
                let (lists, at) = if first {
                    (incoming.nodes, walk.start + step)
                } else {
                    (outgoing.nodes, second.start + step - walk.len())
                };
                let is_out = gradient.symmetric || !first;
                if let Some(&next) = lists.get(at + ahead) {
                    formulas.prefetch(next as usize);
                    if is_out {
                        formulas.prefetch_edge(loss, position_at_target(at + ahead, next));
                    }
                }
                if is_out
                    && let Some(&far) = lists.get(at + 2 * ahead)
                    && let Some(first) = first_edges.get(far as usize)
                {
                    prefetch(std::slice::from_ref(first));
                }
                let node = lists[at] as usize;
                let visit = Visit {
                    incoming: if first { at.wrapping_add(shift) } else { 0 },
                    outgoing: if is_out { position_at_target(at, lists[at]) } else { 0 },
                    is_in: first,
                    is_out,
                };
                formulas.visit(&own, &formulas.other(node), visit, loss, &mut gathered, &mut losses);
            }
            let Gathered { d_z, mut d_target_score, mut d_source_score, .. } = gathered;
            if loss.is_some() {
                let (as_target, as_source) = (range(&by_target, i, list), range(&by_source, i, list));
                for step in 0..as_target.len() + as_source.len() {
                    let is_target = step < as_target.len();
                    let (lists, at) = if is_target {
                        (by_target.nodes, as_target.start + step)
                    } else {
                        (by_source.nodes, as_source.start + step - as_target.len())
                    };
                    if let Some(&next) = lists.get(at + ahead) {
                        formulas.prefetch_pair(next as usize);
                    }
                    let other = formulas.other_of_pair(lists[at] as usize);
                    let (target, source) = if is_target { (&own, &other) } else { (&other, &own) };
                    let d_score = if is_target { &mut d_target_score } else { &mut d_source_score };
                    let (x, small) = formulas.visit_negative(target, source, other.z, d_z, d_score);
                    losses.add_if(is_target, x.array()[0], small.array()[0]);
                }
            }
            if block.is_some() {
                let scores = &mut d_scores[(i - first_node) * 2 * groups..][..2 * groups];
                for g in 0..groups {
                    scores[g] = d_target_score[g].array();
                    scores[groups + g] = d_source_score[g].array();
                }
            } else if F::GO {
                for g in 0..groups {
                    let part = formulas.part(g);
                    let vectors = [&vector[0][part.clone()], &vector[1][part.clone()]];
                    let d_vectors = [&mut d_target_vector[part.clone()], &mut d_source_vector[part.clone()]];
                    let (z, scores) = (&own.z[part.clone()], [d_target_score[g], d_source_score[g]]);
                    through_scores::<T, _, I>(scores, z, vectors, &mut d_z[part], d_vectors);
                }
            }
        }
        losses.total()
    }
}

/// Largest number of edges between prefetching a neighbour's rows and using them.
pub(super) const AHEAD: usize = 6;
