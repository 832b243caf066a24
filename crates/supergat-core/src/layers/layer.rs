//! Layers of all kinds. A layer has three steps; only the second one reads the graph:
//!
//! ```text
//! z  = W^T drop(h)      projection
//! s  = mixing of z      over the neighbours of each node: attention or a convolution; s = z in an MLP
//! h' = join of s + b    output, with ELU in hidden layers
//! ```

use super::attention::{Attended, AttentionCache, AttentionMixing};
use super::context::Context;
use super::output::{Join, Output};
use super::parameter::{Parameter, layer_name};
use super::scratch::{Scratch, Size};
use crate::device::{Device, FromAbove, Input, LayerWidth, Mask, Place};
use crate::error::Result;
use crate::kernels::{Dense, Dropout, Form, HeadLayout};
use crate::memory::Arena;
use crate::model_kind::Convolution;
use crate::prepared::Prepared;
use crate::random::{Purpose, Stream};

/// Shape of a layer.
///
/// See [`Layer`] for an example.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Layout of an input row. The first layer reads features, which have no padding.
    pub input: HeadLayout,
    /// Number of heads; 1 for layers without attention.
    pub heads: usize,
    /// Number of features per head.
    pub features: usize,
    /// Combination of the heads.
    pub join: Join,
    /// Dropout probability of the input and of attention coefficients.
    pub dropout: f64,
}

/// A layer and its parameters.
///
/// Two linked nodes with the features 1 and 3, and a GraphSAGE layer with weight 2 and bias 1. Both nodes get
/// the mean of 2 and 6, plus 1:
///
/// ```
/// use supergat_core::device::{Cpu, Device, FromAbove, Input, Place};
/// use supergat_core::kernels::HeadLayout;
/// use supergat_core::layers::{Join, Layer, Shape};
/// use supergat_core::memory::Arena;
/// use supergat_core::{Architecture, Convolution, Direction, Example, Features, Graph, Labels};
/// use supergat_core::{ModelKind, Prepared};
/// let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
/// let features = Features::dense(2, 1, vec![1.0f32, 3.0])?;
/// let labels = Labels::Single { classes: 1, of: vec![0, 0] };
/// let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
/// let device = Cpu::<f32>::default();
/// let shape = Shape { input: HeadLayout::plain(1), heads: 1, features: 1, join: Join::Mean, dropout: 0.0 };
/// let mut layer = Layer::convolution(&device, 0, shape, Convolution::Sage)?;
/// layer.weight.set_rows(&device, &[2.0])?;
/// layer.output.bias.set_rows(&device, &[1.0])?;
///
/// let architecture = Architecture::new(ModelKind::Convolution(Convolution::Sage), &example);
/// let prepared = Prepared::for_evaluation(&example, architecture)?;
/// let context = prepared.context(0, None);
/// let (mut cache, mut scratch) = layer.memory(&prepared)?;
/// layer.forward(&context, Input::Features, &mut cache)?;
/// assert_eq!(cache.output[..2], [5.0, 5.0]);
///
/// // The derivative of node 0's output by the weight is the mean of the features.
/// let mut above = device.numbers(2, &mut Arena::allocating())?;
/// device.upload(&[1.0, 0.0], &mut above)?;
/// let mut record = device.record(1)?;
/// let place = Place { record: &mut record, example: 0 };
/// layer.backward(&context, Input::Features, FromAbove::Mean(&above), None, &mut cache, &mut scratch, place)?;
/// assert_eq!(layer.weight.gradient_to_rows(&device)?, [2.0]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Layer<D: Device> {
    index: u16,
    layout: HeadLayout,
    dropout: Dropout,
    input_width: usize,
    /// Weights `W`, [input features, heads * features]; with a root weight [input features, 2 * features].
    pub weight: Parameter<D>,
    /// Step that reads the neighbours.
    pub mixing: Mixing<D>,
    /// Combination of heads, bias and activation.
    pub output: Output<D>,
}

/// Step of a layer that reads the graph.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a network has a few layers only")]
pub enum Mixing<D: Device> {
    /// Sum over neighbours with learned weights.
    Attention(AttentionMixing<D>),
    /// Sum over neighbours with weights that depend on the graph only.
    Convolution(Convolution),
    /// No neighbours: an MLP.
    Identity,
}

/// Output of a layer, and the values of the forward pass that its backward pass reads. The memory fits the
/// largest graph.
///
/// See [`Layer`] for an example.
#[derive(Debug)]
pub struct Cache<D: Device> {
    keep_input: D::Bits,
    /// Projected features; empty for [`Mixing::Identity`], where they are the sums.
    z: D::Numbers,
    /// Values of attention; `None` for layers without it.
    attention: Option<AttentionCache<D>>,
    sums: D::Numbers,
    /// Output of the layer.
    pub output: D::Numbers,
}

impl<D: Device> Layer<D> {
    /// Creates an attention layer with zero parameters. `index` counts from 0, layer names count from 1.
    pub fn attention(device: &D, index: u16, shape: Shape, form: Form, negative_slope: f64) -> Result<Self> {
        Self::with_attention(device, index, shape, form, negative_slope, false)
    }

