//! Layers of all kinds. A layer has three steps; only the second one reads the graph:
//!
//! ```text
//! z  = W^T drop(h)      projection
//! s  = mixing of z      over the neighbours of each node: attention or a convolution; s = z in an MLP
//! h' = join of s + b    output, with ELU in hidden layers; in deep networks, the steps of `block.rs`
//! ```

use super::attention::{Attended, AttentionCache, AttentionMixing};
use super::block::{Block, BlockCache};
use super::context::Context;
use super::ego::{Ego, EgoCache};
use super::output::Output;
use super::parameter::{Parameter, layer_name};
use super::scratch::{Scratch, Size};
use super::shape::Shape;
use crate::device::{Device, FromAbove, Input, LayerWidth, Mask, Place};
use crate::dropout::Dropout;
use crate::error::Result;
use crate::example::ExampleShape;
use crate::form::Form;
use crate::heads::HeadLayout;
use crate::hyperparameters::NetworkSettings;
use crate::memory::Arena;
use crate::model_kind::Convolution;
use crate::precision::Precision;
use crate::random::{Purpose, Stream};

/// A layer and its parameters.
///
/// Two linked nodes with the features 1 and 3, and a GraphSAGE layer with weight 2 and bias 1. Both nodes get
/// the mean of 2 and 6, plus 1:
///
/// ```
/// use supergat_cpu::Cpu;
/// use supergat_core::device::prelude::*;
/// use supergat_core::device::{FromAbove, Input, Place};
/// use supergat_core::HeadLayout;
/// use supergat_core::layers::{EdgeInput, Layer, Shape};
/// use supergat_core::device::Join;
/// use supergat_core::memory::Arena;
/// use supergat_core::{Architecture, Convolution, Direction, Example, Features, Graph, Labels};
/// use supergat_core::{ModelKind, Prepared};
/// let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
/// let features = Features::dense(2, 1, vec![1.0f32, 3.0])?;
/// let labels = Labels::Single { classes: 1, of: vec![0, 0] };
/// let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
/// let device = Cpu::<f32>::default();
/// let (input, edges) = (HeadLayout::plain(1), EdgeInput::default());
/// let shape = Shape { input, heads: 1, features: 1, join: Join::Mean, dropout: 0.0, edges };
/// let mut layer = Layer::convolution(&device, 0, shape, Convolution::Sage)?;
/// layer.weight.set_rows(&device, &[2.0])?;
/// layer.output.bias.set_rows(&device, &[1.0])?;
///
/// let architecture = Architecture::new(ModelKind::Convolution(Convolution::Sage), &example);
/// let prepared = Prepared::for_evaluation(&Cpu::default(), &example, architecture)?;
/// let context = prepared.context(0, None);
/// let (mut cache, mut scratch) = prepared.memory_of(&layer)?;
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
    /// Weights `W`, [input features, heads * features]; with a root weight [input features, 2 * features]. Those of GATv2
    /// are [input features, 2 * heads * features]: of nodes as sources, then of nodes as targets.
    pub weight: Parameter<D>,
    /// Step that reads the neighbours.
    pub mixing: Mixing<D>,
    /// Combination of heads, bias and activation.
    pub output: Output<D>,
    /// Linear layers over the input and the sums of a hidden layer, instead of the sums alone.
    pub ego: Option<Ego<D>>,
    /// Further steps after the bias of a hidden layer, instead of the activation of `output`.
    pub block: Option<Block<D>>,
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

impl<D: Device> Mixing<D> {
    /// Returns the format of the rows that are gathered over edges.
    fn precision(&self) -> Precision {
        if let Self::Attention(attention) = self { attention.precision() } else { Precision::F32 }
    }

    /// Returns the number of matrices that are side by side in the weights.
    fn halves(&self) -> usize {
        match self {
            Self::Attention(attention) => attention.projections(),
            Self::Convolution(convolution) => convolution.halves(),
            Self::Identity => 1,
        }
    }
}

