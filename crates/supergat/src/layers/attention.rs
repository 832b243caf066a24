//! The graph attention layer, with or without self-supervision.
//!
//! ```text
//! z_i    = W^T drop(h_i)
//! e_ij   = form(z_i, z_j)                            GO, DP, SD or MX, see `kernels::Form`
//! alpha  = drop(softmax over j of LeakyReLU(e_ij))   j runs over the incoming edges of i, its self-loop included
//! h'_i   = join over heads of (sum_j alpha_ij z_j) + b
//! L_E    = mean over sampled pairs of -ln phi_ij (edges), -ln (1 - phi_ij) (non-edges),  phi = sigmoid(mean over heads of the edge logit)
//! ```

use super::contrast::Scores;
use super::input::Input;
use super::output::{FromAbove, Join, Output};
use super::parameter::Parameter;
use super::{Context, Scratch, Size};
use crate::kernels::{
    Attention, Buffer, Dropout, EdgeLoss, Form, Gradient, HeadLayout, Mask, Real, STATE, sum_parts, vector_sums,
};
use crate::memory::Room;
use crate::random::{Purpose, Stream};

/// What a layer is made of.
#[derive(Debug, Clone, Copy)]
pub struct AttentionConfig {
    /// Form of the attention.
    pub form: Form,
    /// Layout of an input row; `plain` for features.
    pub input: HeadLayout,
    /// Whether the input is a hidden layer's output, with its padding.
    pub hidden_input: bool,
    /// Heads.
    pub heads: usize,
    /// Features per head.
    pub features: usize,
    /// How heads are joined.
    pub join: Join,
    /// Negative slope of LeakyReLU.
    pub negative_slope: f64,
    /// Dropout of input and coefficients.
    pub dropout: f64,
}

/// Graph attention layer.
#[derive(Debug, Clone)]
pub struct AttentionLayer<T> {
    form: Form,
    layout: HeadLayout,
    slope: T,
    dropout: Dropout,
    index: u16,
    input_width: usize,
    /// `W`, [input features, heads * features].
    pub weight: Parameter<T>,
    /// `a`, [heads, 2 * features]: the first half of a head is for the target, the second for the source. GO and MX only.
    pub vectors: Option<Parameter<T>>,
    /// Join and bias.
    pub output: Output<T>,
}

/// What forward leaves for backward, with room for the largest graph.
#[derive(Debug)]
pub struct AttentionCache<T> {
    keep_input: Vec<u8>,
    keep: Vec<u8>,
    chosen: Vec<u8>,
    z: Buffer<T>,
    source_score: Buffer<T>,
    state: Buffer<T>,
    sums: Buffer<T>,
    /// The layer's output.
    pub output: Buffer<T>,
}

impl<T: Real> AttentionLayer<T> {
    /// A layer whose parameters are zero; `index` counts layers from 0 and names them from 1.
    pub fn new(index: u16, config: AttentionConfig) -> Self {
        let name = format!("layer{}", index + 1);
        let layout = HeadLayout::new(config.heads, config.features);
        let stride = layout.stride();
        let vectors = config.form.has_vector().then(|| {
            let places = (0..config.heads).flat_map(|h| {
                (0..2).flat_map(move |side| (0..config.features).map(move |f| side * stride + layout.index(h, f)))
            });
            Parameter::new(format!("{name}.a"), [config.heads, 2 * config.features], 2 * stride, places)
        });
        let input_width = if config.hidden_input { config.input.stride() } else { config.input.features };
        Self {
            form: config.form,
            layout,
            slope: T::from_f64(config.negative_slope),
            dropout: Dropout::new(config.dropout),
            index,
            input_width,
            weight: Parameter::weight(format!("{name}.w"), config.input, layout, config.hidden_input),
            vectors,
            output: Output::new(&name, layout, config.join),
        }
    }

    /// Glorot weights and vectors, bias zero.
    pub fn initialise(&mut self, seed: u64) {
        self.weight.glorot(Stream::new(seed, 0, self.index, Purpose::Weights));
        if let Some(vectors) = &mut self.vectors {
            vectors.glorot(Stream::new(seed, 0, self.index, Purpose::AttentionVectors));
        }
    }

    /// Layout of the heads.
    pub fn layout(&self) -> HeadLayout {
        self.layout
    }

    /// Its parameters.
    pub fn parameters(&self) -> [Option<&Parameter<T>>; 3] {
        [Some(&self.weight), self.vectors.as_ref(), Some(&self.output.bias)]
    }

    /// Its parameters, to change them.
    pub fn parameters_mut(&mut self) -> [Option<&mut Parameter<T>>; 3] {
        [Some(&mut self.weight), self.vectors.as_mut(), Some(&mut self.output.bias)]
    }

