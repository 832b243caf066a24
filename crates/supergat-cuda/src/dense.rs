//! Products of layer inputs with weights: `X W`, `X^T G` for the gradient of `W`, and `G W^T` for that of `X`.
//!
//! Narrow dense products have kernels that apply dropout during the product. Wide ones, and all in reduced precision,
//! are those of cuBLAS, which reads matrices by column: a matrix by rows is its transpose. There, dropout is applied
//! to a copy of the input, which the product and the gradient of the weights of a step share.

use crate::Scratch;
use crate::compile::{Source, Variant};
use crate::launch::{Cuda, blas_failed, grid, launch};
use crate::memory::{Bits, Numbers};
use crate::problem::{FeatureMemory, Problem};
use crate::sparse::{self, address};
use cudarc::cublas::result::sgemm;
use cudarc::cublas::sys::cublasOperation_t as Operation;
use cudarc::driver::{CudaSlice, LaunchConfig};
use std::sync::PoisonError;
use supergat_core::Result;
use supergat_core::device::{Input, LayerWidth, Mask};

const DENSE: Source = Source { name: "dense", text: include_str!("../kernels/dense.cu") };
const DROP: Source = Source { name: "drop", text: include_str!("../kernels/drop.cu") };

/// Computes `out = drop(X) W`.
pub(crate) fn product(
    cuda: &Cuda,
    problem: &Problem,
    x: Input<'_, Cuda>,
    mask: Option<Mask<'_, Cuda>>,
    weight: &Numbers,
    stride: usize,
    out: &mut Numbers,
) -> Result<()> {
    let mask = mask.map(|mask| (mask.keep, mask.dropout.scale::<f32>()));
    if let (Input::Features, FeatureMemory::Sparse(x)) = (&x, &problem.features) {
        return sparse::product(cuda, problem.nodes, x, mask, weight, stride, out);
    }
    let (rows, columns) = dense_rows(problem, &x);
    if narrow(cuda, problem, columns, stride, mask.is_some()) {
        let shape = Narrow::by_nodes(cuda, 0, problem.nodes, stride, columns);
        return shape.multiply(cuda, rows, mask, &weight.0, &out.0, None);
    }
    let rows = dropped(cuda, problem, rows, columns, mask, true)?;
    let sizes = [stride, problem.nodes, columns];
    multiply(cuda, sizes, (&weight.0, stride, false), (rows, columns, false), &out.0)
}

/// Computes `out = drop(X)^T G`.
#[allow(clippy::too_many_arguments)]
pub(crate) fn weight_gradient(
    cuda: &Cuda,
    problem: &Problem,
    x: Input<'_, Cuda>,
    mask: Option<Mask<'_, Cuda>>,
    g: &Numbers,
    stride: usize,
    scratch: &mut Scratch,
    out: &mut Numbers,
) -> Result<()> {
    let mask = mask.map(|mask| (mask.keep, mask.dropout.scale::<f32>()));
    if let (Input::Features, FeatureMemory::Sparse(x)) = (&x, &problem.features) {
        return sparse::transposed_product(cuda, x, mask, g, stride, &mut scratch.partial, out);
    }
    let (rows, columns) = dense_rows(problem, &x);
    if narrow(cuda, problem, columns, stride, mask.is_some()) {
        let shape = Narrow::by_depth(cuda, columns, stride, problem.nodes);
        return shape.multiply(cuda, rows, mask, &g.0, &out.0, Some(scratch));
    }
    let rows = dropped(cuda, problem, rows, columns, mask, false)?;
    let sizes = [stride, columns, problem.nodes];
    multiply(cuda, sizes, (&g.0, stride, false), (rows, columns, true), &out.0)
}

/// Computes `out = G W^T`, where W has `width` rows of `stride` numbers.
pub(crate) fn input_gradient(
    cuda: &Cuda,
    problem: &Problem,
    g: &Numbers,
    stride: usize,
    weight: &Numbers,
    width: usize,
    out: &mut Numbers,
) -> Result<()> {
    if narrow(cuda, problem, width, stride, false) {
        let shape = Narrow::by_nodes(cuda, 2, problem.nodes, width, stride);
        return shape.multiply(cuda, &g.0, None, &weight.0, &out.0, None);
    }
    let sizes = [width, problem.nodes, stride];
    multiply(cuda, sizes, (&weight.0, stride, true), (&g.0, stride, false), &out.0)
}

/// Widest matrix of weights that the own kernels are used for.
const NARROW: [usize; 2] = [512, 256];

/// Returns whether the own kernels multiply with a matrix of this size without a copy of the input.
pub(crate) fn is_narrow(columns: usize, stride: usize) -> bool {
    columns <= NARROW[0] && stride <= NARROW[1]
}

