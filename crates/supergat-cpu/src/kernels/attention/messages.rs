//! Messages that carry the features of their edge: `out_i += V_h s_ih`, where `s_ih = sum_j alpha_ijh f_ij` are the
//! weighted sums of edge features. The sums are taken first, so `V` is applied once per node, not once per edge.

use super::forward::scale_group;
use super::input::INVERSE;
use crate::kernels::parts::{Parts, PerPart, Rows};
use crate::kernels::simd::{Isa, Kernel, Lanes, SimdReal, V, add_scaled, dispatch, dot, vectors, vectors_mut};
use supergat_core::HeadLayout;
use supergat_core::device::STATE;
use supergat_core::heads::LANES;

/// Computes `out_i += V_h s_ih`. `matrix` has a row in the layout of `out` per feature, `sums` has a row of per-head
/// values per node and feature.
pub fn messages_forward<T: SimdReal>(parts: &Parts, layout: HeadLayout, sums: &[T], matrix: &[T], out: &mut [T]) {
    struct Forward<'a, T> {
        layout: HeadLayout,
        sums: &'a [[T; LANES]],
        matrix: &'a [[T; LANES]],
        out: &'a mut [[T; LANES]],
    }
    impl<T: SimdReal> Kernel for Forward<'_, T> {
        type Number = T;
        type Output = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            let (groups, width) = (self.layout.groups, self.layout.vectors);
            let features = self.matrix.len() / (groups * width);
            let rows = self.out.chunks_exact_mut(groups * width).zip(self.sums.chunks_exact(features * groups));
            for (out, sums) in rows {
                for (sums, matrix) in sums.chunks_exact(groups).zip(self.matrix.chunks_exact(groups * width)) {
                    for (g, (out, matrix)) in out.chunks_exact_mut(width).zip(matrix.chunks_exact(width)).enumerate() {
                        add_scaled::<T, I>(out, V::<T, I>::load(&sums[g]), matrix);
                    }
                }
            }
        }
    }
    let per_node = matrix.len() / layout.stride() * layout.head_stride();
    parts.for_each(Rows { data: out, width: layout.stride() }, |nodes, out| {
        let sums = &sums[nodes.start * per_node..nodes.end * per_node];
        dispatch(Forward { layout, sums: vectors(sums), matrix: vectors(matrix), out: vectors_mut(out.data) });
    });
}

/// Completes the weighted sums of the features of edges after all blocks of edges: divides by the sums of the weights,
/// whose inverses are in `state`. `sums` has `per_node` numbers per node.
pub fn messages_end<T: SimdReal>(parts: &Parts, layout: HeadLayout, state: &[T], per_node: usize, sums: &mut [T]) {
    struct End<'a, T> {
        groups: usize,
        per_node: usize,
        state: &'a [[T; LANES]],
        sums: &'a mut [[T; LANES]],
    }
    impl<T: SimdReal> Kernel for End<'_, T> {
        type Number = T;
        type Output = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            let groups = self.groups;
            let rows = self.state.chunks_exact(STATE * groups).zip(self.sums.chunks_exact_mut(self.per_node));
            for (state, sums) in rows {
                for g in 0..groups {
                    scale_group::<T, I>(sums, V::<T, I>::load(&state[INVERSE * groups + g]), g, groups);
                }
            }
        }
    }
    let heads = STATE * layout.head_stride();
    parts.for_each(Rows { data: sums, width: per_node }, |nodes, sums| {
        dispatch(End {
            groups: layout.groups,
            per_node: per_node / LANES,
            state: vectors(&state[nodes.start * heads..nodes.end * heads]),
            sums: vectors_mut(sums.data),
        });
    });
}

/// Computes from the gradient `g` of `out` that of the sums, `d_s_ih = V_h^T g_ih`, and per part that of the matrix,
/// `d_V_h = sum_i g_ih s_ih^T`.
pub fn messages_backward<T: SimdReal>(
    parts: &Parts,
    layout: HeadLayout,
    [sums, matrix, gradient]: [&[T]; 3],
    d_sums: &mut [T],
    d_matrix: &mut [T],
) {
    struct Backward<'a, T> {
        layout: HeadLayout,
        sums: &'a [[T; LANES]],
        matrix: &'a [[T; LANES]],
        gradient: &'a [[T; LANES]],
        d_sums: &'a mut [[T; LANES]],
        d_matrix: &'a mut [[T; LANES]],
    }
    impl<T: SimdReal> Kernel for Backward<'_, T> {
        type Number = T;
        type Output = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            let (groups, width, heads) = (self.layout.groups, self.layout.vectors, self.layout.lane_heads);
            let row = groups * width;
            let features = self.matrix.len() / row;
            self.d_matrix.fill([T::ZERO; LANES]);
            let rows = self.sums.chunks_exact(features * groups).zip(self.d_sums.chunks_exact_mut(features * groups));
            for (gradient, (sums, d_sums)) in self.gradient.chunks_exact(row).zip(rows) {
                for k in 0..features {
                    for g in 0..groups {
                        let (gradient, place) = (&gradient[g * width..(g + 1) * width], k * row + g * width);
                        let products = dot::<T, I>(gradient, &self.matrix[place..place + width]);
                        d_sums[k * groups + g] = products.fold(heads).array();
                        let sum = V::<T, I>::load(&sums[k * groups + g]);
                        add_scaled::<T, I>(&mut self.d_matrix[place..place + width], sum, gradient);
                    }
                }
            }
        }
    }
    let (stride, per_node) = (layout.stride(), matrix.len() / layout.stride() * layout.head_stride());
    let outputs = (Rows { data: d_sums, width: per_node }, PerPart { data: d_matrix, width: matrix.len() });
    parts.for_each(outputs, |nodes, (d_sums, d_matrix)| {
        dispatch(Backward {
            layout,
            sums: vectors(&sums[nodes.start * per_node..nodes.end * per_node]),
            matrix: vectors(matrix),
            gradient: vectors(&gradient[nodes.start * stride..nodes.end * stride]),
            d_sums: vectors_mut(d_sums.data),
            d_matrix: vectors_mut(d_matrix.data),
        });
    });
}
