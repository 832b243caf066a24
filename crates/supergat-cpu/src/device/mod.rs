//! The CPU as a device: buffers are slices, and every primitive is a kernel whose work is divided into parts.

mod attention;
mod attention_v2;
mod block;
mod contrast;
mod input;
mod problem;
mod scratch;

pub use attention::clear_isolated;
pub use block::{RowSums, backward as block_backward, forward as block_forward};
pub use contrast::no_boundary;
pub use input::{InputParts, Rows};
pub use problem::CpuProblem;
pub use scratch::CpuScratch;

use crate::kernels::{
    self, Aggregation, Dense, DropoutMask, LabelChoice, LabelDropout, LabelTerms, Primitives, Slice, sum_parts,
    transpose,
};
use crate::sampling::EdgeSamples;
use attention::{of_edges, state_of};
use block::OwnRows;
use problem::Sampler;
use scratch::Samples;
use std::marker::PhantomData;
use supergat_core::device::{
    Adam, Attention, AttentionGradient, AttentionLoss, AttentionV2, Block, BlockGradient, BlockGradients, BlockInput,
    BlockOutput, Device, Draw, FromAbove, Input, Join, LabelInput, LabelLoss, LayerWidth, Mask, Output, OutputGradient,
    ParameterMemory, Place, ProjectedGradient, Random, Readings, STATE, SumsGradient, Supervision,
};
use supergat_core::example::hidden_weight;
use supergat_core::graph::Neighbours;
use supergat_core::memory::{Arena, Buffer};
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Architecture, Convolution, Dropout, Error, Example, Form, HeadLayout, Result};

/// The CPU, with numbers of type `T`: f32, or f64 in tests.
///
/// ```
/// use supergat_core::Device;
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

impl<T: Primitives> CpuProblem<T> {
    /// Returns the rows of a layer's input.
    fn rows<'a>(&'a self, x: Input<'a, Cpu<T>>) -> Rows<'a, T> {
        match x {
            Input::Features | Input::Labelled { .. } => Rows::Features(&self.example.features),
            Input::Hidden { rows, width } => {
                Rows::Hidden(Dense { values: &rows[..self.nodes() * width], columns: width })
            }
        }
    }
}

/// Returns the random numbers of labels as input; `None` in evaluation.
fn label_stream<T: Primitives>(input: LabelInput<'_, Cpu<T>>, purpose: Purpose) -> Option<Stream> {
    input.clock.map(|clock| Stream::new(clock.seed, clock.step, 0, purpose))
}

/// Returns the dropout of labels as input, if there is any.
fn label_dropout<T: Primitives>(input: LabelInput<'_, Cpu<T>>) -> Option<LabelDropout> {
    let stream = label_stream(input, Purpose::LabelDropout).filter(|_| !input.dropout.is_none())?;
    Some(LabelDropout { stream, dropout: input.dropout })
}

impl<T: Primitives> Device for Cpu<T> {
    type Number = T;
    type Numbers = Buffer<T>;
    type Bits = Vec<u8>;
    type Example = Example<T>;
    type Problem = CpuProblem<T>;
    type Scratch = CpuScratch<T>;
    type Clock = Draw;
    type Record = Readings;
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

    fn supports(&self, _: &Architecture) -> Result<()> {
        Ok(())
    }