/// Returns whether the own kernels are used. With reduced precision cuBLAS is, if there is memory for its copy.
fn narrow(cuda: &Cuda, problem: &Problem, columns: usize, stride: usize, masked: bool) -> bool {
    let copy = !masked || problem.dropped.rows.len() >= problem.nodes * columns;
    is_narrow(columns, stride) && !(cuda.is_tf32() && copy)
}

/// A product of narrow matrices; see `kernels/dense.cu`.
struct Narrow {
    kind: i64,
    rows: usize,
    columns: usize,
    depth: usize,
    /// Rows of a thread's tile, and columns of a block's tile.
    tile: [usize; 2],
    /// Blocks among which the depth is divided.
    blocks: usize,
}

/// Depth of a tile in shared memory.
const DEPTH: usize = 16;
/// Least depth of a block, if the depth is divided.
const LEAST_DEPTH: usize = 64;
/// Largest number of blocks whose sums the last of them adds.
const MOST_TICKETS: usize = 64;

impl Narrow {
    /// Divides the nodes, which are the rows, among blocks.
    fn by_nodes(cuda: &Cuda, kind: i64, rows: usize, columns: usize, depth: usize) -> Self {
        let width = tile_columns(columns);
        // Small tiles if large ones would not keep the GPU busy.
        let busy = |tile: usize| rows.div_ceil(16 * tile) * columns.div_ceil(width) >= 2 * cuda.multiprocessors();
        let tile = [8, 4].into_iter().find(|&tile| busy(tile)).unwrap_or(2);
        Self { kind, rows, columns, depth, tile: [tile, width], blocks: 1 }
    }

    /// Divides the nodes, which are the depth, among blocks.
    fn by_depth(cuda: &Cuda, rows: usize, columns: usize, depth: usize) -> Self {
        let width = tile_columns(columns);
        let tile = rows.div_ceil(16).next_power_of_two().clamp(2, 8);
        let tiles = rows.div_ceil(16 * tile) * columns.div_ceil(width);
        let blocks = (4 * cuda.multiprocessors()).div_ceil(tiles).min(depth / LEAST_DEPTH).max(1);
        // Whole tiles for each block, and no block without one.
        let blocks = depth.div_ceil(depth.div_ceil(blocks).next_multiple_of(DEPTH).max(1)).max(1);
        Self { kind: 1, rows, columns, depth, tile: [tile, width], blocks }
    }

    /// Returns the numbers that sums of blocks need.
    fn partial_len(&self) -> usize {
        if self.blocks > 1 { self.blocks * self.rows * self.columns } else { 0 }
    }

    fn multiply(
        &self,
        cuda: &Cuda,
        x: &CudaSlice<f32>,
        mask: Option<(&Bits, f32)>,
        y: &CudaSlice<f32>,
        out: &CudaSlice<f32>,
        scratch: Option<&mut Scratch>,
    ) -> Result<()> {
        let Self { kind, rows, columns, depth, tile: [tile, width], blocks } = *self;
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        if let Some(scratch) = &scratch {
            assert!(scratch.partial.len() >= self.partial_len(), "memory for the sums of blocks");
        }
        let (keep, scale) = sparse::keep(mask);
        let [partial, mut tickets] = scratch.map_or([0, 0], |s| [address(&s.partial), address(&s.tickets)]);
        if blocks > MOST_TICKETS {
            tickets = 0;
        }
        let config = LaunchConfig {
            grid_dim: (rows.div_ceil(16 * tile) as u32, columns.div_ceil(width) as u32, blocks as u32),
            block_dim: ((16 * width / 4) as u32, 1, 1),
            shared_mem_bytes: 0,
        };
        let per_block = depth.div_ceil(blocks).next_multiple_of(DEPTH) as u64;
        let (rows_64, depth_64, columns_32) = (rows as u64, depth as u64, columns as u32);
        let defines = [("KIND", kind), ("TM", tile as i64), ("BN", width as i64)];
        launch!(
            cuda,
            &DENSE,
            &defines,
            "multiply",
            config,
            &rows_64,
            &columns_32,
            &depth_64,
            &per_block,
            x,
            &keep,
            &scale,
            y,
            out,
            &partial,
            &tickets
        )?;
        if blocks > MOST_TICKETS {
            let quads = rows * columns / 4;
            let (quads_32, blocks) = (quads as u32, blocks as u32);
            launch!(cuda, &DROP, &[], "sum_blocks", grid(quads.div_ceil(32), 256), &quads_32, &blocks, &partial, out)?;
        }
        Ok(())
    }
}

/// Returns the columns of a block's tile.
fn tile_columns(columns: usize) -> usize {
    columns.next_power_of_two().clamp(8, 64)
}

