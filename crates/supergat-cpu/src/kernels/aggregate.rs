//! Sums over neighbours with weights fixed by the graph: `out_i = outer_i sum_j w_ij inner_j z_j`, optionally plus
//! a row of node i.

use super::parts::{Parts, Rows};
use super::simd::{Arithmetic, Isa, Kernel, Lanes, V, add_scaled, dispatch, vectors, vectors_mut};
use crate::kernels::simd::SimdReal;
use std::ops::Range;
use supergat_core::graph::Neighbours;
use supergat_core::heads::LANES;
use supergat_core::memory::prefetch;

/// The neighbours that are summed, and their weights.
#[derive(Debug, Clone, Copy)]
pub struct Aggregation<'a, T> {
    /// Lists of neighbours, self-loops included.
    pub lists: Neighbours<'a>,
    /// Factor of each sum.
    pub outer: &'a [T],
    /// Factor of each node within sums.
    pub inner: &'a [T],
    /// Weight of each entry of the lists; empty if all are 1.
    pub weights: &'a [T],
    /// Whether a node is one of its own neighbours.
    pub own: bool,
}

/// The part from `offset` on of every row of a matrix with `stride` numbers per row.
#[derive(Debug, Clone, Copy)]
pub struct Slice {
    /// Numbers per row.
    pub stride: usize,
    /// First number of the part.
    pub offset: usize,
}

/// Completes sums by blocks of neighbours: multiplies them by their factors, and adds the node's own slice of `z`
/// if `root` is given.
#[allow(clippy::too_many_arguments)]
pub fn aggregate_end<T: SimdReal>(
    parts: &Parts,
    outer: &[T],
    width: usize,
    z: &[T],
    root: Option<Slice>,
    out: &mut [T],
    out_stride: usize,
) {
    parts.for_each(Rows { data: out, width: out_stride }, |nodes, out| {
        for (i, out) in nodes.zip(out.data.chunks_exact_mut(out_stride)) {
            for (v, o) in out[..width].iter_mut().enumerate() {
                *o *= outer[i];
                if let Some(Slice { stride, offset }) = root {
                    *o += z[i * stride + offset + v];
                }
            }
        }
    });
}

/// Writes the sums over the first `width` numbers of each row of `z` to the first `width` numbers of each row
/// of `out`. If `root` is a slice of `z`, the node's own slice is added. With lists of a block, it adds the terms of
/// the block to `out`, before [`aggregate_end`].
#[allow(clippy::too_many_arguments)]
pub fn aggregate<T: SimdReal>(
    parts: &Parts,
    aggregation: Aggregation<'_, T>,
    width: usize,
    z: &[T],
    z_stride: usize,
    root: Option<Slice>,
    out: &mut [T],
    out_stride: usize,
) {
    parts.for_each(Rows { data: out, width: out_stride }, |nodes, out| {
        let z = vectors(z);
        let [width, z_stride, out_stride] = [width, z_stride, out_stride].map(|n| n / LANES);
        let root = root.map(|s| (s.stride / LANES, s.offset / LANES));
        dispatch(Sums { aggregation, nodes, width, z, z_stride, root, out: vectors_mut(out.data), out_stride });
    });
}

struct Sums<'a, T> {
    aggregation: Aggregation<'a, T>,
    nodes: Range<usize>,
    width: usize,
    z: &'a [[T; LANES]],
    z_stride: usize,
    root: Option<(usize, usize)>,
    out: &'a mut [[T; LANES]],
    out_stride: usize,
}

/// Number of neighbours between prefetching a row and using it.
const AHEAD: usize = 8;

impl<T: SimdReal> Kernel for Sums<'_, T> {
    type Number = T;
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Aggregation { lists, outer, inner, weights, own } = self.aggregation;
        let first = self.nodes.start;
        for list in lists.lists(self.nodes) {
            let i = lists.row(list);
            let out = &mut self.out[(i - first) * self.out_stride..][..self.width];
            if lists.block.is_none() {
                out.fill([T::ZERO; LANES]);
            }
            for e in lists.range(list) {
                if let Some(&ahead) = lists.nodes.get(e + AHEAD) {
                    prefetch(&self.z[ahead as usize * self.z_stride..][..self.width]);
                }
                let j = lists.nodes[e] as usize;
                if own || j != i {
                    let row = &self.z[j * self.z_stride..][..self.width];
                    let factor = weights.get(e).map_or(inner[j], |weight| *weight * inner[j]);
                    add_scaled::<T, I>(out, V::<T, I>::splat(factor), row);
                }
            }
            if lists.block.is_some() {
                continue;
            }
            let factor = V::<T, I>::splat(outer[i]);
            for (v, o) in out.iter_mut().enumerate() {
                let mut sum = V::<T, I>::load(o).mul(factor);
                if let Some((stride, offset)) = self.root {
                    sum = sum.add(V::<T, I>::load(&self.z[i * stride + offset + v]));
                }
                *o = sum.array();
            }
        }
    }
}
