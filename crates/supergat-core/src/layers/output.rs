//! Last step of every layer: concatenation or mean of the heads, bias, and ELU in hidden layers.

use super::context::Context;
use super::parameter::Parameter;
use super::scratch::Scratch;
use crate::device::{self, Device, FromAbove, Join, OutputGradient, SumsGradient};
use crate::error::Result;
use crate::heads::HeadLayout;

/// Last step of a layer: combines the heads and adds the bias.
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug)]
pub struct Output<D: Device> {
    step: device::Output,
    /// Bias, one number per feature of the output.
    pub bias: Parameter<D>,
}

impl<D: Device> Output<D> {
    /// Creates an output with zero bias.
    pub fn new(device: &D, name: &str, layout: HeadLayout, join: Join) -> Result<Self> {
        let name = format!("{name}.b");
        let bias = match join {
            Join::Mean => Parameter::new(device, name, [1, layout.features], layout.features, 0..layout.features),
            _ => Parameter::row(device, name, layout),
        };
        Ok(Self { step: device::Output { layout, join }, bias: bias? })
    }

    /// Returns the length of an output row, including padding.
    pub fn width(&self) -> usize {
        match self.step.join {
            Join::Mean => self.step.layout.features,
            _ => self.step.layout.stride(),
        }
    }

    /// Returns the layout of an output row.
    pub fn layout(&self) -> HeadLayout {
        match self.step.join {
            Join::Mean => HeadLayout::plain(self.step.layout.features),
            _ => self.step.layout,
        }
    }

    /// Computes the output of the layer from the weighted sums.
    pub fn forward(&self, context: &Context<'_, D>, sums: &D::Numbers, out: &mut D::Numbers) -> Result<()> {
        context.device.output_forward(context.problem, self.step, &self.bias.value, sums, out)
    }

    /// Computes the gradients of the weighted sums (in `scratch.gradient`) and of the bias, and updates the
    /// attention state, from the gradient of the output.
    pub fn backward(
        &mut self,
        context: &Context<'_, D>,
        above: FromAbove<'_, D>,
        sums: &D::Numbers,
        output: &D::Numbers,
        state: Option<&mut D::Numbers>,
        scratch: &mut Scratch<D>,
    ) -> Result<()> {
        let from = OutputGradient { above, sums, output };
        let to = SumsGradient { sums: &mut scratch.gradient, state, bias: &mut self.bias.gradient };
        context.device.output_backward(context.problem, self.step, from, &mut scratch.own, to)
    }
}
