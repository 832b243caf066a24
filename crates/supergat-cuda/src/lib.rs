//! Self-supervised graph attention networks on NVIDIA GPUs.
//!
//! [`Cuda`] is a [`Device`]: all primitives of layers as kernels, which are compiled for the present GPU when they
//! are first used. No part of CUDA is needed to build this crate. Results have the same bits in every run, because
//! sums are always taken in the same order.

mod adam;
mod attention;
mod backward;
mod block;
mod clock;
mod compile;
mod convolution;
mod dense;
mod dropout;
mod edges;
mod error;
mod label_input;
mod labels;
mod launch;
mod library;
mod margin;
mod memory;
mod output;
mod problem;
mod record;
mod recording;
mod report;
mod samples;
mod scratch;
mod sparse;
mod teams;
mod top_k;

pub use clock::Clock;
pub use launch::{Cuda, DeviceInfo, SIDE_BY_SIDE, SMALL_GRAPH, devices};
pub use memory::{Bits, Numbers};
pub use problem::Problem;
pub use record::Record;
pub use recording::Recording;
pub use scratch::Scratch;

use supergat_core::device::{
    Adam, Attention, AttentionGradient, AttentionLoss, AttentionV2, Block, BlockGradient, BlockGradients, BlockInput,
    BlockOutput, Input, LabelInput, LabelLoss, LayerWidth, Mask, Output, OutputGradient, ParameterMemory, Place,
    ProjectedGradient, Random, Readings, SumsGradient, Supervision,
};
use supergat_core::memory::Arena;
use supergat_core::{Architecture, Convolution, Device, Dropout, Example, Form, HeadLayout, Result};

impl Device for Cuda {
    type Number = f32;
    type Numbers = Numbers;
    type Bits = Bits;
    type Example = Example<f32>;
    type Problem = Problem;
    type Scratch = Scratch;
    type Clock = Clock;
    type Record = Record;
    type Recording = Recording;

    fn numbers(&self, len: usize, arena: &mut Arena) -> Result<Numbers> {
        Ok(Numbers(self.zeros_in(len, arena)?))
    }

    fn bits(&self, bytes: usize, arena: &mut Arena) -> Result<Bits> {
        Ok(Bits(self.zeros_in(bytes, arena)?))
    }

    fn upload(&self, from: &[f32], to: &mut Numbers) -> Result<()> {
        self.write(from, &mut to.0)
    }

    fn download(&self, from: &Numbers, to: &mut [f32]) -> Result<()> {
        self.fetch(&from.0, to)
    }

    fn download_bits(&self, from: &Bits, to: &mut [u8]) -> Result<()> {
        self.fetch(&from.0, to)
    }

    fn copy(&self, from: &Numbers, to: &mut Numbers) -> Result<()> {
        self.duplicate(&from.0, &mut to.0)
    }

    fn supports(&self, _: &Architecture) -> Result<()> {
        Ok(())
    }

    fn supports_form(&self, _: Form) -> Result<()> {
        Ok(())
    }

    fn place(&self, example: &Example<f32>, architecture: &Architecture, loss: AttentionLoss) -> Result<Problem> {
        Problem::new(self, example, architecture, loss)
    }

    fn scratch(
        &self,
        problems: &[Problem],
        layers: &[LayerWidth],
        training: bool,
        arena: &mut Arena,
    ) -> Result<Scratch> {
        let partial = output::partial_len(self, layers).max(sparse::partial_len(problems, layers));
        let partial = if training { partial } else { 0 };
        Ok(Scratch {
            attention: scratch::AttentionScratch::new(self, problems, layers, training, arena)?,
            partial: self.zeros_in(partial, arena)?,
            losses: self.zeros_in(problem::labels::BLOCKS, arena)?,
            tickets: self.zeros_in(layers.iter().map(|l| output::tickets(l.stride)).max().unwrap_or(1), arena)?,
        })
    }

    fn clock(&self, seed: u64) -> Result<Clock> {
        clock::clock(self, seed)
    }

    fn set_step(&self, clock: &mut Clock, step: u32) -> Result<()> {
        clock::set_step(self, clock, step)
    }

    fn advance(&self, clock: &mut Clock) -> Result<()> {
        clock::advance(self, clock)
    }

    fn replay(&self, recording: &mut Recording, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        recording::replay(self, recording, work)
    }

    fn record(&self, examples: usize) -> Result<Record> {
        record::record(self, examples)
    }

    fn read(&self, record: &Record, to: &mut Readings) -> Result<()> {
        record::read(self, record, to)
    }

    fn draw_mask(&self, random: Random<'_, Self>, dropout: Dropout, bytes: usize, keep: &mut Bits) -> Result<()> {
        dropout::draw_mask(self, random, dropout, bytes, keep)
    }

    fn draw_head_mask(
        &self,
        problem: &Problem,
        random: Random<'_, Self>,
        dropout: Dropout,
        layout: HeadLayout,
        keep: &mut Bits,
    ) -> Result<()> {
        dropout::draw_head_mask(self, problem, random, dropout, layout, keep)
    }

