//! Devices: memory for numbers, and the primitives that layers are made of.
//!
//! Layers, models and training are written once, over a [`Device`]. The CPU is one implementation
//! ([`Cpu`]). A further device is one type that implements the trait: where numbers are stored, how work is
//! divided and which copies it needs are its own affair.
//!
//! All devices use the same layouts: rows of heads ([`HeadLayout`]), states of attention
//! ([`crate::kernels::STATE`]), dropout masks and samples. So weights and masks can be compared number by
//! number, and the random numbers of all devices are the same bits.

mod cpu;

pub use cpu::{Cpu, CpuProblem, CpuScratch};

use crate::architecture::Architecture;
use crate::error::Result;
use crate::example::Example;
use crate::kernels::{Counts, Dropout, Form, HeadLayout, Primitives};
use crate::layers::{AttentionLoss, Join};
use crate::memory::Arena;
use crate::model_kind::Convolution;
use crate::random::Purpose;
use std::fmt::Debug;

/// A device that runs layers. All lengths are in numbers or bytes; buffers may be longer than a primitive
/// needs, because they fit the largest example.
pub trait Device: Debug + Clone + Send + Sync + 'static {
    /// Numbers on the host: features, weights in files, results.
    type Number: Primitives;
    /// Numbers in the memory of the device.
    type Numbers: Debug + Send + Sync;
    /// Bits in the memory of the device: dropout masks and chosen edges.
    type Bits: Debug + Send + Sync;
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

    /// Places an example in the memory of the device, for a network of this architecture that is trained
    /// with `loss`.
    fn place(
        &self,
        example: &Example<Self::Number>,
        architecture: &Architecture,
        loss: AttentionLoss,
    ) -> Result<Self::Problem>;
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
    /// Goes on to the next step. A recording contains this, unlike [`Device::set_step`].
    fn advance(&self, clock: &mut Self::Clock) -> Result<()>;
    /// Runs a sequence of primitives. A device may record the sequence when it is run, and later replay the
    /// recording instead of calling `work`. So `work` must run the same primitives on the same memory every
    /// time.
    fn replay(&self, recording: &mut Self::Recording, work: &mut dyn FnMut() -> Result<()>) -> Result<()>;

    /// Creates a record for a number of examples.
    fn record(&self, examples: usize) -> Result<Self::Record>;
    /// Waits for all primitives and reads the record.
    fn read(&self, record: &Self::Record, to: &mut Readings) -> Result<()>;

    /// Draws a dropout mask of `bytes` bytes; see [`Dropout::fill`].
    fn draw_mask(&self, random: Random<'_, Self>, dropout: Dropout, bytes: usize, keep: &mut Self::Bits) -> Result<()>;
    /// Draws the dropout mask of attention: a byte per edge and group of heads; see [`Dropout::fill_heads`].
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
    /// Computes attention: softmax of the scores, dropout, weighted sum. Completes the state.
    fn attention_forward(
        &self,
        problem: &Self::Problem,
        attention: Attention<'_, Self>,
        state: &mut Self::Numbers,
        sums: &mut Self::Numbers,
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

    /// Computes the gradient of the loss of the training nodes by the logits. Writes the loss to the
    /// example's place in the record, and sets the loss on attention there to zero.
    fn label_loss_backward(
        &self,
        problem: &Self::Problem,
        logits: &Self::Numbers,
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

/// Names the random numbers of a primitive.
#[derive(Debug)]
pub struct Random<'a, D: Device> {
    /// Seed and step.
    pub clock: &'a D::Clock,
    /// Number of the layer.
    pub layer: u16,
    /// Purpose of the numbers.
    pub purpose: Purpose,
}

/// A dropout mask.
#[derive(Debug)]
pub struct Mask<'a, D: Device> {
    /// Bits of kept values.
    pub keep: &'a D::Bits,
    /// Probability, and the factor of kept values.
    pub dropout: Dropout,
}

/// Input of a layer.
#[derive(Debug)]
pub enum Input<'a, D: Device> {
    /// Node features of the example.
    Features,
    /// Output of a hidden layer.
    Hidden {
        /// Rows of the nodes, including padding.
        rows: &'a D::Numbers,
        /// Numbers per row.
        width: usize,
    },
}

/// Inputs of attention.
#[derive(Debug)]
pub struct Attention<'a, D: Device> {
    /// Form of the scores.
    pub form: Form,
    /// Layout of the rows.
    pub layout: HeadLayout,
    /// Negative slope of LeakyReLU.
    pub slope: f64,
    /// Projected features.
    pub z: &'a D::Numbers,
    /// `a_source . z_j` of each node; only read by GO and MX.
    pub source_score: &'a D::Numbers,
    /// Dropout of the coefficients: a byte per edge and group of heads.
    pub keep: Option<Mask<'a, D>>,
    /// Edges that the softmax is taken over: a byte per edge and group of heads. `None` means all edges.
    pub chosen: Option<&'a D::Bits>,
}

