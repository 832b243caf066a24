//! Graph attention, with or without self-supervision.
//!
//! ```text
//! e_ij   = form(z_i, z_j) + u . f_ij                 GO, DP, SD or MX, see `form.rs`; features of edges, if any
//! alpha  = drop(softmax over j of LeakyReLU(e_ij) + ln w_ij)   j runs over the incoming edges of i and its self-loop
//! s_i    = sum_j alpha_ij (z_j + V f_ij)             for each head; V only if messages carry features of edges
//! phi_ij = sigmoid(mean over heads of the edge logit)
//! L_E    = mean over sampled pairs of -ln phi_ij (edges) and -ln (1 - phi_ij) (non-edges)
//! ```
//!
//! GATv2 has two projections, whose weights are side by side in one matrix: `z = [s ; t] = [W_source x ; W_target x]`.
//!
//! ```text
//! e_ij   = a . LeakyReLU(t_i + s_j)                  for each head
//! alpha  = drop(softmax over j of e_ij + u . f_ij + ln w_ij)
//! sum_i  = sum_j alpha_ij (s_j + V f_ij)
//! ```
//!
//! Its edge logit is `e_ij`.

use super::context::Context;
use super::parameter::{Parameter, layer_name};
use super::scratch::{Scratch, Size};
use super::shape::Shape;
use crate::device::{
    Attention, AttentionGradient, Device, Mask, MessageGradient, Place, ProjectedGradient, STATE, Supervision,
};
use crate::dropout::Dropout;
use crate::error::Result;
use crate::form::Form;
use crate::heads::HeadLayout;
use crate::memory::Arena;
use crate::precision::Precision;
use crate::random::Purpose;

/// Attention step of a layer, with its parameters.
#[derive(Debug)]
pub struct AttentionMixing<D: Device> {
    index: u16,
    form: Form,
    layout: HeadLayout,
    slope: f64,
    dropout: Dropout,
    /// Whether training attends only to the edges with the highest scores, as CGAT does.
    constrained: bool,
    /// Format of the rows that are gathered over edges.
    precision: Precision,
    /// Attention vectors `a` of GO and MX, [heads, 2 * features], and of GATv2, [heads, features]. The first half of each
    /// row of GO and MX belongs to the target, the second to the source.
    pub vectors: Option<Parameter<D>>,
    /// Vectors `u` of the features of edges, [heads, features per edge].
    pub edge_vectors: Option<Parameter<D>>,
    /// Matrix `V` of the features of edges in messages, [features per edge, heads * features].
    pub edge_messages: Option<Parameter<D>>,
}

/// Values of a forward pass that the backward pass reads.
#[derive(Debug)]
pub struct AttentionCache<D: Device> {
    keep: D::Bits,
    chosen: D::Bits,
    source_score: D::Numbers,
    /// State of every node.
    pub state: D::Numbers,
    /// Weighted sums of the features of edges, if messages carry them.
    feature_sums: D::Numbers,
    /// Gradient of these sums.
    feature_gradient: D::Numbers,
}

impl<D: Device> AttentionMixing<D> {
    /// Creates the attention of layer `index` with zero vectors.
    pub fn new(
        device: &D,
        index: u16,
        shape: Shape,
        form: Form,
        (slope, constrained, precision): (f64, bool, Precision),
    ) -> Result<Self> {
        let (layout, dropout) = (HeadLayout::new(shape.heads, shape.features), Dropout::new(shape.dropout));
        let edges = shape.edges;
        let stride = layout.stride();
        let sides = match form {
            Form::V2 => 1,
            _ if form.has_vector() => 2,
            _ => 0,
        };
        let name = layer_name(index);
        let vectors = (sides > 0).then(|| {
            let places = (0..layout.heads).flat_map(|h| {
                (0..sides).flat_map(move |side| (0..layout.features).map(move |f| side * stride + layout.index(h, f)))
            });
            let shape = [layout.heads, sides * layout.features];
            Parameter::new(device, format!("{name}.a"), shape, sides * stride, places)
        });
        let edge_vectors = (edges.features > 0)
            .then(|| Parameter::per_head(device, format!("{name}.u"), layout, edges.features))
            .transpose()?;
        let input = HeadLayout::plain(edges.features);
        let edge_messages = (edges.features > 0 && edges.messages)
            .then(|| Parameter::weight(device, format!("{name}.v"), input, false, layout, 1))
            .transpose()?;
        let vectors = vectors.transpose()?;
        Ok(Self { index, form, layout, slope, dropout, constrained, precision, vectors, edge_vectors, edge_messages })
    }

