//! Hidden blocks: what follows the mixing of a hidden layer in deep networks.
//!
//! ```text
//! y  = s + b + r                      s: sums over neighbours; r = 0, x W_skip + b_skip or x, where x = drop(h)
//! x^ = (y - mean) / sqrt(var + eps)   layer norm: over the features of a node; batch norm: over all nodes
//! h' = act(weight x^ + bias)          without norm: h' = act(y)
//! ```
//!
//! Gradients: `d r = d y`, so `d W_skip = x^T d y`, `d b_skip = d b = sum of d y`, and `d y W_skip^T` or `d y` is added to
//! the gradient of x. Those of the norms are in `kernels/block` of `supergat-cpu`.

use super::context::Context;
use super::parameter::Parameter;
use super::scratch::{Scratch, Size};
use super::shape::Shape;
use crate::blocks::{Norm, Residual};
use crate::device::{self, BlockGradient, BlockGradients, BlockInput, BlockOutput, Device, Input, Mask, NormInput};
use crate::error::Result;
use crate::heads::HeadLayout;
use crate::hyperparameters::NetworkSettings;
use crate::memory::Arena;
use crate::random::{Purpose, Stream};
use crate::real::Real;

/// Steps of a hidden layer after its mixing, with their parameters.
#[derive(Debug)]
pub struct Block<D: Device> {
    step: device::Block,
    residual: Residual,
    /// Weight and bias of a linear residual.
    pub skip: Option<[Parameter<D>; 2]>,
    /// Weight and bias of the norm.
    pub norm: Option<[Parameter<D>; 2]>,
    /// Running mean and variance of batch norm, which are not learned.
    pub running: Option<[Parameter<D>; 2]>,
}

/// Values of a forward pass that the backward pass reads.
#[derive(Debug)]
pub struct BlockCache<D: Device> {
    normalised: D::Numbers,
    statistics: D::Numbers,
    /// Whether batch norm used the statistics of all nodes.
    of_nodes: bool,
}

impl<D: Device> Block<D> {
    /// Creates the steps of a layer called `name`, with zero parameters. `padded` tells whether its input has padding.
    pub fn new(device: &D, name: &str, shape: Shape, padded: bool, network: &NetworkSettings) -> Result<Self> {
        let layout = HeadLayout::new(shape.heads, shape.features);
        let row = |part: &str| Parameter::row(device, format!("{name}.{part}"), layout);
        let skip = match network.residual {
            Residual::Linear => {
                let weight = Parameter::weight(device, format!("{name}.skip.w"), shape.input, padded, layout, 1)?;
                Some([weight, row("skip.b")?])
            }
            _ => None,
        };
        let norm = match network.norm {
            Norm::None => None,
            _ => Some([row("norm.weight")?, row("norm.bias")?]),
        };
        let running = match network.norm {
            Norm::Batch => Some([row("norm.mean")?.not_learned(), row("norm.variance")?.not_learned()]),
            _ => None,
        };
        let step = device::Block { layout, norm: network.norm, activation: network.activation };
        Ok(Self { step, residual: network.residual, skip, norm, running })
    }

    /// Draws the linear residual as [`Parameter::linear`] does. Norms begin with weight 1, bias 0, running mean 0 and
    /// running variance 1.
    pub fn initialise(&mut self, device: &D, seed: u64, index: u16) -> Result<()> {
        if let Some([weight, bias]) = &mut self.skip {
            let [of_weight, of_bias] =
                [Purpose::SkipWeights, Purpose::SkipBias].map(|purpose| Stream::new(seed, 0, index, purpose));
            Parameter::linear(device, [weight, bias], [of_weight, of_bias])?;
        }
        let ones =
            |parameter: &mut Parameter<D>| parameter.set_rows(device, &vec![D::Number::ONE; parameter.elements()]);
        self.norm.as_mut().map_or(Ok(()), |[weight, _]| ones(weight))?;
        self.running.as_mut().map_or(Ok(()), |[_, variance]| ones(variance))
    }

