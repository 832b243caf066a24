//! Arguments of the primitives of a device.

use super::{Host, Memory, Problems};
use crate::activation::Activation;
use crate::blocks::Norm;
use crate::contrast::Contrast;
use crate::counts::Counts;
use crate::dropout::Dropout;
use crate::form::Form;
use crate::heads::HeadLayout;
use crate::hyperparameters::TrainingSettings;
use crate::precision::Precision;
use crate::random::{Purpose, Stream};

/// Seed and step that determine all random numbers of a training step.
///
/// See [`crate::Session`] for an example.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the step, from 0.
    pub step: u32,
}

/// Kind of loss on attention that a model is trained with.
///
/// [`crate::Prepared`] chooses it by the model kind and has an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttentionLoss {
    /// No loss on attention: labels only.
    None,
    /// SuperGAT: edges against sampled non-edges.
    Edges {
        /// Share of the edges that is sampled in each step.
        p_e: f64,
        /// Number of non-edges per sampled edge.
        p_n: f64,
    },
    /// CGAT: margins between the scores of edges.
    Margins(Contrast),
}

/// Names the random numbers of a primitive.
#[derive(Debug)]
pub struct Random<'a, D: Memory> {
    /// Seed and step.
    pub clock: &'a D::Clock,
    /// Number of the layer.
    pub layer: u16,
    /// Purpose of the numbers.
    pub purpose: Purpose,
}

impl<D: Host> Random<'_, D> {
    /// Returns the stream of the random numbers.
    pub fn stream(&self) -> Stream {
        Stream::new(self.clock.seed, self.clock.step, self.layer, self.purpose)
    }
}

/// A dropout mask.
#[derive(Debug)]
pub struct Mask<'a, D: Memory> {
    /// Bits of kept values.
    pub keep: &'a D::Bits,
    /// Probability, and the factor of kept values.
    pub dropout: Dropout,
}

/// Input of a layer.
#[derive(Debug)]
pub enum Input<'a, D: Memory> {
    /// Node features of the example.
    Features,
    /// Node features of the example, followed by rows of labels. Weights have a row per feature, then one per class.
    Labelled {
        /// A number per node and class, after dropout.
        rows: &'a D::Numbers,
        /// Number of classes.
        classes: usize,
    },
    /// Output of a hidden layer.
    Hidden {
        /// Rows of the nodes, including padding.
        rows: &'a D::Numbers,
        /// Numbers per row.
        width: usize,
    },
}

/// Rule by which training nodes show their labels as input.
#[derive(Debug)]
pub struct LabelInput<'a, D: Memory> {
    /// Seed and step of the choice and of dropout; `None` in evaluation, where all training nodes show their label.
    pub clock: Option<&'a D::Clock>,
    /// Number of training nodes that show their label in a training step.
    pub shown: usize,
    /// Dropout of the rows of labels in training.
    pub dropout: Dropout,
}

/// Terms of the loss of labels.
#[derive(Debug)]
pub struct LabelLoss<'a, D: Memory> {
    /// Settings of training, such as the exponent of the focal loss.
    pub settings: &'a TrainingSettings,
    /// Training nodes that show their label and do not count: a byte per node, and their number. `None` if all training
    /// nodes count.
    pub shown: Option<(&'a D::Bits, usize)>,
}

/// Inputs of attention.
#[derive(Debug)]
pub struct Attention<'a, D: Memory> {
    /// Form of the scores.
    pub form: Form,
    /// Layout of the rows.
    pub layout: HeadLayout,
    /// Negative slope of LeakyReLU.
    pub slope: f64,
    /// Projected features; those of GATv2 are a row per node as source, followed by its row as target.
    pub z: &'a D::Numbers,
    /// Format of `z`, and of the gradients that the backward pass gathers.
    pub precision: Precision,
    /// `a_source . z_j` of each node; only read by GO and MX.
    pub source_score: &'a D::Numbers,
    /// The vectors `a`, in rows in the layout of the heads: one of GATv2, two of GO and MX. `None` for other forms.
    pub vectors: Option<&'a D::Numbers>,
    /// Dropout of the coefficients: a byte per edge and group of heads.
    pub keep: Option<Mask<'a, D>>,
    /// Edges that the softmax is taken over: a byte per edge and group of heads. `None` means all edges.
    pub chosen: Option<&'a D::Bits>,
    /// Vectors of the features of edges: a row of per-head values per feature.
    pub edge_vectors: Option<&'a D::Numbers>,
}

