//! Forward pass: scores, softmax, dropout and weighted sum, one node at a time.

use super::by_source::kept_numbers;
use super::input::{
    Attention, INVERSE, LARGEST, SCORE, add_features, if_chosen, kept, leaky, score_scale, steps_ahead,
};
use super::one_head;
use super::scores::Scores;
use super::symmetric::following;
use crate::kernels::forms::{FormKernel, with_form};
use crate::kernels::parts::{Parts, Rows};
use crate::kernels::simd::{
    Arithmetic, Isa, Kernel, Lanes, P, Pair, Registers, SimdReal, Stored, V, clear_row, dispatch, dot_leaky, in_blocks,
    load_two, prefetch_ahead, scale_row, vectors, vectors_mut,
};
use std::marker::PhantomData;
use std::ops::Range;
use supergat_core::HeadLayout;
use supergat_core::device::STATE;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch;

/// Writes `a_target . z_i` to the state and `a_source . z_i` to `source_score`. Each vector `a` is a row in
/// the layout of `z`.
pub fn attention_scores<T: SimdReal>(
    parts: &Parts,
    layout: HeadLayout,
    z: &[T],
    a_target: &[T],
    a_source: &[T],
    state: &mut [T],
    source_score: &mut [T],
) {
    let (width, groups) = (layout.groups * layout.vectors, layout.groups);
    let outputs = (
        Rows { data: state, width: STATE * layout.head_stride() },
        Rows { data: source_score, width: layout.head_stride() },
    );
    parts.for_each(outputs, |nodes, (state, source)| {
        struct Scores<'a, T> {
            layout: HeadLayout,
            z: &'a [[T; LANES]],
            a: [&'a [[T; LANES]]; 2],
            state: &'a mut [[T; LANES]],
            source: &'a mut [[T; LANES]],
        }
        impl<T: SimdReal> Kernel for Scores<'_, T> {
            type Number = T;
            type Output = ();
            const USES_AVX512: bool = true;
            #[inline(always)]
            fn run<I: Isa>(self) {
                let HeadLayout { groups, vectors, lane_heads, .. } = self.layout;
                let rows = self.z.chunks_exact(groups * vectors);
                let outputs = self.state.chunks_exact_mut(STATE * groups).zip(self.source.chunks_exact_mut(groups));
                for (z, (state, source)) in rows.zip(outputs) {
                    for g in 0..groups {
                        let of_group = g * vectors..(g + 1) * vectors;
                        prefetch_ahead(z, of_group.start, vectors);
                        let (z, a) = (&z[of_group.clone()], self.a.map(|a| &a[of_group.clone()]));
                        let mut sums = [P::<T, I>::zero(); 2];
                        for v in (0..vectors).step_by(2) {
                            let z = load_two::<T, I>(z, v);
                            for k in 0..2 {
                                sums[k] = z.mul_add(load_two::<T, I>(a[k], v), sums[k]);
                            }
                        }
                        state[SCORE * groups + g] = sums[0].sum().fold(lane_heads).array();
                        source[g] = sums[1].sum().fold(lane_heads).array();
                    }
                }
            }
        }
        debug_assert_eq!(source.data.len(), nodes.len() * groups * LANES);
        dispatch(Scores {
            layout,
            z: &vectors(z)[nodes.start * width..nodes.end * width],
            a: [vectors(a_target), vectors(a_source)],
            state: vectors_mut(state.data),
            source: vectors_mut(source.data),
        });
    });
}

