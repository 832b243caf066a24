//! A model with the memory for its passes over prepared examples.

use crate::error::{Error, Result};
use crate::kernels::{Adam, Primitives};
use crate::layers::{Attended, Draw};
use crate::model::{Model, StepLoss, Workspace};
use crate::prepared::Prepared;
use crate::sampling::EdgeSamples;

/// A model with the memory for its passes over the examples of a [`Prepared`]. Passes allocate nothing.
///
/// [`crate::Trainer`] runs whole trainings; a session runs single steps:
///
/// ```
/// use supergat_core::kernels::Adam;
/// use supergat_core::layers::Draw;
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// use supergat_core::{Model, Prepared, Session, TrainConfig};
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("supergat-mx".parse().unwrap(), &example);
/// let prepared = Prepared::new(&[example], architecture, TrainConfig::default())?;
///
/// // With zero weights, both classes have probability 1/2, and so has every edge in both layers.
/// let mut session = Session::new(&prepared, Model::zeros(architecture)?, true)?;
/// session.forward(0, None);
/// let attention = session.attended(0).next().expect("an attention layer");
/// assert_eq!((attention.heads(), attention.pair_logits(&[[0, 3]])), (8, vec![0.0]));
///
/// let draw = Some(Draw { seed: 0, step: 0 });
/// assert_eq!(session.forward(0, draw), [0.0; 4 * 2]);
/// let loss = session.backward(0, draw, Some(3.0));
/// assert!((loss.label - 2f64.ln()).abs() < 1e-6);
/// assert!((loss.edge - 2.0 * 2f64.ln()).abs() < 1e-6);
/// assert_eq!(loss.total, loss.label + 3.0 * loss.edge);
/// session.update(Adam { lr: 0.01, lambda_2: 0.0, step: 1 });
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Session<'p, T> {
    prepared: &'p Prepared<T>,
    model: Model<T>,
    workspace: Workspace<T>,
    training: bool,
}

impl<'p, T: Primitives> Session<'p, T> {
    /// Allocates memory for `model`, which must have the architecture of `prepared`; `training` includes
    /// backward passes.
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

    /// Returns the prepared examples that the session runs on.
    pub fn prepared(&self) -> &'p Prepared<T> {
        self.prepared
    }

    /// Returns the model with its current parameters.
    pub fn model(&self) -> &Model<T> {
        &self.model
    }

    /// Returns the model with its current parameters, mutably.
    pub fn model_mut(&mut self) -> &mut Model<T> {
        &mut self.model
    }

    /// Ends the session and returns the model.
    pub fn into_model(self) -> Model<T> {
        self.model
    }

    /// Runs all layers on an example and returns the logits, one row of classes per node. With `draw`,
    /// dropout is applied.
    pub fn forward(&mut self, example: usize, draw: Option<Draw>) -> &[T] {
        self.model.forward(&self.prepared.context(example, draw), &mut self.workspace)
    }

    /// Computes the gradients of all parameters after a forward pass over the same example with the same
    /// `draw`.
    ///
    /// With `lambda_e`, the edge losses are part of the objective. Their samples are drawn for the step of
    /// `draw`; without `draw`, they are those of [`Session::samples_mut`]. Panics if the session was created
    /// without `training`.
    pub fn backward(&mut self, example: usize, draw: Option<Draw>, lambda_e: Option<f64>) -> StepLoss {
        assert!(self.training, "the session was made for evaluation only");
        self.model.backward(&self.prepared.context(example, draw), lambda_e, &mut self.workspace)
    }

    /// Applies one step of the optimiser with the gradients of the last backward pass.
    pub fn update(&mut self, adam: Adam) {
        self.model.for_each_parameter(|parameter| parameter.update(adam));
    }

    /// Returns the attention of every attention layer in the last forward pass over an example, without
    /// dropout.
    pub fn attended(&self, example: usize) -> impl Iterator<Item = Attended<'_, T>> {
        self.model.attended(self.prepared.context(example, None), &self.workspace)
    }

    /// Returns the samples of the edge loss that all layers use in a backward pass without `draw`; `None` for
    /// models without an edge loss.
    pub fn samples_mut(&mut self) -> Option<&mut EdgeSamples> {
        self.workspace.samples_mut()
    }
}
