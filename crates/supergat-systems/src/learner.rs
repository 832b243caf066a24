//! Steps of a system.

use std::fmt::Debug;
use supergat_core::device::Draw;
use supergat_core::layers::Parameter;
use supergat_core::memory::Buffer;
use supergat_core::{EdgeValues, Result, StepLoss};
use supergat_cpu::{Cpu, Primitives};

/// A system on one example, with the memory for its passes.
pub trait Learner<T: Primitives>: Debug + Send {
    /// Draws all weights.
    fn initialise(&mut self, seed: u64) -> Result<()>;
    /// Runs the forward pass of a training step and computes the gradients of all weights.
    fn differentiate(&mut self, clock: &Draw) -> Result<StepLoss>;
    /// Updates all weights by their gradients.
    fn update(&mut self, clock: &Draw) -> Result<()>;
    /// Runs the forward pass without random numbers.
    fn evaluate(&mut self) -> Result<()>;
    /// Returns the logits of the last pass.
    fn logits(&self) -> &Buffer<T>;
    /// Returns the weight and the score of every edge in the last pass.
    fn edges(&self) -> EdgeValues<T>;
    /// Calls `f` with every matrix of weights.
    fn for_each_parameter(&mut self, f: &mut dyn FnMut(&mut Parameter<Cpu<T>>));
}
