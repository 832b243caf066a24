//! A layer of any kind is three steps, of which only the middle one knows the graph:
//!
//! ```text
//! z  = W^T drop(h)      projection
//! s  = mixing of z      over the neighbours of each node: attention, a convolution; or nothing, s = z
//! h' = join of s + b    output, with ELU in hidden layers
//! ```
//!
//! Networks whose layers mix nothing are the MLP baseline.

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

/// What any layer is made of.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Layout of an input row. The first layer reads features, which lie without padding.
    pub input: HeadLayout,
    /// Heads; one where there is no attention.
    pub heads: usize,
    /// Features per head.
    pub features: usize,
    /// How heads are joined.
    pub join: Join,
    /// Dropout of the input, and of attention coefficients.
    pub dropout: f64,
}

/// A layer and its parameters.
#[derive(Debug, Clone)]
pub struct Layer<T> {
    index: u16,
    layout: HeadLayout,
    dropout: Dropout,
    input_width: usize,
    /// `W`, [input features, heads * features]; with a root weight [input features, 2 * features].
    pub weight: Parameter<T>,
    /// What happens between neighbours.
    pub mixing: Mixing<T>,
    /// Join, bias and activation.
    pub output: Output<T>,
}

/// The step of a layer that knows the graph.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "a network has a few layers only")]
pub enum Mixing<T> {
    /// Weights that are learned.
    Attention(AttentionMixing<T>),
    /// Weights that the graph fixes.
    Convolution(Convolution),
    /// No neighbour is looked at.
    Identity,
}

/// What forward leaves for backward, with room for the largest graph.
#[derive(Debug)]
pub struct Cache<T> {
    keep_input: Vec<u8>,
    /// Empty where nothing is mixed: then the sums are the projected features.
    z: Buffer<T>,
    mixing: MixingCache<T>,
    sums: Buffer<T>,
    /// The layer's output.
    pub output: Buffer<T>,
}

#[derive(Debug)]
enum MixingCache<T> {
    Attention(AttentionCache<T>),
    Convolution(Factors<T>),
    Identity,
}

impl<T: Primitives> Layer<T> {
    /// Creates an attention layer with zero parameters. Layer `index` counts from 0; names count from 1.
    pub fn attention(index: u16, shape: Shape, form: Form, negative_slope: f64) -> Self {
        Self::with_attention(index, shape, form, negative_slope, false)
    }

    /// Creates a layer of CGAT with zero parameters: GO attention whose training is constrained.
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

    /// Glorot weights and vectors, bias zero; GraphSAGE: weights and bias uniform in +-1 / sqrt(input features).
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

    /// Its parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter<T>> {
        let vectors = if let Mixing::Attention(attention) = &self.mixing { attention.vectors.as_ref() } else { None };
        [Some(&self.weight), vectors, Some(&self.output.bias)].into_iter().flatten()
    }

    /// Its parameters, to change them.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = &mut Parameter<T>> {
        let vectors =
            if let Mixing::Attention(attention) = &mut self.mixing { attention.vectors.as_mut() } else { None };
        [Some(&mut self.weight), vectors, Some(&mut self.output.bias)].into_iter().flatten()
    }

    /// Layout of the heads.
    pub fn layout(&self) -> HeadLayout {
        self.layout
    }

    /// Numbers per node of the projected rows.
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

    /// Allocates memory for graphs up to a size; `mask_bytes` is the size of the input's dropout mask, 0 where it is not needed.
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

    /// Computes the output into the cache, with dropout when `context.draw` is given.
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

    /// The mask that dropped its input in the last forward pass.
    pub fn input_mask<'k>(&self, context: &Context<'_, T>, cache: &'k Cache<T>) -> Option<Mask<'k, T>> {
        let dropped = context.draw.is_some() && !self.dropout.is_none();
        dropped.then(|| Mask { keep: &cache.keep_input, scale: self.dropout.scale() })
    }

    /// Gradients of all parameters; that of the projected features is left in `scratch.projected`. The loss of its attention is returned, see
    /// [`AttentionMixing::backward`]; zero where there is none.
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
            // The sums are the projected features, and so are their gradients.
            (Mixing::Identity, MixingCache::Identity) => std::mem::swap(&mut scratch.gradient, &mut scratch.projected),
            _ => unreachable!("a layer makes its own cache"),
        }
        let mask = self.input_mask(context, cache);
        let projected = &scratch.projected[..nodes * stride];
        input.weight_gradient(&context.plan.input, mask, projected, stride, &mut scratch.copies, &mut self.weight);
        loss
    }

    /// Computes the gradient of the (dropped) input, `scratch.gradient = scratch.projected W^T`, of a hidden layer.
    pub fn input_gradient(&self, parts: &Parts, nodes: usize, scratch: &mut Scratch<T>) {
        let (stride, width, weight) = (self.stride(), self.input_width, &self.weight.value);
        let transposed = &mut scratch.transposed[..weight.len()];
        transpose(weight, width, stride, transposed);
        let x = Dense { values: &scratch.projected[..nodes * stride], columns: stride };
        T::dense_product(parts, x, None, transposed, width, &mut scratch.gradient[..nodes * width]);
    }

    /// Widths that memory shared by all layers depends on.
    pub(crate) fn width(&self) -> LayerWidth {
        LayerWidth { stride: self.stride(), weight: self.weight.value.len() }
    }

    /// After a forward pass: its attention, where it has one.
    pub fn attended<'a>(&'a self, context: &Context<'a, T>, cache: &'a Cache<T>) -> Option<Attended<'a, T>> {
        match (&self.mixing, &cache.mixing) {
            (Mixing::Attention(attention), MixingCache::Attention(own)) => {
                Some(attention.attended(context, &cache.z, own))
            }
            _ => None,
        }
    }
}