/// Loss on attention in a backward pass.
#[derive(Debug)]
pub enum Supervision<'a, D: Memory> {
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

/// Inputs of the gradient of attention.
#[derive(Debug)]
pub struct AttentionGradient<'a, D: Memory> {
    /// State of every node, with its last slot.
    pub state: &'a D::Numbers,
    /// Gradient of the sums.
    pub sums: &'a D::Numbers,
    /// If messages carry the features of edges: their matrix, and the weighted sums of features.
    pub messages: Option<(&'a D::Numbers, &'a D::Numbers)>,
}

/// Gradients that the backward pass of attention writes.
#[derive(Debug)]
pub struct ProjectedGradient<'a, D: Memory> {
    /// Gradient of the projected features.
    pub z: &'a mut D::Numbers,
    /// Gradient of the attention vectors; `None` for forms without them.
    pub vectors: Option<&'a mut D::Numbers>,
    /// Gradient of the vectors of the features of edges.
    pub edge_vectors: Option<&'a mut D::Numbers>,
    /// Gradients of the features of edges in messages.
    pub messages: Option<MessageGradient<'a, D>>,
}

/// Gradients of the features of edges in messages.
#[derive(Debug)]
pub struct MessageGradient<'a, D: Memory> {
    /// Gradient of the matrix.
    pub matrix: &'a mut D::Numbers,
    /// Gradient of the weighted sums of features, a row of per-head values per node and feature.
    pub sums: &'a mut D::Numbers,
}

/// Combination of the heads of a layer.
///
/// See [`Layer`](crate::layers::Layer) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Concatenation and ELU, in hidden layers.
    ConcatElu,
    /// Concatenation.
    Concat,
    /// Mean over heads, in the last layer.
    Mean,
}

/// Last step of a layer.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Layout of the heads.
    pub layout: HeadLayout,
    /// Combination of the heads.
    pub join: Join,
}

/// Inputs of the gradient of a layer's output.
#[derive(Debug)]
pub struct OutputGradient<'a, D: Memory> {
    /// Gradient from above.
    pub above: FromAbove<'a, D>,
    /// Weighted sums of the forward pass.
    pub sums: &'a D::Numbers,
    /// Output of the forward pass.
    pub output: &'a D::Numbers,
}

/// Gradient of a layer's output, as the next layer or the loss computed it.
#[derive(Debug)]
pub enum FromAbove<'a, D: Memory> {
    /// Gradient of the mean over heads, one number per feature.
    Mean(&'a D::Numbers),
    /// Gradient of the concatenated heads after the next layer's dropout. The gradient is in the buffer that
    /// is overwritten by that of the sums; the value here is the dropout mask.
    Concat(Option<Mask<'a, D>>),
}

/// Gradients that the backward pass of an output writes.
#[derive(Debug)]
pub struct SumsGradient<'a, D: Memory> {
    /// Gradient of the sums.
    pub sums: &'a mut D::Numbers,
    /// State of attention, whose last slot is written; `None` for a layer without attention.
    pub state: Option<&'a mut D::Numbers>,
    /// Gradient of the bias.
    pub bias: &'a mut D::Numbers,
}

/// Last steps of a hidden block: shortcut, norm and activation.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// Layout of the heads, which are concatenated.
    pub layout: HeadLayout,
    /// Normalisation.
    pub norm: Norm,
    /// Activation.
    pub activation: Activation,
}

/// Shortcut of a hidden block, which is added to the sums over neighbours.
#[derive(Debug)]
pub enum Shortcut<'a, D: Memory> {
    /// Nothing.
    None,
    /// The product that the output buffer contains already, plus this bias.
    Product(&'a D::Numbers),
    /// The rows of the layer's input under its dropout mask.
    Rows(&'a D::Numbers, Option<Mask<'a, D>>),
}