    /// Creates a CGAT layer with zero parameters: GO attention with constraints in training.
    pub fn constrained_attention(device: &D, index: u16, shape: Shape, negative_slope: f64) -> Result<Self> {
        Self::with_attention(device, index, shape, Form::Go, negative_slope, true)
    }

    fn with_attention(
        device: &D,
        index: u16,
        shape: Shape,
        form: Form,
        negative_slope: f64,
        constrained: bool,
    ) -> Result<Self> {
        let layout = HeadLayout::new(shape.heads, shape.features);
        let dropout = Dropout::new(shape.dropout);
        let mixing = AttentionMixing::new(device, index, form, layout, negative_slope, dropout, constrained)?;
        Self::new(device, index, shape, Mixing::Attention(mixing))
    }

    /// Creates a graph convolution with zero parameters.
    pub fn convolution(device: &D, index: u16, shape: Shape, convolution: Convolution) -> Result<Self> {
        Self::new(device, index, shape, Mixing::Convolution(convolution))
    }

    /// Creates a layer without neighbours, with zero parameters.
    pub fn linear(device: &D, index: u16, shape: Shape) -> Result<Self> {
        Self::new(device, index, shape, Mixing::Identity)
    }

    fn new(device: &D, index: u16, shape: Shape, mixing: Mixing<D>) -> Result<Self> {
        let layout = HeadLayout::new(shape.heads, shape.features);
        let padded = index > 0;
        let halves = if let Mixing::Convolution(convolution) = mixing { convolution.halves() } else { 1 };
        let name = layer_name(index);
        Ok(Self {
            index,
            layout,
            dropout: Dropout::new(shape.dropout),
            input_width: if padded { shape.input.stride() } else { shape.input.features },
            weight: Parameter::weight(device, format!("{name}.w"), shape.input, padded, layout, halves)?,
            mixing,
            output: Output::new(device, &name, layout, shape.join)?,
        })
    }

    /// Draws the parameters: Glorot for weights and attention vectors, zero for the bias. GraphSAGE draws
    /// weights and bias uniformly from +-1 / sqrt(input features).
    pub fn initialise(&mut self, device: &D, seed: u64) -> Result<()> {
        let stream = |purpose| Stream::new(seed, 0, self.index, purpose);
        let (weights, vectors) = (stream(Purpose::Weights), stream(Purpose::AttentionVectors));
        match &mut self.mixing {
            Mixing::Convolution(Convolution::Sage | Convolution::SageRoot) => {
                let limit = 1.0 / (self.weight.shape[0] as f64).sqrt();
                self.weight.uniform(device, weights, limit)?;
                self.output.bias.uniform(device, vectors, limit)
            }
            Mixing::Attention(AttentionMixing { vectors: Some(a), .. }) => {
                self.weight.glorot(device, weights)?;
                a.glorot(device, vectors)
            }
            _ => self.weight.glorot(device, weights),
        }
    }

