//! Devices: memory for numbers, and the primitives that layers are made of.
//!
//! Layers, models and training are written once, over a [`Device`]. Each device is a crate of its own with one type
//! that implements the trait: where numbers are stored, how work is divided and which copies it needs are its own
//! affair.
//!
//! All devices use the same layouts: rows of heads ([`HeadLayout`]), states of attention
//! ([`STATE`]), dropout masks and samples. So weights and masks can be compared number by
//! number, and the random numbers of all devices are the same bits.

mod arguments;
pub mod lists;

pub use arguments::{
    Adam, Attention, AttentionGradient, AttentionLoss, AttentionV2, Block, BlockGradient, BlockGradients, BlockInput,
    BlockOutput, Draw, FromAbove, Input, Join, LabelInput, LabelLoss, LayerWidth, Mask, MessageGradient, NormInput,
    Output, OutputGradient, ParameterMemory, Place, ProjectedGradient, Random, Readings, Shortcut, SumsGradient,
    Supervision,
};
pub use lists::{Lists, NoLoops};

use crate::architecture::Architecture;
use crate::blocks::Blocks;
use crate::dropout::Dropout;
use crate::error::{Error, Result};
use crate::example::{Example, ExampleShape};
use crate::form::Form;
use crate::heads::HeadLayout;
use crate::memory::Arena;
use crate::model_kind::Convolution;
use crate::real::Real;
use std::fmt::Debug;

/// Number of per-head values in the state of a node as target. In this order: `a_target . z_i`, the largest
/// score, the inverse of the sum of exponentials, and `g_i . out_i` (the term of the softmax's gradient that
/// all edges of the node share).
pub const STATE: usize = 4;

/// A device of one process, which is given whole examples.
pub trait SingleDevice: Device<Example = Example<<Self as Device>::Number>> {}

impl<D: Device<Example = Example<<D as Device>::Number>>> SingleDevice for D {}