/// Output of a layer, and the values of the forward pass that its backward pass reads. The memory fits the
/// largest graph.
///
/// See [`Layer`] for an example.
#[derive(Debug)]
pub struct Cache<D: Device> {
    keep_input: D::Bits,
    /// Values of the last forward pass; `None` while another layer uses their memory.
    pub(crate) values: Option<Values<D>>,
    /// Output of the layer.
    pub output: D::Numbers,
}

/// Values of a forward pass that only the backward pass of the same layer reads.
#[derive(Debug)]
pub(crate) struct Values<D: Device> {
    /// Projected features, in the format that edges gather; empty for [`Mixing::Identity`], where they are the sums.
    z: D::Numbers,
    /// Values of attention; `None` for layers without it.
    attention: Option<AttentionCache<D>>,
    sums: D::Numbers,
    /// Values of linear layers over input and sums; `None` for layers without them.
    ego: Option<EgoCache<D>>,
    /// Values of a hidden block; `None` for layers without one.
    block: Option<BlockCache<D>>,
}

/// Panic message for a layer whose values are in use by another layer.
const LENT: &str = "the values of a layer's forward pass";

/// Place of a layer in a network.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    /// Number in random streams.
    index: u16,
    /// Name in files.
    name: String,
    /// Whether the layer reads rows of another one, which have padding, and not features.
    padded: bool,
}

impl Site {
    /// The linear layer before all others.
    pub(crate) fn input() -> Self {
        Self { index: u16::MAX, name: "input".into(), padded: false }
    }

    /// A layer by number, counted from 0.
    pub(crate) fn layer(index: u16, padded: bool) -> Self {
        Self { index, name: layer_name(index), padded }
    }

    /// The linear layer after all others.
    pub(crate) fn output() -> Self {
        Self { index: u16::MAX - 1, name: "output".into(), padded: true }
    }
}

impl<D: Device> Layer<D> {
    /// Creates an attention layer with zero parameters. `index` counts from 0, layer names count from 1.
    pub fn attention(device: &D, index: u16, shape: Shape, form: Form, negative_slope: f64) -> Result<Self> {
        let mixing = AttentionMixing::new(device, index, shape, form, (negative_slope, false, Precision::F32))?;
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
        Self::at(device, Site::layer(index, index > 0), shape, mixing, None)
    }

    /// Creates a layer of a network with zero parameters; a hidden one may have further steps.
    pub(crate) fn at(
        device: &D,
        Site { index, name, padded }: Site,
        shape: Shape,
        mixing: Mixing<D>,
        steps: Option<&NetworkSettings>,
    ) -> Result<Self> {
        let layout = HeadLayout::new(shape.heads, shape.features);
        let halves = mixing.halves();
        Ok(Self {
            index,
            layout,
            dropout: Dropout::new(shape.dropout),
            input_width: if padded { shape.input.stride() } else { shape.input.features },
            weight: Parameter::weight(device, format!("{name}.w"), shape.input, padded, layout, halves)?,
            mixing,
            output: Output::new(device, &name, layout, shape.join)?,
            ego: steps
                .filter(|network| network.separate_ego)
                .map(|network| Ego::new(device, index, &name, shape, padded, network.activation))
                .transpose()?,
            block: steps.map(|network| Block::new(device, &name, shape, padded, network)).transpose()?,
        })
    }

