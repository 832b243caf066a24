//! A network with the memory for its passes over prepared examples.

use crate::device::{Adam, Device, Place, Readings};
use crate::error::{Error, Result};
use crate::example::ExampleShape;
use crate::layers::Attended;
use crate::model::{Network, StepLoss, Workspace};
use crate::prepared::Prepared;

/// A network with the memory for its passes over the examples of a [`Prepared`]. Passes allocate nothing.
///
/// [`crate::Trainer`] runs whole trainings; a session runs single steps:
///
/// ```
/// use supergat_core::device::Adam;
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// use supergat_cpu::{Cpu, Model};
/// use supergat_core::{Prepared, Session, TrainConfig};
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("supergat-mx".parse().unwrap(), &example);
/// let prepared = Prepared::on(&Cpu::default(), &[example], architecture, TrainConfig::default())?;
///
/// // With zero weights, both classes have probability 1/2, and so has every edge in both layers.
/// let mut session = Session::new(&prepared, Model::zeros(architecture)?, 0, true)?;
/// session.forward(0, false)?;
/// let attention = session.attended(0).next().expect("an attention layer");
/// assert_eq!((attention.heads(), attention.pair_logits(&[[0, 3]])?), (8, vec![0.0]));
///
/// session.forward(0, true)?;
/// assert_eq!(session.logits(0)?, [0.0; 4 * 2]);
/// session.backward(0, true, Some(3.0))?;
/// session.update(Adam { lr: 0.01, lambda_2: 0.0 })?;
/// let loss = session.loss(0, Some(3.0))?;
/// assert!((loss.label - 2f64.ln()).abs() < 1e-6);
/// assert!((loss.edge - 2.0 * 2f64.ln()).abs() < 1e-6);
/// assert_eq!(loss.total, loss.label + 3.0 * loss.edge);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Session<'p, D: Device> {
    prepared: &'p Prepared<D>,
    network: Network<D>,
    workspace: Workspace<D>,
    clock: D::Clock,
    record: D::Record,
    readings: Readings,
    training: bool,
}

impl<'p, D: Device> Session<'p, D> {
    /// Allocates memory for `network`, which must have the architecture of `prepared`. Dropout and samples
    /// are drawn from `seed`; `training` includes backward passes.
    pub fn new(prepared: &'p Prepared<D>, network: Network<D>, seed: u64, training: bool) -> Result<Self> {
        if network.architecture() != prepared.architecture() {
            return Err(Error::OtherArchitecture {
                expected: format!("{:?}", prepared.architecture()),
                found: format!("{:?}", network.architecture()),
            });
        }
        let (device, examples) = (prepared.device(), prepared.examples().len());
        let workspace = network.workspace(prepared, training)?;
        let (clock, record, readings) = (device.clock(seed)?, device.record(examples)?, Readings::new(examples));
        Ok(Self { prepared, network, workspace, clock, record, readings, training })
    }

