//! A node's own representation beside the sum over its neighbours, followed by two linear layers, as in the models with
//! the suffix `-sep` of Platonov et al., "A critical look at the evaluation of GNNs under heterophily" (ICLR 2023).
//!
//! ```text
//! q = act(d U + s V + b)      d: input of the layer after dropout,  s: sums over neighbours, without the node itself
//! f = drop(q) W               in place of the sums, in the residual, norm and activation of `block.rs`
//! ```
//!
//! `U` and `V` are the two parts of one matrix that multiplies `[d ; s]`. The bias of the second linear layer is that of
//! the layer.

use super::context::Context;
use super::parameter::Parameter;
use super::scratch::{Scratch, Size};
use super::shape::Shape;
use crate::activation::Activation;
use crate::blocks::Norm;
use crate::device::{
    self, BlockGradient, BlockGradients, BlockInput, BlockOutput, Device, FromAbove, Input, Join, Mask, OutputGradient,
    Shortcut, SumsGradient,
};
use crate::dropout::Dropout;
use crate::error::Result;
use crate::example::ExampleShape;
use crate::heads::HeadLayout;
use crate::memory::Arena;
use crate::random::{Purpose, Stream};

/// Two linear layers over a node's own representation and the sum over its neighbours, with their parameters.
#[derive(Debug)]
pub struct Ego<D: Device> {
    index: u16,
    step: device::Block,
    dropout: Dropout,
    input_width: usize,
    /// Weights `U` of the layer's input.
    pub own: Parameter<D>,
    /// Weights `V` of the sums over neighbours.
    pub neighbours: Parameter<D>,
    /// Bias `b` of the first linear layer.
    pub bias: Parameter<D>,
    /// Weights `W` of the second linear layer.
    pub out: Parameter<D>,
}

/// Values of a forward pass that the backward pass reads. Its memory is used again in the backward pass.
#[derive(Debug)]
pub struct EgoCache<D: Device> {
    keep: D::Bits,
    /// `s V`; in the backward pass, the gradient before the activation.
    inner: D::Numbers,
    /// `q`
    hidden: D::Numbers,
    /// `d U`, then the result `f`.
    pub(super) result: D::Numbers,
    /// Sums over nodes that nothing reads.
    unused: D::Numbers,
    /// Memory of a norm that the activation does not have.
    none: [D::Numbers; 2],
}

impl<D: Device> Ego<D> {
    /// Creates both linear layers of the layer called `name` with zero parameters.
    pub fn new(device: &D, index: u16, name: &str, shape: Shape, padded: bool, activation: Activation) -> Result<Self> {
        let layout = HeadLayout::new(shape.heads, shape.features);
        let weight = |part: &str, input: HeadLayout, padded: bool| {
            Parameter::weight(device, format!("{name}.ego.{part}"), input, padded, layout, 1)
        };
        Ok(Self {
            index,
            step: device::Block { layout, norm: Norm::None, activation },
            dropout: Dropout::new(shape.dropout),
            input_width: if padded { shape.input.stride() } else { shape.input.features },
            own: weight("own", shape.input, padded)?,
            neighbours: weight("neighbours", layout, true)?,
            bias: Parameter::row(device, format!("{name}.ego.b"), layout)?,
            out: weight("out", layout, true)?,
        })
    }

    /// Draws the weights by Glorot's rule; the bias begins with zeros.
    pub fn initialise(&mut self, device: &D, seed: u64) -> Result<()> {
        for (parameter, purpose) in [
            (&mut self.own, Purpose::EgoWeights),
            (&mut self.neighbours, Purpose::NeighbourWeights),
            (&mut self.out, Purpose::EgoOutput),
        ] {
            parameter.glorot(device, Stream::new(seed, 0, self.index, purpose))?;
        }
        Ok(())
    }

