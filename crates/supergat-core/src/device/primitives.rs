//! Primitives of devices, a trait for each group of them.

use super::arguments::{
    Adam, Attention, AttentionGradient, AttentionLoss, Block, BlockGradient, BlockGradients, BlockInput, BlockOutput,
    Input, LabelInput, LabelLoss, LayerWidth, Mask, Output, OutputGradient, ParameterMemory, Place, ProjectedGradient,
    Random, Readings, SumsGradient, Supervision,
};
use super::memory::Memory;
use super::{no_half_precision, no_label_input};
use crate::architecture::Architecture;
use crate::dropout::Dropout;
use crate::error::Result;
use crate::example::ExampleShape;
use crate::form::Form;
use crate::heads::HeadLayout;
use crate::memory::Arena;
use crate::model_kind::Convolution;
use std::fmt::Debug;

/// Examples in the memory of a device, and the results of an epoch.
pub trait Problems: Memory {
    /// An example as it is given to the device.
    type Example: ExampleShape;
    /// An example in the memory of the device, with everything that stays constant in training: graph,
    /// features, labels, split, and the samplers of the loss on attention.
    type Problem: Debug + Send + Sync;
    /// Memory of the backward pass that is not visible to layers: samples of the loss on attention, sums of
    /// parts, copies.
    type Scratch: Debug + Send;
    /// Losses and scores of an epoch, before they are read.
    type Record: Debug + Send;

    /// Checks that the device can run networks of an architecture. By default, it runs all that gather rows of 32 bits.
    fn supports(&self, architecture: &Architecture) -> Result<()> {
        if architecture.network.precision.is_half() { Err(no_half_precision()) } else { Ok(()) }
    }
    /// Places an example in the memory of the device, for a network of this architecture that is trained
    /// with `loss`.
    fn place(&self, example: &Self::Example, architecture: &Architecture, loss: AttentionLoss)
    -> Result<Self::Problem>;
    /// Allocates the memory that backward passes over any of these examples need; in evaluation, where
    /// `training` is false, next to nothing.
    fn scratch(
        &self,
        problems: &[Self::Problem],
        layers: &[LayerWidth],
        training: bool,
        arena: &mut Arena,
    ) -> Result<Self::Scratch>;

    /// Creates a record for a number of examples.
    fn record(&self, examples: usize) -> Result<Self::Record>;
    /// Waits for all primitives and reads the record.
    fn read(&self, record: &Self::Record, to: &mut Readings) -> Result<()>;
}

