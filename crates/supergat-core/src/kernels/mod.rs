//! Primitives that layers are made of, on plain slices: every loop over edges, and all code that must be
//! fast.
//!
//! Kernels do not know models or files. They divide their outputs among threads in [`Parts`] that depend on
//! the data only, so results have the same bits at any number of threads.

mod adam;
mod aggregate;
mod attention;
mod block;
mod buffer;
mod dense;
mod dropout;
mod forms;
mod heads;
mod label_input;
mod lists;
mod loss;
mod margin;
mod neighbours;
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
    Attention, AttentionV2, EdgeLoss, EdgeTerms, Gradient, GradientV2, OtherGradients, Others, STATE, score_sums,
    vector_sums,
};
pub use block::{Activation, ColumnNorm, Finish, NORM_EPSILON, NormGradient, RowNorm, Shortcut, block_sums};
pub use buffer::{Buffer, defaults, in_large_pages};
pub use dense::{Dense, transpose};
pub use dropout::{Dropout, Mask};
pub use forms::Form;
pub use heads::{HeadLayout, MAX_HEADS};
pub use label_input::{LabelChoice, LabelDropout, NO_PLACE};
pub use loss::{Counts, LabelTerms, argmax};
pub use margin::{
    Margin, NO_RIVAL, NodeScores, OutgoingEdges, Pool, RivalDraws, ScoreGradient, compare_classes, draw_rivals,
    group_by_rival, group_triples,
};
pub use neighbours::{BlockRows, Neighbours};
pub use output::{OutputGradient, sum_columns, sum_parts};
pub(crate) use parts::{EdgeRows, PerPart, Rows};
pub use parts::{MOST_PARTS, Parts, for_each_part};
pub use primitives::{Primitives, Products};
pub use samples::{REJECTED, for_each_pair, group_pairs, mark_sample, offer_pairs};
pub(crate) use simd::prefetch;
pub use simd::{Real, Simd};
pub use sparse::Compressed;
pub use top_k::MOST_CHOSEN;
