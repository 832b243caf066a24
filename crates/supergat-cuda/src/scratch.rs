//! Memory of backward passes that is not visible to layers.

use crate::launch::Cuda;
use crate::problem::Problem;
use crate::samples::LayerSamples;
use crate::teams::most_blocks;
use cudarc::driver::CudaSlice;
use supergat_core::Result;
use supergat_core::device::LayerWidth;
use supergat_core::memory::Arena;

/// Memory of the backward pass that is not visible to layers.
#[derive(Debug)]
pub struct Scratch {
    /// Memory of the gradient of attention.
    pub(crate) attention: AttentionScratch,
    /// Sums of the blocks of a kernel.
    pub(crate) partial: CudaSlice<f32>,
    /// Losses of the blocks of a kernel.
    pub(crate) losses: CudaSlice<f64>,
    /// Number of blocks of a kernel that are done; zero between kernels.
    pub(crate) tickets: CudaSlice<u32>,
}

/// Memory of the backward pass of attention.
#[derive(Debug)]
pub(crate) struct AttentionScratch {
    /// Samples of the edge loss, by layer.
    pub(crate) samples: LayerSamples,
    /// Gradients of the vectors, per block.
    pub(crate) partial: CudaSlice<f32>,
    /// Gradients of the vectors and the matrix of edge features, per block.
    pub(crate) edge_partial: CudaSlice<f32>,
    /// Losses per block.
    pub(crate) losses: CudaSlice<f64>,
    /// Number of blocks that are done, by part of the features of edges; zero between kernels.
    pub(crate) counter: CudaSlice<u32>,
    /// Counts of the terms of a margin loss; zero between losses.
    pub(crate) counts: CudaSlice<i32>,
}

impl AttentionScratch {
    /// Allocates memory for any of the problems.
    pub(crate) fn new(
        cuda: &Cuda,
        problems: &[Problem],
        layers: &[LayerWidth],
        training: bool,
        arena: &mut Arena,
    ) -> Result<Self> {
        let problems = if training { problems } else { &[] };
        let most = |of: &dyn Fn(&Problem) -> usize| problems.iter().map(of).max().unwrap_or(0);
        let blocks = most(&|problem| most_blocks(cuda, problem));
        let stride = layers.iter().map(|layer| layer.stride).max().unwrap_or(0);
        let edge_sums = most(&|problem| most_blocks(cuda, problem) * edge_scratch(problem, layers)[0]);
        let counters = most(&|problem| edge_scratch(problem, layers)[1]);
        let counts = most(&|problem| problem.supervision.margins().map_or(0, |_| problem.nodes * COUNTS));
        Ok(Self {
            samples: LayerSamples::new(cuda, problems, layers.len(), arena)?,
            partial: cuda.zeros_in(blocks * 2 * stride, arena)?,
            edge_partial: cuda.zeros_in(edge_sums, arena)?,
            losses: cuda.zeros_in(blocks, arena)?,
            counter: cuda.zeros_in(counters.max(1), arena)?,
            counts: cuda.zeros_in(counts, arena)?,
        })
    }
}

/// Returns the numbers per block, and the counters, that gradients of the parameters of edge features need.
fn edge_scratch(problem: &Problem, layers: &[LayerWidth]) -> [usize; 2] {
    problem.edge_memory.as_ref().map_or([0, 0], |memory| memory.scratch(layers))
}

/// Numbers per node that count the terms of a margin loss in a group of heads.
const COUNTS: usize = 32;