    /// Allocates memory for graphs up to a size.
    pub fn cache(&self, device: &D, size: Size, arena: &mut Arena) -> Result<AttentionCache<D>> {
        let constrained = size.training && self.constrained;
        let drops = size.training && !constrained && !self.dropout.is_none();
        let per_edge = size.edges * self.layout.groups;
        let per_head = size.nodes * self.layout.head_stride();
        let kept = if size.training { size.nodes * device.kept_by_attention(self.form, self.layout) } else { 0 };
        Ok(AttentionCache {
            keep: device.bits(if drops { per_edge } else { 0 }, arena)?,
            chosen: device.bits(if constrained { per_edge } else { 0 }, arena)?,
            source_score: device.numbers(if self.form.has_vector() { per_head } else { 0 }, arena)?,
            state: device.numbers(STATE * per_head + kept, arena)?,
            feature_sums: device.numbers(per_head * self.message_features(), arena)?,
            feature_gradient: device
                .numbers(if size.training { per_head * self.message_features() } else { 0 }, arena)?,
        })
    }

    /// Returns the number of projections of the input, which are side by side in a row of `z`.
    pub fn projections(&self) -> usize {
        self.form.projections()
    }

    /// Returns the number of features of edges that messages carry.
    fn message_features(&self) -> usize {
        self.edge_messages.as_ref().map_or(0, |v| v.shape[0])
    }

    /// Returns the format of the rows that are gathered over edges.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Computes the weighted sums of the projected features `z`. If they are gathered in 16 bits, they are in `sums`, and
    /// rounded to `z` here. In training, where `context.clock` is given, coefficients are dropped.
    pub fn forward(
        &self,
        context: &Context<'_, D>,
        z: &mut D::Numbers,
        cache: &mut AttentionCache<D>,
        sums: &mut D::Numbers,
    ) -> Result<()> {
        let (device, problem) = (context.device, context.problem);
        let AttentionCache { keep, chosen, source_score, state, feature_sums, .. } = cache;
        let projected = if self.precision.is_half() { &*sums } else { &*z };
        if let (true, Some(a)) = (self.form.has_vector(), &self.vectors) {
            device.attention_scores(problem, self.layout, projected, &a.value, state, source_score)?;
        }
        if self.precision.is_half() {
            device.round_rows(problem, self.layout.stride(), sums, z)?;
        }
        let random = context.random(self.index, Purpose::AttentionDropout);
        if let Some(random) = random.filter(|_| self.drops_coefficients(context)) {
            device.draw_head_mask(problem, random, self.dropout, self.layout, keep)?;
        }
        if self.is_constrained(context) {
            device.choose_top_k(problem, self.input(context, z, keep, None, source_score), state, chosen)?;
        }
        let messages = self.edge_messages.as_ref().map(|v| (&v.value, feature_sums));
        let [vectors, edge_vectors] = [&self.vectors, &self.edge_vectors].map(|a| a.as_ref().map(|a| &a.value));
        let attention = self.input(context, z, keep, Some(chosen), source_score);
        let attention = Attention { vectors, edge_vectors, ..attention };
        device.attention_forward(problem, attention, state, sums, messages)
    }

    /// Returns whether attention is constrained to the highest scores: by CGAT, in training.
    fn is_constrained(&self, context: &Context<'_, D>) -> bool {
        self.constrained && context.clock.is_some()
    }

    /// Returns whether dropout applies to the coefficients: in training, except for CGAT.
    fn drops_coefficients(&self, context: &Context<'_, D>) -> bool {
        context.clock.is_some() && !self.constrained && !self.dropout.is_none()
    }