/// Inputs of a hidden block.
#[derive(Debug)]
pub struct BlockInput<'a, D: Memory> {
    /// Sums over neighbours.
    pub sums: &'a D::Numbers,
    /// Bias of the sums.
    pub bias: &'a D::Numbers,
    /// Shortcut.
    pub shortcut: Shortcut<'a, D>,
    /// Parameters of the norm; `None` without norm.
    pub norm: Option<NormInput<'a, D>>,
}

/// Parameters of a norm.
#[derive(Debug)]
pub struct NormInput<'a, D: Memory> {
    /// Weight of each feature.
    pub weight: &'a D::Numbers,
    /// Bias of each feature.
    pub bias: &'a D::Numbers,
    /// Running mean and variance, which batch norm uses in evaluation. `None` for layer norm, and for batch norm with
    /// the statistics of all nodes.
    pub running: Option<[&'a D::Numbers; 2]>,
}

/// Outputs of the forward pass of a hidden block.
#[derive(Debug)]
pub struct BlockOutput<'a, D: Memory> {
    /// Output of the layer.
    pub output: &'a mut D::Numbers,
    /// Normalised rows, for the backward pass; not written if empty.
    pub normalised: &'a mut D::Numbers,
    /// Statistics of the norm; see [`HiddenBlocks::norm_statistics`](super::HiddenBlocks::norm_statistics).
    pub statistics: &'a mut D::Numbers,
}

/// Inputs of the gradient of a hidden block.
#[derive(Debug)]
pub struct BlockGradient<'a, D: Memory> {
    /// Dropout mask of the next layer's input.
    pub mask: Option<Mask<'a, D>>,
    /// Sums over neighbours of the forward pass.
    pub sums: &'a D::Numbers,
    /// Output of the forward pass.
    pub output: &'a D::Numbers,
    /// Normalised rows of the forward pass.
    pub normalised: &'a D::Numbers,
    /// Statistics of the forward pass.
    pub statistics: &'a D::Numbers,
    /// Whether batch norm used the statistics of all nodes.
    pub of_nodes: bool,
    /// Weight of the norm; `None` without norm.
    pub weight: Option<&'a D::Numbers>,
}

/// Gradients that the backward pass of a hidden block writes.
#[derive(Debug)]
pub struct BlockGradients<'a, D: Memory> {
    /// Gradient of the next layer's input after dropout, which is overwritten by that of the sums.
    pub sums: &'a mut D::Numbers,
    /// State of attention, whose last slot is written; `None` for a layer without attention.
    pub state: Option<&'a mut D::Numbers>,
    /// Gradient of the bias.
    pub bias: &'a mut D::Numbers,
    /// Gradients of the weight and the bias of the norm; `None` without norm.
    pub norm: Option<[&'a mut D::Numbers; 2]>,
    /// Running mean and variance, which are moved towards the statistics of all nodes.
    pub running: Option<[&'a mut D::Numbers; 2]>,
}

/// Place of an example in a record.
#[derive(Debug)]
pub struct Place<'a, D: Problems> {
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
pub struct ParameterMemory<'a, D: Memory> {
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
    /// Number of per-head values of a node, including padding.
    pub heads: usize,
    /// Format of the rows that are gathered over edges.
    pub precision: Precision,
    /// Length of the weight matrix, including padding.
    pub weight: usize,
    /// Largest number of sums over nodes that a backward pass computes, besides the gradient of the weight matrix.
    pub sums: usize,
}

macro_rules! copied {
    ($($name:ident),*) => {
        $(impl<D: Memory> Clone for $name<'_, D> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<D: Memory> Copy for $name<'_, D> {})*
    };
}
copied!(
    Random,
    Mask,
    Input,
    LabelInput,
    LabelLoss,
    Attention,
    Supervision,
    AttentionGradient,
    FromAbove,
    OutputGradient,
    Shortcut,
    BlockInput,
    NormInput,
    BlockGradient
);