    /// Returns all parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter<D>> {
        [&self.skip, &self.norm, &self.running].into_iter().flatten().flatten()
    }

    /// Returns all parameters, mutably.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = &mut Parameter<D>> {
        [&mut self.skip, &mut self.norm, &mut self.running].into_iter().flatten().flatten()
    }

    /// Returns whether the layer has a shortcut.
    pub fn has_residual(&self) -> bool {
        self.residual != Residual::None
    }

    /// Allocates memory for graphs up to a size.
    pub fn cache(&self, device: &D, size: Size, arena: &mut Arena) -> Result<BlockCache<D>> {
        let is_kept = size.training && self.norm.is_some();
        let rows = if is_kept { size.nodes * self.step.layout.stride() } else { 0 };
        Ok(BlockCache {
            normalised: device.numbers(rows, arena)?,
            statistics: device.numbers(device.norm_statistics(self.step, size.nodes), arena)?,
            of_nodes: false,
        })
    }

    /// Computes the output of the layer from the sums over neighbours, whose bias is `bias`. `input` is the layer's
    /// input under its dropout mask.
    #[allow(clippy::too_many_arguments)]
    pub fn forward(
        &self,
        context: &Context<'_, D>,
        input: Input<'_, D>,
        mask: Option<Mask<'_, D>>,
        sums: &D::Numbers,
        bias: &D::Numbers,
        cache: &mut BlockCache<D>,
        output: &mut D::Numbers,
    ) -> Result<()> {
        let (device, problem) = (context.device, context.problem);
        let shortcut = match (&self.skip, self.residual, input) {
            (Some([weight, bias]), ..) => {
                device.product(problem, input, mask, &weight.value, self.step.layout.stride(), output)?;
                device::Shortcut::Product(&bias.value)
            }
            (None, Residual::Identity, Input::Hidden { rows, .. }) => device::Shortcut::Rows(rows, mask),
            _ => device::Shortcut::None,
        };
        cache.of_nodes = self.running.is_some() && context.clock.is_some();
        let of_nodes = cache.of_nodes;
        let running =
            self.running.as_ref().filter(|_| !of_nodes).map(|[mean, variance]| [&mean.value, &variance.value]);
        let norm = self.norm.as_ref();
        let norm = norm.map(|[weight, bias]| NormInput { weight: &weight.value, bias: &bias.value, running });
        let BlockCache { normalised, statistics, .. } = cache;
        let to = BlockOutput { output, normalised, statistics };
        device.block_forward(problem, self.step, BlockInput { sums, bias, shortcut, norm }, to)
    }

    /// Computes the gradient of the sums (in `scratch.gradient`, from that of the next layer's input after the dropout
    /// `mask`) and of the parameters of the norm. Moves the running statistics of batch norm after a forward pass of
    /// training.
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        &mut self,
        context: &Context<'_, D>,
        mask: Option<Mask<'_, D>>,
        [sums, output]: [&D::Numbers; 2],
        cache: &BlockCache<D>,
        state: Option<&mut D::Numbers>,
        bias: &mut D::Numbers,
        scratch: &mut Scratch<D>,
    ) -> Result<()> {
        let BlockCache { normalised, statistics, of_nodes } = cache;
        let (weight, norm) = match &mut self.norm {
            Some([weight, bias]) => (Some(&weight.value), Some([&mut weight.gradient, &mut bias.gradient])),
            None => (None, None),
        };
        let from = BlockGradient { mask, sums, output, normalised, statistics, of_nodes: *of_nodes, weight };
        let running = self.running.as_mut().map(|running| running.each_mut().map(|parameter| &mut parameter.value));
        let Scratch { gradient, own, .. } = scratch;
        let to = BlockGradients { sums: gradient, state, bias, norm, running };
        context.device.block_backward(context.problem, self.step, from, own, to)
    }

    /// Computes the gradients of a linear residual from that of its output; `bias` is the gradient of the layer's bias.
    pub fn skip_gradient(
        &mut self,
        context: &Context<'_, D>,
        input: Input<'_, D>,
        mask: Option<Mask<'_, D>>,
        gradient: &D::Numbers,
        bias: &D::Numbers,
        scratch: &mut D::Scratch,
    ) -> Result<()> {
        let Some([weight, skip_bias]) = &mut self.skip else { return Ok(()) };
        let (device, problem, stride) = (context.device, context.problem, self.step.layout.stride());
        device.weight_gradient(problem, input, mask, gradient, stride, scratch, &mut weight.gradient)?;
        device.copy(bias, &mut skip_bias.gradient)
    }

    /// Returns whether the layer has a linear residual.
    pub fn is_linear(&self) -> bool {
        self.skip.is_some()
    }

    /// Computes the gradient of a hidden layer's input through a linear residual (`scratch.shortcut`) from that of the
    /// residual's output (`scratch.gradient`).
    pub fn shortcut_gradient(&self, context: &Context<'_, D>, width: usize, scratch: &mut Scratch<D>) -> Result<()> {
        let Some([weight, _]) = &self.skip else { return Ok(()) };
        let (device, problem, stride) = (context.device, context.problem, self.step.layout.stride());
        let Scratch { gradient, shortcut, own, .. } = scratch;
        device.shortcut_gradient(problem, gradient, stride, &weight.value, width, own, shortcut)
    }

    /// Adds the gradient of the layer's input through the shortcut to `scratch.gradient`. `scratch.shortcut` contains
    /// the gradient of the shortcut's output.
    pub fn add_input_gradient(&self, context: &Context<'_, D>, width: usize, scratch: &mut Scratch<D>) -> Result<()> {
        let (device, problem, stride) = (context.device, context.problem, self.step.layout.stride());
        let Scratch { gradient, shortcut, own, .. } = scratch;
        match &self.skip {
            Some([weight, _]) => {
                device.add_input_gradient(problem, shortcut, stride, &weight.value, width, own, gradient)
            }
            None => device.add_rows(problem, width, shortcut, gradient),
        }
    }
}
