//! Steps of a system, compiled here for `f32` and `f64`.

use super::{Options, SystemModel, TrainedSystem, glcn, neural_sparse, rounds};
use crate::device::Cpu;
use crate::error::{Error, Result};
use crate::example::Example;
use crate::kernels::{Buffer, Primitives};
use crate::layers::{Draw, Parameter};
use crate::memory::Arena;
use crate::model::{EdgeValues, StepLoss};
use crate::prepared::Prepared;
use crate::train::Epoch;
use std::fmt::Debug;
use std::ops::ControlFlow;

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

/// Numbers that systems are trained with: `f32`, or `f64` in tests.
///
/// It is not a generic function, because every crate that calls one would compile all systems again.
pub trait SystemNumber: Primitives {
    /// Places a system on the only example of `prepared`.
    fn learner<'p>(
        options: Options,
        prepared: &'p Prepared<Cpu<Self>>,
        training: bool,
        arena: &mut Arena,
    ) -> Result<Box<dyn Learner<Self> + 'p>>;
    /// Trains a system in rounds.
    fn train_rounds(
        options: Options,
        prepared: &Prepared<Cpu<Self>>,
        seed: u64,
        observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>,
    ) -> Result<TrainedSystem<Self>>;
    /// Returns the logits of a model that was trained in rounds.
    fn predict_rounds(model: &SystemModel<Self>, example: &Example<Self>) -> Result<Vec<Self>>;
}

macro_rules! numbers {
    ($($number:ident),*) => {
        $(impl SystemNumber for $number {
            fn learner<'p>(
                options: Options,
                prepared: &'p Prepared<Cpu<Self>>,
                training: bool,
                arena: &mut Arena,
            ) -> Result<Box<dyn Learner<Self> + 'p>> {
                Ok(match options {
                    Options::Glcn(options) => Box::new(glcn::Glcn::new(prepared, options, training, arena)?),
                    Options::NeuralSparse(options) => {
                        Box::new(neural_sparse::NeuralSparse::new(prepared, options, training, arena)?)
                    }
                    Options::Gam(_) | Options::Lds(_) => {
                        let (value, reason) = (prepared.architecture().model.to_string(), "is trained in rounds".into());
                        return Err(Error::Hyperparameter { name: "model", value, reason });
                    }
                })
            }

            fn train_rounds(
                options: Options,
                prepared: &Prepared<Cpu<Self>>,
                seed: u64,
                observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>,
            ) -> Result<TrainedSystem<Self>> {
                rounds::train(options, prepared, seed, observe)
            }

            fn predict_rounds(model: &SystemModel<Self>, example: &Example<Self>) -> Result<Vec<Self>> {
                rounds::predict(model, example)
            }
        })*
    };
}
numbers!(f32);
#[cfg(feature = "f64")]
numbers!(f64);
