//! The primitives of the device.

use super::attention::Rows;
use super::sums::AllRows;
use super::{Cluster, ClusterProblem, ClusterRecord, ClusterScratch, Share};
use bytemuck::Pod;
use supergat_core::device::{
    Adam, Attention, AttentionGradient, AttentionLoss, Block, BlockGradient, BlockGradients, BlockInput, BlockOutput,
    Draw, FromAbove, Input, Join, LabelLoss, LayerWidth, Mask, Output, OutputGradient, ParameterMemory, Place,
    ProjectedGradient, Random, Readings, STATE, SumsGradient, Supervision, no_label_input,
};
use supergat_core::memory::{Arena, Buffer};
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Architecture, Convolution, Device, Dropout, Error, HeadLayout, Norm, Result};
use supergat_cpu::device::Rows as InputRows;
use supergat_cpu::kernels::{Dense, DropoutMask, Primitives, transpose};
use supergat_cpu::{device as cpu, kernels};

impl<T: Primitives + Pod> ClusterProblem<T> {
    /// Returns the rows of a layer's input.
    fn input_rows<'a>(&'a self, x: Input<'a, Cluster<T>>) -> InputRows<'a, T> {
        match x {
            Input::Features | Input::Labelled { .. } => InputRows::Features(&self.share.rows().features),
            Input::Hidden { rows, width } => {
                InputRows::Hidden(Dense { values: &rows[..self.nodes() * width], columns: width })
            }
        }
    }
}

impl<T: Primitives + Pod> Device for Cluster<T> {
    type Number = T;
    type Numbers = Buffer<T>;
    type Bits = Vec<u8>;
    type Example = Share<T>;
    type Problem = ClusterProblem<T>;
    type Scratch = ClusterScratch<T>;
    type Clock = Draw;
    type Record = ClusterRecord;
    type Recording = ();

    fn numbers(&self, len: usize, arena: &mut Arena) -> Result<Buffer<T>> {
        Ok(arena.numbers(len))
    }

    fn bits(&self, bytes: usize, arena: &mut Arena) -> Result<Vec<u8>> {
        Ok(arena.list(bytes))
    }

    fn upload(&self, from: &[T], to: &mut Buffer<T>) -> Result<()> {
        to[..from.len()].copy_from_slice(from);
        Ok(())
    }

    fn download(&self, from: &Buffer<T>, to: &mut [T]) -> Result<()> {
        to.copy_from_slice(&from[..to.len()]);
        Ok(())
    }

    fn download_bits(&self, from: &Vec<u8>, to: &mut [u8]) -> Result<()> {
        to.copy_from_slice(&from[..to.len()]);
        Ok(())
    }

    fn copy(&self, from: &Buffer<T>, to: &mut Buffer<T>) -> Result<()> {
        to.copy_from_slice(from);
        Ok(())
    }

