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
use crate::problem::Problem;
use crate::problem::samples::{EdgePlan, THREADS};
use crate::scratch::{Drawn, LayerSamples, Samples, Scratch};
use cudarc::driver::{CudaSlice, CudaStream, DriverError};
use std::sync::Arc;
use supergat_core::Result;
use supergat_core::device::Sampling;
use supergat_core::random::{Permutation, Purpose};
use supergat_core::sampling::{SampleSizes, group_pairs};

const SAMPLES: Source = Source { name: "samples", text: include_str!("../kernels/samples.cu") };

/// Returns the rows and columns of the grid of a permutation of 0..n.
pub(crate) fn permutation_grid(n: u64) -> [u32; 2] {
    let rows = n.isqrt().max(Permutation::SHORTEST);
    [rows as u32, n.div_ceil(rows).max(Permutation::SHORTEST) as u32]
}

impl Sampling for Cuda {
    fn announce_step(&self, problem: &Problem, clock: &Clock, layers: u16, scratch: &mut Scratch) -> Result<()> {
        let all = &mut scratch.attention.samples;
        let Some(plan) = problem.supervision.edges() else { return Ok(()) };
        let LayerSamples { layers: drawn, start, .. } = all;
        let ordered = |result: std::result::Result<(), DriverError>| result.map_err(|e| failed("order its work", e));
        ordered(start.record(self.stream()?))?;
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
            true => self.stream()?.wait(done).map_err(|e| failed("order its work", e)),
            false => draw(self, self.stream()?, problem, plan, clock, layer, samples),
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
