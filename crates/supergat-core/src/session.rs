//! A model with the memory to run it on prepared examples.

use crate::error::{Error, Result};
use crate::kernels::{Adam, Primitives};
use crate::layers::{Attended, Draw};
use crate::model::{Model, StepLoss, Workspace};
use crate::prepared::Prepared;
use crate::sampling::EdgeSamples;

/// A model and the memory that its passes over the examples of a [`Prepared`] need. Nothing is allocated after it is made.
///
/// See [`Prepared`] for an example; [`crate::Trainer`] trains with a session.
#[derive(Debug)]
pub struct Session<'p, T> {
    prepared: &'p Prepared<T>,
    model: Model<T>,
    workspace: Workspace<T>,
    training: bool,
}

impl<'p, T: Primitives> Session<'p, T> {
    /// Allocates memory for `model`, which must have the architecture of `prepared`; `training` includes backward passes.
    pub fn new(prepared: &'p Prepared<T>, model: Model<T>, training: bool) -> Result<Self> {
        if model.architecture() != prepared.architecture() {
            return Err(Error::OtherArchitecture {
                expected: format!("{:?}", prepared.architecture()),
                found: format!("{:?}", model.architecture()),
            });
        }
        let workspace = model.workspace(prepared.size(training));
        Ok(Self { prepared, model, workspace, training })
    }

    /// Problem that the session runs on.
    pub fn prepared(&self) -> &'p Prepared<T> {
        self.prepared
    }

    /// Model with its present parameters.
    pub fn model(&self) -> &Model<T> {
        &self.model
    }

    /// Model with its present parameters, to change them.
    pub fn model_mut(&mut self) -> &mut Model<T> {
        &mut self.model
    }

    /// Ends the session and returns the model.
    pub fn into_model(self) -> Model<T> {
        self.model
    }

    /// Runs all layers on an example and returns the logits, a row of classes per node. With `draw`, dropout is applied.
    pub fn forward(&mut self, example: usize, draw: Option<Draw>) -> &[T] {
        self.model.forward(&self.prepared.context(example, draw), &mut self.workspace)
    }

    /// Computes the gradients of all parameters after a forward pass over the same example with the same `draw`.
    ///
    /// With `lambda_e`, the edge losses are part of the objective. Their samples are drawn for the step of `draw`; without `draw` they
    /// are those of [`Session::samples_mut`]. Panics if the session was made without `training`.
    pub fn backward(&mut self, example: usize, draw: Option<Draw>, lambda_e: Option<f64>) -> StepLoss {
        assert!(self.training, "the session was made for evaluation only");
        self.model.backward(&self.prepared.context(example, draw), lambda_e, &mut self.workspace)
    }

    /// Applies one step of the optimiser with the gradients of the last backward pass.
    pub fn update(&mut self, adam: Adam) {
        self.model.for_each_parameter(|parameter| parameter.update(adam));
    }

    /// Returns the attention of every attention layer in the last forward pass over an example, without dropout.
    pub fn attended(&self, example: usize) -> impl Iterator<Item = Attended<'_, T>> {
        self.model.attended(self.prepared.context(example, None), &self.workspace)
    }

    /// Returns the samples that all layers share in a backward pass without `draw`, for a model with an edge loss.
    pub fn samples_mut(&mut self) -> Option<&mut EdgeSamples> {
        self.workspace.samples_mut()
    }
}