/// Computes `out` (before bias and activation) and completes the state of every node. With lists of blocks, it
/// continues the sums of [`attention_begin`] with one block after another.
///
/// Also computes the weighted sums of the features of edges, a row of per-head values per feature, unless
/// `feature_sums` is empty. With lists of blocks, they are divided by `messages_end`.
///
/// GO writes what [`by_source`](super::by_source) reads of every node to `kept`, unless it is empty.
pub fn attention_forward<T: SimdReal>(
    parts: &Parts,
    blocks: &[Attention<'_, T>],
    state: &mut [T],
    out: &mut [T],
    feature_sums: &mut [T],
    kept: &mut [T],
) {
    let Some(Attention { layout, form, edges, .. }) = blocks.first() else { return };
    let per_node = match edges {
        Some(edges) if !feature_sums.is_empty() => edges.vectors.len(),
        _ => 0,
    };
    let outputs = (
        Rows { data: state, width: STATE * layout.head_stride() },
        Rows { data: out, width: layout.stride() },
        Rows { data: feature_sums, width: per_node },
        Rows { width: if kept.is_empty() { 0 } else { kept_numbers(*layout) }, data: kept },
    );
    parts.for_each(outputs, |nodes, (state, out, feature_sums, kept)| {
        let (state, out, feature_sums, kept) =
            (vectors_mut(state.data), vectors_mut(out.data), vectors_mut(feature_sums.data), vectors_mut(kept.data));
        with_form!(*form, F => {
            for &input in blocks {
                let (nodes, form) = (nodes.clone(), PhantomData::<F>);
                let (state, out, feature_sums, kept) = (&mut *state, &mut *out, &mut *feature_sums, &mut *kept);
                macro_rules! run {
                    ($edges:expr, $rows:expr) => {{
                        let rows = $rows;
                        dispatch(Forward::<T, _, F, $edges> {
                            input,
                            rows,
                            nodes,
                            state,
                            out,
                            feature_sums,
                            kept,
                            form,
                        })
                    }};
                }
                let full = [vectors(input.z), vectors(input.others.z)];
                match (input.edges, input.half) {
                    (None, None) => run!(false, full),
                    (Some(_), None) => run!(true, full),
                    (_, Some(half)) => {
                        // A constant condition, so that kernels for rounded rows of GATv2 are not compiled.
                        if const { !F::V2 } {
                            run!(false, [half.as_chunks::<LANES>().0; 2])
                        }
                    }
                }
            }
        });
    });
}

/// Forward pass over a range of nodes. `E` tells whether edges have weights or features.
struct Forward<'a, T, S, F, const E: bool> {
    input: Attention<'a, T>,
    /// Rows of the nodes, and of their neighbours.
    rows: [&'a [S]; 2],
    nodes: Range<usize>,
    state: &'a mut [[T; LANES]],
    out: &'a mut [[T; LANES]],
    feature_sums: &'a mut [[T; LANES]],
    kept: &'a mut [[T; LANES]],
    form: PhantomData<F>,
}

/// Edges of a node processed at once. A node with more edges is processed in blocks, and its sums are
/// rescaled when a larger score appears.
pub(super) const BLOCK: usize = 256;
/// Largest number of edges between prefetching a neighbour's row and using it.
const AHEAD: usize = 8;

impl<T: SimdReal, S: Stored<T>, F: FormKernel, const E: bool> Kernel for Forward<'_, T, S, F, E> {
    type Number = T;
    type Output = ();
    const USES_AVX512: bool = true;

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Attention { layout, slope, incoming, keep, chosen, edges, .. } = self.input;
        let terms = if E { edges } else { None };
        let (groups, width) = (layout.groups, layout.vectors);
        let row = groups * width;
        // A row of GATv2 in `z` has two halves: of the node as source, and as target.
        let (stride, own_half) = if F::V2 { (2 * row, row) } else { (row, 0) };
        let [z, others] = self.rows;
        let (a, source_score) = (vectors(self.input.vectors), vectors(self.input.others.source_score));
        let scale = V::<T, I>::splat(score_scale(layout));
        let slope = V::<T, I>::splat(slope);
        let steps = steps_ahead::<S>(width, AHEAD);
        let mut of_one_head = one_head::Weights::ZERO;
        let (mut weight, mut products) = ([[T::ZERO; LANES]; BLOCK], [[T::ZERO; LANES]; BLOCK]);
        let continues = incoming.block.is_some();
        let first = self.nodes.start;
        let keeps = const { F::GO && !F::DP && !E } && !self.kept.is_empty();
        let features = terms.filter(|_| !self.feature_sums.is_empty()).map_or(0, |terms| terms.width);
        for list in incoming.lists(self.nodes) {
            let i = incoming.row(list);
            prefetch_ahead(self.state, (i - first) * STATE * groups, STATE * groups);
            prefetch_ahead(self.out, (i - first) * row, row);
            if keeps {
                prefetch_ahead(self.kept, (i - first) * row, row);
            }
            let state = &mut self.state[(i - first) * STATE * groups..][..STATE * groups];
            let out = &mut self.out[(i - first) * row..][..row];
            let place = (i - first) * features * groups..(i - first + 1) * features * groups;
            let feature_sums = if E { &mut self.feature_sums[place] } else { &mut [][..] };
            if !continues {
                feature_sums.fill([T::ZERO; LANES]);
            }
            for g in 0..groups {
                let at = g * width;
                let own = &z[i * stride + own_half + at..][..width];
                let own_score = V::<T, I>::load(&state[SCORE * groups + g]);
                let scores = Scores { layout, group: g, own, own_score, others, source_score, slope, scale };
                let out = &mut out[at..at + width];
                // Sums over the edges with a score above zero.
                let above = match self.kept.chunks_exact_mut(width).nth(i - first) {
                    Some(kept) if keeps => kept,
                    _ => &mut [][..],
                };
                clear_row::<T, I>(above);
                let mut sum_above = V::<T, I>::zero();
                let (mut largest, mut sum) = (V::<T, I>::splat(T::NEG_INFINITY), V::<T, I>::zero());
                if continues {
                    largest = V::<T, I>::load(&state[LARGEST * groups + g]);
                    sum = V::<T, I>::load(&state[INVERSE * groups + g]);
                } else {
                    clear_row::<T, I>(out);
                }
                let edges = incoming.range(list);
                if const { F::GO && !F::DP && !E } && layout.heads == 1 && chosen.is_none() && !continues {
                    let to = one_head::Output { state, out, above };
                    one_head::forward::<T, S, I>(&self.input, others, edges, steps, &mut of_one_head, to);
                    continue;
                }
                for start in edges.clone().step_by(BLOCK) {
                    let block = start..(start + BLOCK).min(edges.end);
                    let sources = &incoming.nodes[block];
                    let (before, first_edge) = (largest, incoming.edge(list, start));
                    if const { !E && !F::V2 } {
                        let next = following(incoming.nodes, start + steps, sources.len());
                        largest = scores.of::<F>([sources, next], &mut weight).max(largest);
                    } else {
                        for (k, (&j, weight)) in sources.iter().zip(&mut weight).enumerate() {
                            if let Some(&ahead) = incoming.nodes.get(start + k + steps) {
                                let ahead = ahead as usize;
                                prefetch(&others[ahead * stride + at..][..width]);
                                if F::GO {
                                    prefetch(&source_score[ahead * groups + g..][..1]);
                                }
                            }
                            let j = j as usize;
                            let (mut go, mut dp) = (V::<T, I>::zero(), V::<T, I>::zero());
                            if F::DP {
                                dp = S::dot::<I>(own, &others[j * stride + at..][..width]).fold(layout.lane_heads);
                            }
                            if F::GO {
                                go = own_score.add(V::<T, I>::load(&source_score[j * groups + g]));
                            }
                            if F::V2 {
                                let (a, other) = (&a[at..at + width], &others[j * stride + at..][..width]);
                                go = dot_leaky::<T, I>(a, S::full(own), S::full(other), slope).fold(layout.lane_heads);
                            }
                            let mut score = F::score(go, dp, scale);
                            if let Some(terms) = terms {
                                score = score.add(terms.score::<I>(first_edge + k, g, groups));
                            }
                            if !F::V2 {
                                score = leaky(score, slope);
                            }
                            if let Some(terms) = terms {
                                score = score.add(terms.log_weight::<I>(first_edge + k));
                            }
                            largest = score.max(largest);
                            *weight = score.array();
                        }
                    }
                    if continues || start > edges.start {
                        let shrink = before.sub(largest).exp();
                        sum = sum.mul(shrink);
                        scale_row::<T, I>(out, shrink);
                        scale_group::<T, I>(feature_sums, shrink, g, groups);
                        if keeps {
                            sum_above = sum_above.mul(shrink);
                            scale_group::<T, I>(above, shrink, 0, 1);
                        }
                    }
                    let (pairs, last) = weight[..sources.len()].as_chunks_mut::<2>();
                    let (mut pair_sum, largest_of_pair) = (P::<T, I>::zero(), P::<T, I>::both(largest));
                    let mut pair_above = P::<T, I>::zero();
                    for (k, weight) in pairs.iter_mut().enumerate() {
                        let first = (first_edge + 2 * k) * groups + g;
                        let bytes = |of: &[u8]| [of[first], of[first + groups]];
                        let score = P::<T, I>::load(weight);
                        let mut p = score.sub(largest_of_pair).exp();
                        if let Some(chosen) = chosen {
                            p = p.mul(P::<T, I>::from_bits(bytes(chosen), T::ONE));
                        }
                        pair_sum = pair_sum.add(p);
                        if keeps {
                            pair_above = pair_above.add(score.if_positive(p, P::<T, I>::zero()));
                        }
                        if let Some(mask) = keep {
                            p = p.mul(P::<T, I>::from_bits(bytes(mask.keep), mask.scale));
                        }
                        *weight = p.arrays();
                        if keeps {
                            products.as_chunks_mut::<2>().0[k] = score.if_positive(p, P::<T, I>::zero()).arrays();
                        }
                    }
                    sum = sum.add(pair_sum.sum());
                    sum_above = sum_above.add(pair_above.sum());
                    if let [weight] = last {
                        let byte = (first_edge + sources.len() - 1) * groups + g;
                        let score = V::<T, I>::load(weight);
                        let p = if_chosen::<T, I>(chosen, byte, score.sub(largest).exp());
                        sum = sum.add(p);
                        sum_above = sum_above.add(score.if_positive(p, V::<T, I>::zero()));
                        let p = p.mul(kept::<T, I>(keep, byte));
                        *weight = p.array();
                        if keeps {
                            products[sources.len() - 1] = score.if_positive(p, V::<T, I>::zero()).array();
                        }
                    }
                    if keeps {
                        let weights = [weight.as_flattened(), products.as_flattened()];
                        add_to_both::<T, S, I, LANES>([&mut *out, &mut *above], sources, weights, others);
                    } else {
                        add_rows::<T, S, I, LANES>(out, sources, weight.as_flattened(), others, stride, at);
                    }
                    if let (Some(terms), true) = (terms, features > 0) {
                        for (e, weight) in (first_edge..first_edge + sources.len()).zip(&weight) {
                            let of_edge = terms.features_of(e);
                            add_features::<T, I>(feature_sums, V::<T, I>::load(weight), of_edge, g, groups);
                        }
                    }
                }
                state[LARGEST * groups + g] = largest.array();
                if continues {
                    state[INVERSE * groups + g] = sum.array();
                    continue;
                }
                let inverse = divide::<T, I>(out, sum);
                state[INVERSE * groups + g] = inverse.array();
                centre::<T, I>(above, out, inverse, sum_above);
                scale_group::<T, I>(feature_sums, inverse, g, groups);
            }
        }
    }
}

