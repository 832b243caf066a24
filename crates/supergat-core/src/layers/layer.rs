//! Layers of all kinds. A layer has three steps; only the second one reads the graph:
//!
//! ```text
//! z  = W^T drop(h)      projection
//! s  = mixing of z      over the neighbours of each node: attention or a convolution; s = z in an MLP
//! h' = join of s + b    output, with ELU in hidden layers
//! ```

use super::attention::{Attended, AttentionCache, AttentionMixing};
use super::convolution::Factors;
use super::input::Input;
use super::output::{FromAbove, Join, Output};
use super::parameter::{Parameter, layer_name};
use super::plan::Context;
use super::scratch::{LayerWidth, Scratch, Size};
use crate::kernels::{Buffer, Dense, Dropout, Form, HeadLayout, Mask, Parts, Primitives, transpose};
use crate::memory::Arena;
use crate::model_kind::Convolution;
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
/// use supergat_core::kernels::HeadLayout;
/// use supergat_core::layers::{FromAbove, Input, Join, Layer, Shape};
/// use supergat_core::{Architecture, Convolution, Direction, Example, Features, Graph, Labels};
/// use supergat_core::{ModelKind, Prepared};
/// let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
/// let features = Features::dense(2, 1, vec![1.0f32, 3.0])?;
/// let labels = Labels::Single { classes: 1, of: vec![0, 0] };
/// let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
/// let shape = Shape { input: HeadLayout::plain(1), heads: 1, features: 1, join: Join::Mean, dropout: 0.0 };
/// let mut layer = Layer::<f32>::convolution(0, shape, Convolution::Sage);
/// layer.weight.set_rows(&[2.0]);
/// layer.output.bias.set_rows(&[1.0]);
///
/// let architecture = Architecture::new(ModelKind::Convolution(Convolution::Sage), &example);
/// let prepared = Prepared::for_evaluation(&example, architecture)?;
/// let context = prepared.context(0, None);
/// let (mut cache, mut scratch) = layer.memory(prepared.size(true));
/// let input = Input::Features(&example.features);
/// layer.forward(&context, input, &mut cache);
/// assert_eq!(cache.output[..2], [5.0, 5.0]);
///
/// // The derivative of node 0's output by the weight is the mean of the features.
/// layer.backward(&context, input, FromAbove::Mean(&[1.0, 0.0]), None, &mut cache, &mut scratch);
/// assert_eq!(layer.weight.gradient_to_rows(), [2.0]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Layer<T> {
    index: u16,
    layout: HeadLayout,
    dropout: Dropout,
    input_width: usize,
    /// Weights `W`, [input features, heads * features]; with a root weight [input features, 2 * features].
    pub weight: Parameter<T>,
    /// Step that reads the neighbours.
    pub mixing: Mixing<T>,
    /// Combination of heads, bias and activation.
    pub output: Output<T>,
}

/// Step of a layer that reads the graph.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "a network has a few layers only")]
pub enum Mixing<T> {
    /// Sum over neighbours with learned weights.
    Attention(AttentionMixing<T>),
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
pub struct Cache<T> {
    keep_input: Vec<u8>,
    /// Projected features; empty for [`Mixing::Identity`], where they are the sums.
    z: Buffer<T>,
    mixing: MixingCache<T>,
    sums: Buffer<T>,
    /// Output of the layer.
    pub output: Buffer<T>,
}

#[derive(Debug)]
enum MixingCache<T> {
    Attention(AttentionCache<T>),
    Convolution(Factors<T>),
    Identity,
}

impl<T: Primitives> Layer<T> {
    /// Creates an attention layer with zero parameters. `index` counts from 0, layer names count from 1.
    pub fn attention(index: u16, shape: Shape, form: Form, negative_slope: f64) -> Self {
        Self::with_attention(index, shape, form, negative_slope, false)
    }

    /// Creates a CGAT layer with zero parameters: GO attention with constraints in training.
    pub fn constrained_attention(index: u16, shape: Shape, negative_slope: f64) -> Self {
        Self::with_attention(index, shape, Form::Go, negative_slope, true)
    }

    fn with_attention(index: u16, shape: Shape, form: Form, negative_slope: f64, constrained: bool) -> Self {
        let layout = HeadLayout::new(shape.heads, shape.features);
        let dropout = Dropout::new(shape.dropout);
        let mixing = AttentionMixing::new(index, form, layout, negative_slope, dropout, constrained);
        Self::new(index, shape, Mixing::Attention(mixing))
    }

