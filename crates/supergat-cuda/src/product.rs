//! Products of rows of nodes with weights, and gradients of weights, by tensor cores in single precision.

use crate::compile::{Source, Variant};
use crate::launch::{Cuda, grid, launch_in};
use crate::memory::{address, keep};
use crate::problem::Problem;
use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig};
use supergat_core::Result;
use supergat_core::device::{LayerWidth, Mask};

const PRODUCT: Source = Source {
    name: "product",
    text: concat!(include_str!("../kernels/tensor.cuh"), include_str!("../kernels/product.cu")),
};
const WEIGHT_GRADIENT: Source = Source {
    name: "weight_gradient",
    text: concat!(include_str!("../kernels/tensor.cuh"), include_str!("../kernels/weight_gradient.cu")),
};
pub(crate) const PARTS: Source = Source { name: "parts", text: include_str!("../kernels/parts.cu") };

/// Rows and columns of a tile of the result that a block has, the terms of its sums that it has at once, and its threads, as in
/// the kernels.
const SIDE: usize = 64;
const DEPTH: usize = 32;
const THREADS: u32 = 128;
/// Smallest number of nodes of a block in the gradient of weights, and the blocks of a multiprocessor.
const FEWEST_NODES: usize = 64;
const BLOCKS: usize = 3;

/// Returns whether the GPU multiplies rows of `depth` numbers by these kernels. The rows of results are as long as those of
/// layers, a multiple of eight.
pub(crate) fn multiplies(cuda: &Cuda, depth: usize) -> bool {
    cuda.has_tensor_cores() && depth > 0 && depth.is_multiple_of(8)
}

/// Rows of the nodes, their length, and their dropout.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) rows: &'a CudaSlice<f32>,
    pub(crate) depth: usize,
    pub(crate) mask: Option<Mask<'a, Cuda>>,
}

/// How a product is computed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Way {
    /// Whether the weights are in memory with a row per column of the result.
    pub(crate) transposed: bool,
    /// Whether the product is added to the result.
    pub(crate) adds: bool,
}

/// Computes the product of rows with weights in a stream. The result is its memory and the length of its rows.
pub(crate) fn product(
    cuda: &Cuda,
    stream: &CudaStream,
    nodes: usize,
    rows: Rows<'_>,
    weight: &CudaSlice<f32>,
    Way { transposed, adds }: Way,
    (out, width): (&CudaSlice<f32>, usize),
) -> Result<()> {
    let Rows { rows, depth, mask } = rows;
    assert!(rows.len() >= nodes * depth, "length of the rows");
    assert!(weight.len() >= depth * width, "length of the weights");
    assert!(out.len() >= nodes * width, "length of the product");
    let across = width.div_ceil(SIDE);
    if nodes == 0 || across == 0 {
        return Ok(());
    }
    let config = grid(nodes.div_ceil(SIDE) * across, THREADS);
    let (keep, scale) = keep(mask);
    let [nodes, depth, width] = [nodes, depth, width].map(|size| size as u32);
    let defines = product_defines(!cuda.rounds_products(), mask.is_some(), transposed);
    launch_in!(
        cuda,
        stream,
        &PRODUCT,
        &defines,
        "product",
        config,
        &nodes,
        &depth,
        &width,
        rows,
        &keep,
        &scale,
        weight,
        &u32::from(adds),
        out
    )
}

