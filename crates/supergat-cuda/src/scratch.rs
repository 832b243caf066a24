//! Memory of backward passes that is not visible to layers, with the samples of the edge loss.

use crate::columns::{partial_len, tickets};
use crate::launch::Cuda;
use crate::problem::samples::EdgePlan;
use crate::problem::{Lists, Problem, labels};
use crate::product::parts_len;
use crate::teams::most_blocks;
use cudarc::driver::{CudaEvent, CudaSlice};
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
    /// Results of the blocks of gradients of weights, which are computed beside other work.
    pub(crate) weights: CudaSlice<f32>,
    /// Losses of the blocks of a kernel.
    pub(crate) losses: CudaSlice<f64>,
    /// Number of blocks of a kernel that are done; zero between kernels.
    pub(crate) tickets: CudaSlice<u32>,
}

impl Scratch {
    /// Allocates memory for any of the problems.
    pub(crate) fn new(
        cuda: &Cuda,
        problems: &[Problem],
        layers: &[LayerWidth],
        training: bool,
        arena: &mut Arena,
    ) -> Result<Self> {
        let segments = problems.iter().map(|problem| problem.features.segment_rows()).max().unwrap_or(0);
        let sums = segments * layers.first().map_or(0, |layer| layer.stride);
        let partial = if training { partial_len(cuda, layers).max(sums) } else { 0 };
        Ok(Self {
            attention: AttentionScratch::new(cuda, problems, layers, training, arena)?,
            partial: cuda.zeros_in(partial, arena)?,
            weights: cuda.zeros_in(if training { parts_len(cuda, problems, layers) } else { 0 }, arena)?,
            losses: cuda.zeros_in(labels::BLOCKS, arena)?,
            tickets: cuda.zeros_in(layers.iter().map(|layer| tickets(layer.stride)).max().unwrap_or(1), arena)?,
        })
    }
}

/// Memory of the backward pass of attention.
#[derive(Debug)]
pub(crate) struct AttentionScratch {
    /// Samples of the edge loss, by layer.
    pub(crate) samples: LayerSamples,
    /// Gradients of the sums, rounded for being gathered over edges; empty if they are gathered as they are.
    pub(crate) gathered: CudaSlice<f32>,
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
        let rounded = layers.iter().filter(|layer| layer.precision.is_half());
        let gathered = rounded.map(|layer| layer.precision.stored(layer.stride)).max().unwrap_or(0);
        let edge_sums = most(&|problem| most_blocks(cuda, problem) * edge_scratch(problem, layers)[0]);
        let counters = most(&|problem| edge_scratch(problem, layers)[1]);
        let counts = most(&|problem| problem.supervision.margins().map_or(0, |_| problem.nodes * COUNTS));
        Ok(Self {
            samples: LayerSamples::new(cuda, problems, layers.len(), arena)?,
            gathered: cuda.zeros_in(most(&|problem| problem.nodes) * gathered, arena)?,
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

/// Samples of one layer and step. The memory is reused in every step.
#[derive(Debug)]
pub(crate) struct Samples {
    /// Sampled edges: bit `e % 8` of byte `e / 8`.
    pub(crate) marks: CudaSlice<u8>,
    /// Sources of the non-edges by target.
    pub(crate) by_target: Lists,
    /// Targets of the non-edges by source.
    pub(crate) by_source: Lists,
    /// Whether there were too few candidates.
    pub(crate) error: CudaSlice<u32>,
    /// Non-edges `[source, target]` in the order of drawing.
    pub(crate) pairs: CudaSlice<u32>,
    /// Whether each candidate is a non-edge, as bits.
    pub(crate) flags: CudaSlice<u32>,
    /// Sums of the blocks.
    pub(crate) block_counts: CudaSlice<u32>,
    /// Counts of the nodes, by target and by source; zero between steps.
    pub(crate) cursors: CudaSlice<u32>,
    /// Numbers of the non-edges, grouped by target and by source.
    pub(crate) drawn: CudaSlice<u32>,
    /// Arrivals of blocks; zero between steps.
    pub(crate) counter: CudaSlice<u32>,
    /// Number of sampled edges and of sampled non-edges.
    pub(crate) counts: [usize; 2],
}

impl Samples {
    /// Allocates samples for any of the problems.
    pub(crate) fn new(cuda: &Cuda, problems: &[Problem], arena: &mut Arena) -> Result<Self> {
        let most = |of: &dyn Fn(&Problem, &EdgePlan) -> usize| {
            problems.iter().filter_map(|p| p.supervision.edges().map(|plan| of(p, plan))).max().unwrap_or(0)
        };
        let (nodes, negatives) = (most(&|p, _| p.nodes + 1), most(&|_, plan| plan.sizes.negatives));
        let mut lists = || -> Result<Lists> {
            Ok(Lists { offsets: cuda.zeros_in(nodes, arena)?, nodes: cuda.zeros_in(negatives, arena)? })
        };
        let (by_target, by_source) = (lists()?, lists()?);
        Ok(Self {
            marks: cuda.zeros_in(most(&|p, _| p.edges.div_ceil(8)), arena)?,
            by_target,
            by_source,
            error: cuda.zeros_in(1, arena)?,
            pairs: cuda.zeros_in(2 * negatives, arena)?,
            flags: cuda.zeros_in(most(&|_, plan| plan.candidates.div_ceil(32)), arena)?,
            block_counts: cuda.zeros_in(4 * most(&|_, plan| plan.blocks), arena)?,
            cursors: cuda.zeros_in(2 * nodes, arena)?,
            drawn: cuda.zeros_in(2 * negatives, arena)?,
            counter: cuda.zeros_in(1, arena)?,
            counts: [0, 0],
        })
    }

    /// Returns the number of pairs in the mean of the loss.
    pub(crate) fn count(&self) -> usize {
        self.counts.iter().sum()
    }
}

/// Samples of all layers. They can be drawn ahead, beside the forward pass.
#[derive(Debug)]
pub(crate) struct LayerSamples {
    pub(crate) layers: Vec<Drawn>,
    /// Layer whose samples the backward pass uses.
    pub(crate) current: usize,
    /// Start of a step.
    pub(crate) start: CudaEvent,
}

/// Samples of a layer.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) samples: Samples,
    /// End of drawing.
    pub(crate) done: CudaEvent,
    /// Whether the samples of the step are being drawn.
    pub(crate) ahead: bool,
}

impl LayerSamples {
    /// Allocates samples for any of the problems.
    pub(crate) fn new(cuda: &Cuda, problems: &[Problem], layers: usize, arena: &mut Arena) -> Result<Self> {
        let drawn = |_| Ok(Drawn { samples: Samples::new(cuda, problems, arena)?, done: cuda.event()?, ahead: false });
        Ok(Self { layers: (0..layers.max(1)).map(drawn).collect::<Result<_>>()?, current: 0, start: cuda.event()? })
    }

    /// Returns the samples that were drawn or set last.
    pub(crate) fn current(&self) -> &Samples {
        &self.layers[self.current].samples
    }

    /// Returns the samples that were drawn or set last, mutably.
    pub(crate) fn current_mut(&mut self) -> &mut Samples {
        &mut self.layers[self.current].samples
    }
}
