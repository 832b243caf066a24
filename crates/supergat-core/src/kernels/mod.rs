//! The primitives layers are made of, on plain slices. Every loop over edges, and everything that must be fast, is here.
//!
//! A kernel knows nothing of models or files. Its outputs are handed out to threads in [`Parts`] that depend on the data
//! only, so every result is the same bits at any number of threads.

mod adam;
mod aggregate;
mod attention;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod buffer;
mod dense;
mod dropout;
mod forms;
mod heads;
mod lanes;
mod loss;
mod margin;
mod output;
mod parts;
mod portable;
mod primitives;
mod real;
mod samples;
mod sparse;
mod top_k;

pub use adam::Adam;
pub use aggregate::{Aggregation, Slice};
pub use attention::{Attention, EdgeLoss, Gradient, Neighbours, STATE, vector_sums};
pub use buffer::{Buffer, defaults, in_large_pages};
pub use dense::{Dense, transpose};
pub use dropout::{Dropout, Mask};
pub use forms::Form;
pub use heads::{HeadLayout, MAX_HEADS};
pub use lanes::Simd;
pub use loss::{Counts, argmax, evaluate, label_loss_backward};
pub use margin::{Margin, NO_RIVAL, Pool, ScoreGradient, compare_classes, draw_rivals, group_by_rival};
pub use output::{OutputGradient, sum_parts};
pub use parts::Parts;
pub use primitives::Primitives;
pub use real::Real;
pub use samples::{REJECTED, group_pairs, mark_sample, offer_pairs};
pub use sparse::Compressed;
pub use top_k::MOST_CHOSEN;