/// Divides a row by the sum of its weights. Returns the inverse of the sum.
#[inline(always)]
fn divide<T: SimdReal, I: Isa>(out: &mut [[T; LANES]], sum: V<T, I>) -> V<T, I> {
    let inverse = V::<T, I>::splat(T::ONE).div(sum);
    scale_row::<T, I>(out, inverse);
    inverse
}

/// Completes `q` of [`by_source`](super::by_source), `above / sum - out * sum_above / sum`, from the completed output.
#[inline(always)]
pub(super) fn centre<T: SimdReal, I: Isa>(
    above: &mut [[T; LANES]],
    out: &[[T; LANES]],
    inverse: V<T, I>,
    sum_above: V<T, I>,
) {
    let fraction = V::<T, I>::zero().sub(sum_above.mul(inverse));
    in_blocks!(I, above.len(), |first, B| {
        let row = Registers::<T, I, B>::load(&above[first..]).mul(Registers::repeat(inverse));
        Registers::repeat(fraction).mul_add(Registers::load(&out[first..]), row).store(&mut above[first..]);
    });
}

/// Multiplies the per-head values of a group.
#[inline(always)]
pub(super) fn scale_group<T: SimdReal, I: Isa>(rows: &mut [[T; LANES]], factor: V<T, I>, g: usize, groups: usize) {
    for row in rows.chunks_exact_mut(groups) {
        row[g] = V::<T, I>::load(&row[g]).mul(factor).array();
    }
}