/// A device that runs layers. All lengths are in numbers or bytes; buffers may be longer than a primitive
/// needs, because they fit the largest example.
pub trait Device: Debug + Clone + Send + Sync + 'static {
    /// Numbers on the host: features, weights in files, results.
    type Number: Real;
    /// Numbers in the memory of the device.
    type Numbers: Debug + Send + Sync;
    /// Bits in the memory of the device: dropout masks and chosen edges.
    type Bits: Debug + Send + Sync;
    /// An example as it is given to the device.
    type Example: ExampleShape;
    /// An example in the memory of the device, with everything that stays constant in training: graph,
    /// features, labels, split, and the samplers of the loss on attention.
    type Problem: Debug + Send + Sync;
    /// Memory of the backward pass that is not visible to layers: samples of the loss on attention, sums of
    /// parts, copies.
    type Scratch: Debug + Send;
    /// Seed and step that determine the random numbers of a training step.
    type Clock: Debug + Send;
    /// Losses and scores of an epoch, before they are read.
    type Record: Debug + Send;
    /// A recorded sequence of primitives.
    type Recording: Debug + Default + Send;

    /// Allocates zeros.
    fn numbers(&self, len: usize, arena: &mut Arena) -> Result<Self::Numbers>;
    /// Allocates bytes of zero bits.
    fn bits(&self, bytes: usize, arena: &mut Arena) -> Result<Self::Bits>;
    /// Writes numbers of the host to the front of a buffer.
    fn upload(&self, from: &[Self::Number], to: &mut Self::Numbers) -> Result<()>;
    /// Reads numbers from the front of a buffer.
    fn download(&self, from: &Self::Numbers, to: &mut [Self::Number]) -> Result<()>;
    /// Reads bytes from the front of a buffer of bits.
    fn download_bits(&self, from: &Self::Bits, to: &mut [u8]) -> Result<()>;
    /// Copies a buffer to another one of the same length.
    fn copy(&self, from: &Self::Numbers, to: &mut Self::Numbers) -> Result<()>;

    /// Checks that the device can run networks of an architecture. By default, it has no hidden blocks and no labels as
    /// input.
    fn supports(&self, architecture: &Architecture) -> Result<()> {
        match architecture.reads_labels() {
            _ if architecture.blocks != Blocks::default() => Err(no_blocks()),
            true => Err(no_label_input()),
            false => Ok(()),
        }
    }
    /// Checks that the device has the primitives of a form of attention. By default, it has none of GATv2.
    fn supports_form(&self, form: Form) -> Result<()> {
        if form == Form::V2 { Err(no_attention_v2()) } else { Ok(()) }
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

    /// Creates the clock of a run, at step 0.
    fn clock(&self, seed: u64) -> Result<Self::Clock>;
    /// Sets the number of the step.
    fn set_step(&self, clock: &mut Self::Clock, step: u32) -> Result<()>;
    /// Increases the number of the step by one. A recording repeats this when it is replayed;
    /// [`Device::set_step`] must not be recorded.
    fn advance(&self, clock: &mut Self::Clock) -> Result<()>;
    /// Runs a sequence of primitives. A device may record the sequence when it is run, and later replay the
    /// recording instead of calling `work`. So `work` must run the same primitives on the same memory every
    /// time.
    fn replay(&self, recording: &mut Self::Recording, work: &mut dyn FnMut() -> Result<()>) -> Result<()>;

    /// Creates a record for a number of examples.
    fn record(&self, examples: usize) -> Result<Self::Record>;
    /// Waits for all primitives and reads the record.
    fn read(&self, record: &Self::Record, to: &mut Readings) -> Result<()>;

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
    /// Chooses the edges with the k largest scores of each node and head, for CGAT.
    fn choose_top_k(
        &self,
        problem: &Self::Problem,
        attention: Attention<'_, Self>,
        state: &Self::Numbers,
        chosen: &mut Self::Bits,
    ) -> Result<()>;
    /// Computes attention: softmax of the scores, dropout, weighted sum. Completes the state. With `messages`, writes
    /// the weighted sums of the features of edges to the second list, and adds their product with the matrix.
    fn attention_forward(
        &self,
        problem: &Self::Problem,
        attention: Attention<'_, Self>,
        state: &mut Self::Numbers,
        sums: &mut Self::Numbers,
        messages: Option<(&Self::Numbers, &mut Self::Numbers)>,
    ) -> Result<()>;
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

    /// Computes GATv2 attention: softmax of the scores, dropout, weighted sum. Writes the state, except for the score and
    /// the last slot. `messages` is that of [`Device::attention_forward`].
    fn attention_v2_forward(
        &self,
        _problem: &Self::Problem,
        _attention: AttentionV2<'_, Self>,
        _state: &mut Self::Numbers,
        _sums: &mut Self::Numbers,
        _messages: Option<(&Self::Numbers, &mut Self::Numbers)>,
    ) -> Result<()> {
        Err(no_attention_v2())
    }
    /// Computes the gradients of the projected features and of the vectors of GATv2 attention, like
    /// [`Device::attention_backward`].
    #[allow(clippy::too_many_arguments)]
    fn attention_v2_backward(
        &self,
        _problem: &Self::Problem,
        _attention: AttentionV2<'_, Self>,
        _supervision: Supervision<'_, Self>,
        _from: AttentionGradient<'_, Self>,
        _scratch: &mut Self::Scratch,
        _to: ProjectedGradient<'_, Self>,
        _record: Place<'_, Self>,
    ) -> Result<()> {
        Err(no_attention_v2())
    }
    /// Computes the values of [`Device::edge_values`] for GATv2 attention.
    fn v2_edge_values(
        &self,
        _problem: &Self::Problem,
        _attention: AttentionV2<'_, Self>,
        _state: &Self::Numbers,
    ) -> Result<[Vec<Self::Number>; 2]> {
        Err(no_attention_v2())
    }
    /// Computes the values of [`Device::pair_logits`] for GATv2 attention.
    fn v2_pair_logits(
        &self,
        _problem: &Self::Problem,
        _attention: AttentionV2<'_, Self>,
        _pairs: &[[u32; 2]],
    ) -> Result<Vec<Self::Number>> {
        Err(no_attention_v2())
    }

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

    /// Returns the length of the statistics of a norm on examples of up to `nodes` nodes.
    fn norm_statistics(&self, _block: Block, _nodes: usize) -> usize {
        0
    }
    /// Computes the output of a hidden block: bias, shortcut, norm, activation.
    fn block_forward(
        &self,
        _problem: &Self::Problem,
        _block: Block,
        _from: BlockInput<'_, Self>,
        _to: BlockOutput<'_, Self>,
    ) -> Result<()> {
        Err(no_blocks())
    }
    /// Computes the gradients of a hidden block, and moves the running statistics of batch norm.
    fn block_backward(
        &self,
        _problem: &Self::Problem,
        _block: Block,
        _from: BlockGradient<'_, Self>,
        _scratch: &mut Self::Scratch,
        _to: BlockGradients<'_, Self>,
    ) -> Result<()> {
        Err(no_blocks())
    }
    /// Computes `sum += rows` for rows of `width` numbers.
    fn add_rows(
        &self,
        _problem: &Self::Problem,
        _width: usize,
        _rows: &Self::Numbers,
        _sum: &mut Self::Numbers,
    ) -> Result<()> {
        Err(no_blocks())
    }

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

    /// Updates parameters by one step of Adam; the number of the step is that of the clock, counted from 1.
    fn adam<'a>(
        &self,
        adam: Adam,
        clock: &Self::Clock,
        parameters: impl Iterator<Item = ParameterMemory<'a, Self>>,
    ) -> Result<()>;
}

/// Returns the error of a device without hidden blocks.
fn no_blocks() -> Error {
    let message = "residual, norm, activation, input_layer, output_layer, self_loops and attention_dropout need \
                   another device: use the device cpu, or leave them at their defaults";
    Error::Device { message: message.into() }
}

/// Returns the error of a device without labels as input.
pub fn no_label_input() -> Error {
    let message = "label_input needs one process, and a graph that is not divided into parts: train in one process on \
                   the whole graph, or set label_input to 0";
    Error::Device { message: message.into() }
}

/// Returns the error of a device without GATv2 attention.
fn no_attention_v2() -> Error {
    let message = "the models gatv2 and supergat-v2 need the CPU or a GPU of one process: start one process, or use another \
                   model";
    Error::Device { message: message.into() }
}
