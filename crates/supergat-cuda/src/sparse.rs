//! Products of sparse features with weights: `X W`, and `X^T G` for the gradient of `W`.
//!
//! The transposed product sums over the entries of columns, which are stored a second time in the order of columns.

use crate::compile::Source;
use crate::launch::{Cuda, grid, launch};
use crate::memory::{Numbers, keep};
use crate::problem::sparse::{SparseFeatures, lanes};
use cudarc::driver::CudaSlice;
use supergat_core::Result;
use supergat_core::device::Mask;

pub(crate) const SPARSE: Source = Source {
    name: "sparse",
    text: concat!(include_str!("../kernels/segments.cuh"), include_str!("../kernels/sparse.cu")),
};

/// Computes `out = drop(X) W`.
pub(crate) fn product(
    cuda: &Cuda,
    nodes: usize,
    x: &SparseFeatures,
    mask: Option<Mask<'_, Cuda>>,
    weight: &Numbers,
    stride: usize,
    out: &mut Numbers,
) -> Result<()> {
    let (rows, quads) = (nodes as u32, (stride / 4) as u32);
    let lanes = lanes(quads);
    let (keep, scale) = keep(mask);
    launch!(
        cuda,
        &SPARSE,
        &[],
        "sparse_product",
        grid(nodes.div_ceil(4), 128),
        &rows,
        &x.offsets,
        &x.index,
        &x.values,
        &keep,
        &scale,
        &weight.0,
        &quads,
        &lanes,
        &mut out.0
    )
}

/// Computes `out = drop(X)^T G`.
#[allow(clippy::too_many_arguments)]
pub(crate) fn transposed_product(
    cuda: &Cuda,
    x: &SparseFeatures,
    mask: Option<Mask<'_, Cuda>>,
    g: &Numbers,
    stride: usize,
    partial: &mut CudaSlice<f32>,
    out: &mut Numbers,
) -> Result<()> {
    let Some(x) = &x.by_column else {
        unreachable!("features of an example with training nodes are also stored by column")
    };
    let (count, quads) = (x.segments.count as u32, (stride / 4) as u32);
    let lanes = lanes(quads);
    let (keep, scale) = keep(mask);
    launch!(
        cuda,
        &SPARSE,
        &[],
        "sparse_transposed",
        grid(x.segments.count.div_ceil(4), 128),
        &x.segments.segments,
        &x.segments.splits,
        &count,
        &x.rows,
        &x.places,
        &x.values,
        &keep,
        &scale,
        &g.0,
        &quads,
        &lanes,
        partial,
        &x.segments.tickets,
        &mut out.0
    )
}