    /// Creates a graph convolution with zero parameters.
    pub fn convolution(index: u16, shape: Shape, convolution: Convolution) -> Self {
        Self::new(index, shape, Mixing::Convolution(convolution))
    }

    /// Creates a layer without neighbours, with zero parameters.
    pub fn linear(index: u16, shape: Shape) -> Self {
        Self::new(index, shape, Mixing::Identity)
    }

    fn new(index: u16, shape: Shape, mixing: Mixing<T>) -> Self {
        let layout = HeadLayout::new(shape.heads, shape.features);
        let padded = index > 0;
        let halves = if let Mixing::Convolution(convolution) = mixing { convolution.halves() } else { 1 };
        Self {
            index,
            layout,
            dropout: Dropout::new(shape.dropout),
            input_width: if padded { shape.input.stride() } else { shape.input.features },
            weight: Parameter::weight(format!("{}.w", layer_name(index)), shape.input, padded, layout, halves),
            mixing,
            output: Output::new(&layer_name(index), layout, shape.join),
        }
    }

    /// Draws the parameters: Glorot for weights and attention vectors, zero for the bias. GraphSAGE draws
    /// weights and bias uniformly from +-1 / sqrt(input features).
    pub fn initialise(&mut self, seed: u64) {
        let stream = |purpose| Stream::new(seed, 0, self.index, purpose);
        if let Mixing::Convolution(Convolution::Sage | Convolution::SageRoot) = self.mixing {
            let limit = 1.0 / (self.weight.shape[0] as f64).sqrt();
            self.weight.uniform(stream(Purpose::Weights), limit);
            self.output.bias.uniform(stream(Purpose::AttentionVectors), limit);
            return;
        }
        self.weight.glorot(stream(Purpose::Weights));
        if let Mixing::Attention(AttentionMixing { vectors: Some(vectors), .. }) = &mut self.mixing {
            vectors.glorot(stream(Purpose::AttentionVectors));
        }
    }

    /// Returns all parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter<T>> {
        let vectors = if let Mixing::Attention(attention) = &self.mixing { attention.vectors.as_ref() } else { None };
        [Some(&self.weight), vectors, Some(&self.output.bias)].into_iter().flatten()
    }

    /// Returns all parameters, mutably.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = &mut Parameter<T>> {
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
    pub fn memory(&self, size: Size) -> (Cache<T>, Scratch<T>) {
        let mut arena = Arena::allocating();
        (self.cache(size, 0, &mut arena), Scratch::new(size, &[self.width()], &mut arena))
    }

    /// Allocates memory for graphs up to a size; `mask_bytes` is the size of the input's dropout mask, or 0
    /// if none is needed.
    pub(crate) fn cache(&self, size: Size, mask_bytes: usize, arena: &mut Arena) -> Cache<T> {
        let (mixing, z) = match &self.mixing {
            Mixing::Attention(attention) => (MixingCache::Attention(attention.cache(size, arena)), self.stride()),
            Mixing::Convolution(_) => (MixingCache::Convolution(Factors::new(size, arena)), self.stride()),
            Mixing::Identity => (MixingCache::Identity, 0),
        };
        Cache {
            keep_input: arena.list(if self.dropout.is_none() { 0 } else { mask_bytes }),
            z: arena.numbers(size.nodes * z),
            mixing,
            sums: arena.numbers(size.nodes * self.layout.stride()),
            output: arena.numbers(size.nodes * self.output.width()),
        }
    }

    /// Computes `cache.output`. In training, where `context.draw` is given, dropout is applied.
    pub fn forward(&self, context: &Context<'_, T>, input: Input<'_, T>, cache: &mut Cache<T>) {
        let (nodes, stride) = (context.example.graph.nodes(), self.stride());
        let Cache { keep_input, z, mixing, sums, output } = cache;
        let sums = &mut sums[..nodes * self.layout.stride()];
        let stream = context.stream(self.index, Purpose::InputDropout);
        let mask = stream.and_then(|stream| input.draw_mask(self.dropout, stream, keep_input));
        let project = |z: &mut [T]| input.product(&context.plan.input, mask, &self.weight, stride, z);
        match (&self.mixing, mixing) {
            (Mixing::Attention(attention), MixingCache::Attention(cache)) => {
                project(&mut z[..nodes * stride]);
                attention.forward(context, &z[..nodes * stride], cache, sums);
            }
            (Mixing::Convolution(convolution), MixingCache::Convolution(factors)) => {
                project(&mut z[..nodes * stride]);
                convolution.forward(context, self.layout, &z[..nodes * stride], factors, sums);
            }
            (Mixing::Identity, MixingCache::Identity) => project(sums),
            _ => unreachable!("a layer makes its own cache"),
        }
        self.output.forward(&context.plan.input.rows, sums, &mut output[..nodes * self.output.width()]);
    }

