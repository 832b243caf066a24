//! Systems, compiled here for `f32`, and for `f64` with the feature `f64`.

use super::learner::Learner;
use super::{Options, SystemModel, TrainedSystem, glcn, neural_sparse, rounds};
use std::ops::ControlFlow;
use supergat_core::memory::Arena;
use supergat_core::{Epoch, Error, Example, Prepared, Result};
use supergat_cpu::Cpu;
use supergat_cpu::kernels::Primitives;

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
