//! A network of layers: two in most of the paper's experiments, any number here. Hidden layers concatenate
//! their heads and apply ELU, or the steps of [`crate::blocks`]. The last layer averages its heads and computes one
//! logit per class, or is a hidden layer before a linear one.

use crate::architecture::Architecture;
use crate::device::{Adam, Device, FromAbove, Input, Join, LabelInput, LabelLoss, LayerWidth, Place};
use crate::dropout::Dropout;
use crate::error::{Error, Result};
use crate::example::ExampleShape;
use crate::form::Form;
use crate::heads::HeadLayout;
use crate::layers::{
    Attended, AttentionMixing, Cache, Context, EdgeInput, Layer, Mixing, Parameter, Scratch, Shape, Site, Size,
};
use crate::memory::Arena;
use crate::model_kind::ModelKind;
use crate::prepared::Prepared;
use crate::real::Real;

/// A network and its parameters.
///
/// ```
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// use supergat_cpu::Model;
/// let graph = Graph::from_edges(3, &[(0, 1)], Direction::Undirected)?;
/// let features = Features::dense(3, 2, vec![1.0f32, 0.0, 0.0, 1.0, 0.5, 0.5])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1, Labels::UNKNOWN] };
/// let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
/// let model = Model::new(Architecture::new("gat-go".parse().unwrap(), &example), 7)?;
/// assert_eq!(model.predict(&example)?.len(), 3 * 2);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Network<D: Device> {
    device: D,
    architecture: Architecture,
    layers: Vec<Layer<D>>,
}

/// Memory for running a network on graphs up to a given size. Forward and backward passes allocate nothing.
#[derive(Debug)]
pub(crate) struct Workspace<D: Device> {
    caches: Vec<Cache<D>>,
    scratch: Scratch<D>,
    label_gradient: D::Numbers,
    labels: Option<InputLabels<D>>,
}

/// Labels that nodes show as input in a pass.
#[derive(Debug)]
struct InputLabels<D: Device> {
    /// A byte per node: 1 where it shows its label.
    shown: D::Bits,
    /// A number per node and class: shown labels, or predicted classes in label reuse.
    rows: D::Numbers,
}

/// Losses of one training step.
///
/// See [`crate::Session`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepLoss {
    /// Loss of the node labels.
    pub label: f64,
    /// Unweighted sum of the edge losses of all layers; for CGAT, the weighted sum of the margin losses.
    pub edge: f64,
    /// Objective: `label + lambda_e * edge`, or `label + edge` for CGAT.
    pub total: f64,
}

impl<D: Device + Default> Network<D> {
    /// Creates a network with weights drawn from `seed`.
    pub fn new(architecture: Architecture, seed: u64) -> Result<Self> {
        Self::on(&D::default(), architecture, seed)
    }

    /// Creates a network with zero parameters, to be filled by the caller.
    pub fn zeros(architecture: Architecture) -> Result<Self> {
        Self::zeros_on(&D::default(), architecture)
    }
}

/// Networks on devices whose memory can be cloned, which never fails.
impl<D: Device<Numbers: Clone>> Clone for Network<D> {
    fn clone(&self) -> Self {
        self.to_device(&self.device).expect("memory is allocated or the process ends")
    }
}

impl<D: Device> Network<D> {
    /// Creates a network on a device, with weights drawn from `seed`. All devices draw the same weights.
    pub fn on(device: &D, architecture: Architecture, seed: u64) -> Result<Self> {
        let mut network = Self::zeros_on(device, architecture)?;
        network.layers.iter_mut().try_for_each(|layer| layer.initialise(device, seed))?;
        Ok(network)
    }

