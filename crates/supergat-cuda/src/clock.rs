//! Seed and step of a run, in the memory of the GPU: kernels of a replayed recording read them there.
//!
//! ```text
//! 1 - b1^t and 1 / sqrt(1 - b2^t) for t = step + 1, which Adam reads
//! ```

use crate::compile::{Source, Variant};
use crate::launch::{Cuda, grid, launch};
use cudarc::driver::CudaSlice;
use supergat_core::Result;

/// Seed and step in eight words: seed (low and high half), step, two unused, Adam's correction of the second
/// moment in single precision, the divisor of its rate in double precision (two words).
#[derive(Debug)]
pub struct Clock {
    pub(crate) data: CudaSlice<u32>,
}

/// Kernels of the clock.
pub(crate) const CLOCK: Source = Source { name: "clock", text: include_str!("../kernels/clock.cu") };

/// Creates the clock of a run, at step 0.
pub(crate) fn clock(cuda: &Cuda, seed: u64) -> Result<Clock> {
    let mut clock = Clock { data: cuda.uploaded(&[seed as u32, (seed >> 32) as u32, 0, 0, 0, 0, 0, 0])? };
    set_step(cuda, &mut clock, 0)?;
    Ok(clock)
}

/// Sets the number of the step.
pub(crate) fn set_step(cuda: &Cuda, clock: &mut Clock, step: u32) -> Result<()> {
    launch!(cuda, &CLOCK, &[], "set_step", grid(1, 1), &mut clock.data, &step)
}

/// Increases the number of the step by one.
pub(crate) fn advance(cuda: &Cuda, clock: &mut Clock) -> Result<()> {
    launch!(cuda, &CLOCK, &[], "advance", grid(1, 1), &mut clock.data)
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    vec![(&CLOCK, vec![])]
}