/// Prepares [`attention_forward`] by blocks of edges: no edge has been seen yet.
pub fn attention_begin<T: SimdReal>(parts: &Parts, layout: HeadLayout, state: &mut [T], out: &mut [T]) {
    let (heads, stride) = (layout.head_stride(), layout.stride());
    let outputs = (Rows { data: state, width: STATE * heads }, Rows { data: out, width: stride });
    parts.for_each(outputs, |_, (state, out)| {
        out.data.fill(T::ZERO);
        for state in state.data.chunks_exact_mut(STATE * heads) {
            state[LARGEST * heads..(LARGEST + 1) * heads].fill(T::NEG_INFINITY);
            state[INVERSE * heads..(INVERSE + 1) * heads].fill(T::ZERO);
        }
    });
}

/// Completes [`attention_forward`] after all blocks of edges: divides by the sums of the weights.
pub fn attention_end<T: SimdReal>(parts: &Parts, layout: HeadLayout, state: &mut [T], out: &mut [T]) {
    struct End<'a, T> {
        layout: HeadLayout,
        state: &'a mut [[T; LANES]],
        out: &'a mut [[T; LANES]],
    }
    impl<T: SimdReal> Kernel for End<'_, T> {
        type Number = T;
        type Output = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            let (groups, width) = (self.layout.groups, self.layout.vectors);
            let rows = self.state.chunks_exact_mut(STATE * groups).zip(self.out.chunks_exact_mut(groups * width));
            for (state, out) in rows {
                for (g, out) in out.chunks_exact_mut(width).enumerate() {
                    let slot = &mut state[INVERSE * groups + g];
                    *slot = divide::<T, I>(out, V::<T, I>::load(slot)).array();
                }
            }
        }
    }
    let outputs =
        (Rows { data: state, width: STATE * layout.head_stride() }, Rows { data: out, width: layout.stride() });
    parts.for_each(outputs, |_, (state, out)| {
        dispatch(End { layout, state: vectors_mut(state.data), out: vectors_mut(out.data) });
    });
}

