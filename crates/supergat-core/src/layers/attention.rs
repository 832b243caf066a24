//! Graph attention, with or without self-supervision.
//!
//! ```text
//! e_ij   = form(z_i, z_j)                            GO, DP, SD or MX, see `kernels::Form`
//! alpha  = drop(softmax over j of LeakyReLU(e_ij))   j runs over the incoming edges of i and its self-loop
//! s_i    = sum_j alpha_ij z_j                        for each head
//! phi_ij = sigmoid(mean over heads of the edge logit)
//! L_E    = mean over sampled pairs of -ln phi_ij (edges) and -ln (1 - phi_ij) (non-edges)
//! ```

use super::contrast::Scores;
use super::parameter::{Parameter, layer_name};
use super::plan::{Context, Supervision};
use super::scratch::{Samples, Scratch, Size};
use crate::kernels::{
    Attention, Buffer, Dropout, EdgeLoss, Form, Gradient, HeadLayout, Mask, Primitives, STATE, sum_parts, vector_sums,
};
use crate::memory::Arena;
use crate::random::{Purpose, Stream};

/// Attention step of a layer, with its parameters.
#[derive(Debug, Clone)]
pub struct AttentionMixing<T> {
    index: u16,
    form: Form,
    layout: HeadLayout,
    slope: T,
    dropout: Dropout,
    /// Whether training attends only to the edges with the highest scores, as CGAT does.
    constrained: bool,
    /// Attention vectors `a`, [heads, 2 * features], of GO and MX. The first half of each row belongs to the
    /// target, the second to the source.
    pub vectors: Option<Parameter<T>>,
}

/// Values of a forward pass that the backward pass reads.
#[derive(Debug)]
pub struct AttentionCache<T> {
    keep: Vec<u8>,
    chosen: Vec<u8>,
    source_score: Buffer<T>,
    state: Buffer<T>,
    state_width: usize,
}

impl<T: Primitives> AttentionCache<T> {
    /// Returns the state of the first `nodes` nodes.
    pub fn state_mut(&mut self, nodes: usize) -> &mut [T] {
        &mut self.state[..nodes * self.state_width]
    }
}

impl<T: Primitives> AttentionMixing<T> {
    /// Creates the attention of layer `index` with zero vectors.
    pub fn new(
        index: u16,
        form: Form,
        layout: HeadLayout,
        negative_slope: f64,
        dropout: Dropout,
        constrained: bool,
    ) -> Self {
        let stride = layout.stride();
        let vectors = form.has_vector().then(|| {
            let places = (0..layout.heads).flat_map(|h| {
                (0..2).flat_map(move |side| (0..layout.features).map(move |f| side * stride + layout.index(h, f)))
            });
            Parameter::new(format!("{}.a", layer_name(index)), [layout.heads, 2 * layout.features], 2 * stride, places)
        });
        Self { index, form, layout, slope: T::from_f64(negative_slope), dropout, constrained, vectors }
    }

    /// Allocates memory for graphs up to a size.
    pub fn cache(&self, size: Size, arena: &mut Arena) -> AttentionCache<T> {
        let constrained = size.training && self.constrained;
        let drops = size.training && !constrained && !self.dropout.is_none();
        let per_edge = size.edges * self.layout.groups;
        let per_head = size.nodes * self.layout.head_stride();
        AttentionCache {
            keep: arena.list(if drops { per_edge } else { 0 }),
            chosen: arena.list(if constrained { per_edge } else { 0 }),
            source_score: arena.numbers(if self.vectors.is_some() { per_head } else { 0 }),
            state: arena.numbers(STATE * per_head),
            state_width: STATE * self.layout.head_stride(),
        }
    }

    /// Computes the weighted sums of the projected features `z`. In training, where `context.draw` is given,
    /// coefficients are dropped.
    pub fn forward(&self, context: &Context<'_, T>, z: &[T], cache: &mut AttentionCache<T>, sums: &mut [T]) {
        let graph = &context.example.graph;
        let (nodes, per_edge) = (graph.nodes(), graph.edges() * self.layout.groups);
        let AttentionCache { keep, chosen, source_score, state, state_width } = cache;
        let state = &mut state[..nodes * *state_width];
        if let Some(a) = &self.vectors {
            let (a_target, a_source) = a.value.split_at(self.layout.stride());
            let source = &mut source_score[..nodes * self.layout.head_stride()];
            T::attention_scores(&context.plan.input.rows, self.layout, z, a_target, a_source, state, source);
        }
        let stream = context.stream(self.index, Purpose::AttentionDropout);
        if let Some(stream) = stream.filter(|_| self.drops_coefficients(context)) {
            self.dropout.fill_heads(stream, self.layout.lane_heads, &mut keep[..per_edge]);
        }
        if let Some((plan, _)) = context.constraint() {
            let attention = self.kernel_input(context, z, keep, &[], source_score);
            T::choose_top_k(&context.plan.edges, attention, state, plan.top_k(), &mut chosen[..per_edge]);
        }
        let attention = self.kernel_input(context, z, keep, chosen, source_score);
        T::attention_forward(&context.plan.edges, attention, state, sums);
    }