    /// Returns the prepared examples that the session runs on.
    pub fn prepared(&self) -> &'p Prepared<D> {
        self.prepared
    }

    /// Returns the network with its current parameters.
    pub fn network(&self) -> &Network<D> {
        &self.network
    }

    /// Returns the network with its current parameters, mutably.
    pub fn network_mut(&mut self) -> &mut Network<D> {
        &mut self.network
    }

    /// Ends the session and returns the network.
    pub fn into_network(self) -> Network<D> {
        self.network
    }

    /// Sets the number of the step, which determines dropout and samples.
    pub fn set_step(&mut self, step: u32) -> Result<()> {
        self.prepared.device().set_step(&mut self.clock, step)
    }

    /// Increases the number of the step by one.
    pub fn advance(&mut self) -> Result<()> {
        self.prepared.device().advance(&mut self.clock)
    }

    /// Runs all layers on an example; in training, with dropout.
    pub fn forward(&mut self, example: usize, training: bool) -> Result<()> {
        let context = self.prepared.context(example, training.then_some(&self.clock));
        self.network.forward(&context, &mut self.workspace)
    }

    /// Runs all layers once more, on the labels that the last forward pass over the example showed or reused. Tests of
    /// gradients need it, because the labels are constants of a step.
    #[doc(hidden)]
    pub fn forward_again(&mut self, example: usize, training: bool) -> Result<()> {
        let context = self.prepared.context(example, training.then_some(&self.clock));
        self.network.run_layers(&context, &mut self.workspace)
    }

    /// Reads the logits of the last forward pass over an example: one row of classes per node.
    pub fn logits(&self, example: usize) -> Result<Vec<D::Number>> {
        self.network.logits(&self.prepared.context(example, None), &self.workspace)
    }

    /// Reads the logits of the last forward pass over an example into `out`. Allocates only if the nodes have another
    /// order inside the engine.
    pub fn read_logits(&self, example: usize, out: &mut [D::Number]) -> Result<()> {
        let context = self.prepared.context(example, None);
        self.prepared.device().download(self.workspace.logits(), out)?;
        if let Some((order, _)) = context.given.order() {
            out.copy_from_slice(&order.rows_to_outer(out, self.prepared.architecture().classes));
        }
        Ok(())
    }

    /// Computes the gradients of all parameters like [`Session::backward`], for another loss of the logits than that of
    /// labels: `gradient` is its gradient by the logits of the last forward pass, one row of classes per node. The
    /// recorded loss of labels does not change.
    ///
    /// ```
    /// # use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
    /// # use supergat_cpu::{Cpu, Model};
    /// # use supergat_core::{Prepared, Session, TrainConfig};
    /// # let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
    /// # let features = Features::dense(2, 1, vec![1.0f32, 2.0])?;
    /// # let labels = Labels::Single { classes: 2, of: vec![0, 1] };
    /// # let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
    /// let architecture = Architecture::new("gcn".parse().unwrap(), &example).with(|a| a.network.dropout = 0.0);
    /// let prepared = Prepared::on(&Cpu::default(), &[example], architecture, TrainConfig::default())?;
    /// let mut session = Session::new(&prepared, Model::zeros(architecture)?, 0, true)?;
    /// session.forward(0, true)?;
    /// // A loss that is the sum of all logits of class 0: the bias of that class has gradient 2, one per node.
    /// session.backward_from(0, true, None, &[1.0, 0.0, 1.0, 0.0])?;
    /// let bias = session.network().parameters().filter(|p| p.name.ends_with(".b")).last().unwrap();
    /// assert_eq!(bias.gradient_to_rows(prepared.device())?, [2.0, 0.0]);
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn backward_from(
        &mut self,
        example: usize,
        training: bool,
        lambda_e: Option<f64>,
        gradient: &[D::Number],
    ) -> Result<()> {
        assert!(self.training, "the session was made for evaluation only");
        let context = self.prepared.context(example, training.then_some(&self.clock));
        let gradient = context.rows_to_internal(gradient, self.prepared.architecture().classes);
        self.workspace.set_logit_gradient(self.prepared.device(), &gradient)?;
        self.network.backward_from_logits(&context, lambda_e, &mut self.workspace, &mut self.record)
    }

    /// Computes the gradients of all parameters after a forward pass over the same example in the same step.
    ///
    /// With `lambda_e`, the edge losses are part of the objective. In training their samples are drawn for the
    /// step; otherwise they are those of [`Session::set_samples`]. Panics if the session was created without
    /// `training`.
    pub fn backward(&mut self, example: usize, training: bool, lambda_e: Option<f64>) -> Result<()> {
        assert!(self.training, "the session was made for evaluation only");
        let context = self.prepared.context(example, training.then_some(&self.clock));
        self.network.backward(&context, lambda_e, &mut self.workspace, &mut self.record)
    }

    /// Applies one step of the optimiser with the gradients of the last backward pass.
    pub fn update(&mut self, adam: Adam) -> Result<()> {
        self.network.update(adam, &self.clock)
    }

    /// Computes losses and counts of the validation and the test nodes of an example, after a forward pass
    /// over it.
    pub fn evaluate(&mut self, example: usize) -> Result<()> {
        let context = self.prepared.context(example, None);
        let place = Place { record: &mut self.record, example };
        context.device.evaluate(context.problem, self.workspace.logits(), place)
    }

    /// Waits for all passes and reads their losses and scores.
    pub fn read(&mut self) -> Result<&Readings> {
        self.prepared.device().read(&self.record, &mut self.readings)?;
        Ok(&self.readings)
    }

    /// Reads the losses of the last backward pass over an example, with the objective for `lambda_e`.
    pub fn loss(&mut self, example: usize, lambda_e: Option<f64>) -> Result<StepLoss> {
        self.read()?;
        Ok(self.step_loss(example, lambda_e))
    }

    /// Returns the losses of an example that were read last.
    pub(crate) fn step_loss(&self, example: usize, lambda_e: Option<f64>) -> StepLoss {
        let [label, edge] = self.readings.losses[example];
        StepLoss { label, edge, total: label + lambda_e.unwrap_or(1.0) * edge }
    }

    /// Returns the attention of every attention layer in the last forward pass over an example, without
    /// dropout.
    pub fn attended(&self, example: usize) -> impl Iterator<Item = Attended<'_, D>> {
        self.network.attended(self.prepared.context(example, None), &self.workspace)
    }

    /// Sets the samples of the edge loss that all layers use in a backward pass outside training: all edges
    /// and the given non-edges `[source, target]`.
    pub fn set_samples(&mut self, example: usize, negatives: &[[u32; 2]]) -> Result<()> {
        let context = self.prepared.context(example, None);
        context.write_samples(negatives, self.workspace.scratch_mut())
    }

    /// Returns the samples of the edge loss that the last layer of a backward pass used: bits of the sampled
    /// edges, and the non-edges.
    pub fn samples(&self, example: usize) -> Result<(Vec<u8>, Vec<[u32; 2]>)> {
        let context = self.prepared.context(example, None);
        context.read_samples(self.workspace.scratch())
    }
}