    /// Draws the parameters: Glorot for weights and attention vectors, zero for the bias. GraphSAGE draws
    /// weights and bias uniformly from +-1 / sqrt(input features), as the linear layers before and after the others do.
    pub fn initialise(&mut self, device: &D, seed: u64) -> Result<()> {
        let stream = |purpose| Stream::new(seed, 0, self.index, purpose);
        self.ego.as_mut().map_or(Ok(()), |ego| ego.initialise(device, seed))?;
        self.block.as_mut().map_or(Ok(()), |block| block.initialise(device, seed, self.index))?;
        let (weights, vectors) = (stream(Purpose::Weights), stream(Purpose::AttentionVectors));
        let halves = self.mixing.halves();
        match &mut self.mixing {
            Mixing::Convolution(Convolution::Sage | Convolution::SageRoot) => {
                let limit = 1.0 / (self.weight.shape[0] as f64).sqrt();
                self.weight.uniform(device, weights, limit)?;
                self.output.bias.uniform(device, vectors, limit)
            }
            Mixing::Attention(AttentionMixing { vectors: a, edge_vectors, edge_messages, .. }) => {
                self.weight.glorot_of_halves(device, weights, halves)?;
                for (parameter, purpose) in [
                    (a, Purpose::AttentionVectors),
                    (edge_vectors, Purpose::EdgeVectors),
                    (edge_messages, Purpose::EdgeMessages),
                ] {
                    parameter.as_mut().map_or(Ok(()), |parameter| parameter.glorot(device, stream(purpose)))?;
                }
                Ok(())
            }
            _ if [Site::input().index, Site::output().index].contains(&self.index) => {
                Parameter::linear(device, [&mut self.weight, &mut self.output.bias], [weights, stream(Purpose::Bias)])
            }
            _ => self.weight.glorot(device, weights),
        }
    }