/// Computes `out += sum_k weights[k] * z[nodes[k]]`, up to eight vectors at a time in registers. An edge has `H` weights: one,
/// or a vector.
#[inline(always)]
pub(super) fn add_rows<T: SimdReal, S: Stored<T>, I: Isa, const H: usize>(
    out: &mut [[T; LANES]],
    nodes: &[u32],
    weights: &[T],
    z: &[S],
    stride: usize,
    offset: usize,
) {
    let weights = weights.as_chunks::<H>().0;
    in_blocks!(I, out.len(), |first, B| {
        let mut sum = Registers::<T, I, B>::load(&out[first..]);
        for (&j, weights) in nodes.iter().zip(weights) {
            let row = Registers::load(&z[j as usize * stride + offset + first..]);
            sum.add_scaled(in_lanes::<T, I, H>(weights), &row);
        }
        sum.store(&mut out[first..]);
    });
}

/// Computes [`add_rows`] for two rows of the output with weights of their own.
#[inline(always)]
pub(super) fn add_to_both<T: SimdReal, S: Stored<T>, I: Isa, const H: usize>(
    [out, above]: [&mut [[T; LANES]]; 2],
    nodes: &[u32],
    weights: [&[T]; 2],
    z: &[S],
) {
    let width = out.len();
    if const { !<P<T, I>>::IS_ONE_REGISTER } {
        // Two rows do not fit into short registers.
        add_rows::<T, S, I, H>(out, nodes, weights[0], z, width, 0);
        return add_rows::<T, S, I, H>(above, nodes, weights[1], z, width, 0);
    }
    let [weights, weights_above] = weights.map(|weights| weights.as_chunks::<H>().0);
    in_blocks!(I, width, |first, B| {
        let mut sum = Registers::<T, I, B>::load(&out[first..]);
        let mut sum_above = Registers::<T, I, B>::load(&above[first..]);
        for (&j, (weights, of_above)) in nodes.iter().zip(weights.iter().zip(weights_above)) {
            let row = Registers::load(&z[j as usize * width + first..]);
            sum.add_scaled(in_lanes::<T, I, H>(weights), &row);
            sum_above.add_scaled(in_lanes::<T, I, H>(of_above), &row);
        }
        sum.store(&mut out[first..]);
        sum_above.store(&mut above[first..]);
    });
}

/// Returns the weights of an edge as a vector: one in all lanes, or one per lane.
#[inline(always)]
pub(super) fn in_lanes<T: SimdReal, I: Isa, const H: usize>(weights: &[T; H]) -> V<T, I> {
    match weights.first_chunk() {
        Some(vector) => V::<T, I>::load(vector),
        None => V::<T, I>::splat(weights[0]),
    }
}
