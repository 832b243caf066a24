//! Memory of devices: numbers, bits, clocks and recordings.

use super::Draw;
use crate::error::Result;
use crate::memory::{Arena, Buffer};
use crate::real::Real;
use std::fmt::Debug;

/// Memory of a device, and the order of its work. All lengths are in numbers or bytes; buffers may be longer than a
/// primitive needs, because they fit the largest example.
pub trait Memory: Debug + Clone + Send + Sync + 'static {
    /// Numbers on the host: features, weights in files, results.
    type Number: Real;
    /// Numbers in the memory of the device.
    type Numbers: Debug + Send + Sync;
    /// Bits in the memory of the device: dropout masks and chosen edges.
    type Bits: Debug + Send + Sync;
    /// Seed and step that determine the random numbers of a training step.
    type Clock: Debug + Send;
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

    /// Creates the clock of a run, at step 0.
    fn clock(&self, seed: u64) -> Result<Self::Clock>;
    /// Sets the number of the step.
    fn set_step(&self, clock: &mut Self::Clock, step: u32) -> Result<()>;
    /// Increases the number of the step by one. A recording repeats this when it is replayed;
    /// [`Memory::set_step`] must not be recorded.
    fn advance(&self, clock: &mut Self::Clock) -> Result<()>;
    /// Runs a sequence of primitives. A device may record the sequence when it is run, and later replay the
    /// recording instead of calling `work`. So `work` must run the same primitives on the same memory every
    /// time.
    fn replay(&self, recording: &mut Self::Recording, work: &mut dyn FnMut() -> Result<()>) -> Result<()>;
}

/// A device whose numbers are in the memory of this process. Its [`Memory`] follows from it.
pub trait Host: Debug + Clone + Send + Sync + 'static {
    /// Numbers of the device.
    type Element: Real;
}

impl<D: Host> Memory for D {
    type Number = D::Element;
    type Numbers = Buffer<D::Element>;
    type Bits = Vec<u8>;
    type Clock = Draw;
    type Recording = ();

    fn numbers(&self, len: usize, arena: &mut Arena) -> Result<Self::Numbers> {
        Ok(arena.numbers(len))
    }

    fn bits(&self, bytes: usize, arena: &mut Arena) -> Result<Vec<u8>> {
        Ok(arena.list(bytes))
    }

    fn upload(&self, from: &[D::Element], to: &mut Self::Numbers) -> Result<()> {
        to[..from.len()].copy_from_slice(from);
        Ok(())
    }

    fn download(&self, from: &Self::Numbers, to: &mut [D::Element]) -> Result<()> {
        to.copy_from_slice(&from[..to.len()]);
        Ok(())
    }

    fn download_bits(&self, from: &Vec<u8>, to: &mut [u8]) -> Result<()> {
        to.copy_from_slice(&from[..to.len()]);
        Ok(())
    }

    fn copy(&self, from: &Self::Numbers, to: &mut Self::Numbers) -> Result<()> {
        to.copy_from_slice(from);
        Ok(())
    }

    fn clock(&self, seed: u64) -> Result<Draw> {
        Ok(Draw { seed, step: 0 })
    }

    fn set_step(&self, clock: &mut Draw, step: u32) -> Result<()> {
        clock.step = step;
        Ok(())
    }

    fn advance(&self, clock: &mut Draw) -> Result<()> {
        clock.step += 1;
        Ok(())
    }

    fn replay(&self, (): &mut (), work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }
}
