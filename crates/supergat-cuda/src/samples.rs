//! Samples of the edge loss: a fixed number of edges and a fixed number of non-edges, grouped by target and by source.
//!
//! The non-edges are those that the CPU draws: the first k candidates of a keyed permutation of all pairs that are no
//! edges. The CPU proposes candidates until it has enough of them. Here their number is fixed and so large that enough
//! are accepted in all but one of 10^20 steps; the loss of such a step would be NaN.

use crate::clock::Clock;
use crate::compile::{Source, Variant};
use crate::dropout::tag;
use crate::error::failed;
use crate::launch::{Cuda, grid, launch_cooperative};
use crate::memory::address;
use crate::problem::samples::{EdgePlan, THREADS};
use crate::problem::{Lists, Problem};
use crate::scratch::Scratch;
use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DriverError};
use std::sync::Arc;
use supergat_core::Result;
use supergat_core::device::Sampling;
use supergat_core::memory::Arena;
use supergat_core::random::{Permutation, Purpose};
use supergat_core::sampling::{SampleSizes, group_pairs};

const SAMPLES: Source = Source { name: "samples", text: include_str!("../kernels/samples.cu") };

/// Returns the rows and columns of the grid of a permutation of 0..n.
pub(crate) fn permutation_grid(n: u64) -> [u32; 2] {
    let rows = n.isqrt().max(Permutation::SHORTEST);
    [rows as u32, n.div_ceil(rows).max(Permutation::SHORTEST) as u32]
}

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
    pairs: CudaSlice<u32>,
    /// Whether each candidate is a non-edge, as bits.
    flags: CudaSlice<u32>,
    /// Sums of the blocks.
    block_counts: CudaSlice<u32>,
    /// Counts of the nodes, by target and by source; zero between steps.
    cursors: CudaSlice<u32>,
    /// Numbers of the non-edges, grouped by target and by source.
    drawn: CudaSlice<u32>,
    /// Arrivals of blocks; zero between steps.
    counter: CudaSlice<u32>,
    /// Number of sampled edges and of sampled non-edges.
    counts: [usize; 2],
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
    layers: Vec<Drawn>,
    /// Layer whose samples the backward pass uses.
    current: usize,
    /// Start of a step.
    start: CudaEvent,
}

/// Samples of a layer.
#[derive(Debug)]
struct Drawn {
    samples: Samples,
    /// End of drawing.
    done: CudaEvent,
    /// Whether the samples of the step are being drawn.
    ahead: bool,
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

    fn current_mut(&mut self) -> &mut Samples {
        &mut self.layers[self.current].samples
    }
}

impl Sampling for Cuda {
    fn announce_step(&self, problem: &Problem, clock: &Clock, layers: u16, scratch: &mut Scratch) -> Result<()> {
        let all = &mut scratch.attention.samples;
        let Some(plan) = problem.supervision.edges() else { return Ok(()) };
        let LayerSamples { layers: drawn, start, .. } = all;
        let ordered = |result: std::result::Result<(), DriverError>| result.map_err(|e| failed("order its work", e));
        ordered(start.record(self.stream()))?;
        ordered(self.side_stream().wait(start))?;
        for layer in (0..layers).rev() {
            let Drawn { samples, done, ahead } = &mut drawn[usize::from(layer)];
            draw(self, self.side_stream(), problem, plan, clock, layer, samples)?;
            ordered(done.record(self.side_stream()))?;
            *ahead = true;
        }
        Ok(())
    }

    fn draw_samples(&self, problem: &Problem, clock: &Clock, layer: u16, scratch: &mut Scratch) -> Result<()> {
        let all = &mut scratch.attention.samples;
        let Some(plan) = problem.supervision.edges() else { return Ok(()) };
        all.current = usize::from(layer);
        let Drawn { samples, done, ahead } = &mut all.layers[usize::from(layer)];
        match std::mem::take(ahead) {
            true => self.stream().wait(done).map_err(|e| failed("order its work", e)),
            false => draw(self, self.stream(), problem, plan, clock, layer, samples),
        }
    }