/// Loss on attention in a backward pass.
#[derive(Debug)]
pub enum Supervision<'a, D: Device> {
    /// No loss on attention.
    None,
    /// Edge loss on the samples in the scratch memory, with this weight in the objective.
    Edges {
        /// Weight of the loss, lambda_E.
        lambda_e: f64,
    },
    /// Margin losses of CGAT, whose samples are drawn here.
    Margins {
        /// Seed and step of the samples.
        clock: &'a D::Clock,
        /// Number of the layer.
        layer: u16,
    },
}

/// What the gradient of attention is computed from.
#[derive(Debug)]
pub struct AttentionGradient<'a, D: Device> {
    /// State of every node, with its last slot.
    pub state: &'a D::Numbers,
    /// Gradient of the sums.
    pub sums: &'a D::Numbers,
    /// Attention vectors of GO and MX.
    pub vectors: Option<&'a D::Numbers>,
}

/// Gradients that the backward pass of attention writes.
#[derive(Debug)]
pub struct ProjectedGradient<'a, D: Device> {
    /// Gradient of the projected features.
    pub z: &'a mut D::Numbers,
    /// Gradient of the vectors of GO and MX.
    pub vectors: Option<&'a mut D::Numbers>,
}

/// Last step of a layer.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Layout of the heads.
    pub layout: HeadLayout,
    /// Combination of the heads.
    pub join: Join,
}

/// What the gradient of a layer's output is computed from.
#[derive(Debug)]
pub struct OutputGradient<'a, D: Device> {
    /// Gradient from above.
    pub above: FromAbove<'a, D>,
    /// Weighted sums of the forward pass.
    pub sums: &'a D::Numbers,
    /// Output of the forward pass.
    pub output: &'a D::Numbers,
}

/// Gradient of a layer's output, as the next layer or the loss computed it.
#[derive(Debug)]
pub enum FromAbove<'a, D: Device> {
    /// Gradient of the mean over heads, one number per feature.
    Mean(&'a D::Numbers),
    /// Gradient of the concatenated heads after the next layer's dropout. The gradient is in the buffer that
    /// is overwritten by that of the sums; the value here is the dropout mask.
    Concat(Option<Mask<'a, D>>),
}

/// Gradients that the backward pass of an output writes.
#[derive(Debug)]
pub struct SumsGradient<'a, D: Device> {
    /// Gradient of the sums.
    pub sums: &'a mut D::Numbers,
    /// State of attention, whose last slot is written; `None` for a layer without attention.
    pub state: Option<&'a mut D::Numbers>,
    /// Gradient of the bias.
    pub bias: &'a mut D::Numbers,
}

/// Place of an example in a record.
#[derive(Debug)]
pub struct Place<'a, D: Device> {
    /// The record.
    pub record: &'a mut D::Record,
    /// Number of the example.
    pub example: usize,
}

/// Hyperparameters of Adam.
#[derive(Debug, Clone, Copy)]
pub struct Adam {
    /// Learning rate.
    pub lr: f64,
    /// Coupled weight decay.
    pub lambda_2: f64,
}

/// Numbers of a parameter.
#[derive(Debug)]
pub struct ParameterMemory<'a, D: Device> {
    /// Weights.
    pub value: &'a mut D::Numbers,
    /// Gradient.
    pub gradient: &'a D::Numbers,
    /// Moments of the optimiser.
    pub moments: &'a mut [D::Numbers; 2],
    /// Length of the buffers.
    pub len: usize,
}

/// Losses and scores of an epoch, by example.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    /// Loss of the labels, and the sum of the losses on attention of all layers.
    pub losses: Vec<[f64; 2]>,
    /// Sum of the losses, and counts, of the validation and the test nodes.
    pub scores: Vec<[(f64, Counts); 2]>,
}

impl Readings {
    /// Creates readings of zero for a number of examples.
    pub fn new(examples: usize) -> Self {
        Self { losses: vec![[0.0; 2]; examples], scores: vec![Default::default(); examples] }
    }
}

/// Widths of a layer that shared memory depends on.
#[derive(Debug, Clone, Copy)]
pub struct LayerWidth {
    /// Length of a projected row, including padding.
    pub stride: usize,
    /// Length of the weight matrix, including padding.
    pub weight: usize,
}

macro_rules! copied {
    ($($name:ident),*) => {
        $(impl<D: Device> Clone for $name<'_, D> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<D: Device> Copy for $name<'_, D> {})*
    };
}
copied!(Random, Mask, Input, Attention, Supervision, AttentionGradient, FromAbove, OutputGradient);