    /// Creates a network with zero parameters on a device.
    pub fn zeros_on(device: &D, architecture: Architecture) -> Result<Self> {
        architecture.check()?;
        if !architecture.model.is_network() {
            let reason = "is not a network of layers, which this needs; choose another model".into();
            return Err(Error::Hyperparameter { name: "model", value: architecture.model.to_string(), reason });
        }
        let (a, network) = (architecture, architecture.network);
        let mut layers = Vec::with_capacity(network.layers + 2);
        let mut input = HeadLayout::plain(a.input_width());
        let edges = EdgeInput { features: a.edge_features, messages: network.edge_messages };
        let hidden = match a.model.form() {
            Some(_) => (network.heads, network.hidden),
            None => (1, network.heads * network.hidden),
        };
        let shape = |input, (heads, features), join, dropout| Shape { input, heads, features, join, dropout, edges };
        if network.input_layer {
            let layer =
                Layer::at(device, Site::input(), shape(input, hidden, Join::Concat, 0.0), Mixing::Identity, None)?;
            input = layer.output.layout();
            layers.push(layer);
        }
        for index in 0..network.layers {
            let last = index + 1 == network.layers && !network.output_layer;
            let number = u16::try_from(index).expect("checked above");
            let width = match a.model.form() {
                _ if !last => hidden,
                Some(_) => (network.output_heads, a.classes),
                None => (1, a.classes),
            };
            let steps = (!last && network.has_steps()).then_some(&network);
            let join = match (last, steps) {
                (true, _) => Join::Mean,
                (false, None) => Join::ConcatElu,
                (false, Some(_)) => Join::Concat,
            };
            let shape = shape(input, width, join, network.dropout);
            let attention = |form, constrained| {
                let dropout = if network.attention_dropout { network.dropout } else { 0.0 };
                let shape = Shape { dropout, ..shape };
                let options = (network.negative_slope, constrained, network.precision);
                AttentionMixing::new(device, number, shape, form, options).map(Mixing::Attention)
            };
            let mixing = match a.model {
                ModelKind::Constrained { .. } => attention(Form::Go, true)?,
                ModelKind::Attention { form, .. } => attention(form, false)?,
                ModelKind::Convolution(convolution) => Mixing::Convolution(convolution),
                ModelKind::Mlp => Mixing::Identity,
                ModelKind::System(_) | ModelKind::LabelPropagation | ModelKind::Trees => unreachable!("refused above"),
            };
            let layer = Layer::at(device, Site::layer(number, !layers.is_empty()), shape, mixing, steps)?;
            input = layer.output.layout();
            layers.push(layer);
        }
        if network.output_layer {
            let shape = shape(input, (1, a.classes), Join::Mean, network.dropout);
            layers.push(Layer::at(device, Site::output(), shape, Mixing::Identity, None)?);
        }
        Ok(Self { device: device.clone(), architecture, layers })
    }

    /// Returns a copy of the network on another device.
    pub fn to_device<E: Device<Number = D::Number>>(&self, device: &E) -> Result<Network<E>> {
        let mut network = Network::zeros_on(device, self.architecture)?;
        let mut from = self.parameters();
        network.for_each_parameter(|to| {
            let from = from.next().expect("networks of one architecture have the same parameters");
            to.set_rows(device, &from.to_rows(&self.device)?)
        })?;
        Ok(network)
    }

    /// Returns the device of the network.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Returns the architecture of the network.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Returns the layers, from the input to the output.
    pub fn layers(&self) -> &[Layer<D>] {
        &self.layers
    }