    /// Returns all parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter<D>> {
        let [a, u, v] = match &self.mixing {
            Mixing::Attention(attention) => [&attention.vectors, &attention.edge_vectors, &attention.edge_messages],
            _ => [&None, &None, &None],
        };
        let own = [Some(&self.weight), a.as_ref(), u.as_ref(), v.as_ref(), Some(&self.output.bias)];
        let ego = self.ego.iter().flat_map(Ego::parameters);
        own.into_iter().flatten().chain(ego).chain(self.block.iter().flat_map(Block::parameters))
    }

    /// Returns all parameters, mutably.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = &mut Parameter<D>> {
        let [a, u, v] = match &mut self.mixing {
            Mixing::Attention(AttentionMixing { vectors, edge_vectors, edge_messages, .. }) => {
                [vectors.as_mut(), edge_vectors.as_mut(), edge_messages.as_mut()]
            }
            _ => [None, None, None],
        };
        let own = [Some(&mut self.weight), a, u, v, Some(&mut self.output.bias)];
        let ego = self.ego.iter_mut().flat_map(Ego::parameters_mut);
        own.into_iter().flatten().chain(ego).chain(self.block.iter_mut().flat_map(Block::parameters_mut))
    }

    /// Returns the layout of the heads.
    pub fn layout(&self) -> HeadLayout {
        self.layout
    }

    /// Returns the dropout of the input.
    pub(crate) fn dropout(&self) -> Dropout {
        self.dropout
    }

    /// Returns the length of a projected row, including padding.
    pub fn stride(&self) -> usize {
        self.mixing.halves() * self.layout.stride()
    }

    /// Allocates memory for graphs up to a size; `mask_bytes` is the size of the input's dropout mask, or 0
    /// if none is needed. Without `has_values`, the layer borrows the memory of its values from another one.
    pub(crate) fn cache(
        &self,
        device: &D,
        size: Size,
        mask_bytes: usize,
        has_values: bool,
        arena: &mut Arena,
    ) -> Result<Cache<D>> {
        let keep_input = device.bits(if self.dropout.is_none() { 0 } else { mask_bytes }, arena)?;
        let values = if has_values { Some(self.values(device, size, arena)?) } else { None };
        let output = device.numbers(size.nodes * self.output.width(), arena)?;
        Ok(Cache { keep_input, values, output })
    }

    fn values(&self, device: &D, size: Size, arena: &mut Arena) -> Result<Values<D>> {
        let projected = if let Mixing::Identity = self.mixing { 0 } else { self.stride() };
        let z = device.numbers(self.mixing.precision().stored(size.nodes * projected), arena)?;
        let attention = match &self.mixing {
            Mixing::Attention(attention) => Some(attention.cache(device, size, arena)?),
            _ => None,
        };
        let sums = device.numbers(size.nodes * self.layout.stride(), arena)?;
        let ego = self.ego.as_ref().map(|ego| ego.cache(device, size, arena)).transpose()?;
        let block = self.block.as_ref().map(|block| block.cache(device, size, arena)).transpose()?;
        Ok(Values { z, attention, sums, ego, block })
    }

    /// Returns whether the values of both layers fit into the same memory: they do for hidden layers of a network.
    pub(crate) fn shares_values_with(&self, other: &Self) -> bool {
        let shape = |layer: &Self| (layer.stride(), layer.layout, layer.ego.is_some(), layer.block.is_some());
        let is_mixed = |layer: &Self| std::mem::discriminant(&layer.mixing);
        shape(self) == shape(other) && is_mixed(self) == is_mixed(other)
    }

    /// Computes `cache.output`. In training, where `context.clock` is given, dropout is applied.
    pub fn forward(&self, context: &Context<'_, D>, input: Input<'_, D>, cache: &mut Cache<D>) -> Result<()> {
        let (device, problem, stride) = (context.device, context.problem, self.stride());
        if let Some(random) = context.random(self.index, Purpose::InputDropout).filter(|_| !self.dropout.is_none()) {
            let bytes = match input {
                Input::Features | Input::Labelled { .. } => context.example.feature_mask_bytes(),
                Input::Hidden { width, .. } => context.example.nodes() * Dropout::mask_bytes(width),
            };
            device.draw_input_mask(problem, input, random, self.dropout, bytes, &mut cache.keep_input)?;
        }
        let mask = self.mask(context, &cache.keep_input);
        let Cache { values, output, .. } = cache;
        let Values { z, attention, sums, ego, block } = values.as_mut().expect(LENT);
        let is_final = matches!(self.mixing, Mixing::Identity) || self.mixing.precision().is_half();
        let projected = if is_final { &mut *sums } else { &mut *z };
        device.product(problem, input, mask, &self.weight.value, stride, projected)?;
        match (&self.mixing, attention) {
            (Mixing::Attention(attention), Some(own)) => attention.forward(context, z, own, sums)?,
            (Mixing::Convolution(convolution), _) => {
                device.convolve(problem, *convolution, self.layout.stride(), z, sums)?;
            }
            _ => {}
        }
        let sums = match (&self.ego, ego) {
            (Some(ego), Some(own)) => {
                ego.forward(context, input, mask, sums, own)?;
                &own.result
            }
            _ => &*sums,
        };
        match (&self.block, block) {
            (Some(block), Some(own)) => block.forward(context, input, mask, sums, &self.output.bias.value, own, output),
            _ => self.output.forward(context, sums, output),
        }
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
    /// `context.clock`; without a clock, the samples in `scratch` are used unchanged. Panics if the gradient of a hidden
    /// block is that of a mean.
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
        let mask = self.mask(context, &cache.keep_input);
        let Cache { values, output, .. } = cache;
        let Values { z, attention, sums, ego, block: own_block } = values.as_mut().expect(LENT);
        let state = attention.as_mut().map(|attention| &mut attention.state);
        match (&mut self.block, own_block, &mut self.ego, ego) {
            (Some(block), Some(own), Some(ego), Some(of_ego)) => {
                let FromAbove::Concat(above) = above else { panic!("heads of a hidden block are concatenated") };
                let bias = &mut self.output.bias.gradient;
                block.backward(context, above, [&of_ego.result, output], own, None, bias, scratch)?;
                block.skip_gradient(context, input, mask, &scratch.gradient, bias, &mut scratch.own)?;
                ego.backward(context, input, mask, sums, of_ego, state, scratch)?;
            }
            (Some(block), Some(own), ..) => {
                let FromAbove::Concat(above) = above else { panic!("heads of a hidden block are concatenated") };
                let bias = &mut self.output.bias.gradient;
                block.backward(context, above, [sums, output], own, state, bias, scratch)?;
                block.skip_gradient(context, input, mask, &scratch.gradient, bias, &mut scratch.own)?;
                if let Input::Hidden { width, .. } = input {
                    block.shortcut_gradient(context, width, scratch)?;
                }
            }
            _ => self.output.backward(context, above, sums, output, state, scratch)?,
        }
        match (&mut self.mixing, attention) {
            (Mixing::Attention(mixing), Some(own)) => mixing.backward(context, z, lambda_e, own, scratch, place)?,
            (Mixing::Convolution(convolution), _) => {
                let (width, gradient) = (self.layout.stride(), &scratch.gradient);
                device.convolve_backward(problem, *convolution, width, gradient, &mut scratch.projected)?;
            }
            // The sums are the projected features, so the gradients are the same.
            _ => std::mem::swap(&mut scratch.gradient, &mut scratch.projected),
        }
        let Scratch { projected, own, .. } = scratch;
        device.weight_gradient(problem, input, mask, projected, stride, own, &mut self.weight.gradient)
    }

    /// Computes the gradient of a hidden layer's input after dropout: `scratch.gradient = scratch.projected
    /// W^T`, plus those through a shortcut and beside the sums.
    pub fn input_gradient(&self, context: &Context<'_, D>, cache: &Cache<D>, scratch: &mut Scratch<D>) -> Result<()> {
        let (stride, width, weight) = (self.stride(), self.input_width, &self.weight.value);
        let block = self.block.as_ref().filter(|block| block.has_residual());
        let mixes = !matches!(self.mixing, Mixing::Identity);
        let Scratch { gradient, projected, shortcut, own } = scratch;
        if block.is_some_and(Block::is_linear) && self.ego.is_none() {
            // The backward pass has computed the part through the shortcut.
            context.device.add_input_gradient(context.problem, projected, stride, weight, width, own, shortcut)?;
            std::mem::swap(gradient, shortcut);
            return Ok(());
        }
        // The gradient of the sums is also that of the shortcut. Without mixing it is in `projected`; the linear layers
        // over input and sums have moved it already.
        if block.is_some() && mixes && self.ego.is_none() {
            std::mem::swap(gradient, shortcut);
        }
        context.device.input_gradient(context.problem, projected, stride, weight, width, own, gradient)?;
        if block.is_some() && !mixes {
            std::mem::swap(projected, shortcut);
        }
        block.map_or(Ok(()), |block| block.add_input_gradient(context, width, scratch))?;
        match (&self.ego, &cache.values.as_ref().expect(LENT).ego) {
            (Some(ego), Some(own)) => ego.add_input_gradient(context, own, scratch),
            _ => Ok(()),
        }
    }

    /// Returns whether gradients reach the layer's input beside its mixing.
    pub(crate) fn has_shortcut(&self) -> bool {
        self.ego.is_some() || self.block.as_ref().is_some_and(Block::has_residual)
    }

    /// Returns the widths that memory shared by all layers depends on.
    pub(crate) fn width(&self) -> LayerWidth {
        let (stored, features) = match &self.mixing {
            Mixing::Attention(AttentionMixing { edge_vectors: Some(u), .. }) => (u.stored(), u.shape[1]),
            _ => (0, 0),
        };
        LayerWidth {
            stride: self.stride(),
            heads: self.layout.head_stride(),
            precision: self.mixing.precision(),
            weight: self.weight.stored().max(self.ego.as_ref().map_or(0, Ego::longest)),
            sums: (2 * self.stride() + stored).max(features * self.stride()).max(if self.block.is_some() {
                3 * self.stride()
            } else {
                0
            }),
        }
    }

    /// Returns the attention of the last forward pass; `None` for layers without attention, and while another layer uses
    /// the memory.
    pub fn attended<'a>(&'a self, context: &Context<'a, D>, cache: &'a Cache<D>) -> Option<Attended<'a, D>> {
        match (&self.mixing, cache.values.as_ref()?) {
            (Mixing::Attention(attention), Values { attention: Some(own), z, .. }) => {
                Some(attention.attended(context, z, own))
            }
            _ => None,
        }
    }
}