    /// Returns the dropout mask of the input in the last forward pass.
    pub fn input_mask<'k>(&self, context: &Context<'_, T>, cache: &'k Cache<T>) -> Option<Mask<'k, T>> {
        let dropped = context.draw.is_some() && !self.dropout.is_none();
        dropped.then(|| Mask { keep: &cache.keep_input, scale: self.dropout.scale() })
    }

    /// Computes the gradients of all parameters, and of the projected features in `scratch.projected`.
    ///
    /// Returns the loss on attention: the edge loss, or for CGAT the weighted sum of the margin losses; zero
    /// without one. With `lambda_e`, the edge loss is part of the objective. Its samples are drawn for the
    /// step of `context.draw`; without `draw`, `scratch.samples` is used unchanged.
    pub fn backward(
        &mut self,
        context: &Context<'_, T>,
        input: Input<'_, T>,
        above: FromAbove<'_, T>,
        lambda_e: Option<f64>,
        cache: &mut Cache<T>,
        scratch: &mut Scratch<T>,
    ) -> f64 {
        let (nodes, stride) = (context.example.graph.nodes(), self.stride());
        let Cache { z, mixing, sums, output, .. } = cache;
        let state = if let MixingCache::Attention(cache) = mixing { Some(cache.state_mut(nodes)) } else { None };
        let (rows, sums) = (&context.plan.input.rows, &sums[..nodes * self.layout.stride()]);
        self.output.backward(rows, above, sums, output, state, scratch);
        let mut loss = 0.0;
        match (&mut self.mixing, mixing) {
            (Mixing::Attention(attention), MixingCache::Attention(cache)) => {
                loss = attention.backward(context, &z[..nodes * stride], lambda_e, cache, scratch);
            }
            (Mixing::Convolution(convolution), MixingCache::Convolution(factors)) => {
                convolution.backward(context, self.layout, factors, scratch);
            }
            // The sums are the projected features, so the gradients are the same.
            (Mixing::Identity, MixingCache::Identity) => std::mem::swap(&mut scratch.gradient, &mut scratch.projected),
            _ => unreachable!("a layer makes its own cache"),
        }
        let mask = self.input_mask(context, cache);
        let projected = &scratch.projected[..nodes * stride];
        input.weight_gradient(&context.plan.input, mask, projected, stride, &mut scratch.copies, &mut self.weight);
        loss
    }

    /// Computes the gradient of a hidden layer's input after dropout: `scratch.gradient = scratch.projected
    /// W^T`.
    pub fn input_gradient(&self, parts: &Parts, nodes: usize, scratch: &mut Scratch<T>) {
        let (stride, width, weight) = (self.stride(), self.input_width, &self.weight.value);
        let transposed = &mut scratch.transposed[..weight.len()];
        transpose(weight, width, stride, transposed);
        let x = Dense { values: &scratch.projected[..nodes * stride], columns: stride };
        T::dense_product(parts, x, None, transposed, width, &mut scratch.gradient[..nodes * width]);
    }

    /// Returns the widths that memory shared by all layers depends on.
    pub(crate) fn width(&self) -> LayerWidth {
        LayerWidth { stride: self.stride(), weight: self.weight.value.len() }
    }

    /// Returns the attention of the last forward pass; `None` for layers without attention.
    pub fn attended<'a>(&'a self, context: &Context<'a, T>, cache: &'a Cache<T>) -> Option<Attended<'a, T>> {
        match (&self.mixing, &cache.mixing) {
            (Mixing::Attention(attention), MixingCache::Attention(own)) => {
                Some(attention.attended(context, &cache.z, own))
            }
            _ => None,
        }
    }
}