    /// Collects the inputs of attention, without vectors.
    fn input<'a>(
        &self,
        context: &Context<'_, D>,
        z: &'a D::Numbers,
        keep: &'a D::Bits,
        chosen: Option<&'a D::Bits>,
        source_score: &'a D::Numbers,
    ) -> Attention<'a, D> {
        Attention {
            form: self.form,
            layout: self.layout,
            slope: self.slope,
            z,
            precision: self.precision,
            source_score,
            vectors: None,
            keep: self.drops_coefficients(context).then_some(Mask { keep, dropout: self.dropout }),
            chosen: chosen.filter(|_| self.is_constrained(context)),
            edge_vectors: None,
        }
    }

    /// Returns the attention that the last forward pass computed.
    pub fn attended<'a>(
        &'a self,
        context: &Context<'a, D>,
        z: &'a D::Numbers,
        cache: &'a AttentionCache<D>,
    ) -> Attended<'a, D> {
        let [vectors, edge_vectors] = [&self.vectors, &self.edge_vectors].map(|a| a.as_ref().map(|a| &a.value));
        let attention = self.input(context, z, &cache.keep, Some(&cache.chosen), &cache.source_score);
        let attention = Attention { vectors, edge_vectors, ..attention };
        Attended { context: *context, attention, state: &cache.state }
    }

    /// Computes the gradients of the projected features (`scratch.projected`) and of the vectors from the
    /// gradient of the sums (`scratch.gradient`). Adds the loss on attention to `place`.
    ///
    /// With `lambda_e`, the edge loss is part of the objective. Its samples are drawn for the step of
    /// `context.clock`; without a clock, the samples in `scratch` are used unchanged. CGAT has its margin
    /// losses.
    pub fn backward(
        &mut self,
        context: &Context<'_, D>,
        z: &D::Numbers,
        lambda_e: Option<f64>,
        cache: &mut AttentionCache<D>,
        scratch: &mut Scratch<D>,
        place: Place<'_, D>,
    ) -> Result<()> {
        let (device, problem) = (context.device, context.problem);
        let supervision = match (lambda_e, context.clock) {
            (_, Some(clock)) if self.constrained => Supervision::Margins { clock, layer: self.index },
            (Some(lambda_e), clock) => {
                if let Some(clock) = clock {
                    device.draw_samples(problem, clock, self.index, &mut scratch.own)?;
                }
                Supervision::Edges { lambda_e }
            }
            (None, _) => Supervision::None,
        };
        let AttentionCache { keep, chosen, source_score, state, feature_sums, feature_gradient } = cache;
        let attention = self.input(context, z, keep, Some(chosen), source_score);
        let (edge_vectors, d_edge_vectors) = self.edge_vectors.as_mut().map(|u| (&u.value, &mut u.gradient)).unzip();
        let (vectors, d_vectors) = self.vectors.as_mut().map(|a| (&a.value, &mut a.gradient)).unzip();
        let (messages, d_messages) = self.edge_messages.as_mut().map(|v| (&v.value, &mut v.gradient)).unzip();
        let messages = messages.map(|matrix| (matrix, &*feature_sums));
        let from = AttentionGradient { state, sums: &scratch.gradient, messages };
        let to = ProjectedGradient {
            z: &mut scratch.projected,
            vectors: d_vectors,
            edge_vectors: d_edge_vectors,
            messages: d_messages.map(|matrix| MessageGradient { matrix, sums: feature_gradient }),
        };
        let attention = Attention { vectors, edge_vectors, ..attention };
        device.attention_backward(problem, attention, supervision, from, &mut scratch.own, to, place)
    }
}

/// Attention of one layer in the last forward pass.
///
/// See [`crate::Session`] for an example.
#[derive(Debug)]
pub struct Attended<'a, D: Device> {
    context: Context<'a, D>,
    attention: Attention<'a, D>,
    state: &'a D::Numbers,
}

impl<D: Device> Attended<'_, D> {
    /// Returns the number of heads.
    pub fn heads(&self) -> usize {
        self.attention.layout.heads
    }

    /// Returns the coefficients and the edge logits: element `edge * heads + head`, with edges in the order
    /// of the graph's incoming lists.
    pub fn edge_values(&self) -> Result<[Vec<D::Number>; 2]> {
        let Context { device, problem, .. } = self.context;
        let values = device.edge_values(problem, self.attention, self.state)?;
        Ok(values.map(|values| self.context.edges_to_outer(values, self.heads())))
    }

    /// Returns the edge logit, averaged over heads, of any pairs `[source, target]`.
    pub fn pair_logits(&self, pairs: &[[u32; 2]]) -> Result<Vec<D::Number>> {
        let pairs = self.context.pairs_to_internal(pairs);
        let Context { device, problem, .. } = self.context;
        device.pair_logits(problem, self.attention, self.state, &pairs)
    }
}