    fn supports(&self, architecture: &Architecture) -> Result<()> {
        if architecture.reads_labels() { Err(no_label_input()) } else { Ok(()) }
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

    fn clock(&self, seed: u64) -> Result<Draw> {
        Ok(Draw { seed, step: 0 })
    }

    fn set_step(&self, clock: &mut Draw, step: u32) -> Result<()> {
        clock.step = step;
        Ok(())
    }

    fn advance(&self, clock: &mut Draw) -> Result<()> {
        clock.step += 1;
        Ok(())
    }

    fn replay(&self, (): &mut (), work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }

    fn record(&self, examples: usize) -> Result<ClusterRecord> {
        Ok(ClusterRecord(vec![Vec::new(); examples]))
    }

    fn read(&self, record: &ClusterRecord, to: &mut Readings) -> Result<()> {
        record.read(self.peers(), to)
    }

    fn draw_mask(&self, random: Random<'_, Self>, dropout: Dropout, bytes: usize, keep: &mut Vec<u8>) -> Result<()> {
        dropout.fill(random.stream(), &mut keep[..bytes]);
        Ok(())
    }

    fn draw_input_mask(
        &self,
        problem: &ClusterProblem<T>,
        x: Input<'_, Self>,
        random: Random<'_, Self>,
        dropout: Dropout,
        bytes: usize,
        keep: &mut Vec<u8>,
    ) -> Result<()> {
        problem.fill_input_mask(x, random.stream(), dropout, &mut keep[..bytes]);
        Ok(())
    }

    fn draw_head_mask(
        &self,
        problem: &ClusterProblem<T>,
        random: Random<'_, Self>,
        dropout: Dropout,
        layout: HeadLayout,
        keep: &mut Vec<u8>,
    ) -> Result<()> {
        problem.fill_head_mask(random.stream(), dropout, layout, keep);
        Ok(())
    }

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
        problem.input_rows(x).product(parts, mask.map(kernels::Mask::of), weight, stride, out);
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
        let by_part = &mut by_part[..problem.inputs.len() * out.len()];
        for (input, out) in problem.inputs.iter().zip(by_part.chunks_exact_mut(out.len())) {
            problem.input_rows(x).weight_gradient(input, mask, g, stride, copies, out);
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
        let nodes = problem.nodes();
        let transposed = &mut scratch.transposed[..weight.len()];
        transpose(weight, width, stride, transposed);
        let g = Dense { values: &g[..nodes * stride], columns: stride };
        T::dense_product(&problem.rows, g, None, transposed, width, &mut out[..nodes * width]);
        Ok(())
    }

    fn attention_scores(
        &self,
        problem: &ClusterProblem<T>,
        layout: HeadLayout,
        z: &Buffer<T>,
        vectors: &Buffer<T>,
        state: &mut Buffer<T>,
        source_score: &mut Buffer<T>,
    ) -> Result<()> {
        let nodes = problem.nodes();
        let (a_target, a_source) = vectors.split_at(layout.stride());
        let (z, state) = (&z[..nodes * layout.stride()], &mut state[..nodes * STATE * layout.head_stride()]);
        let source = &mut source_score[..nodes * layout.head_stride()];
        T::attention_scores(&problem.rows, layout, z, a_target, a_source, state, source);
        Ok(())
    }

    fn choose_top_k(
        &self,
        problem: &ClusterProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
        chosen: &mut Vec<u8>,
    ) -> Result<()> {
        let state = &state[..problem.nodes() * STATE * attention.layout.head_stride()];
        self.choose_edges(problem, Rows::new(problem, attention), state, chosen)
    }

    fn attention_forward(
        &self,
        problem: &ClusterProblem<T>,
        attention: Attention<'_, Self>,
        state: &mut Buffer<T>,
        sums: &mut Buffer<T>,
        messages: Option<(&Buffer<T>, &mut Buffer<T>)>,
    ) -> Result<()> {
        let (nodes, layout) = (problem.nodes(), attention.layout);
        let rows = Rows::new(problem, attention);
        let state = &mut state[..nodes * STATE * layout.head_stride()];
        self.forward_blocks(problem, rows, state, &mut sums[..nodes * layout.stride()], messages)
    }

    fn draw_samples(
        &self,
        problem: &ClusterProblem<T>,
        clock: &Draw,
        layer: u16,
        scratch: &mut ClusterScratch<T>,
    ) -> Result<()> {
        let Some(sampler) = &problem.sampler else { return Ok(()) };
        let streams = [Purpose::PositiveEdges, Purpose::NegativePairs]
            .map(|purpose| Stream::new(clock.seed, clock.step, layer, purpose));
        scratch.samples.draw([problem.attended(), problem.edges()], self.peers(), sampler, &problem.blocks, streams)
    }

    fn set_samples(&self, _: &ClusterProblem<T>, _: &[[u32; 2]], _: &mut ClusterScratch<T>) -> Result<()> {
        Err(Error::Peers { reason: "samples are set by one process only".into() })
    }

    fn samples(&self, _: &ClusterProblem<T>, _: &ClusterScratch<T>) -> Result<(Vec<u8>, Vec<[u32; 2]>)> {
        Err(Error::Peers { reason: "samples are read by one process only".into() })
    }

    fn attention_backward(
        &self,
        problem: &ClusterProblem<T>,
        attention: Attention<'_, Self>,
        supervision: Supervision<'_, Self>,
        from: AttentionGradient<'_, Self>,
        scratch: &mut ClusterScratch<T>,
        to: ProjectedGradient<'_, Self>,
        place: Place<'_, Self>,
    ) -> Result<()> {
        self.backward_blocks(problem, Rows::new(problem, attention), supervision, from, scratch, to, place)
    }

    fn edge_values(
        &self,
        problem: &ClusterProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
    ) -> Result<[Vec<T>; 2]> {
        let state = &state[..problem.nodes() * STATE * attention.layout.head_stride()];
        self.edge_values_of_blocks(problem, Rows::new(problem, attention), state)
    }

    fn pair_logits(
        &self,
        _: &ClusterProblem<T>,
        _: Attention<'_, Self>,
        _: &Buffer<T>,
        _: &[[u32; 2]],
    ) -> Result<Vec<T>> {
        Err(Error::Peers { reason: "logits of pairs are computed by one process only".into() })
    }

    fn convolve(
        &self,
        problem: &ClusterProblem<T>,
        convolution: Convolution,
        width: usize,
        z: &Buffer<T>,
        sums: &mut Buffer<T>,
    ) -> Result<()> {
        self.convolve_blocks(problem, convolution, width, z, sums)
    }

    fn convolve_backward(
        &self,
        problem: &ClusterProblem<T>,
        convolution: Convolution,
        width: usize,
        gradient: &Buffer<T>,
        d_z: &mut Buffer<T>,
    ) -> Result<()> {
        self.convolve_blocks_backward(problem, convolution, width, gradient, d_z)
    }

    fn output_forward(
        &self,
        problem: &ClusterProblem<T>,
        Output { layout, join }: Output,
        bias: &Buffer<T>,
        sums: &Buffer<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        let (nodes, parts) = (problem.nodes(), &problem.rows);
        let sums = &sums[..nodes * layout.stride()];
        match join {
            Join::Mean => T::mean_forward(parts, layout, bias, sums, &mut out[..nodes * layout.features]),
            join => T::concat_forward(parts, join == Join::ConcatElu, bias, sums, &mut out[..nodes * layout.stride()]),
        }
        Ok(())
    }

    fn output_backward(
        &self,
        problem: &ClusterProblem<T>,
        Output { layout, join }: Output,
        from: OutputGradient<'_, Self>,
        scratch: &mut ClusterScratch<T>,
        to: SumsGradient<'_, Self>,
    ) -> Result<()> {
        let (nodes, stride, parts) = (problem.nodes(), layout.stride(), &problem.rows);
        let sums = &from.sums[..nodes * stride];
        let gradient = kernels::OutputGradient {
            sums: &mut to.sums[..nodes * stride],
            active: &mut scratch.active[..nodes],
            state: to.state.map(|state| &mut state[..nodes * STATE * layout.head_stride()]),
            bias: &mut scratch.partial,
        };
        match from.above {
            FromAbove::Mean(d_out) => {
                T::mean_backward(parts, layout, &d_out[..nodes * layout.features], sums, gradient);
            }
            FromAbove::Concat(mask) => {
                let mask = mask.map(kernels::Mask::of);
                T::concat_backward(parts, layout, join == Join::ConcatElu, mask, from.output, sums, gradient);
            }
        }
        let pieces = problem.inputs.iter().map(|input| input.rows.len());
        self.sum_pieces(problem, pieces, &mut scratch.partial, to.bias)
    }

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
        cpu::block_forward(&mut AllRows { cluster: self, problem, memory: &mut [] }, block, from, to)
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
        cpu::block_backward(&mut AllRows { cluster: self, problem, memory: sums }, block, from, (active, partial), to)
    }

