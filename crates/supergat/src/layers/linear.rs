//! The layer that looks at no neighbour: `h'_i = W^T drop(h_i) + b`, with ELU in hidden layers. A network of these is the MLP baseline.

use super::input::Input;
use super::output::{FromAbove, Join, Output};
use super::parameter::Parameter;
use super::{Context, Scratch, Size};
use crate::kernels::{Buffer, Dropout, HeadLayout, Mask, Real};
use crate::memory::Room;
use crate::random::{Purpose, Stream};

/// Linear layer.
#[derive(Debug, Clone)]
pub struct LinearLayer<T> {
    layout: HeadLayout,
    dropout: Dropout,
    index: u16,
    input_width: usize,
    /// `W`, [input features, features].
    pub weight: Parameter<T>,
    /// Bias and activation.
    pub output: Output<T>,
}

/// What forward leaves for backward.
#[derive(Debug)]
pub struct LinearCache<T> {
    keep_input: Vec<u8>,
    sums: Buffer<T>,
    /// The layer's output.
    pub output: Buffer<T>,
}

impl<T: Real> LinearLayer<T> {
    /// A layer whose parameters are zero.
    pub fn new(index: u16, input: HeadLayout, hidden_input: bool, features: usize, join: Join, dropout: f64) -> Self {
        let name = format!("layer{}", index + 1);
        let layout = HeadLayout::plain(features);
        let input_width = if hidden_input { input.stride() } else { input.features };
        Self {
            layout,
            dropout: Dropout::new(dropout),
            index,
            input_width,
            weight: Parameter::weight(format!("{name}.w"), input, layout, hidden_input),
            output: Output::new(&name, layout, join),
        }
    }

    /// Glorot weights, bias zero.
    pub fn initialise(&mut self, seed: u64) {
        self.weight.glorot(Stream::new(seed, 0, self.index, Purpose::Weights));
    }

    /// Its parameters.
    pub fn parameters(&self) -> [Option<&Parameter<T>>; 3] {
        [Some(&self.weight), Some(&self.output.bias), None]
    }

    /// Its parameters, to change them.
    pub fn parameters_mut(&mut self) -> [Option<&mut Parameter<T>>; 3] {
        [Some(&mut self.weight), Some(&mut self.output.bias), None]
    }

    /// Memory for graphs up to a size.
    pub fn cache(&self, size: Size, mask_bytes: usize, room: &mut Room) -> LinearCache<T> {
        LinearCache {
            keep_input: room.list(if self.dropout.is_none() { 0 } else { mask_bytes }),
            sums: room.numbers(size.nodes * self.layout.stride()),
            output: room.numbers(size.nodes * self.output.width()),
        }
    }

    /// Numbers per node of the layer's rows.
    pub fn stride(&self) -> usize {
        self.layout.stride()
    }

    /// Width of an input row, padding included.
    pub fn input_width(&self) -> usize {
        self.input_width
    }

    /// Computes the output into the cache.
    pub fn forward(&self, context: &Context<'_, T>, input: Input<'_, T>, cache: &mut LinearCache<T>) {
        let (nodes, stride) = (context.example.graph.nodes(), self.layout.stride());
        let mask = context.draw.and_then(|draw| {
            let stream = Stream::new(draw.seed, draw.step, self.index, Purpose::InputDropout);
            input.draw_mask(self.dropout, stream, &mut cache.keep_input)
        });
        let sums = &mut cache.sums[..nodes * stride];
        input.product(&context.plan.input, mask, &self.weight, stride, sums);
        self.output.forward(&context.plan.input.rows, sums, &mut cache.output[..nodes * self.output.width()]);
    }

    /// The mask that dropped this layer's input in the last forward pass.
    pub fn input_mask<'k>(&self, context: &Context<'_, T>, cache: &'k LinearCache<T>) -> Option<Mask<'k, T>> {
        let dropped = context.draw.is_some() && !self.dropout.is_none();
        dropped.then(|| Mask { keep: &cache.keep_input, scale: self.dropout.scale() })
    }

    /// Gradients of all parameters; that of the projected features is left in `scratch.projected`.
    pub fn backward(
        &mut self,
        context: &Context<'_, T>,
        input: Input<'_, T>,
        above: FromAbove<'_, T>,
        cache: &mut LinearCache<T>,
        scratch: &mut Scratch<T>,
    ) {
        let (nodes, stride) = (context.example.graph.nodes(), self.layout.stride());
        let rows = &context.plan.input.rows;
        self.output.backward(rows, above, &cache.sums[..nodes * stride], &cache.output, None, scratch);
        // Without neighbours the weighted sums are the projected features.
        std::mem::swap(&mut scratch.gradient, &mut scratch.projected);
        let mask = self.input_mask(context, cache);
        let projected = &scratch.projected[..nodes * stride];
        input.weight_gradient(&context.plan.input, mask, projected, stride, &mut scratch.copies, &mut self.weight);
    }
}