/// Returns the numbers that sums of blocks need.
pub(crate) fn partial_len(cuda: &Cuda, problems: &[Problem], layers: &[LayerWidth]) -> usize {
    let nodes = problems.iter().map(|problem| problem.nodes);
    let of = |nodes: usize, layer: &LayerWidth| {
        let columns = layer.weight / layer.stride.max(1);
        if !is_narrow(columns, layer.stride) || columns == 0 {
            return 0;
        }
        Narrow::by_depth(cuda, columns, layer.stride, nodes).partial_len()
    };
    nodes.flat_map(|nodes| layers.iter().map(move |layer| of(nodes, layer))).max().unwrap_or(0)
}

/// Number of tickets that products need: one for each tile of the widest narrow matrix.
pub(crate) const TICKETS: usize = NARROW[0] / 32 * (NARROW[1] / 8);

/// Returns the rows of a dense input, and their length.
fn dense_rows<'a>(problem: &'a Problem, x: &Input<'a, Cuda>) -> (&'a CudaSlice<f32>, usize) {
    match (x, &problem.features) {
        (Input::Hidden { rows, width }, _) => (&rows.0, *width),
        (Input::Features, FeatureMemory::Dense { values, columns }) => (values, *columns),
        (Input::Features, FeatureMemory::Sparse(_)) => unreachable!("sparse features have products of their own"),
    }
}

/// Returns the rows after dropout. Without `anew`, rows that were made of the same input and mask before are used.
fn dropped<'a>(
    cuda: &Cuda,
    problem: &'a Problem,
    rows: &'a CudaSlice<f32>,
    columns: usize,
    mask: Option<(&Bits, f32)>,
    anew: bool,
) -> Result<&'a CudaSlice<f32>> {
    let Some((keep, scale)) = mask else { return Ok(rows) };
    let out = &problem.dropped.rows;
    let of = Some([address(rows), address(&keep.0)]);
    let mut made_of = problem.dropped.made_of.lock().unwrap_or_else(PoisonError::into_inner);
    if !anew && *made_of == of {
        return Ok(out);
    }
    *made_of = of;
    let count = problem.nodes * columns;
    assert!(out.len() >= count, "memory for the input after dropout");
    let blocks = |threads: usize| grid(threads.div_ceil(256).min(32 * cuda.multiprocessors()), 256);
    if columns.is_multiple_of(8) {
        let bytes = (count / 8) as u64;
        launch!(cuda, &DROP, &[], "drop_bytes", blocks(count / 4), &bytes, rows, &keep.0, &scale, out)?;
    } else {
        let (numbers, columns) = (count as u64, columns as u32);
        launch!(cuda, &DROP, &[], "drop_numbers", blocks(count), &numbers, &columns, rows, &keep.0, &scale, out)?;
    }
    Ok(out)
}

/// Computes `C = op(A) op(B)` by columns: C is `m` by `n`, and the sums have `k` terms. A matrix is its memory, the
/// length of its columns, and whether it is transposed.
fn multiply(
    cuda: &Cuda,
    [m, n, k]: [usize; 3],
    (a, a_length, a_transposed): (&CudaSlice<f32>, usize, bool),
    (b, b_length, b_transposed): (&CudaSlice<f32>, usize, bool),
    c: &CudaSlice<f32>,
) -> Result<()> {
    assert!([m, n, k].iter().all(|&size| i32::try_from(size).is_ok()), "sizes below 2^31");
    let operation = |transposed| if transposed { Operation::CUBLAS_OP_T } else { Operation::CUBLAS_OP_N };
    let stored = |length: usize, other: usize| length * other;
    assert!(a.len() >= stored(a_length, if a_transposed { m } else { k }), "length of the first matrix");
    assert!(b.len() >= stored(b_length, if b_transposed { k } else { n }), "length of the second matrix");
    assert!(c.len() >= m * n, "length of the product");
    cuda.inner.context.bind_to_thread().map_err(|e| crate::launch::failed("be used by this thread", e))?;
    // SAFETY: the matrices have the sizes checked above.
    unsafe {
        sgemm(
            *cuda.inner.blas.handle(),
            operation(a_transposed),
            operation(b_transposed),
            m as i32,
            n as i32,
            k as i32,
            &1.0,
            address(a) as *const f32,
            a_length as i32,
            address(b) as *const f32,
            b_length as i32,
            &0.0,
            address(c) as *mut f32,
            m as i32,
        )
    }
    .map_err(|e| blas_failed("multiply matrices", e))
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    let mut variants: Vec<Variant> = vec![(&DROP, vec![])];
    for kind in 0..3 {
        for tile in [2, 4, 8] {
            for width in [8, 16, 32, 64] {
                variants.push((&DENSE, vec![("KIND", kind), ("TM", tile), ("BN", width)]));
            }
        }
    }
    variants
}