    fn supports_form(&self, _: Form) -> Result<()> {
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
        Ok(CpuScratch::new(problems, layers, training, arena))
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

    fn record(&self, examples: usize) -> Result<Readings> {
        Ok(Readings::new(examples))
    }

    fn read(&self, record: &Readings, to: &mut Readings) -> Result<()> {
        to.losses.copy_from_slice(&record.losses);
        to.scores.copy_from_slice(&record.scores);
        Ok(())
    }

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

    fn product(
        &self,
        problem: &CpuProblem<T>,
        x: Input<'_, Self>,
        mask: Option<Mask<'_, Self>>,
        weight: &Buffer<T>,
        stride: usize,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        let InputParts { rows, features, .. } = &problem.input;
        let parts = if let Input::Hidden { .. } = x { rows } else { features };
        let out = &mut out[..problem.nodes() * stride];
        let labels = problem.labels(x);
        let (weight, of_labels) = weight.split_at(weight.len() - labels.map_or(0, |labels| labels.columns * stride));
        problem.rows(x).product(parts, mask.map(kernels::Mask::of), weight, stride, out);
        if let Some(labels) = labels {
            T::label_product(rows, labels, of_labels, stride, out);
        }
        Ok(())
    }

    fn weight_gradient(
        &self,
        problem: &CpuProblem<T>,
        x: Input<'_, Self>,
        mask: Option<Mask<'_, Self>>,
        g: &Buffer<T>,
        stride: usize,
        scratch: &mut CpuScratch<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        let g = &g[..problem.nodes() * stride];
        let (mask, copies, labels) = (mask.map(kernels::Mask::of), &mut scratch.copies, problem.labels(x));
        let features = out.len() - labels.map_or(0, |labels| labels.columns * stride);
        let (out, of_labels) = out.split_at_mut(features);
        problem.rows(x).weight_gradient(&problem.input, mask, g, stride, copies, out);
        if let Some(labels) = labels {
            T::label_gradient(problem.input.of_features(), labels, g, stride, copies, of_labels);
        }
        Ok(())
    }

    fn input_gradient(
        &self,
        problem: &CpuProblem<T>,
        g: &Buffer<T>,
        stride: usize,
        weight: &Buffer<T>,
        width: usize,
        scratch: &mut CpuScratch<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        let nodes = problem.nodes();
        let transposed = &mut scratch.transposed[..weight.len()];
        transpose(weight, width, stride, transposed);
        let g = Dense { values: &g[..nodes * stride], columns: stride };
        T::dense_product(&problem.input.rows, g, None, transposed, width, &mut out[..nodes * width]);
        Ok(())
    }

    fn attention_scores(
        &self,
        problem: &CpuProblem<T>,
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
        T::attention_scores(&problem.input.rows, layout, z, a_target, a_source, state, source);
        Ok(())
    }

    fn choose_top_k(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
        chosen: &mut Vec<u8>,
    ) -> Result<()> {
        let Sampler::Margins(plan) = &problem.supervision else { return Err(Error::EmptySplit { split: "training" }) };
        let state = state_of(problem, attention.layout, state);
        let chosen = &mut chosen[..problem.graph().edges() * attention.layout.groups];
        T::choose_top_k(&problem.edges, problem.attention(attention), state, plan.top_k(), chosen);
        Ok(())
    }

    fn attention_forward(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        state: &mut Buffer<T>,
        sums: &mut Buffer<T>,
        messages: Option<(&Buffer<T>, &mut Buffer<T>)>,
    ) -> Result<()> {
        let (nodes, layout) = (problem.nodes(), attention.layout);
        let state = &mut state[..nodes * STATE * layout.head_stride()];
        let sums = &mut sums[..nodes * layout.stride()];
        let attention = problem.attention(attention);
        let Some((matrix, feature_sums)) = messages else {
            T::attention_forward(&problem.edges, &[attention], state, sums, &mut []);
            clear_isolated(problem.isolated(), layout, state, sums, &mut []);
            return Ok(());
        };
        let per_node = layout.head_stride() * matrix.len() / layout.stride();
        let feature_sums = &mut feature_sums[..problem.nodes() * per_node];
        T::attention_forward(&problem.edges, &[attention], state, sums, feature_sums);
        clear_isolated(problem.isolated(), layout, state, sums, feature_sums);
        T::messages_forward(&problem.edges, layout, feature_sums, matrix, sums);
        Ok(())
    }

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
            samples.draw_of(problem.lists().edges, problem.graph(), sampler, *sizes, streams);
        }
        Ok(())
    }

    fn set_samples(&self, problem: &CpuProblem<T>, negatives: &[[u32; 2]], scratch: &mut CpuScratch<T>) -> Result<()> {
        if let Samples::Edges(samples) = &mut scratch.samples {
            samples.set_of(problem.lists().edges, problem.nodes(), negatives);
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

    fn attention_backward(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        supervision: Supervision<'_, Self>,
        from: AttentionGradient<'_, Self>,
        scratch: &mut CpuScratch<T>,
        to: ProjectedGradient<'_, Self>,
        place: Place<'_, Self>,
    ) -> Result<()> {
        attention::backward(problem, attention, supervision, from, scratch, to, place)
    }

    fn edge_values(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
    ) -> Result<[Vec<T>; 2]> {
        let state = state_of(problem, attention.layout, state);
        Ok(of_edges(problem, attention.layout.heads, |coefficients, logits| {
            T::edge_values(problem.attention(attention), state, coefficients, logits);
        }))
    }

    fn pair_logits(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
        pairs: &[[u32; 2]],
    ) -> Result<Vec<T>> {
        let mut out = vec![T::ZERO; pairs.len()];
        T::pair_logits(problem.attention(attention), state_of(problem, attention.layout, state), pairs, &mut out);
        Ok(out)
    }

    fn attention_v2_forward(
        &self,
        problem: &CpuProblem<T>,
        attention: AttentionV2<'_, Self>,
        state: &mut Buffer<T>,
        sums: &mut Buffer<T>,
        messages: Option<(&Buffer<T>, &mut Buffer<T>)>,
    ) -> Result<()> {
        attention_v2::forward(problem, attention, state, sums, messages);
        Ok(())
    }

    fn attention_v2_backward(
        &self,
        problem: &CpuProblem<T>,
        attention: AttentionV2<'_, Self>,
        supervision: Supervision<'_, Self>,
        from: AttentionGradient<'_, Self>,
        scratch: &mut CpuScratch<T>,
        to: ProjectedGradient<'_, Self>,
        place: Place<'_, Self>,
    ) -> Result<()> {
        attention_v2::backward(problem, attention, supervision, from, scratch, to, place);
        Ok(())
    }

    fn v2_edge_values(
        &self,
        problem: &CpuProblem<T>,
        attention: AttentionV2<'_, Self>,
        state: &Buffer<T>,
    ) -> Result<[Vec<T>; 2]> {
        let state = state_of(problem, attention.layout, state);
        Ok(of_edges(problem, attention.layout.heads, |coefficients, logits| {
            T::v2_edge_values(problem.attention_v2(attention), state, coefficients, logits);
        }))
    }

    fn v2_pair_logits(
        &self,
        problem: &CpuProblem<T>,
        attention: AttentionV2<'_, Self>,
        pairs: &[[u32; 2]],
    ) -> Result<Vec<T>> {
        let mut out = vec![T::ZERO; pairs.len()];
        T::v2_pair_logits(problem.attention_v2(attention), pairs, &mut out);
        Ok(out)
    }

    fn convolve(
        &self,
        problem: &CpuProblem<T>,
        convolution: Convolution,
        width: usize,
        z: &Buffer<T>,
        sums: &mut Buffer<T>,
    ) -> Result<()> {
        let (nodes, stride) = (problem.nodes(), convolution.halves() * width);
        let [outer, inner] = &problem.factors;
        let sum = aggregation(
            convolution,
            problem.graph().incoming().lists(),
            [outer, inner],
            &problem.edge_weights.by_incoming,
        );
        let root = (stride > width).then_some(Slice { stride, offset: width });
        let (z, sums) = (&z[..nodes * stride], &mut sums[..nodes * width]);
        T::aggregate(&problem.edges, sum, width, z, stride, root, sums, width);
        Ok(())
    }

    /// `d z_j = inner_j * sum of outer_i g_i` over the outgoing edges j -> i: the forward sum with `outer` and
    /// `inner` swapped.
    fn convolve_backward(
        &self,
        problem: &CpuProblem<T>,
        convolution: Convolution,
        width: usize,
        gradient: &Buffer<T>,
        d_z: &mut Buffer<T>,
    ) -> Result<()> {
        let (nodes, stride) = (problem.nodes(), convolution.halves() * width);
        let [outer, inner] = &problem.factors;
        let sum = aggregation(
            convolution,
            problem.graph().outgoing().lists(),
            [inner, outer],
            &problem.edge_weights.by_outgoing,
        );
        let (gradient, d_z) = (&gradient[..nodes * width], &mut d_z[..nodes * stride]);
        T::aggregate(&problem.edges, sum, width, gradient, width, None, d_z, stride);
        if stride > width {
            for (row, g) in d_z.chunks_exact_mut(stride).zip(gradient.chunks_exact(width)) {
                row[width..].copy_from_slice(g);
            }
        }
        Ok(())
    }

    fn output_forward(
        &self,
        problem: &CpuProblem<T>,
        Output { layout, join }: Output,
        bias: &Buffer<T>,
        sums: &Buffer<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        let (nodes, parts) = (problem.nodes(), &problem.input.rows);
        let sums = &sums[..nodes * layout.stride()];
        match join {
            Join::Mean => T::mean_forward(parts, layout, bias, sums, &mut out[..nodes * layout.features]),
            join => T::concat_forward(parts, join == Join::ConcatElu, bias, sums, &mut out[..nodes * layout.stride()]),
        }
        Ok(())
    }

    fn output_backward(
        &self,
        problem: &CpuProblem<T>,
        Output { layout, join }: Output,
        from: OutputGradient<'_, Self>,
        scratch: &mut CpuScratch<T>,
        to: SumsGradient<'_, Self>,
    ) -> Result<()> {
        let (nodes, stride, parts) = (problem.nodes(), layout.stride(), &problem.input.rows);
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
        sum_parts(parts.len(), &scratch.partial, to.bias);
        Ok(())
    }

    fn norm_statistics(&self, block: Block, nodes: usize) -> usize {
        block::statistics(block, nodes)
    }

    fn block_forward(
        &self,
        problem: &CpuProblem<T>,
        block: Block,
        from: BlockInput<'_, Self>,
        to: BlockOutput<'_, Self>,
    ) -> Result<()> {
        block::forward(&mut OwnRows(&problem.input.rows, problem.nodes()), block, from, to)
    }

    fn block_backward(
        &self,
        problem: &CpuProblem<T>,
        block: Block,
        from: BlockGradient<'_, Self>,
        scratch: &mut CpuScratch<T>,
        to: BlockGradients<'_, Self>,
    ) -> Result<()> {
        let CpuScratch { active, partial, .. } = scratch;
        block::backward(&mut OwnRows(&problem.input.rows, problem.nodes()), block, from, (active, partial), to)
    }

    fn add_rows(&self, problem: &CpuProblem<T>, width: usize, rows: &Buffer<T>, sum: &mut Buffer<T>) -> Result<()> {
        let length = problem.nodes() * width;
        T::add_list(&mut sum[..length], &rows[..length]);
        Ok(())
    }

    fn show_labels(
        &self,
        problem: &CpuProblem<T>,
        input: LabelInput<'_, Self>,
        shown: &mut Vec<u8>,
        rows: &mut Buffer<T>,
    ) -> Result<()> {
        let (nodes, example) = (problem.nodes(), &problem.example);
        let choice = label_stream(input, Purpose::LabelChoice).filter(|_| !example.train.is_empty()).map(|stream| {
            LabelChoice { permutation: stream.permutation(example.train.len() as u64), shown: input.shown as u64 }
        });
        let (shown, rows) = (&mut shown[..nodes], &mut rows[..nodes * example.labels.classes()]);
        let (parts, dropout) = (&problem.input.rows, label_dropout(input));
        T::show_labels(parts, &example.labels, &problem.places, choice, dropout, shown, rows);
        Ok(())
    }

    fn reuse_labels(
        &self,
        problem: &CpuProblem<T>,
        input: LabelInput<'_, Self>,
        logits: &Buffer<T>,
        shown: &Vec<u8>,
        rows: &mut Buffer<T>,
    ) -> Result<()> {
        let (labels, dropout) = (&problem.example.labels, label_dropout(input));
        let rows = &mut rows[..problem.nodes() * labels.classes()];
        T::reuse_labels(&problem.input.rows, labels, shown, dropout, logits, rows);
        Ok(())
    }

    fn label_loss_backward(
        &self,
        problem: &CpuProblem<T>,
        logits: &Buffer<T>,
        LabelLoss { focal_gamma, shown }: LabelLoss<'_, Self>,
        gradient: &mut Buffer<T>,
        scratch: &mut CpuScratch<T>,
        place: Place<'_, Self>,
    ) -> Result<()> {
        let example = &problem.example;
        let length = problem.nodes() * example.labels.classes();
        let label = T::label_loss_backward(
            &problem.input.rows,
            &example.labels,
            &problem.chosen,
            LabelTerms {
                class_weights: example.class_weights.as_deref().unwrap_or(&[]),
                total: hidden_weight(
                    example.training_weight(),
                    example.train.len(),
                    shown.map_or(0, |(_, count)| count),
                ),
                shown: shown.map_or(&[], |(nodes, _)| nodes),
                focal_gamma,
            },
            &logits[..length],
            &mut gradient[..length],
            &mut scratch.losses,
        );
        place.record.losses[place.example] = [label, 0.0];
        Ok(())
    }

    fn evaluate(&self, problem: &CpuProblem<T>, logits: &Buffer<T>, place: Place<'_, Self>) -> Result<()> {
        let example = &problem.example;
        let logits = &logits[..problem.nodes() * example.labels.classes()];
        let lists = [&example.validation, &example.test];
        place.record.scores[place.example] = lists.map(|list| T::evaluate(&example.labels, list, logits));
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

fn aggregation<'a, T>(
    convolution: Convolution,
    lists: Neighbours<'a>,
    [outer, inner]: [&'a [T]; 2],
    weights: &'a [T],
) -> Aggregation<'a, T> {
    Aggregation { lists, outer, inner, weights, own: convolution != Convolution::SageRoot }
}