    /// Returns all parameters, layer by layer, with the running statistics of batch norm, which are not learned.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter<D>> {
        self.layers.iter().flat_map(Layer::parameters)
    }

    /// Calls `f` with every parameter, in the order of [`Network::parameters`], until it fails.
    pub fn for_each_parameter(&mut self, f: impl FnMut(&mut Parameter<D>) -> Result<()>) -> Result<()> {
        self.layers.iter_mut().flat_map(Layer::parameters_mut).try_for_each(f)
    }

    /// Returns the number of learned weights.
    pub fn parameter_count(&self) -> usize {
        self.parameters().filter(|parameter| parameter.learned).map(Parameter::elements).sum()
    }

    /// Allocates memory for prepared examples; `training` includes backward passes.
    pub(crate) fn workspace(&self, prepared: &Prepared<D>, training: bool) -> Result<Workspace<D>> {
        self.workspace_in(prepared, prepared.size(training), &mut Arena::allocating())
    }

    /// Returns the number of bytes that a session on these examples allocates; `training` includes backward
    /// passes.
    pub fn workspace_bytes(&self, prepared: &Prepared<D>, training: bool) -> Result<u64> {
        let mut arena = Arena::counting();
        self.workspace_in(prepared, prepared.size(training), &mut arena)?;
        Ok(arena.bytes())
    }

    fn workspace_in(&self, prepared: &Prepared<D>, size: Size, arena: &mut Arena) -> Result<Workspace<D>> {
        let device = &self.device;
        let mut mask_bytes = size.feature_mask;
        let mut caches = Vec::with_capacity(self.layers.len());
        for (index, layer) in self.layers.iter().enumerate() {
            let borrows =
                size.training && prepared.config().training.checkpointing && self.layer_to_borrow_from(index).is_some();
            caches.push(layer.cache(device, size, mask_bytes, !borrows, arena)?);
            let row = Dropout::mask_bytes(layer.output.width());
            mask_bytes = if size.training { size.nodes * row } else { 0 };
        }
        let gradient = if size.training { size.nodes * self.architecture.classes } else { 0 };
        let widths: Vec<LayerWidth> = self.layers.iter().map(Layer::width).collect();
        let has_shortcut = self.layers.iter().any(Layer::has_shortcut);
        let scratch = Scratch::new(device, prepared.problems(), size, &widths, has_shortcut, arena)?;
        let label_gradient = device.numbers(gradient, arena)?;
        let mut labels = None;
        if self.architecture.reads_labels() {
            let rows = device.numbers(size.nodes * self.architecture.classes, arena)?;
            labels = Some(InputLabels { shown: device.bits(size.nodes, arena)?, rows });
        }
        Ok(Workspace { caches, scratch, label_gradient, labels })
    }

    /// Returns an earlier layer whose values fit into the same memory as those of layer `index`.
    fn layer_to_borrow_from(&self, index: usize) -> Option<usize> {
        self.layers[..index].iter().rposition(|layer| layer.shares_values_with(&self.layers[index]))
    }

    /// Gives a layer memory for its values, if another layer of the same shape has it. Returns whether it came from
    /// another layer.
    fn borrow_values(&self, index: usize, caches: &mut [Cache<D>]) -> bool {
        if caches[index].values.is_some() {
            return false;
        }
        let fits = |k: &usize| caches[*k].values.is_some() && self.layers[*k].shares_values_with(&self.layers[index]);
        let other = (0..caches.len()).find(fits).expect("a layer with memory for values");
        caches[index].values = caches[other].values.take();
        true
    }

    /// Runs all layers; with label reuse, several times.
    pub(crate) fn forward(&self, context: &Context<'_, D>, workspace: &mut Workspace<D>) -> Result<()> {
        if let Some(clock) = context.clock.filter(|_| self.architecture.model.is_self_supervised()) {
            let scratch = &mut workspace.scratch.own;
            self.device.announce_step(context.problem, clock, self.architecture.network.layers as u16, scratch)?;
        }
        let (device, problem, input) = (&self.device, context.problem, self.label_input(context));
        if let Some(InputLabels { shown, rows }) = &mut workspace.labels {
            device.show_labels(problem, input, shown, rows)?;
        }
        self.run_layers(context, workspace)?;
        for _ in 0..self.architecture.network.label_reuse {
            let Workspace { caches, labels, .. } = &mut *workspace;
            if let (Some(InputLabels { shown, rows }), Some(last)) = (labels, caches.last()) {
                device.reuse_labels(problem, input, &last.output, shown, rows)?;
            }
            self.run_layers(context, workspace)?;
        }
        Ok(())
    }

    /// Returns the rule by which nodes show their labels.
    fn label_input<'a>(&self, context: &Context<'a, D>) -> LabelInput<'a, D> {
        let [train, ..] = context.example.split_sizes();
        let shown = self.architecture.shown_labels(train);
        LabelInput { clock: context.clock, shown, dropout: self.layers[0].dropout() }
    }

    /// Runs all layers once, on the labels of the workspace.
    pub(crate) fn run_layers(&self, context: &Context<'_, D>, workspace: &mut Workspace<D>) -> Result<()> {
        let Workspace { caches, labels, .. } = workspace;
        for (index, layer) in self.layers.iter().enumerate() {
            self.borrow_values(index, caches);
            let (before, here) = caches.split_at_mut(index);
            layer.forward(context, self.input(before, labels.as_ref()), &mut here[0])?;
        }
        Ok(())
    }

    /// Returns the input of the layer that follows these caches.
    fn input<'a>(&self, before: &'a [Cache<D>], labels: Option<&'a InputLabels<D>>) -> Input<'a, D> {
        match (before.last(), labels) {
            (None, None) => Input::Features,
            (None, Some(labels)) => Input::Labelled { rows: &labels.rows, classes: self.architecture.classes },
            (Some(cache), _) => {
                Input::Hidden { rows: &cache.output, width: self.layers[before.len() - 1].output.width() }
            }
        }
    }

    /// Reads the logits of the last forward pass: one row of classes per node.
    pub(crate) fn logits(&self, context: &Context<'_, D>, workspace: &Workspace<D>) -> Result<Vec<D::Number>> {
        let mut logits = vec![D::Number::ZERO; context.example.nodes() * self.architecture.classes];
        self.device.download(workspace.logits(), &mut logits)?;
        Ok(context.rows_to_outer(logits, self.architecture.classes))
    }

    /// Computes the gradients of all parameters after a forward pass over the same context, and writes the
    /// losses to `record`; see [`crate::Session::backward`].
    pub(crate) fn backward(
        &mut self,
        context: &Context<'_, D>,
        lambda_e: Option<f64>,
        workspace: &mut Workspace<D>,
        record: &mut D::Record,
    ) -> Result<()> {
        let example = context.number;
        let Workspace { caches, scratch, label_gradient, labels } = &mut *workspace;
        let labels = labels.as_ref();
        let logits = &caches.last().expect("a network has layers").output;
        let place = Place { record, example };
        // In a step, only nodes that do not show their label count.
        let shown = labels.filter(|_| context.clock.is_some()).map(|labels| &labels.shown);
        let shown = shown.map(|nodes| (nodes, self.label_input(context).shown));
        let (problem, loss) = (context.problem, LabelLoss { settings: context.training, shown });
        context.device.label_loss_backward(problem, logits, loss, label_gradient, &mut scratch.own, place)?;
        self.backward_from_logits(context, lambda_e, workspace, record)
    }

    /// Computes the gradients of all parameters from the gradient of the logits, which is in the workspace.
    pub(crate) fn backward_from_logits(
        &mut self,
        context: &Context<'_, D>,
        lambda_e: Option<f64>,
        workspace: &mut Workspace<D>,
        record: &mut D::Record,
    ) -> Result<()> {
        let example = context.number;
        let Workspace { caches, scratch, label_gradient, labels } = workspace;
        let labels = labels.as_ref();
        for index in (0..self.layers.len()).rev() {
            let is_lost = self.borrow_values(index, caches);
            let (before, rest) = caches.split_at_mut(index);
            let (here, after) = rest.split_first_mut().expect("a cache per layer");
            if is_lost {
                self.layers[index].forward(context, self.input(before, labels), here)?;
            }
            let above = match after.first() {
                None => FromAbove::Mean(label_gradient),
                Some(next) => FromAbove::Concat(self.layers[index + 1].input_mask(context, next)),
            };
            let (input, place) = (self.input(before, labels), Place { record, example });
            self.layers[index].backward(context, input, above, lambda_e, here, scratch, place)?;
            if index > 0 {
                self.layers[index].input_gradient(context, here, scratch)?;
            }
        }
        Ok(())
    }

    /// Applies one step of the optimiser to all learned parameters.
    pub(crate) fn update(&mut self, adam: Adam, clock: &D::Clock) -> Result<()> {
        let Self { device, layers, .. } = self;
        let parameters = layers.iter_mut().flat_map(Layer::parameters_mut).filter(|parameter| parameter.learned);
        device.adam(adam, clock, parameters.map(Parameter::memory))
    }

    /// Returns the logits of all nodes of an example, one row of classes per node, without dropout.
    pub fn predict(&self, example: &D::Example) -> Result<Vec<D::Number>> {
        let prepared = Prepared::for_evaluation(&self.device, example, self.architecture)?;
        let mut workspace = self.workspace(&prepared, false)?;
        let context = prepared.context(0, None);
        self.forward(&context, &mut workspace)?;
        self.logits(&context, &workspace)
    }

    /// Returns the coefficient and the edge logit of every edge and head, for each attention layer, without
    /// dropout.
    pub fn attention(&self, example: &D::Example) -> Result<Vec<EdgeValues<D::Number>>> {
        self.with_attention(example, |layers| {
            let values = |attended: Attended<'_, D>| {
                let [coefficients, logits] = attended.edge_values()?;
                Ok(EdgeValues { heads: attended.heads(), coefficients, logits })
            };
            layers.map(values).collect()
        })
    }

    /// Returns the edge logit of each pair `[source, target]`: the mean over the heads of the last attention
    /// layer, without dropout. Its sigmoid is the probability of an edge. Returns `None` for models without
    /// attention.
    pub fn pair_logits(&self, example: &D::Example, pairs: &[[u32; 2]]) -> Result<Option<Vec<D::Number>>> {
        let nodes = example.nodes();
        if let Some(edge) = pairs.iter().position(|pair| pair.iter().any(|&node| node as usize >= nodes)) {
            let [from, to] = pairs[edge];
            return Err(Error::NodeOutOfRange { edge, from, to, nodes });
        }
        self.with_attention(example, |layers| layers.last().map(|attended| attended.pair_logits(pairs)).transpose())
    }

    /// Runs all layers without dropout and passes the attention of every attention layer to `read`.
    fn with_attention<R>(
        &self,
        example: &D::Example,
        read: impl FnOnce(&mut dyn Iterator<Item = Attended<'_, D>>) -> Result<R>,
    ) -> Result<R> {
        let prepared = Prepared::for_evaluation(&self.device, example, self.architecture)?;
        let mut workspace = self.workspace(&prepared, false)?;
        let context = prepared.context(0, None);
        self.forward(&context, &mut workspace)?;
        read(&mut self.attended(context, &workspace))
    }

    /// Returns the attention of every attention layer in the last forward pass over a context.
    pub(crate) fn attended<'a>(
        &'a self,
        context: Context<'a, D>,
        workspace: &'a Workspace<D>,
    ) -> impl Iterator<Item = Attended<'a, D>> {
        self.layers.iter().zip(&workspace.caches).filter_map(move |(layer, cache)| layer.attended(&context, cache))
    }
}

