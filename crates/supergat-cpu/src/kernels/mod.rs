//! Primitives that layers are made of, on plain slices: every loop over edges, and all code that must be
//! fast.
//!
//! Kernels do not know models or files. They divide their outputs among threads in [`Parts`] that depend on
//! the data only, so results have the same bits at any number of threads.

mod adam;
mod aggregate;
mod attention;
mod bitmap;
mod block;
mod dense;
mod dropout;
mod forms;
mod label_input;
mod lists;
mod loss;
mod margin;
mod output;
mod parts;
mod primitives;
mod samples;
mod simd;
mod sparse;
mod top_k;

pub use adam::{Adam, AdamGradient, adam_backward};
pub use aggregate::{Aggregation, Slice};
pub use attention::{
    Attention, EdgeLoss, EdgeTerms, Gradient, OtherGradients, Others, kept_numbers, score_sums, vector_sums,
};
pub use bitmap::Bitmap;
pub use block::{ColumnNorm, Finish, NORM_EPSILON, NormGradient, RowNorm, Shortcut, block_sums};
pub use dense::{Dense, transpose};
pub use dropout::{DropoutMask, Mask};
pub use label_input::{LabelChoice, LabelDropout};
pub use loss::LabelTerms;
pub use margin::{
    Margin, NO_RIVAL, NodeScores, OutgoingEdges, Pool, RivalDraws, ScoreGradient, draw_rivals, group_by_rival,
    group_triples,
};
pub use output::{OutputGradient, sum_columns, sum_parts};
pub use parts::{EdgeRows, MOST_PARTS, Parts, PerPart, Rows, for_each_part};
pub use primitives::{Primitives, Products};
pub use samples::{REJECTED, for_each_pair, mark_sample, offer_pairs};
pub use simd::{Simd, SimdReal, widen};
pub use sparse::Compressed;