    fn set_samples(&self, problem: &Problem, negatives: &[[u32; 2]], scratch: &mut Scratch) -> Result<()> {
        let samples = scratch.attention.samples.current_mut();
        replace(self, &vec![0xFF; problem.edges.div_ceil(8)], &mut samples.marks)?;
        replace(self, negatives.as_flattened(), &mut samples.pairs)?;
        for (end, lists) in [(1, &mut samples.by_target), (0, &mut samples.by_source)] {
            let (mut offsets, mut others) = (Vec::new(), Vec::new());
            group_pairs(problem.nodes, negatives, end, &mut offsets, &mut others);
            let offsets: Vec<u32> = offsets.into_iter().map(|offset| offset as u32).collect();
            replace(self, &offsets, &mut lists.offsets)?;
            replace(self, &others, &mut lists.nodes)?;
        }
        self.write(&[0], &mut samples.error)?;
        samples.counts = [problem.edges, negatives.len()];
        self.synchronise()
    }

    fn samples(&self, problem: &Problem, scratch: &Scratch) -> Result<(Vec<u8>, Vec<[u32; 2]>)> {
        let samples = scratch.attention.samples.current();
        let mut marks = vec![0; problem.edges.div_ceil(8)];
        let mut pairs = vec![[0; 2]; samples.counts[1]];
        self.fetch(&samples.marks, &mut marks)?;
        self.fetch(&samples.pairs, pairs.as_flattened_mut())?;
        if let Some(lists) = &problem.no_loops {
            marks = lists.scattered_bits(&marks);
        }
        Ok((marks, pairs))
    }
}

/// Draws the samples of a layer, in a stream.
fn draw(
    cuda: &Cuda,
    stream: &Arc<CudaStream>,
    problem: &Problem,
    plan: &EdgePlan,
    clock: &Clock,
    layer: u16,
    samples: &mut Samples,
) -> Result<()> {
    let SampleSizes { positives, negatives } = plan.sizes;
    samples.counts = [positives, negatives];
    let [positive_tag, negative_tag] = [Purpose::PositiveEdges, Purpose::NegativePairs].map(|p| tag(layer, p));
    let (nodes, edges) = (problem.nodes as u32, problem.edges as u32);
    let lists = problem.with_loops();
    let positive_grid = permutation_grid(problem.edges as u64);
    let (listed, range, negative_grid) = match &plan.listed {
        Some((pairs, count)) => (address(pairs), *count as u64, permutation_grid(*count as u64)),
        None => (0, (problem.nodes as u64).pow(2), [nodes; 2]),
    };
    let [positives, wanted, candidates] = [positives, negatives, plan.candidates].map(|n| n as u32);
    launch_cooperative!(
        cuda,
        stream,
        &SAMPLES,
        &[("LISTED", plan.listed.is_some().into())],
        "draw_samples",
        grid(plan.blocks, THREADS),
        &clock.data,
        &positive_tag,
        &negative_tag,
        &nodes,
        &edges,
        &lists.offsets,
        &lists.nodes,
        &positives,
        &positive_grid,
        &listed,
        &range,
        &negative_grid,
        &candidates,
        &wanted,
        &mut samples.marks,
        &mut samples.pairs,
        &mut samples.flags,
        &mut samples.block_counts,
        &mut samples.cursors,
        &mut samples.drawn,
        &mut samples.by_target.offsets,
        &mut samples.by_target.nodes,
        &mut samples.by_source.offsets,
        &mut samples.by_source.nodes,
        &mut samples.counter,
        &mut samples.error
    )
}

/// Writes numbers of the host to memory, which is allocated again if it is too small.
fn replace<T>(cuda: &Cuda, from: &[T], to: &mut CudaSlice<T>) -> Result<()>
where
    T: cudarc::driver::DeviceRepr + cudarc::driver::ValidAsZeroBits,
{
    if to.len() < from.len() {
        *to = cuda.zeros(from.len())?;
    }
    cuda.write(from, to)
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    vec![(&SAMPLES, vec![("LISTED", 0)]), (&SAMPLES, vec![("LISTED", 1)])]
}