impl<D: Device> Workspace<D> {
    /// Returns the logits of the last forward pass.
    pub(crate) fn logits(&self) -> &D::Numbers {
        &self.caches.last().expect("a network has layers").output
    }

    /// Sets the gradient of the logits, one row of classes per node.
    pub(crate) fn set_logit_gradient(&mut self, device: &D, gradient: &[D::Number]) -> Result<()> {
        device.upload(gradient, &mut self.label_gradient)
    }

    /// Returns the device's memory of backward passes, with the samples of the edge loss.
    pub(crate) fn scratch_mut(&mut self) -> &mut D::Scratch {
        &mut self.scratch.own
    }

    /// Returns the device's memory of backward passes.
    pub(crate) fn scratch(&self) -> &D::Scratch {
        &self.scratch.own
    }
}

/// Attention of one layer on every edge, in the order of the graph's incoming lists: element `edge * heads +
/// head`.
///
/// ```
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// use supergat_cpu::Model;
/// let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
/// let features = Features::dense(2, 1, vec![1.0f32, 3.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1] };
/// let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
/// let default = Architecture::new("gat-go".parse().unwrap(), &example);
/// let model = Model::zeros(default.with(|a| (a.network.layers, a.network.output_heads) = (1, 1)))?;
/// let attention = model.attention(&example)?.remove(0);
/// // With zero weights, both nodes attend equally to themselves and to their neighbour.
/// assert_eq!((attention.heads, attention.logits), (1, vec![0.0; 4]));
/// assert!(attention.coefficients.iter().all(|c| (c - 0.5).abs() < 1e-6));
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeValues<T> {
    /// Number of heads of the layer.
    pub heads: usize,
    /// Attention coefficients. For each node and head, they sum to one over the incoming edges.
    pub coefficients: Vec<T>,
    /// Edge logits. The sigmoid of their mean over heads is the probability of an edge.
    pub logits: Vec<T>,
}
