//! The primitives that work on rows as the CPU does.

use super::sums::AllRows;
use super::{Cluster, ClusterProblem, ClusterRecord, ClusterScratch, Share};
use bytemuck::Pod;
use supergat_core::device::{
    Adam, AttentionLoss, Block, BlockGradient, BlockGradients, BlockInput, BlockOutput, Draw, HiddenBlocks, Host,
    Input, LabelInputs, LayerWidth, Mask, Optimiser, Output, OutputGradient, Outputs, ParameterMemory, Problems,
    Products, Readings, SumsGradient, no_half_precision, no_label_input,
};
use supergat_core::memory::{Arena, Buffer};
use supergat_core::{Architecture, Error, Form, Norm, Result};
use supergat_cpu::device::Rows as InputRows;
use supergat_cpu::kernels::Primitives;
use supergat_cpu::{device as cpu, kernels};

impl<T: Primitives + Pod> Host for Cluster<T> {
    type Element = T;
}

impl<T: Primitives + Pod> Problems for Cluster<T> {
    type Example = Share<T>;
    type Problem = ClusterProblem<T>;
    type Scratch = ClusterScratch<T>;
    type Record = ClusterRecord;

    fn supports(&self, architecture: &Architecture) -> Result<()> {
        match architecture.model.form() {
            _ if architecture.reads_labels() => Err(no_label_input()),
            _ if architecture.network.precision.is_half() => Err(no_half_precision()),
            Some(Form::V2) => Err(no_attention_v2()),
            _ => Ok(()),
        }
    }

    fn place(&self, share: &Share<T>, architecture: &Architecture, loss: AttentionLoss) -> Result<ClusterProblem<T>> {
        ClusterProblem::new(share, self.peers(), architecture, loss)
    }

    fn scratch(
        &self,
        problems: &[ClusterProblem<T>],
        layers: &[LayerWidth],
        training: bool,
        arena: &mut Arena,
    ) -> Result<ClusterScratch<T>> {
        Ok(ClusterScratch::new(problems, layers, training, arena))
    }

    fn record(&self, examples: usize) -> Result<ClusterRecord> {
        Ok(ClusterRecord(vec![Vec::new(); examples]))
    }

    fn read(&self, record: &ClusterRecord, to: &mut Readings) -> Result<()> {
        record.read(self.peers(), to)
    }
}

impl<T: Primitives + Pod> Products for Cluster<T> {
    fn product(
        &self,
        problem: &ClusterProblem<T>,
        x: Input<'_, Self>,
        mask: Option<Mask<'_, Self>>,
        weight: &Buffer<T>,
        stride: usize,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        let parts = if let Input::Features = x { &problem.features } else { &problem.rows };
        let out = &mut out[..problem.nodes() * stride];
        // Each part of the rows has a bitmap of its own; the product by entries has the same bits.
        InputRows::of(x, &problem.share.rows().features, problem.nodes()).product(
            parts,
            None,
            mask.map(kernels::Mask::of),
            weight,
            stride,
            out,
        );
        Ok(())
    }

    fn weight_gradient(
        &self,
        problem: &ClusterProblem<T>,
        x: Input<'_, Self>,
        mask: Option<Mask<'_, Self>>,
        g: &Buffer<T>,
        stride: usize,
        scratch: &mut ClusterScratch<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        let (g, mask) = (&g[..problem.nodes() * stride], mask.map(kernels::Mask::of));
        let ClusterScratch { copies, by_part, .. } = scratch;
        let rows = InputRows::of(x, &problem.share.rows().features, problem.nodes());
        let by_part = &mut by_part[..problem.inputs.len() * out.len()];
        for (input, out) in problem.inputs.iter().zip(by_part.chunks_exact_mut(out.len())) {
            rows.weight_gradient(input, mask, g, stride, copies, out);
        }
        problem.tree.add(self.peers(), by_part, out)
    }

    fn input_gradient(
        &self,
        problem: &ClusterProblem<T>,
        g: &Buffer<T>,
        stride: usize,
        weight: &Buffer<T>,
        width: usize,
        scratch: &mut ClusterScratch<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        cpu::input_gradient(&self.rows(problem), [g, weight], [stride, width], false, &mut scratch.transposed, out);
        Ok(())
    }

    fn add_input_gradient(
        &self,
        problem: &ClusterProblem<T>,
        g: &Buffer<T>,
        stride: usize,
        weight: &Buffer<T>,
        width: usize,
        scratch: &mut ClusterScratch<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        cpu::input_gradient(&self.rows(problem), [g, weight], [stride, width], true, &mut scratch.transposed, out);
        Ok(())
    }
}

impl<T: Primitives + Pod> Outputs for Cluster<T> {
    fn output_forward(
        &self,
        problem: &ClusterProblem<T>,
        output: Output,
        bias: &Buffer<T>,
        sums: &Buffer<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        cpu::output_forward(&self.rows(problem), output, [bias, sums], out);
        Ok(())
    }

    fn output_backward(
        &self,
        problem: &ClusterProblem<T>,
        output: Output,
        from: OutputGradient<'_, Self>,
        scratch: &mut ClusterScratch<T>,
        to: SumsGradient<'_, Self>,
    ) -> Result<()> {
        let ClusterScratch { active, partial, .. } = scratch;
        cpu::output_backward(&mut self.rows(problem), output, from, (active, partial), to)
    }
}

impl<T: Primitives + Pod> HiddenBlocks for Cluster<T> {
    fn norm_statistics(&self, block: Block, nodes: usize) -> usize {
        match block.norm {
            Norm::None => 0,
            Norm::Layer => nodes,
            Norm::Batch => 3 * block.layout.stride(),
        }
    }

    fn block_forward(
        &self,
        problem: &ClusterProblem<T>,
        block: Block,
        from: BlockInput<'_, Self>,
        to: BlockOutput<'_, Self>,
    ) -> Result<()> {
        cpu::block_forward(&mut self.rows(problem), block, from, to)
    }

    fn block_backward(
        &self,
        problem: &ClusterProblem<T>,
        block: Block,
        from: BlockGradient<'_, Self>,
        scratch: &mut ClusterScratch<T>,
        to: BlockGradients<'_, Self>,
    ) -> Result<()> {
        let ClusterScratch { active, partial, sums, .. } = scratch;
        cpu::block_backward(&mut AllRows { memory: sums, ..self.rows(problem) }, block, from, (active, partial), to)
    }

    fn add_rows(&self, problem: &ClusterProblem<T>, width: usize, rows: &Buffer<T>, sum: &mut Buffer<T>) -> Result<()> {
        let length = problem.nodes() * width;
        T::add_list(&mut sum[..length], &rows[..length]);
        Ok(())
    }
}

/// Labels are no input here.
impl<T: Primitives + Pod> LabelInputs for Cluster<T> {}

impl<T: Primitives + Pod> Optimiser for Cluster<T> {
    fn adam<'a>(
        &self,
        adam: Adam,
        clock: &Draw,
        parameters: impl Iterator<Item = ParameterMemory<'a, Self>>,
    ) -> Result<()> {
        cpu::adam(adam, clock, parameters);
        Ok(())
    }
}

/// Returns the error of a device without GATv2 attention.
fn no_attention_v2() -> Error {
    let message = "the models gatv2 and supergat-v2 do not train on a graph that is divided into parts: train them in one \
                   process on the undivided graph, or train gat-go instead of gatv2, or supergat-mx instead of \
                   supergat-v2";
    Error::Device { message: message.into() }
}