    fn product(
        &self,
        problem: &Problem,
        x: Input<'_, Self>,
        mask: Option<Mask<'_, Self>>,
        weight: &Numbers,
        stride: usize,
        out: &mut Numbers,
    ) -> Result<()> {
        dense::product(self, problem, x, mask, weight, stride, out)
    }

    fn weight_gradient(
        &self,
        problem: &Problem,
        x: Input<'_, Self>,
        mask: Option<Mask<'_, Self>>,
        g: &Numbers,
        stride: usize,
        scratch: &mut Scratch,
        out: &mut Numbers,
    ) -> Result<()> {
        dense::weight_gradient(self, problem, x, mask, g, stride, scratch, out)
    }

    fn input_gradient(
        &self,
        problem: &Problem,
        g: &Numbers,
        stride: usize,
        weight: &Numbers,
        width: usize,
        _scratch: &mut Scratch,
        out: &mut Numbers,
    ) -> Result<()> {
        dense::input_gradient(self, problem, g, stride, weight, width, out)
    }

    fn attention_scores(
        &self,
        problem: &Problem,
        layout: HeadLayout,
        z: &Numbers,
        vectors: &Numbers,
        state: &mut Numbers,
        source_score: &mut Numbers,
    ) -> Result<()> {
        attention::attention_scores(self, problem, layout, z, vectors, state, source_score)
    }

    fn choose_top_k(
        &self,
        problem: &Problem,
        attention: Attention<'_, Self>,
        state: &Numbers,
        chosen: &mut Bits,
    ) -> Result<()> {
        top_k::choose_top_k(self, problem, attention, state, chosen)
    }

    fn attention_forward(
        &self,
        problem: &Problem,
        attention: Attention<'_, Self>,
        state: &mut Numbers,
        sums: &mut Numbers,
        messages: Option<(&Numbers, &mut Numbers)>,
    ) -> Result<()> {
        attention::attention_forward(self, problem, attention.into(), state, sums, messages)
    }

    fn announce_step(&self, problem: &Problem, clock: &Clock, layers: u16, scratch: &mut Scratch) -> Result<()> {
        samples::draw_ahead(self, problem, clock, layers, &mut scratch.attention.samples)
    }

    fn draw_samples(&self, problem: &Problem, clock: &Clock, layer: u16, scratch: &mut Scratch) -> Result<()> {
        samples::draw_samples(self, problem, clock, layer, &mut scratch.attention.samples)
    }

    fn set_samples(&self, problem: &Problem, negatives: &[[u32; 2]], scratch: &mut Scratch) -> Result<()> {
        samples::set_samples(self, problem, negatives, &mut scratch.attention.samples)
    }

    fn samples(&self, problem: &Problem, scratch: &Scratch) -> Result<(Vec<u8>, Vec<[u32; 2]>)> {
        samples::samples(self, problem, &scratch.attention.samples)
    }

    fn attention_backward(
        &self,
        problem: &Problem,
        attention: Attention<'_, Self>,
        supervision: Supervision<'_, Self>,
        from: AttentionGradient<'_, Self>,
        scratch: &mut Scratch,
        to: ProjectedGradient<'_, Self>,
        record: Place<'_, Self>,
    ) -> Result<()> {
        backward::attention_backward(self, problem, attention, supervision, from, scratch, to, record)
    }

    fn edge_values(&self, problem: &Problem, attention: Attention<'_, Self>, state: &Numbers) -> Result<[Vec<f32>; 2]> {
        report::edge_values(self, problem, attention.into(), state)
    }

    fn pair_logits(
        &self,
        problem: &Problem,
        attention: Attention<'_, Self>,
        state: &Numbers,
        pairs: &[[u32; 2]],
    ) -> Result<Vec<f32>> {
        report::pair_logits(self, problem, attention.into(), Some(state), pairs)
    }

    fn attention_v2_forward(
        &self,
        problem: &Problem,
        attention: AttentionV2<'_, Self>,
        state: &mut Numbers,
        sums: &mut Numbers,
        messages: Option<(&Numbers, &mut Numbers)>,
    ) -> Result<()> {
        attention::attention_forward(self, problem, attention.into(), state, sums, messages)
    }

    fn attention_v2_backward(
        &self,
        problem: &Problem,
        attention: AttentionV2<'_, Self>,
        supervision: Supervision<'_, Self>,
        from: AttentionGradient<'_, Self>,
        scratch: &mut Scratch,
        to: ProjectedGradient<'_, Self>,
        record: Place<'_, Self>,
    ) -> Result<()> {
        backward::attention_v2_backward(self, problem, attention, supervision, from, scratch, to, record)
    }

    fn v2_edge_values(
        &self,
        problem: &Problem,
        attention: AttentionV2<'_, Self>,
        state: &Numbers,
    ) -> Result<[Vec<f32>; 2]> {
        report::edge_values(self, problem, attention.into(), state)
    }

