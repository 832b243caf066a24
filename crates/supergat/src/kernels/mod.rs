//! The primitives layers are made of, on plain slices. Every loop over edges, and everything that must be fast, is here.
//!
//! A kernel knows nothing of models or files. Its outputs are handed out to threads in [`Parts`] that depend on the data
//! only, so every result is the same bits at any number of threads.

mod adam;
mod aggregate;
mod attention;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod buffer;
mod dropout;
mod forms;
mod heads;
mod lanes;
mod loss;
mod output;
mod parts;
mod primitives;
mod products;
mod real;

pub use adam::Adam;
pub use aggregate::{Aggregation, Slice};
pub use attention::{Attention, EdgeLoss, Gradient, Neighbours, STATE, vector_sums};
pub use buffer::Buffer;
pub use dropout::{Dropout, Mask};
pub use forms::Form;
pub use heads::{HeadLayout, MAX_HEADS};
pub use lanes::Simd;
pub use loss::{Counts, argmax, evaluate, label_loss_backward};
pub use output::{OutputGradient, sum_parts};
pub use parts::Parts;
pub use primitives::Primitives;
pub use products::{Compressed, Dense, transpose};
pub use real::Real;