    fn add_rows(&self, problem: &ClusterProblem<T>, width: usize, rows: &Buffer<T>, sum: &mut Buffer<T>) -> Result<()> {
        let length = problem.nodes() * width;
        T::add_list(&mut sum[..length], &rows[..length]);
        Ok(())
    }

    fn label_loss_backward(
        &self,
        problem: &ClusterProblem<T>,
        logits: &Buffer<T>,
        loss: LabelLoss<'_, Self>,
        gradient: &mut Buffer<T>,
        scratch: &mut ClusterScratch<T>,
        place: Place<'_, Self>,
    ) -> Result<()> {
        problem.label_loss_backward(logits, loss.focal_gamma, gradient, scratch, place);
        Ok(())
    }

    fn evaluate(&self, problem: &ClusterProblem<T>, logits: &Buffer<T>, place: Place<'_, Self>) -> Result<()> {
        problem.evaluate(logits, place);
        Ok(())
    }

    fn adam<'a>(
        &self,
        adam: Adam,
        clock: &Draw,
        parameters: impl Iterator<Item = ParameterMemory<'a, Self>>,
    ) -> Result<()> {
        let adam = kernels::Adam { lr: adam.lr, lambda_2: adam.lambda_2, step: u64::from(clock.step) + 1 };
        for ParameterMemory { value, gradient, moments: [m, v], .. } in parameters {
            T::adam(adam, value, gradient, m, v);
        }
        Ok(())
    }
}