    fn v2_pair_logits(
        &self,
        problem: &Problem,
        attention: AttentionV2<'_, Self>,
        pairs: &[[u32; 2]],
    ) -> Result<Vec<f32>> {
        report::pair_logits(self, problem, attention.into(), None, pairs)
    }

    fn convolve(
        &self,
        problem: &Problem,
        convolution: Convolution,
        width: usize,
        z: &Numbers,
        sums: &mut Numbers,
    ) -> Result<()> {
        convolution::convolve(self, problem, convolution, width, z, sums)
    }

    fn convolve_backward(
        &self,
        problem: &Problem,
        convolution: Convolution,
        width: usize,
        gradient: &Numbers,
        d_z: &mut Numbers,
    ) -> Result<()> {
        convolution::convolve_backward(self, problem, convolution, width, gradient, d_z)
    }

    fn output_forward(
        &self,
        problem: &Problem,
        output: Output,
        bias: &Numbers,
        sums: &Numbers,
        out: &mut Numbers,
    ) -> Result<()> {
        output::output_forward(self, problem, output, bias, sums, out)
    }

    fn output_backward(
        &self,
        problem: &Problem,
        output: Output,
        from: OutputGradient<'_, Self>,
        scratch: &mut Scratch,
        to: SumsGradient<'_, Self>,
    ) -> Result<()> {
        output::output_backward(self, problem, output, from, scratch, to)
    }

    fn norm_statistics(&self, block: Block, nodes: usize) -> usize {
        block::statistics(self, block, nodes)
    }

    fn block_forward(
        &self,
        problem: &Problem,
        block: Block,
        from: BlockInput<'_, Self>,
        to: BlockOutput<'_, Self>,
    ) -> Result<()> {
        block::forward(self, problem, block, from, to)
    }

    fn block_backward(
        &self,
        problem: &Problem,
        block: Block,
        from: BlockGradient<'_, Self>,
        scratch: &mut Scratch,
        to: BlockGradients<'_, Self>,
    ) -> Result<()> {
        block::backward(self, problem, block, from, scratch, to)
    }

    fn add_rows(&self, problem: &Problem, width: usize, rows: &Numbers, sum: &mut Numbers) -> Result<()> {
        block::add_rows(self, problem, width, rows, sum)
    }

    fn show_labels(
        &self,
        problem: &Problem,
        input: LabelInput<'_, Self>,
        shown: &mut Bits,
        rows: &mut Numbers,
    ) -> Result<()> {
        label_input::show_labels(self, problem, input, shown, rows)
    }

    fn reuse_labels(
        &self,
        problem: &Problem,
        input: LabelInput<'_, Self>,
        logits: &Numbers,
        shown: &Bits,
        rows: &mut Numbers,
    ) -> Result<()> {
        label_input::reuse_labels(self, problem, input, logits, shown, rows)
    }

    fn label_loss_backward(
        &self,
        problem: &Problem,
        logits: &Numbers,
        loss: LabelLoss<'_, Self>,
        gradient: &mut Numbers,
        scratch: &mut Scratch,
        record: Place<'_, Self>,
    ) -> Result<()> {
        labels::label_loss_backward(self, problem, logits, loss, gradient, scratch, record)
    }

    fn evaluate(&self, problem: &Problem, logits: &Numbers, record: Place<'_, Self>) -> Result<()> {
        labels::evaluate(self, problem, logits, record)
    }

    fn adam<'a>(
        &self,
        adam: Adam,
        clock: &Clock,
        parameters: impl Iterator<Item = ParameterMemory<'a, Self>>,
    ) -> Result<()> {
        adam::adam(self, adam, clock, parameters)
    }
}

/// Compiles all kernels for an architecture such as `sm_90`: with all definitions in use, or each source once, and again
/// for GATv2, and again with weights or features of edges, if it has code for them. Returns how many were compiled, or
/// `None` without NVRTC. Needs no GPU.
#[doc(hidden)]
pub fn compile_all(architecture: &str, all_definitions: bool) -> Result<Option<usize>> {
    if library::compiler().is_err() {
        return Ok(None);
    }
    let mut variants: Vec<compile::Variant> = [
        adam::variants(),
        block::variants(),
        clock::variants(),
        convolution::variants(),
        dense::variants(),
        label_input::variants(),
        labels::variants(),
        output::variants(),
        sparse::variants(),
        attention::variants(),
        backward::variants(),
        dropout::variants(),
        edges::variants(),
        margin::variants(),
        report::variants(),
        samples::variants(),
        top_k::variants(),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !all_definitions {
        let mut seen = std::collections::BTreeSet::new();
        let flag = |defines: &[(&str, i64)], name| defines.contains(&(name, 1));
        variants.retain(|(source, defines)| {
            let of_edges = ["WEIGHTED", "EDGE_FEATURES", "MESSAGES", "RESUMES"].map(|name| flag(defines, name));
            seen.insert((source.name, of_edges, defines.contains(&("FORM", 4))))
        });
    }
    for (source, defines) in &variants {
        compile::compile(source, defines, architecture)?;
    }
    Ok(Some(variants.len()))
}
