//! Seed and step of a run, in the memory of the GPU: kernels of a replayed recording read them there.
//!
//! ```text
//! 1 - b1^t and 1 / sqrt(1 - b2^t) for t = step + 1, which Adam reads
//! ```

use crate::compile::Source;
use cudarc::driver::CudaSlice;

/// Seed and step in eight words: seed (low and high half), step, two unused, Adam's correction of the second
/// moment in single precision, the divisor of its rate in double precision (two words).
#[derive(Debug)]
pub struct Clock {
    pub(crate) data: CudaSlice<u32>,
}

/// Kernels of the clock.
pub(crate) const CLOCK: Source = Source { name: "clock", text: include_str!("../kernels/clock.cu") };