    /// Memory for graphs up to a size; `mask_bytes` is that of the input's dropout mask, if it will be needed.
    pub fn cache(&self, size: Size, mask_bytes: usize, room: &mut Room) -> AttentionCache<T> {
        let keep_input = if self.dropout.is_none() { 0 } else { mask_bytes };
        let constrained = size.contrast[0] > 0;
        let drops = size.training && !constrained && !self.dropout.is_none();
        let keep = if drops { size.edges * self.layout.groups } else { 0 };
        let per_head = size.nodes * self.layout.head_stride();
        AttentionCache {
            keep_input: room.list(keep_input),
            keep: room.list(keep),
            chosen: room.list(if constrained { size.edges * self.layout.groups } else { 0 }),
            z: room.numbers(size.nodes * self.layout.stride()),
            source_score: room.numbers(if self.vectors.is_some() { per_head } else { 0 }),
            state: room.numbers(STATE * per_head),
            sums: room.numbers(size.nodes * self.layout.stride()),
            output: room.numbers(size.nodes * self.output.width()),
        }
    }

    /// Numbers per node of the layer's rows.
    pub fn stride(&self) -> usize {
        self.layout.stride()
    }

    /// Computes the output into the cache, with dropout when `context.draw` is given.
    pub fn forward(&self, context: &Context<'_, T>, input: Input<'_, T>, cache: &mut AttentionCache<T>) {
        let graph = &context.example.graph;
        let (nodes, stride) = (graph.nodes(), self.layout.stride());
        let stream = |purpose| context.draw.map(|draw| Stream::new(draw.seed, draw.step, self.index, purpose));
        let mask = stream(Purpose::InputDropout)
            .and_then(|stream| input.draw_mask(self.dropout, stream, &mut cache.keep_input));
        input.product(&context.plan.input, mask, &self.weight, stride, &mut cache.z[..nodes * stride]);

        let per_head = nodes * self.layout.head_stride();
        if let Some(a) = &self.vectors {
            let (a_target, a_source) = a.value.split_at(stride);
            let (state, source) = (&mut cache.state[..STATE * per_head], &mut cache.source_score[..per_head]);
            let z = &cache.z[..nodes * stride];
            T::attention_scores(&context.plan.input.rows, self.layout, z, a_target, a_source, state, source);
        }
        if let Some(stream) = stream(Purpose::AttentionDropout).filter(|_| self.drops_coefficients(context)) {
            let keep = &mut cache.keep[..graph.edges() * self.layout.groups];
            self.dropout.fill_heads(stream, self.layout.lane_heads, keep);
        }
        if let Some((plan, _)) = context.contrast() {
            let chosen = &mut cache.chosen[..graph.edges() * self.layout.groups];
            let attention = self.attention(context, &cache.keep, &[], &cache.z, &cache.source_score);
            T::choose_top_k(&context.plan.edges, attention, &cache.state[..STATE * per_head], plan.top_k(), chosen);
        }
        let AttentionCache { keep, chosen, z, source_score, state, sums, output, .. } = cache;
        let attention = self.attention(context, keep, chosen, z, source_score);
        T::attention_forward(
            &context.plan.edges,
            attention,
            &mut state[..STATE * per_head],
            &mut sums[..nodes * stride],
        );
        let out = &mut output[..nodes * self.output.width()];
        self.output.forward(&context.plan.input.rows, &sums[..nodes * stride], out);
    }

    fn drops_coefficients(&self, context: &Context<'_, T>) -> bool {
        context.draw.is_some() && context.contrast().is_none() && !self.dropout.is_none()
    }

