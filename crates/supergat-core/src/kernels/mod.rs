//! Primitives that layers are made of, on plain slices: every loop over edges, and all code that must be
//! fast.
//!
//! Kernels do not know models or files. They divide their outputs among threads in [`Parts`] that depend on
//! the data only, so results have the same bits at any number of threads.

mod adam;
mod aggregate;
mod attention;
mod buffer;
mod dense;
mod dropout;
mod forms;
mod heads;
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

pub use adam::Adam;
pub use aggregate::{Aggregation, Slice};
pub use attention::{Attention, EdgeLoss, Gradient, STATE, vector_sums};
pub use buffer::{Buffer, defaults, in_large_pages};
pub use dense::{Dense, transpose};
pub use dropout::{Dropout, Mask};
pub use forms::Form;
pub use heads::{HeadLayout, MAX_HEADS};
pub use loss::{Counts, argmax};
pub use margin::{Margin, NO_RIVAL, Pool, ScoreGradient, compare_classes, draw_rivals, group_by_rival};
pub use neighbours::Neighbours;
pub use output::{OutputGradient, sum_parts};
pub use parts::Parts;
pub use primitives::Primitives;
pub use samples::{REJECTED, group_pairs, mark_sample, offer_pairs};
pub use simd::{Real, Simd};
pub use sparse::Compressed;
pub use top_k::MOST_CHOSEN;
