//! The kernels of the CPU that layers are made of, compiled once for `f32`, and once for `f64`: products
//! of matrices always, the others with the feature `f64`, which tests use.
//!
//! The CPU calls them as methods of its number type ([`crate::Cpu`]). They are not generic functions,
//! because every crate that calls those would compile all kernels again, for all instruction sets.

use super::adam::{self, Adam};
use super::aggregate::{self, Aggregation, Slice};
use super::attention::{self, Attention, Gradient};
use super::bitmap::{self, Bitmap};
use super::block::{self, ColumnNorm, Finish, NormGradient, Shortcut};
use super::dense::{self, Dense};
use super::dropout::Mask;
use super::label_input::{self, LabelChoice, LabelDropout};
use super::loss::{self, LabelTerms};
use super::margin::{self, Margin, NodeScores, OutgoingEdges, ScoreGradient};
use super::output::{self, OutputGradient};
use super::parts::Parts;
use super::sparse::{self, Compressed};
use super::{lists, top_k};
use crate::kernels::simd::SimdReal;
use supergat_core::stopwatch::timed;
use supergat_core::{Activation, Counts, HeadLayout, Labels};

/// Defines a trait of kernels, and implements it for `f32` and `f64`.
macro_rules! kernels {
    (
        $(#[$trait_doc:meta])* $trait:ident: $bound:ident for f32, $(#[$double:meta])? f64;
        $($methods:tt)*
    ) => {
        kernels!(@trait $(#[$trait_doc])* $trait: $bound; $($methods)*);
        kernels!(@impl $trait f32 $($methods)*);
        $(#[$double])?
        kernels!(@impl $trait f64 $($methods)*);
    };
    (
        @trait $(#[$trait_doc:meta])* $trait:ident: $bound:ident;
        $($(#[$doc:meta])* $module:ident::$name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*
    ) => {
        $(#[$trait_doc])*
        pub trait $trait: $bound {
            $($(#[$doc])* #[allow(clippy::too_many_arguments)] fn $name($($arg: $type),*) $(-> $result)?;)*
        }
    };
    (
        @impl $trait:ident $number:ident
        $($(#[$doc:meta])* $module:ident::$name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*
    ) => {
        impl $trait for $number {
            $(#[inline(never)] fn $name($($arg: $type),*) $(-> $result)? {
                timed(stringify!($name), || $module::$name($($arg),*))
            })*
        }
    };
}

kernels! {
    /// Numbers with products of matrices. Principal components are computed in double precision.
    Products: SimdReal for f32, f64;
    /// Computes `out = X M` for sparse `X` under a dropout mask.
    sparse::sparse_product(
        parts: &Parts, x: Compressed<'_, Self>, mask: Option<Mask<'_, Self>>, m: &[Self], stride: usize, out: &mut [Self],
    );
    /// Computes `out = X^T G` for sparse `X` under a dropout mask.
    sparse::sparse_transposed_product(
        parts: &Parts, x: Compressed<'_, Self>, mask: Option<Mask<'_, Self>>, g: &[Self], stride: usize,
        copies: &mut [Self], out: &mut [Self],
    );
    /// Computes `out = X M` for sparse `X` with a bitmap, under a dropout mask.
    bitmap::bitmap_product(
        parts: &Parts, bitmap: &Bitmap, x: Compressed<'_, Self>, mask: Option<Mask<'_, Self>>, m: &[Self], stride: usize,
        out: &mut [Self],
    );
    /// Computes `out = X^T G` for sparse `X` with a bitmap, under a dropout mask.
    bitmap::bitmap_transposed_product(
        parts: &Parts, bitmap: &Bitmap, x: Compressed<'_, Self>, mask: Option<Mask<'_, Self>>, g: &[Self], stride: usize,
        copies: &mut [Self], out: &mut [Self],
    );
    /// Computes `out = X M` for dense `X` under a dropout mask.
    dense::dense_product(
        parts: &Parts, x: Dense<'_, Self>, mask: Option<Mask<'_, Self>>, m: &[Self], stride: usize, out: &mut [Self],
    );
    /// Computes `out += X M` for dense `X`.
    dense::add_dense_product(parts: &Parts, x: Dense<'_, Self>, m: &[Self], stride: usize, out: &mut [Self]);
    /// Computes `out = X^T G` for dense `X` under a dropout mask.
    dense::dense_transposed_product(
        parts: &Parts, x: Dense<'_, Self>, mask: Option<Mask<'_, Self>>, g: &[Self], stride: usize, copies: &mut [Self],
        out: &mut [Self],
    );
}

kernels! {
    /// Numbers with the primitives of layers. See the modules of the functions for formulas and layouts.
    Primitives: Products for f32, #[cfg(feature = "f64")] f64;
    /// Computes `a_target . z_i` and `a_source . z_i` of every node.
    attention::attention_scores(
        parts: &Parts, layout: HeadLayout, z: &[Self], a_target: &[Self], a_source: &[Self], state: &mut [Self],
        source_score: &mut [Self],
    );
    /// Rounds rows to 16 bits.
    attention::round_rows(parts: &Parts, stride: usize, rows: &[Self], out: &mut [u16]);
    /// Computes attention: softmax of the scores, dropout, weighted sum.
    attention::attention_forward(
        parts: &Parts, blocks: &[Attention<'_, Self>], state: &mut [Self], out: &mut [Self], feature_sums: &mut [Self],
        kept: &mut [Self],
    );
    /// Completes the sums of features of edges by blocks of edges.
    attention::messages_end(parts: &Parts, layout: HeadLayout, state: &[Self], per_node: usize, sums: &mut [Self]);
    /// Adds the features of edges to messages.
    attention::messages_forward(parts: &Parts, layout: HeadLayout, sums: &[Self], matrix: &[Self], out: &mut [Self]);
    /// Computes the gradients of [`Primitives::messages_forward`].
    attention::messages_backward(
        parts: &Parts, layout: HeadLayout, input: [&[Self]; 3], d_sums: &mut [Self], d_matrix: &mut [Self],
    );
    /// Computes the gradients of attention and of the edge loss.
    attention::attention_backward(
        parts: &Parts, blocks: &[(Attention<'_, Self>, Gradient<'_, Self>)], d_z: &mut [Self], d_scores: &mut [Self],
        d_vectors: &mut [Self], losses: &mut [f64],
    );
    /// Prepares attention by blocks of edges.
    attention::attention_begin(parts: &Parts, layout: HeadLayout, state: &mut [Self], out: &mut [Self]);
    /// Completes attention by blocks of edges.
    attention::attention_end(parts: &Parts, layout: HeadLayout, state: &mut [Self], out: &mut [Self]);
    /// Completes the gradients of attention by blocks of edges.
    attention::attention_backward_end(
        parts: &Parts, layout: HeadLayout, z: &[Self], a: &[Self], d_scores: &[Self], d_z: &mut [Self],
        d_vectors: &mut [Self],
    );
    /// Chooses the edges with the k largest scores of each node and head.
    top_k::choose_top_k(parts: &Parts, input: Attention<'_, Self>, state: &[Self], k: usize, chosen: &mut [u8]);
    /// Adds the gradient of a margin loss.
    margin::margin_backward(
        parts: &Parts, input: Attention<'_, Self>, scores: NodeScores<'_, Self>, margin: Margin<'_>,
        outgoing: OutgoingEdges<'_>, to: ScoreGradient<'_, Self>,
    );
    /// Computes the coefficient and the logit of every edge.
    attention::edge_values(
        input: Attention<'_, Self>, state: &[Self], coefficients: &mut [Self], logits: &mut [Self],
    );
    /// Computes the mean edge logits of pairs of nodes.
    attention::pair_logits(input: Attention<'_, Self>, state: &[Self], pairs: &[[u32; 2]], out: &mut [Self]);
    /// Computes sums over neighbours with fixed weights.
    aggregate::aggregate(
        parts: &Parts, aggregation: Aggregation<'_, Self>, width: usize, z: &[Self], z_stride: usize, root: Option<Slice>,
        out: &mut [Self], out_stride: usize,
    );
    /// Completes sums over neighbours by blocks.
    aggregate::aggregate_end(
        parts: &Parts, outer: &[Self], width: usize, z: &[Self], root: Option<Slice>, out: &mut [Self], out_stride: usize,
    );
    /// Concatenates heads and applies bias and ELU.
    output::concat_forward(parts: &Parts, elu: bool, bias: &[Self], sums: &[Self], out: &mut [Self]);
    /// Computes the gradient of [`Primitives::concat_forward`] and of the dropout of its output.
    output::concat_backward(
        parts: &Parts, layout: HeadLayout, elu: bool, mask: Option<Mask<'_, Self>>, output: &[Self], sums: &[Self],
        to: OutputGradient<'_, Self>,
    );
    /// Computes the mean over heads and adds the bias.
    output::mean_forward(parts: &Parts, layout: HeadLayout, bias: &[Self], sums: &[Self], out: &mut [Self]);
    /// Computes the gradient of [`Primitives::mean_forward`].
    output::mean_backward(
        parts: &Parts, layout: HeadLayout, d_out: &[Self], sums: &[Self], to: OutputGradient<'_, Self>,
    );
    /// Adds bias and shortcut, and applies layer norm and activation.
    block::block_forward(
        parts: &Parts, layout: HeadLayout, bias: &[Self], sums: &[Self], shortcut: Shortcut<'_, Self>,
        finish: Finish<'_, Self>, out: &mut [Self],
    );
    /// Computes sums of columns, or of squared differences from a centre.
    block::column_sums(parts: &Parts, width: usize, rows: &[Self], centre: Option<&[Self]>, partial: &mut [Self]);
    /// Applies batch norm and activation.
    block::columns_forward(
        parts: &Parts, activation: Activation, norm: ColumnNorm<'_, Self>, out: &mut [Self], normalised: &mut [Self],
    );
    /// Computes the gradients of the parameters of batch norm.
    block::column_gradients(
        parts: &Parts, activation: Activation, mask: Option<Mask<'_, Self>>, rows: [&[Self]; 2], width: usize,
        gradient: &mut [Self], partial: &mut [Self],
    );
    /// Computes the gradient of [`Primitives::block_forward`].
    block::block_backward(
        parts: &Parts, layout: HeadLayout, norm: NormGradient<'_, Self>, output: &[Self], sums: &[Self],
        to: OutputGradient<'_, Self>,
    );
    /// Computes the mean loss of labels and its gradient.
    loss::label_loss_backward(
        parts: &Parts, labels: &Labels, chosen: &[bool], terms: LabelTerms<'_>, logits: &[Self], gradient: &mut [Self],
        partial: &mut [f64],
    ) -> f64;
    /// Writes the labels that training nodes show as input.
    label_input::show_labels(
        parts: &Parts, labels: &Labels, places: &[u32], choice: Option<LabelChoice>, dropout: Option<LabelDropout>,
        shown: &mut [u8], rows: &mut [Self],
    );
    /// Writes the probabilities of the previous pass for nodes that do not show their label.
    label_input::reuse_labels(
        parts: &Parts, labels: &Labels, shown: &[u8], dropout: Option<LabelDropout>, logits: &[Self], rows: &mut [Self],
    );
    /// Adds the product of rows of labels with their weights.
    label_input::label_product(parts: &Parts, y: Dense<'_, Self>, m: &[Self], stride: usize, out: &mut [Self]);
    /// Computes the gradient of the weights of labels.
    label_input::label_gradient(
        parts: &Parts, y: Dense<'_, Self>, g: &[Self], stride: usize, copies: &mut [Self], out: &mut [Self],
    );
    /// Computes the sum of the losses of some nodes, and the counts behind accuracy and micro-F1.
    loss::evaluate(labels: &Labels, nodes: &[u32], logits: &[Self]) -> (f64, Counts);
    /// Adds a list of numbers to another.
    lists::add_list(sum: &mut [Self], list: &[Self]);
    /// Writes zeros.
    lists::clear_list(list: &mut [Self]);
    /// Finds the rows that are not all zero.
    lists::mark_active(rows: &[Self], width: usize, active: &mut [bool]);
    /// Updates weights by one step of Adam.
    adam::adam(adam: Adam, weights: &mut [Self], gradient: &[Self], moment1: &mut [Self], moment2: &mut [Self]);
}