    /// Returns whether dropout applies to the coefficients: in training, except for CGAT.
    fn drops_coefficients(&self, context: &Context<'_, T>) -> bool {
        context.draw.is_some() && context.constraint().is_none() && !self.dropout.is_none()
    }

    /// Collects the arguments of the attention kernels.
    fn kernel_input<'a>(
        &self,
        context: &Context<'a, T>,
        z: &'a [T],
        keep: &'a [u8],
        chosen: &'a [u8],
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
            chosen: context.constraint().map(|_| chosen),
        }
    }

    /// Returns the attention that the last forward pass computed.
    pub fn attended<'a>(&self, context: &Context<'a, T>, z: &'a [T], cache: &'a AttentionCache<T>) -> Attended<'a, T> {
        let attention = self.kernel_input(context, z, &cache.keep, &cache.chosen, &cache.source_score);
        Attended { attention, state: &cache.state[..context.example.graph.nodes() * cache.state_width] }
    }

    /// Computes the gradients of the projected features (`scratch.projected`) and of the vectors from the
    /// gradient of the sums (`scratch.gradient`).
    ///
    /// Returns the loss on attention. With `lambda_e`, this is the edge loss, which is then part of the
    /// objective. Its samples are drawn for the step of `context.draw`; without `draw`, `scratch.samples` is
    /// used unchanged. For CGAT, it is the weighted sum of the margin losses. Otherwise it is zero.
    pub fn backward(
        &mut self,
        context: &Context<'_, T>,
        z: &[T],
        lambda_e: Option<f64>,
        cache: &AttentionCache<T>,
        scratch: &mut Scratch<T>,
    ) -> f64 {
        let graph = &context.example.graph;
        let (nodes, stride) = (graph.nodes(), self.layout.stride());
        if lambda_e.is_some()
            && let (Some(draw), Supervision::Edges(sampler, sizes), Samples::Edges(samples)) =
                (context.draw, &context.plan.supervision, &mut scratch.samples)
        {
            let streams = [Purpose::PositiveEdges, Purpose::NegativePairs]
                .map(|purpose| Stream::new(draw.seed, draw.step, self.index, purpose));
            samples.draw(graph, sampler, *sizes, streams);
        }
        let samples = if let Samples::Edges(samples) = &scratch.samples { Some(samples) } else { None };
        let sampled = lambda_e.zip(samples);
        let edge_loss = sampled.map(|(lambda_e, samples)| EdgeLoss {
            positives: &samples.positives,
            negatives_by_target: samples.by_target.lists(),
            negatives_by_source: samples.by_source.lists(),
            weight: lambda_e / samples.count() as f64,
        });
        let vectors = self.vectors.as_ref().map_or([&[][..], &[][..]], |a| a.value.split_at(stride).into());
        let Attended { attention, state } = self.attended(context, z, cache);
        let gradient = Gradient {
            state,
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
        let projected = &mut scratch.projected[..nodes * stride];
        T::attention_backward(parts, attention, gradient, projected, sums, losses);
        let mut loss = sampled.map_or(0.0, |(_, samples)| losses.iter().sum::<f64>() / samples.count().max(1) as f64);
        if let (Some((plan, draw)), Samples::Margins(samples)) = (context.constraint(), &mut scratch.samples) {
            samples.draw(graph, parts, plan, |purpose| Stream::new(draw.seed, draw.step, self.index, purpose));
            let scores = Scores { parts, graph, attention, state, vectors };
            loss = samples.backward(plan, scores, projected, sums, losses);
        }
        if let Some(a) = &mut self.vectors {
            sum_parts(parts.len(), sums, &mut a.gradient);
        }
        loss
    }
}

/// Attention of one layer in the last forward pass.
///
/// See [`crate::Session`] for an example.
#[derive(Debug, Clone, Copy)]
pub struct Attended<'a, T> {
    attention: Attention<'a, T>,
    state: &'a [T],
}

impl<T: Primitives> Attended<'_, T> {
    /// Returns the number of heads.
    pub fn heads(&self) -> usize {
        self.attention.layout.heads
    }

    /// Returns the coefficients and the edge logits: element `edge * heads + head`, with edges in the order
    /// of the graph's incoming lists.
    pub fn edge_values(&self) -> [Vec<T>; 2] {
        let values = self.attention.incoming.nodes.len() * self.heads();
        let [mut coefficients, mut logits] = [vec![T::ZERO; values], vec![T::ZERO; values]];
        T::edge_values(self.attention, self.state, &mut coefficients, &mut logits);
        [coefficients, logits]
    }

    /// Returns the edge logit, averaged over heads, of any pairs `[source, target]`.
    pub fn pair_logits(&self, pairs: &[[u32; 2]]) -> Vec<T> {
        let mut out = vec![T::ZERO; pairs.len()];
        T::pair_logits(self.attention, self.state, pairs, &mut out);
        out
    }
}