    /// Returns all parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter<D>> {
        [&self.own, &self.neighbours, &self.bias, &self.out].into_iter()
    }

    /// Returns all parameters, mutably.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = &mut Parameter<D>> {
        [&mut self.own, &mut self.neighbours, &mut self.bias, &mut self.out].into_iter()
    }

    /// Returns the length of the longest weight matrix, including padding.
    pub fn longest(&self) -> usize {
        self.parameters().map(Parameter::stored).max().unwrap_or(0)
    }

    /// Allocates memory for graphs up to a size.
    pub fn cache(&self, device: &D, size: Size, arena: &mut Arena) -> Result<EgoCache<D>> {
        let stride = self.step.layout.stride();
        let drops = size.training && !self.dropout.is_none();
        let bytes = if drops { size.nodes * Dropout::mask_bytes(stride) } else { 0 };
        let mut rows = || device.numbers(size.nodes * stride, arena);
        let (inner, hidden, result) = (rows()?, rows()?, rows()?);
        Ok(EgoCache {
            keep: device.bits(bytes, arena)?,
            inner,
            hidden,
            result,
            unused: device.numbers(stride, arena)?,
            none: [device.numbers(0, arena)?, device.numbers(0, arena)?],
        })
    }

    /// Returns the dropout mask of the hidden rows in training.
    fn mask<'k>(&self, context: &Context<'_, D>, keep: &'k D::Bits) -> Option<Mask<'k, D>> {
        let dropped = context.clock.is_some() && !self.dropout.is_none();
        dropped.then_some(Mask { keep, dropout: self.dropout })
    }

    /// Computes `cache.result` from the layer's input, under its dropout mask, and the sums over neighbours.
    pub fn forward(
        &self,
        context: &Context<'_, D>,
        input: Input<'_, D>,
        mask: Option<Mask<'_, D>>,
        sums: &D::Numbers,
        cache: &mut EgoCache<D>,
    ) -> Result<()> {
        let (device, problem, stride) = (context.device, context.problem, self.step.layout.stride());
        let EgoCache { keep, inner, hidden, result, none: [normalised, statistics], .. } = cache;
        device.product(problem, input, mask, &self.own.value, stride, result)?;
        let neighbours = Input::Hidden { rows: sums, width: stride };
        device.product(problem, neighbours, None, &self.neighbours.value, stride, inner)?;
        let shortcut = Shortcut::Rows(inner, None);
        let from = BlockInput { sums: result, bias: &self.bias.value, shortcut, norm: None };
        device.block_forward(problem, self.step, from, BlockOutput { output: hidden, normalised, statistics })?;
        let rows = Input::Hidden { rows: hidden, width: stride };
        if let Some(random) = context.random(self.index, Purpose::EgoDropout).filter(|_| !self.dropout.is_none()) {
            let bytes = context.example.nodes() * Dropout::mask_bytes(stride);
            device.draw_input_mask(problem, rows, random, self.dropout, bytes, keep)?;
        }
        device.product(problem, rows, self.mask(context, keep), &self.out.value, stride, result)
    }

    /// Computes the gradients of all parameters and of the sums (in `scratch.gradient`, from that of the result). Moves
    /// the gradient of the result to `scratch.shortcut`, and writes the last slot of the state of attention.
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        &mut self,
        context: &Context<'_, D>,
        input: Input<'_, D>,
        mask: Option<Mask<'_, D>>,
        sums: &D::Numbers,
        cache: &mut EgoCache<D>,
        state: Option<&mut D::Numbers>,
        scratch: &mut Scratch<D>,
    ) -> Result<()> {
        let (device, problem, layout) = (context.device, context.problem, self.step.layout);
        let stride = layout.stride();
        let of_hidden = self.mask(context, &cache.keep);
        let EgoCache { inner, hidden, result, unused, none: [normalised, statistics], .. } = cache;
        let Scratch { gradient, shortcut, own, .. } = scratch;
        std::mem::swap(gradient, shortcut);
        let rows = Input::Hidden { rows: hidden, width: stride };
        device.weight_gradient(problem, rows, of_hidden, shortcut, stride, own, &mut self.out.gradient)?;
        device.input_gradient(problem, shortcut, stride, &self.out.value, stride, own, inner)?;
        let from = BlockGradient {
            mask: of_hidden,
            sums: result,
            output: hidden,
            normalised,
            statistics,
            of_nodes: false,
            weight: None,
        };
        let bias = &mut self.bias.gradient;
        let to = BlockGradients { sums: inner, state: None, bias, norm: None, running: None };
        device.block_backward(problem, self.step, from, own, to)?;
        device.weight_gradient(problem, input, mask, inner, stride, own, &mut self.own.gradient)?;
        let neighbours = Input::Hidden { rows: sums, width: stride };
        device.weight_gradient(problem, neighbours, None, inner, stride, own, &mut self.neighbours.gradient)?;
        device.input_gradient(problem, inner, stride, &self.neighbours.value, stride, own, gradient)?;
        let output = device::Output { layout, join: Join::Concat };
        let from = OutputGradient { above: FromAbove::Concat(None), sums, output: sums };
        let to = SumsGradient { sums: gradient, state, bias: unused };
        device.output_backward(problem, output, from, own, to)
    }

    /// Adds the gradient of the layer's input through `U` to `scratch.gradient`.
    pub fn add_input_gradient(
        &self,
        context: &Context<'_, D>,
        cache: &EgoCache<D>,
        scratch: &mut Scratch<D>,
    ) -> Result<()> {
        let (device, problem, stride) = (context.device, context.problem, self.step.layout.stride());
        let Scratch { gradient, own, .. } = scratch;
        device.add_input_gradient(problem, &cache.inner, stride, &self.own.value, self.input_width, own, gradient)
    }
}
