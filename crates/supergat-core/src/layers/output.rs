//! Last step of every layer: concatenation or mean of the heads, bias, and ELU in hidden layers.

use super::parameter::Parameter;
use super::scratch::Scratch;
use crate::kernels::{HeadLayout, Mask, OutputGradient, Parts, Primitives, sum_parts};

/// Combination of the heads of a layer.
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Concatenation and ELU, in hidden layers.
    ConcatElu,
    /// Concatenation.
    Concat,
    /// Mean over heads, in the last layer.
    Mean,
}

/// Last step of a layer: combines the heads and adds the bias.
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug, Clone)]
pub struct Output<T> {
    layout: HeadLayout,
    join: Join,
    /// Bias, one number per feature of the output.
    pub bias: Parameter<T>,
}

/// Gradient of a layer's output, as the next layer or the loss computed it.
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug, Clone, Copy)]
pub enum FromAbove<'a, T> {
    /// Gradient of the mean over heads, one number per feature.
    Mean(&'a [T]),
    /// Gradient of the concatenated heads after the next layer's dropout. The gradient is in
    /// [`Scratch::gradient`]; the value here is the dropout mask.
    Concat(Option<Mask<'a, T>>),
}

impl<T: Primitives> Output<T> {
    /// Creates an output with zero bias.
    pub fn new(name: &str, layout: HeadLayout, join: Join) -> Self {
        let name = format!("{name}.b");
        let bias = match join {
            Join::Mean => Parameter::new(name, [1, layout.features], layout.features, 0..layout.features),
            _ => Parameter::row(name, layout),
        };
        Self { layout, join, bias }
    }

    /// Returns the length of an output row, including padding.
    pub fn width(&self) -> usize {
        match self.join {
            Join::Mean => self.layout.features,
            _ => self.layout.stride(),
        }
    }

    /// Returns the layout of an output row.
    pub fn layout(&self) -> HeadLayout {
        match self.join {
            Join::Mean => HeadLayout::plain(self.layout.features),
            _ => self.layout,
        }
    }

    /// Computes the output of the layer from the weighted sums.
    pub fn forward(&self, parts: &Parts, sums: &[T], out: &mut [T]) {
        match self.join {
            Join::Mean => T::mean_forward(parts, self.layout, &self.bias.value, sums, out),
            join => T::concat_forward(parts, join == Join::ConcatElu, &self.bias.value, sums, out),
        }
    }

    /// Computes the gradients of the weighted sums (in `scratch.gradient`) and of the bias, and updates the
    /// attention state, from the gradient of the output.
    pub fn backward(
        &mut self,
        parts: &Parts,
        above: FromAbove<'_, T>,
        sums: &[T],
        output: &[T],
        state: Option<&mut [T]>,
        scratch: &mut Scratch<T>,
    ) {
        let stride = self.layout.stride();
        let nodes = sums.len() / stride;
        let to = OutputGradient {
            sums: &mut scratch.gradient[..nodes * stride],
            active: &mut scratch.active[..nodes],
            state,
            bias: &mut scratch.partial,
        };
        match above {
            FromAbove::Mean(gradient) => T::mean_backward(parts, self.layout, gradient, sums, to),
            FromAbove::Concat(mask) => {
                T::concat_backward(parts, self.layout, self.join == Join::ConcatElu, mask, output, sums, to);
            }
        }
        sum_parts(parts.len(), &scratch.partial, &mut self.bias.gradient);
    }
}