    /// Returns all parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter<D>> {
        let vectors = if let Mixing::Attention(attention) = &self.mixing { attention.vectors.as_ref() } else { None };
        [Some(&self.weight), vectors, Some(&self.output.bias)].into_iter().flatten()
    }

    /// Returns all parameters, mutably.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = &mut Parameter<D>> {
        let vectors =
            if let Mixing::Attention(attention) = &mut self.mixing { attention.vectors.as_mut() } else { None };
        [Some(&mut self.weight), vectors, Some(&mut self.output.bias)].into_iter().flatten()
    }

    /// Returns the layout of the heads.
    pub fn layout(&self) -> HeadLayout {
        self.layout
    }

    /// Returns the length of a projected row, including padding.
    pub fn stride(&self) -> usize {
        match self.mixing {
            Mixing::Convolution(convolution) => convolution.halves() * self.layout.stride(),
            _ => self.layout.stride(),
        }
    }

    /// Allocates memory for running this layer alone, without dropout of its input.
    pub fn memory(&self, prepared: &Prepared<D>) -> Result<(Cache<D>, Scratch<D>)> {
        let (device, size, mut arena) = (prepared.device(), prepared.size(true), Arena::allocating());
        let cache = self.cache(device, size, 0, &mut arena)?;
        Ok((cache, Scratch::new(device, prepared.problems(), size, &[self.width()], &mut arena)?))
    }

    /// Allocates memory for graphs up to a size; `mask_bytes` is the size of the input's dropout mask, or 0
    /// if none is needed.
    pub(crate) fn cache(&self, device: &D, size: Size, mask_bytes: usize, arena: &mut Arena) -> Result<Cache<D>> {
        let keep_input = device.bits(if self.dropout.is_none() { 0 } else { mask_bytes }, arena)?;
        let projected = if let Mixing::Identity = self.mixing { 0 } else { self.stride() };
        let z = device.numbers(size.nodes * projected, arena)?;
        let attention = match &self.mixing {
            Mixing::Attention(attention) => Some(attention.cache(device, size, arena)?),
            _ => None,
        };
        let sums = device.numbers(size.nodes * self.layout.stride(), arena)?;
        let output = device.numbers(size.nodes * self.output.width(), arena)?;
        Ok(Cache { keep_input, z, attention, sums, output })
    }

    /// Computes `cache.output`. In training, where `context.clock` is given, dropout is applied.
    pub fn forward(&self, context: &Context<'_, D>, input: Input<'_, D>, cache: &mut Cache<D>) -> Result<()> {
        let (device, problem, stride) = (context.device, context.problem, self.stride());
        if let Some(random) = context.random(self.index, Purpose::InputDropout).filter(|_| !self.dropout.is_none()) {
            let bytes = match input {
                Input::Features => context.example.features.mask_bytes(),
                Input::Hidden { width, .. } => context.example.graph.nodes() * Dense::<D::Number>::mask_bytes(width),
            };
            device.draw_mask(random, self.dropout, bytes, &mut cache.keep_input)?;
        }
        let mask = self.mask(context, &cache.keep_input);
        let projected = if let Mixing::Identity = self.mixing { &mut cache.sums } else { &mut cache.z };
        device.product(problem, input, mask, &self.weight.value, stride, projected)?;
        match (&self.mixing, &mut cache.attention) {
            (Mixing::Attention(attention), Some(own)) => attention.forward(context, &cache.z, own, &mut cache.sums)?,
            (Mixing::Convolution(convolution), _) => {
                device.convolve(problem, *convolution, self.layout.stride(), &cache.z, &mut cache.sums)?;
            }
            _ => {}
        }
        self.output.forward(context, &cache.sums, &mut cache.output)
    }

    fn mask<'k>(&self, context: &Context<'_, D>, keep: &'k D::Bits) -> Option<Mask<'k, D>> {
        let dropped = context.clock.is_some() && !self.dropout.is_none();
        dropped.then_some(Mask { keep, dropout: self.dropout })
    }

    /// Returns the dropout mask of the input in the last forward pass.
    pub fn input_mask<'k>(&self, context: &Context<'_, D>, cache: &'k Cache<D>) -> Option<Mask<'k, D>> {
        self.mask(context, &cache.keep_input)
    }

    /// Computes the gradients of all parameters, and of the projected features in `scratch.projected`.
    ///
    /// Adds the loss on attention to `place`: the edge loss, or for CGAT the weighted sum of the margin
    /// losses. With `lambda_e`, the edge loss is part of the objective. Its samples are drawn for the step of
    /// `context.clock`; without a clock, the samples in `scratch` are used unchanged.
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        &mut self,
        context: &Context<'_, D>,
        input: Input<'_, D>,
        above: FromAbove<'_, D>,
        lambda_e: Option<f64>,
        cache: &mut Cache<D>,
        scratch: &mut Scratch<D>,
        place: Place<'_, D>,
    ) -> Result<()> {
        let (device, problem, stride) = (context.device, context.problem, self.stride());
        let Cache { z, attention, sums, output, .. } = cache;
        let state = attention.as_mut().map(|attention| &mut attention.state);
        self.output.backward(context, above, sums, output, state, scratch)?;
        match (&mut self.mixing, attention) {
            (Mixing::Attention(mixing), Some(own)) => mixing.backward(context, z, lambda_e, own, scratch, place)?,
            (Mixing::Convolution(convolution), _) => {
                let (width, gradient) = (self.layout.stride(), &scratch.gradient);
                device.convolve_backward(problem, *convolution, width, gradient, &mut scratch.projected)?;
            }
            // The sums are the projected features, so the gradients are the same.
            _ => std::mem::swap(&mut scratch.gradient, &mut scratch.projected),
        }
        let mask = self.input_mask(context, cache);
        let Scratch { projected, own, .. } = scratch;
        device.weight_gradient(problem, input, mask, projected, stride, own, &mut self.weight.gradient)
    }

    /// Computes the gradient of a hidden layer's input after dropout: `scratch.gradient = scratch.projected
    /// W^T`.
    pub fn input_gradient(&self, context: &Context<'_, D>, scratch: &mut Scratch<D>) -> Result<()> {
        let (stride, width, weight) = (self.stride(), self.input_width, &self.weight.value);
        let Scratch { gradient, projected, own } = scratch;
        context.device.input_gradient(context.problem, projected, stride, weight, width, own, gradient)
    }

    /// Returns the widths that memory shared by all layers depends on.
    pub(crate) fn width(&self) -> LayerWidth {
        LayerWidth { stride: self.stride(), weight: self.weight.stored() }
    }

    /// Returns the attention of the last forward pass; `None` for layers without attention.
    pub fn attended<'a>(&'a self, context: &Context<'a, D>, cache: &'a Cache<D>) -> Option<Attended<'a, D>> {
        match (&self.mixing, &cache.attention) {
            (Mixing::Attention(attention), Some(own)) => Some(attention.attended(context, &cache.z, own)),
            _ => None,
        }
    }
}