/// Computes the gradient of weights, the product of the transposed rows with those of `gradient`, in a stream. `parts` is
/// memory for the results of blocks.
pub(crate) fn weight_gradient(
    cuda: &Cuda,
    stream: &CudaStream,
    nodes: usize,
    rows: Rows<'_>,
    (gradient, width): (&CudaSlice<f32>, usize),
    parts: &CudaSlice<f32>,
    out: &CudaSlice<f32>,
) -> Result<()> {
    let Rows { rows, depth, mask } = rows;
    let (count, share) = shares(cuda, nodes, depth, width);
    assert!(rows.len() >= nodes * depth, "length of the rows");
    assert!(gradient.len() >= nodes * width, "length of the gradient");
    assert!(out.len() >= depth * width, "length of the gradient of the weights");
    assert!(count == 1 || parts.len() >= count * depth * width, "memory for the results of blocks");
    let config = LaunchConfig {
        grid_dim: (width.div_ceil(SIDE) as u32, depth.div_ceil(SIDE) as u32, count as u32),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    };
    let (keep, scale) = keep(mask);
    let sizes = [nodes, depth, width, share].map(|size| size as u32);
    let to = if count > 1 { parts } else { out };
    launch_in!(
        cuda,
        stream,
        &WEIGHT_GRADIENT,
        &defines(!cuda.rounds_products(), mask.is_some()),
        "weight_gradient",
        config,
        &sizes[0],
        &sizes[1],
        &sizes[2],
        &sizes[3],
        rows,
        &keep,
        &scale,
        gradient,
        to
    )?;
    if count > 1 { add_parts(cuda, stream, count, depth * width, parts, address(out)) } else { Ok(()) }
}

/// Adds up results of `count` blocks in a stream, each of `len` numbers, to an address.
pub(crate) fn add_parts(
    cuda: &Cuda,
    stream: &CudaStream,
    count: usize,
    len: usize,
    parts: &CudaSlice<f32>,
    out: u64,
) -> Result<()> {
    assert!(parts.len() >= count * len, "length of the parts");
    let (quads, count) = ((len / 4) as u32, count as u32);
    // Quads of a block, as in the kernel.
    let config = grid(len.div_ceil(4 * 8), 256);
    launch_in!(cuda, stream, &PARTS, &[], "add_parts", config, &quads, &count, parts, &out)
}

/// Returns the number of blocks that share the nodes in the gradient of weights, and the nodes of each.
fn shares(cuda: &Cuda, nodes: usize, depth: usize, width: usize) -> (usize, usize) {
    let tiles = (depth.div_ceil(SIDE) * width.div_ceil(SIDE)).max(1);
    let count = (BLOCKS * cuda.multiprocessors() / tiles).clamp(1, nodes.div_ceil(FEWEST_NODES).max(1));
    let share = nodes.div_ceil(count).next_multiple_of(DEPTH).max(DEPTH);
    (nodes.div_ceil(share).max(1), share)
}

/// Returns the numbers that the results of blocks need, for the gradients of the weights of all layers.
pub(crate) fn parts_len(cuda: &Cuda, problems: &[Problem], layers: &[LayerWidth]) -> usize {
    let len = |problem: &Problem, layer: &LayerWidth| {
        let (count, _) = shares(cuda, problem.nodes, layer.weight / layer.stride.max(1), layer.stride);
        if count > 1 { count * layer.weight } else { 0 }
    };
    // Sparse features have products of their own.
    let dense = |problem: &Problem| usize::from(problem.features.is_sparse())..layers.len();
    let lengths = problems.iter().flat_map(|problem| dense(problem).map(move |k| len(problem, &layers[k])));
    if cuda.has_tensor_cores() { lengths.max().unwrap_or(0) } else { 0 }
}

fn defines(splits: bool, drops: bool) -> [(&'static str, i64); 2] {
    [("SPLITS", splits.into()), ("DROPS", drops.into())]
}

fn product_defines(splits: bool, drops: bool, transposed: bool) -> Vec<(&'static str, i64)> {
    [&defines(splits, drops)[..], &[("TRANSPOSED", transposed.into())]].concat()
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    vec![
        (&PRODUCT, product_defines(true, true, false)),
        (&PRODUCT, product_defines(false, false, true)),
        (&WEIGHT_GRADIENT, defines(true, true).into()),
        (&WEIGHT_GRADIENT, defines(false, false).into()),
    ]
}
