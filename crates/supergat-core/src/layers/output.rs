//! The last step of every layer: concatenation or mean of its heads, bias, and ELU in hidden layers.

use super::parameter::Parameter;
use super::scratch::Scratch;
use crate::kernels::{HeadLayout, Mask, OutputGradient, Parts, Primitives, sum_parts};

/// How the heads of a layer are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Side by side, then ELU: a hidden layer.
    ConcatElu,
    /// Side by side.
    Concat,
    /// Mean over heads: the last layer.
    Mean,
}

/// Joins heads and adds the bias.
#[derive(Debug, Clone)]
pub struct Output<T> {
    layout: HeadLayout,
    join: Join,
    /// Bias, one per feature of the output.
    pub bias: Parameter<T>,
}

/// The gradient that reaches a layer from above.
#[derive(Debug, Clone, Copy)]
pub enum FromAbove<'a, T> {
    /// Of the mean over heads, a number per feature.
    Mean(&'a [T]),
    /// Of the joined heads after the next layer's dropout; it stands in the scratch memory already, this is the dropout's mask.
    Concat(Option<Mask<'a, T>>),
}

impl<T: Primitives> Output<T> {
    /// Bias zero.
    pub fn new(name: &str, layout: HeadLayout, join: Join) -> Self {
        let name = format!("{name}.b");
        let bias = match join {
            Join::Mean => Parameter::new(name, [1, layout.features], layout.features, 0..layout.features),
            _ => Parameter::row(name, layout),
        };
        Self { layout, join, bias }
    }

    /// Numbers per node.
    pub fn width(&self) -> usize {
        match self.join {
            Join::Mean => self.layout.features,
            _ => self.layout.stride(),
        }
    }

    /// Layout of a row of the output.
    pub fn layout(&self) -> HeadLayout {
        match self.join {
            Join::Mean => HeadLayout::plain(self.layout.features),
            _ => self.layout,
        }
    }

    /// From weighted sums to the layer's output.
    pub fn forward(&self, parts: &Parts, sums: &[T], out: &mut [T]) {
        match self.join {
            Join::Mean => T::mean_forward(parts, self.layout, &self.bias.value, sums, out),
            join => T::concat_forward(parts, join == Join::ConcatElu, &self.bias.value, sums, out),
        }
    }

    /// From the gradient of the output to that of the weighted sums (in `scratch.gradient`), the bias, and the attention's state.
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