    fn attention<'a>(
        &self,
        context: &Context<'a, T>,
        keep: &'a [u8],
        chosen: &'a [u8],
        z: &'a [T],
        source_score: &'a [T],
    ) -> Attention<'a, T> {
        Attention {
            form: self.form,
            layout: self.layout,
            slope: self.slope,
            z,
            source_score,
            incoming: context.example.graph.incoming().lists(),
            keep: self.drops_coefficients(context).then(|| Mask { keep, scale: self.dropout.scale() }),
            chosen: context.contrast().map(|_| chosen),
        }
    }

    /// The mask that dropped this layer's input in the last forward pass.
    pub fn input_mask<'k>(&self, context: &Context<'_, T>, cache: &'k AttentionCache<T>) -> Option<Mask<'k, T>> {
        let dropped = context.draw.is_some() && !self.dropout.is_none();
        dropped.then(|| Mask { keep: &cache.keep_input, scale: self.dropout.scale() })
    }

    /// Gradients of all parameters; that of the projected features is left in `scratch.projected`.
    ///
    /// With `lambda_e`, the edge loss is part of the objective; its value is returned. Its samples are drawn for the step of
    /// `context.draw`, or taken from `scratch.samples` as they are when there is none. Where attention is constrained, the weighted sum of the margin
    /// losses is returned.
    pub fn backward(
        &mut self,
        context: &Context<'_, T>,
        input: Input<'_, T>,
        above: FromAbove<'_, T>,
        lambda_e: Option<f64>,
        cache: &mut AttentionCache<T>,
        scratch: &mut Scratch<T>,
    ) -> f64 {
        let graph = &context.example.graph;
        let (nodes, stride) = (graph.nodes(), self.layout.stride());
        let per_head = nodes * self.layout.head_stride();
        let rows = &context.plan.input.rows;
        let state = Some(&mut cache.state[..STATE * per_head]);
        self.output.backward(rows, above, &cache.sums[..nodes * stride], &cache.output, state, scratch);

        if lambda_e.is_some()
            && let (Some(draw), Some((sampler, sizes))) = (context.draw, &context.plan.edge_samples)
        {
            let streams = [Purpose::PositiveEdges, Purpose::NegativePairs]
                .map(|purpose| Stream::new(draw.seed, draw.step, self.index, purpose));
            scratch.samples.draw(graph, sampler, *sizes, streams);
        }
        let samples = &scratch.samples;
        let edge_loss = lambda_e.map(|lambda_e| EdgeLoss {
            positives: &samples.positives,
            negatives_by_target: samples.by_target.lists(),
            negatives_by_source: samples.by_source.lists(),
            weight: lambda_e / samples.count() as f64,
        });
        let vectors = self.vectors.as_ref().map_or([&[][..], &[][..]], |a| a.value.split_at(stride).into());
        let gradient = Gradient {
            state: &cache.state[..STATE * per_head],
            out: &scratch.gradient[..nodes * stride],
            active: &scratch.active[..nodes],
            vectors,
            outgoing: graph.outgoing().lists(),
            place_at_target: graph.place_at_target(),
            symmetric: graph.is_symmetric(),
            edge_loss,
        };
        let parts = &context.plan.edges;
        let sums = &mut scratch.partial[..parts.len() * vector_sums(self.layout)];
        let losses = &mut scratch.losses[..parts.len()];
        let attention = self.attention(context, &cache.keep, &cache.chosen, &cache.z, &cache.source_score);
        T::attention_backward(parts, attention, gradient, &mut scratch.projected[..nodes * stride], sums, losses);
        let mut loss =
            if lambda_e.is_some() { losses.iter().sum::<f64>() / samples.count().max(1) as f64 } else { 0.0 };
        if let Some((plan, draw)) = context.contrast() {
            let contrast = &mut scratch.contrast;
            contrast.draw(graph, parts, plan, |purpose| Stream::new(draw.seed, draw.step, self.index, purpose));
            let state = &cache.state[..STATE * per_head];
            let scores = Scores { parts, graph, attention, state, vectors };
            loss = contrast.backward(plan, scores, &mut scratch.projected[..nodes * stride], sums, losses);
        }
        if let Some(a) = &mut self.vectors {
            sum_parts(parts.len(), sums, &mut a.gradient);
        }

        let mask = self.input_mask(context, cache);
        let projected = &scratch.projected[..nodes * stride];
        input.weight_gradient(&context.plan.input, mask, projected, stride, &mut scratch.copies, &mut self.weight);
        loss
    }

    /// Width of an input row, padding included.
    pub fn input_width(&self) -> usize {
        self.input_width
    }

    /// After a forward pass: coefficient and edge logit of every edge (in the graph's order) and head.
    pub fn edge_values(&self, context: &Context<'_, T>, cache: &AttentionCache<T>) -> [Vec<T>; 2] {
        let values = context.example.graph.edges() * self.layout.heads;
        let [mut coefficients, mut logits] = [vec![T::ZERO; values], vec![T::ZERO; values]];
        let attention = self.attention(context, &cache.keep, &cache.chosen, &cache.z, &cache.source_score);
        T::edge_values(attention, &cache.state, &mut coefficients, &mut logits);
        [coefficients, logits]
    }

    /// After a forward pass: mean edge logit of any pairs `[source, target]`.
    pub fn pair_logits(&self, context: &Context<'_, T>, cache: &AttentionCache<T>, pairs: &[[u32; 2]]) -> Vec<T> {
        let mut out = vec![T::ZERO; pairs.len()];
        let attention = self.attention(context, &cache.keep, &cache.chosen, &cache.z, &cache.source_score);
        T::pair_logits(attention, &cache.state, pairs, &mut out);
        out
    }
}
