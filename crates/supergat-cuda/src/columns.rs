//! Division of sums of columns among blocks, and activations, as `kernels/columns.cuh` has them.

use crate::launch::{Cuda, grid};
use cudarc::driver::LaunchConfig;
use supergat_core::Activation;
use supergat_core::device::LayerWidth;

/// Quads of a row that a block works on.
pub(crate) const COLUMNS: usize = 256;

/// Largest number of blocks that sum a column: those that run at once, as the kernels declare.
pub(crate) fn most_blocks(cuda: &Cuda) -> usize {
    3 * cuda.multiprocessors()
}

/// Returns the numbers that sums of blocks need: up to two per column.
pub(crate) fn partial_len(cuda: &Cuda, layers: &[LayerWidth]) -> usize {
    2 * most_blocks(cuda) * layers.iter().map(|layer| layer.stride).max().unwrap_or(0)
}

/// Returns the number of tickets that a layer needs, from the length of its rows.
pub(crate) fn tickets(stride: usize) -> usize {
    (stride / 4).div_ceil(COLUMNS)
}

/// Returns the launch of blocks that sum columns of `quads` quads over nodes, `rows` or more of them in each thread.
pub(crate) fn column_grid(cuda: &Cuda, nodes: usize, quads: usize, rows: usize) -> LaunchConfig {
    let rows = rows * (COLUMNS / quads.min(COLUMNS));
    let blocks = nodes.div_ceil(rows).clamp(1, most_blocks(cuda)) as u32;
    LaunchConfig { grid_dim: (blocks, quads.div_ceil(COLUMNS) as u32, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 }
}

/// Returns the launch of blocks that work on whole rows of `quads` quads, or on parts of long ones.
pub(crate) fn row_grid(cuda: &Cuda, nodes: usize, quads: usize) -> LaunchConfig {
    let rows = COLUMNS / quads.clamp(1, COLUMNS);
    let blocks = nodes.div_ceil(rows).clamp(1, 32 * cuda.multiprocessors()) as u32;
    LaunchConfig { grid_dim: (blocks, quads.div_ceil(COLUMNS) as u32, 1), ..grid(1, 256) }
}

/// Number of an activation in the kernels; 0 is none.
pub(crate) fn number(activation: Option<Activation>) -> u32 {
    match activation {
        None => 0,
        Some(Activation::Elu) => 1,
        Some(Activation::Relu) => 2,
    }
}
