//! Graph attention, with or without self-supervision.
//!
//! ```text
//! e_ij   = form(z_i, z_j)                            GO, DP, SD or MX, see `kernels::Form`
//! alpha  = drop(softmax over j of LeakyReLU(e_ij))   j runs over the incoming edges of i and its self-loop
//! s_i    = sum_j alpha_ij z_j                        for each head
//! phi_ij = sigmoid(mean over heads of the edge logit)
//! L_E    = mean over sampled pairs of -ln phi_ij (edges) and -ln (1 - phi_ij) (non-edges)
//! ```

use super::context::Context;
use super::parameter::{Parameter, layer_name};
use super::scratch::{Scratch, Size};
use crate::device::{Attention, AttentionGradient, Device, Mask, Place, ProjectedGradient, Supervision};
use crate::error::Result;
use crate::kernels::{Dropout, Form, HeadLayout, STATE};
use crate::memory::Arena;
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
    /// Attention vectors `a`, [heads, 2 * features], of GO and MX. The first half of each row belongs to the
    /// target, the second to the source.
    pub vectors: Option<Parameter<D>>,
}

/// Values of a forward pass that the backward pass reads.
#[derive(Debug)]
pub struct AttentionCache<D: Device> {
    keep: D::Bits,
    chosen: D::Bits,
    source_score: D::Numbers,
    /// State of every node.
    pub state: D::Numbers,
}

impl<D: Device> AttentionMixing<D> {
    /// Creates the attention of layer `index` with zero vectors.
    pub fn new(
        device: &D,
        index: u16,
        form: Form,
        layout: HeadLayout,
        slope: f64,
        dropout: Dropout,
        constrained: bool,
    ) -> Result<Self> {
        let stride = layout.stride();
        let vectors = form.has_vector().then(|| {
            let places = (0..layout.heads).flat_map(|h| {
                (0..2).flat_map(move |side| (0..layout.features).map(move |f| side * stride + layout.index(h, f)))
            });
            let (name, shape) = (format!("{}.a", layer_name(index)), [layout.heads, 2 * layout.features]);
            Parameter::new(device, name, shape, 2 * stride, places)
        });
        Ok(Self { index, form, layout, slope, dropout, constrained, vectors: vectors.transpose()? })
    }

    /// Allocates memory for graphs up to a size.
    pub fn cache(&self, device: &D, size: Size, arena: &mut Arena) -> Result<AttentionCache<D>> {
        let constrained = size.training && self.constrained;
        let drops = size.training && !constrained && !self.dropout.is_none();
        let per_edge = size.edges * self.layout.groups;
        let per_head = size.nodes * self.layout.head_stride();
        Ok(AttentionCache {
            keep: device.bits(if drops { per_edge } else { 0 }, arena)?,
            chosen: device.bits(if constrained { per_edge } else { 0 }, arena)?,
            source_score: device.numbers(if self.vectors.is_some() { per_head } else { 0 }, arena)?,
            state: device.numbers(STATE * per_head, arena)?,
        })
    }

    /// Computes the weighted sums of the projected features `z`. In training, where `context.clock` is given,
    /// coefficients are dropped.
    pub fn forward(
        &self,
        context: &Context<'_, D>,
        z: &D::Numbers,
        cache: &mut AttentionCache<D>,
        sums: &mut D::Numbers,
    ) -> Result<()> {
        let (device, problem) = (context.device, context.problem);
        let AttentionCache { keep, chosen, source_score, state } = cache;
        if let Some(a) = &self.vectors {
            device.attention_scores(problem, self.layout, z, &a.value, state, source_score)?;
        }
        let random = context.random(self.index, Purpose::AttentionDropout);
        if let Some(random) = random.filter(|_| self.drops_coefficients(context)) {
            device.draw_head_mask(problem, random, self.dropout, self.layout, keep)?;
        }
        if self.is_constrained(context) {
            device.choose_top_k(problem, self.input(context, z, keep, None, source_score), state, chosen)?;
        }
        device.attention_forward(problem, self.input(context, z, keep, Some(chosen), source_score), state, sums)
    }

    /// Returns whether attention is constrained to the highest scores: by CGAT, in training.
    fn is_constrained(&self, context: &Context<'_, D>) -> bool {
        self.constrained && context.clock.is_some()
    }

    /// Returns whether dropout applies to the coefficients: in training, except for CGAT.
    fn drops_coefficients(&self, context: &Context<'_, D>) -> bool {
        context.clock.is_some() && !self.constrained && !self.dropout.is_none()
    }

    /// Collects the inputs of attention.
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
            source_score,
            keep: self.drops_coefficients(context).then_some(Mask { keep, dropout: self.dropout }),
            chosen: chosen.filter(|_| self.is_constrained(context)),
        }
    }

    /// Returns the attention that the last forward pass computed.
    pub fn attended<'a>(
        &self,
        context: &Context<'a, D>,
        z: &'a D::Numbers,
        cache: &'a AttentionCache<D>,
    ) -> Attended<'a, D> {
        let attention = self.input(context, z, &cache.keep, Some(&cache.chosen), &cache.source_score);
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
        cache: &AttentionCache<D>,
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
        let attention = self.input(context, z, &cache.keep, Some(&cache.chosen), &cache.source_score);
        let (vectors, d_vectors) = self.vectors.as_mut().map(|a| (&a.value, &mut a.gradient)).unzip();
        let from = AttentionGradient { state: &cache.state, sums: &scratch.gradient, vectors };
        let to = ProjectedGradient { z: &mut scratch.projected, vectors: d_vectors };
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
        self.context.device.edge_values(self.context.problem, self.attention, self.state)
    }

    /// Returns the edge logit, averaged over heads, of any pairs `[source, target]`.
    pub fn pair_logits(&self, pairs: &[[u32; 2]]) -> Result<Vec<D::Number>> {
        self.context.device.pair_logits(self.context.problem, self.attention, self.state, pairs)
    }
}
