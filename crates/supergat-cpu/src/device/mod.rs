//! The CPU as a device: buffers are slices, and every primitive is a kernel whose work is divided into parts.

mod attention;
mod block;
mod contrast;
mod convolution;
mod input;
mod labels;
mod problem;
mod rows;
mod scratch;

pub use attention::clear_isolated;
pub use block::{backward as block_backward, forward as block_forward};
pub use input::{InputParts, Rows};
pub use problem::CpuProblem;
pub use rows::{RowSums, adam, attention_scores, input_gradient, output_backward, output_forward};
pub use scratch::CpuScratch;

use crate::kernels::{DropoutMask, Primitives};
use crate::sampling::EdgeSamples;
use problem::Sampler;
use scratch::Samples;
use std::marker::PhantomData;
use supergat_core::device::{
    Adam, AttentionLoss, Draw, Host, LayerWidth, Masks, Optimiser, ParameterMemory, Problems, Random, Readings,
    Sampling,
};
use supergat_core::memory::Arena;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Architecture, Dropout, Example, HeadLayout, Result};

/// The CPU, with numbers of type `T`: f32, or f64 in tests.
///
/// ```
/// use supergat_core::device::Memory;
/// use supergat_cpu::Cpu;
/// use supergat_core::memory::Arena;
/// let device = Cpu::<f32>::default();
/// let mut numbers = device.numbers(3, &mut Arena::allocating())?;
/// device.upload(&[1.0, 2.0], &mut numbers)?;
/// assert_eq!(numbers[..], [1.0, 2.0, 0.0]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu<T>(PhantomData<T>);

impl<T: Primitives> Host for Cpu<T> {
    type Element = T;
}

impl<T: Primitives> Problems for Cpu<T> {
    type Example = Example<T>;
    type Problem = CpuProblem<T>;
    type Scratch = CpuScratch<T>;
    type Record = Readings;

    fn supports(&self, _: &Architecture) -> Result<()> {
        Ok(())
    }

    fn place(&self, example: &Example<T>, architecture: &Architecture, loss: AttentionLoss) -> Result<CpuProblem<T>> {
        CpuProblem::new(example, architecture, loss)
    }

    fn scratch(
        &self,
        problems: &[CpuProblem<T>],
        layers: &[LayerWidth],
        training: bool,
        arena: &mut Arena,
    ) -> Result<CpuScratch<T>> {
        if training {
            let mut pairs = problems.iter().flat_map(|problem| layers.iter().map(move |layer| (problem, layer)));
            pairs.try_for_each(|(problem, layer)| problem.check_precision(layer))?;
        }
        Ok(CpuScratch::new(problems, layers, training, arena))
    }

    fn record(&self, examples: usize) -> Result<Readings> {
        Ok(Readings::new(examples))
    }

    fn read(&self, record: &Readings, to: &mut Readings) -> Result<()> {
        to.losses.copy_from_slice(&record.losses);
        to.scores.copy_from_slice(&record.scores);
        Ok(())
    }
}

impl<T: Primitives> Masks for Cpu<T> {
    fn draw_mask(&self, random: Random<'_, Self>, dropout: Dropout, bytes: usize, keep: &mut Vec<u8>) -> Result<()> {
        dropout.fill(random.stream(), &mut keep[..bytes]);
        Ok(())
    }

    fn draw_head_mask(
        &self,
        problem: &CpuProblem<T>,
        random: Random<'_, Self>,
        dropout: Dropout,
        layout: HeadLayout,
        keep: &mut Vec<u8>,
    ) -> Result<()> {
        let bytes = problem.lists().edges * layout.groups;
        dropout.fill_heads(random.stream(), layout.lane_heads, &mut keep[..bytes]);
        Ok(())
    }
}

impl<T: Primitives> Sampling for Cpu<T> {
    fn draw_samples(
        &self,
        problem: &CpuProblem<T>,
        clock: &Draw,
        layer: u16,
        scratch: &mut CpuScratch<T>,
    ) -> Result<()> {
        if let (Sampler::Edges(sampler, sizes), Samples::Edges(samples)) = (&problem.supervision, &mut scratch.samples)
        {
            let streams = [Purpose::PositiveEdges, Purpose::NegativePairs]
                .map(|purpose| Stream::new(clock.seed, clock.step, layer, purpose));
            samples.draw(problem.lists().edges, problem.graph(), sampler, *sizes, streams);
        }
        Ok(())
    }

    fn set_samples(&self, problem: &CpuProblem<T>, negatives: &[[u32; 2]], scratch: &mut CpuScratch<T>) -> Result<()> {
        if let Samples::Edges(samples) = &mut scratch.samples {
            samples.set(problem.lists().edges, problem.nodes(), negatives);
        }
        Ok(())
    }

    fn samples(&self, problem: &CpuProblem<T>, scratch: &CpuScratch<T>) -> Result<(Vec<u8>, Vec<[u32; 2]>)> {
        Ok(match &scratch.samples {
            Samples::Edges(EdgeSamples { positives, negatives, .. }) => {
                let lists = problem.no_loops.as_ref();
                (lists.map_or_else(|| positives.clone(), |lists| lists.scattered_bits(positives)), negatives.clone())
            }
            _ => (Vec::new(), Vec::new()),
        })
    }
}

impl<T: Primitives> Optimiser for Cpu<T> {
    fn adam<'a>(
        &self,
        adam: Adam,
        clock: &Draw,
        parameters: impl Iterator<Item = ParameterMemory<'a, Self>>,
    ) -> Result<()> {
        self::adam(adam, clock, parameters);
        Ok(())
    }
}