/// Dropout masks.
pub trait Masks: Problems {
    /// Draws a dropout mask of `bytes` bytes; see [`Dropout::byte`].
    fn draw_mask(&self, random: Random<'_, Self>, dropout: Dropout, bytes: usize, keep: &mut Self::Bits) -> Result<()>;
    /// Draws the dropout mask of a layer's input `x`, of `bytes` bytes.
    fn draw_input_mask(
        &self,
        _problem: &Self::Problem,
        _x: Input<'_, Self>,
        random: Random<'_, Self>,
        dropout: Dropout,
        bytes: usize,
        keep: &mut Self::Bits,
    ) -> Result<()> {
        self.draw_mask(random, dropout, bytes, keep)
    }
    /// Draws the dropout mask of attention: a byte per edge and group of heads; see [`Dropout::byte`].
    fn draw_head_mask(
        &self,
        problem: &Self::Problem,
        random: Random<'_, Self>,
        dropout: Dropout,
        layout: HeadLayout,
        keep: &mut Self::Bits,
    ) -> Result<()>;
}

/// Products with weights, and their gradients.
pub trait Products: Problems {
    /// Computes `out = drop(X) W`; `out` has rows of `stride` numbers.
    fn product(
        &self,
        problem: &Self::Problem,
        x: Input<'_, Self>,
        mask: Option<Mask<'_, Self>>,
        weight: &Self::Numbers,
        stride: usize,
        out: &mut Self::Numbers,
    ) -> Result<()>;
    /// Computes the gradient of the weights, `out = drop(X)^T G`; `g` has rows of `stride` numbers.
    #[allow(clippy::too_many_arguments)]
    fn weight_gradient(
        &self,
        problem: &Self::Problem,
        x: Input<'_, Self>,
        mask: Option<Mask<'_, Self>>,
        g: &Self::Numbers,
        stride: usize,
        scratch: &mut Self::Scratch,
        out: &mut Self::Numbers,
    ) -> Result<()>;
    /// Computes the gradient of a layer's input after dropout, `out = G W^T`, where W has `width` rows of
    /// `stride` numbers.
    #[allow(clippy::too_many_arguments)]
    fn input_gradient(
        &self,
        problem: &Self::Problem,
        g: &Self::Numbers,
        stride: usize,
        weight: &Self::Numbers,
        width: usize,
        scratch: &mut Self::Scratch,
        out: &mut Self::Numbers,
    ) -> Result<()>;
    /// Computes `out = G W^T` as [`Products::input_gradient`] does. The result is needed after the gradient of attention, so a
    /// device may compute both at once.
    #[allow(clippy::too_many_arguments)]
    fn shortcut_gradient(
        &self,
        problem: &Self::Problem,
        g: &Self::Numbers,
        stride: usize,
        weight: &Self::Numbers,
        width: usize,
        scratch: &mut Self::Scratch,
        out: &mut Self::Numbers,
    ) -> Result<()> {
        self.input_gradient(problem, g, stride, weight, width, scratch, out)
    }
    /// Computes `out += G W^T`; see [`Products::input_gradient`].
    #[allow(clippy::too_many_arguments)]
    fn add_input_gradient(
        &self,
        problem: &Self::Problem,
        g: &Self::Numbers,
        stride: usize,
        weight: &Self::Numbers,
        width: usize,
        scratch: &mut Self::Scratch,
        out: &mut Self::Numbers,
    ) -> Result<()>;
}

/// Attention, its gradient, and attention as a result.
pub trait AttentionPasses: Problems {
    /// Returns how many values per node the device keeps from the forward pass for the backward pass. In a training,
    /// memory for them is allocated at the end of the state.
    fn kept_by_attention(&self, _form: Form, _layout: HeadLayout) -> usize {
        0
    }
    /// Writes `a_target . z_i` to the state and `a_source . z_i` to `source_score`; `vectors` are both
    /// vectors, one row after the other.
    fn attention_scores(
        &self,
        problem: &Self::Problem,
        layout: HeadLayout,
        z: &Self::Numbers,
        vectors: &Self::Numbers,
        state: &mut Self::Numbers,
        source_score: &mut Self::Numbers,
    ) -> Result<()>;
    /// Rounds rows of `stride` numbers to 16 bits. Only a device that supports [`Precision::Bf16`](crate::Precision::Bf16) has it.
    fn round_rows(
        &self,
        _problem: &Self::Problem,
        _stride: usize,
        _rows: &Self::Numbers,
        _rounded: &mut Self::Numbers,
    ) -> Result<()> {
        Err(no_half_precision())
    }
    /// Chooses the edges with the k largest scores of each node and head, for CGAT.
    fn choose_top_k(
        &self,
        problem: &Self::Problem,
        attention: Attention<'_, Self>,
        state: &Self::Numbers,
        chosen: &mut Self::Bits,
    ) -> Result<()>;
    /// Computes attention: softmax of the scores, dropout, weighted sum. Completes the state, except for its last slot.
    /// With `messages`, writes the weighted sums of the features of edges to the second list, and adds their product with
    /// the matrix.
    fn attention_forward(
        &self,
        problem: &Self::Problem,
        attention: Attention<'_, Self>,
        state: &mut Self::Numbers,
        sums: &mut Self::Numbers,
        messages: Option<(&Self::Numbers, &mut Self::Numbers)>,
    ) -> Result<()>;
    /// Computes the gradients of the projected features and of the vectors, from the gradient of the sums and
    /// the loss on attention. Adds that loss to the example's place in the record.
    #[allow(clippy::too_many_arguments)]
    fn attention_backward(
        &self,
        problem: &Self::Problem,
        attention: Attention<'_, Self>,
        supervision: Supervision<'_, Self>,
        from: AttentionGradient<'_, Self>,
        scratch: &mut Self::Scratch,
        to: ProjectedGradient<'_, Self>,
        record: Place<'_, Self>,
    ) -> Result<()>;
    /// Computes the coefficient and the edge logit of every edge and head: element `edge * heads + head`.
    fn edge_values(
        &self,
        problem: &Self::Problem,
        attention: Attention<'_, Self>,
        state: &Self::Numbers,
    ) -> Result<[Vec<Self::Number>; 2]>;
    /// Computes the edge logit, averaged over heads, of pairs `[source, target]`.
    fn pair_logits(
        &self,
        problem: &Self::Problem,
        attention: Attention<'_, Self>,
        state: &Self::Numbers,
        pairs: &[[u32; 2]],
    ) -> Result<Vec<Self::Number>>;
}

/// Samples of the edge loss.
pub trait Sampling: Problems {
    /// Announces a training step of a network with an edge loss, before its forward pass. A device may start to
    /// draw the samples of all layers, which depend on the clock only.
    fn announce_step(
        &self,
        _problem: &Self::Problem,
        _clock: &Self::Clock,
        _layers: u16,
        _scratch: &mut Self::Scratch,
    ) -> Result<()> {
        Ok(())
    }
    /// Draws the samples of the edge loss of a layer into the scratch memory.
    fn draw_samples(
        &self,
        problem: &Self::Problem,
        clock: &Self::Clock,
        layer: u16,
        scratch: &mut Self::Scratch,
    ) -> Result<()>;
    /// Sets the samples of the edge loss to all edges and the given non-edges `[source, target]`.
    fn set_samples(&self, problem: &Self::Problem, negatives: &[[u32; 2]], scratch: &mut Self::Scratch) -> Result<()>;
    /// Reads the samples of the edge loss: the bits of the sampled edges, and the non-edges in the order of
    /// drawing.
    fn samples(&self, problem: &Self::Problem, scratch: &Self::Scratch) -> Result<(Vec<u8>, Vec<[u32; 2]>)>;
}

/// Graph convolutions.
pub trait Convolutions: Problems {
    /// Computes the sums of a graph convolution; `width` is the length of a row of the sums. With a root
    /// weight, a row of `z` has two halves, and the second one is added to the sum.
    fn convolve(
        &self,
        problem: &Self::Problem,
        convolution: Convolution,
        width: usize,
        z: &Self::Numbers,
        sums: &mut Self::Numbers,
    ) -> Result<()>;
    /// Computes the gradient of `z` from that of the sums of a graph convolution.
    fn convolve_backward(
        &self,
        problem: &Self::Problem,
        convolution: Convolution,
        width: usize,
        gradient: &Self::Numbers,
        d_z: &mut Self::Numbers,
    ) -> Result<()>;
}

/// Outputs of layers.
pub trait Outputs: Problems {
    /// Computes the output of a layer: concatenation or mean of the heads, bias, activation.
    fn output_forward(
        &self,
        problem: &Self::Problem,
        output: Output,
        bias: &Self::Numbers,
        sums: &Self::Numbers,
        out: &mut Self::Numbers,
    ) -> Result<()>;
    /// Computes the gradients of the sums and of the bias, and the last slot of the state of attention, from
    /// the gradient of the output.
    fn output_backward(
        &self,
        problem: &Self::Problem,
        output: Output,
        from: OutputGradient<'_, Self>,
        scratch: &mut Self::Scratch,
        to: SumsGradient<'_, Self>,
    ) -> Result<()>;
}

/// Hidden blocks of deep networks.
pub trait HiddenBlocks: Problems {
    /// Returns the length of the statistics of a norm on examples of up to `nodes` nodes.
    fn norm_statistics(&self, block: Block, nodes: usize) -> usize;
    /// Computes the output of a hidden block: bias, shortcut, norm, activation.
    fn block_forward(
        &self,
        problem: &Self::Problem,
        block: Block,
        from: BlockInput<'_, Self>,
        to: BlockOutput<'_, Self>,
    ) -> Result<()>;
    /// Computes the gradients of a hidden block, and moves the running statistics of batch norm.
    fn block_backward(
        &self,
        problem: &Self::Problem,
        block: Block,
        from: BlockGradient<'_, Self>,
        scratch: &mut Self::Scratch,
        to: BlockGradients<'_, Self>,
    ) -> Result<()>;
    /// Computes `sum += rows` for rows of `width` numbers.
    fn add_rows(
        &self,
        problem: &Self::Problem,
        width: usize,
        rows: &Self::Numbers,
        sum: &mut Self::Numbers,
    ) -> Result<()>;
}

/// Labels as input. By default, a device has none.
pub trait LabelInputs: Problems {
    /// Writes the labels that training nodes show as input: a row per node, and a byte per node that is 1 where it shows
    /// its label. Labels of other nodes are not read.
    fn show_labels(
        &self,
        _problem: &Self::Problem,
        _input: LabelInput<'_, Self>,
        _shown: &mut Self::Bits,
        _rows: &mut Self::Numbers,
    ) -> Result<()> {
        Err(no_label_input())
    }
    /// Writes the probabilities of the classes, from the logits of a pass, to the rows of nodes that do not show their
    /// label.
    fn reuse_labels(
        &self,
        _problem: &Self::Problem,
        _input: LabelInput<'_, Self>,
        _logits: &Self::Numbers,
        _shown: &Self::Bits,
        _rows: &mut Self::Numbers,
    ) -> Result<()> {
        Err(no_label_input())
    }
}

/// Losses and scores of labels.
pub trait LabelLosses: Problems {
    /// Computes the gradient of the loss of the training nodes by the logits: cross-entropy, or the focal loss if
    /// its exponent is positive, with the example's weights of classes. Where some training nodes show their label, the
    /// weights of the others are divided by their expected sum. Writes the loss to the example's place in the record, and
    /// sets the loss on attention there to zero.
    fn label_loss_backward(
        &self,
        problem: &Self::Problem,
        logits: &Self::Numbers,
        loss: LabelLoss<'_, Self>,
        gradient: &mut Self::Numbers,
        scratch: &mut Self::Scratch,
        record: Place<'_, Self>,
    ) -> Result<()>;
    /// Writes the sums of the losses and the counts of the validation and the test nodes to the example's
    /// place in the record.
    fn evaluate(&self, problem: &Self::Problem, logits: &Self::Numbers, record: Place<'_, Self>) -> Result<()>;
}

/// Update of parameters.
pub trait Optimiser: Problems {
    /// Updates parameters by one step of Adam; the number of the step is that of the clock, counted from 1.
    fn adam<'a>(
        &self,
        adam: Adam,
        clock: &Self::Clock,
        parameters: impl Iterator<Item = ParameterMemory<'a, Self>>,
    ) -> Result<()>;
}
