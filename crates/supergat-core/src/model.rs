//! A network of layers: two in most of the paper's experiments, any number here. Hidden layers concatenate
//! their heads and apply ELU. The last layer averages its heads and computes one logit per class.

use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::example::Example;
use crate::kernels::{Buffer, Dense, HeadLayout, Primitives};
use crate::layers::scratch::LayerWidth;
use crate::layers::{Attended, Cache, Context, FromAbove, Input, Join, Layer, Parameter, Scratch, Shape, Size};
use crate::memory::Arena;
use crate::model_kind::ModelKind;
use crate::prepared::Prepared;
use crate::sampling::EdgeSamples;

/// A network and its parameters.
///
/// ```
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels, Model};
/// let graph = Graph::from_edges(3, &[(0, 1)], Direction::Undirected)?;
/// let features = Features::dense(3, 2, vec![1.0f32, 0.0, 0.0, 1.0, 0.5, 0.5])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1, Labels::UNKNOWN] };
/// let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
/// let model = Model::new(Architecture::new("gat-go".parse().unwrap(), &example), 7)?;
/// assert_eq!(model.predict(&example)?.len(), 3 * 2);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Model<T> {
    architecture: Architecture,
    layers: Vec<Layer<T>>,
}

/// Memory for running a model on graphs up to a given size. Forward and backward passes allocate nothing.
#[derive(Debug)]
pub(crate) struct Workspace<T> {
    caches: Vec<Cache<T>>,
    scratch: Scratch<T>,
    label_gradient: Buffer<T>,
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

impl<T: Primitives> Model<T> {
    /// Creates a network with weights drawn from `seed`.
    pub fn new(architecture: Architecture, seed: u64) -> Result<Self> {
        let mut model = Self::zeros(architecture)?;
        model.layers.iter_mut().for_each(|layer| layer.initialise(seed));
        Ok(model)
    }

    /// Creates a network with zero parameters, to be filled by the caller.
    pub fn zeros(architecture: Architecture) -> Result<Self> {
        architecture.check()?;
        let a = architecture;
        let mut layers = Vec::with_capacity(a.layers);
        let mut input = HeadLayout::plain(a.input_features);
        for index in 0..a.layers {
            let last = index + 1 == a.layers;
            let number = u16::try_from(index).expect("checked above");
            let (heads, features) = match (a.model.form(), last) {
                (Some(_), false) => (a.heads, a.hidden),
                (Some(_), true) => (a.output_heads, a.classes),
                (None, false) => (1, a.heads * a.hidden),
                (None, true) => (1, a.classes),
            };
            let join = if last { Join::Mean } else { Join::ConcatElu };
            let shape = Shape { input, heads, features, join, dropout: a.dropout };
            let layer = match (a.model, a.model.form()) {
                (ModelKind::Constrained { .. }, _) => Layer::constrained_attention(number, shape, a.negative_slope),
                (_, Some(form)) => Layer::attention(number, shape, form, a.negative_slope),
                (ModelKind::Convolution(convolution), None) => Layer::convolution(number, shape, convolution),
                _ => Layer::linear(number, shape),
            };
            input = layer.output.layout();
            layers.push(layer);
        }
        Ok(Self { architecture, layers })
    }

    /// Returns the architecture of the network.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Returns the layers, from the input to the output.
    pub fn layers(&self) -> &[Layer<T>] {
        &self.layers
    }

    /// Returns all parameters, layer by layer.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter<T>> {
        self.layers.iter().flat_map(Layer::parameters)
    }

    /// Calls `f` with every parameter, in the order of [`Model::parameters`].
    pub fn for_each_parameter(&mut self, mut f: impl FnMut(&mut Parameter<T>)) {
        self.layers.iter_mut().flat_map(Layer::parameters_mut).for_each(&mut f);
    }

    /// Returns the number of learned weights.
    pub fn parameter_count(&self) -> usize {
        self.parameters().map(Parameter::elements).sum()
    }

    /// Allocates memory for graphs up to the given size.
    pub(crate) fn workspace(&self, size: Size) -> Workspace<T> {
        self.workspace_in(size, &mut Arena::allocating())
    }

    /// Returns the number of bytes that a session on these examples allocates; `training` includes backward
    /// passes.
    pub fn workspace_bytes(&self, prepared: &Prepared<T>, training: bool) -> u64 {
        let mut arena = Arena::counting();
        self.workspace_in(prepared.size(training), &mut arena);
        arena.bytes()
    }

    fn workspace_in(&self, size: Size, arena: &mut Arena) -> Workspace<T> {
        let training = size.training;
        let mut mask_bytes = size.feature_mask;
        let caches = self
            .layers
            .iter()
            .map(|layer| {
                let cache = layer.cache(size, mask_bytes, arena);
                let row = Dense::<T>::mask_bytes(layer.output.width());
                mask_bytes = if training { size.nodes * row } else { 0 };
                cache
            })
            .collect();
        let gradient = if training { size.nodes * self.architecture.classes } else { 0 };
        let widths: Vec<LayerWidth> = self.layers.iter().map(Layer::width).collect();
        let scratch = Scratch::new(size, &widths, arena);
        Workspace { caches, scratch, label_gradient: arena.numbers(gradient) }
    }

    /// Runs all layers and returns the logits, one row of classes per node.
    pub(crate) fn forward<'w>(&self, context: &Context<'_, T>, workspace: &'w mut Workspace<T>) -> &'w [T] {
        let nodes = context.example.graph.nodes();
        for index in 0..self.layers.len() {
            let (before, here) = workspace.caches.split_at_mut(index);
            let input = self.input(context, before);
            self.layers[index].forward(context, input, &mut here[0]);
        }
        self.logits(nodes, workspace)
    }

    /// Returns the logits of the last forward pass.
    fn logits<'w>(&self, nodes: usize, workspace: &'w Workspace<T>) -> &'w [T] {
        let last = workspace.caches.last().expect("a model has layers");
        &last.output[..nodes * self.architecture.classes]
    }

    /// Returns the input of the layer that follows these caches.
    fn input<'a>(&self, context: &Context<'a, T>, before: &'a [Cache<T>]) -> Input<'a, T> {
        match before.last() {
            None => Input::Features(&context.example.features),
            Some(cache) => {
                let columns = self.layers[before.len() - 1].output.width();
                let nodes = context.example.graph.nodes();
                Input::Hidden(Dense { values: &cache.output[..nodes * columns], columns })
            }
        }
    }

    /// Computes the gradients of all parameters after a forward pass over the same context; see
    /// [`crate::Session::backward`].
    pub(crate) fn backward(
        &mut self,
        context: &Context<'_, T>,
        lambda_e: Option<f64>,
        workspace: &mut Workspace<T>,
    ) -> StepLoss {
        let example = context.example;
        let nodes = example.graph.nodes();
        let classes = self.architecture.classes;
        let Workspace { caches, scratch, label_gradient } = workspace;
        let logits = &caches.last().expect("a model has layers").output[..nodes * classes];
        let label = T::label_loss_backward(
            &context.plan.input.rows,
            &example.labels,
            &context.plan.chosen,
            example.train.len(),
            logits,
            &mut label_gradient[..nodes * classes],
            &mut scratch.losses,
        );
        let mut edge = 0.0;
        for index in (0..self.layers.len()).rev() {
            let (before, rest) = caches.split_at_mut(index);
            let (here, after) = rest.split_first_mut().expect("a cache per layer");
            let above = match after.first() {
                None => FromAbove::Mean(&label_gradient[..nodes * classes]),
                Some(next) => FromAbove::Concat(self.layers[index + 1].input_mask(context, next)),
            };
            let input = self.input(context, before);
            edge += self.layers[index].backward(context, input, above, lambda_e, here, scratch);
            if index > 0 {
                self.layers[index].input_gradient(&context.plan.input.rows, nodes, scratch);
            }
        }
        StepLoss { label, edge, total: label + lambda_e.unwrap_or(1.0) * edge }
    }

    /// Returns the logits of all nodes of an example, one row of classes per node, without dropout.
    pub fn predict(&self, example: &Example<T>) -> Result<Vec<T>> {
        let prepared = Prepared::for_evaluation(example, self.architecture)?;
        let mut workspace = self.workspace(prepared.size(false));
        Ok(self.forward(&prepared.context(0, None), &mut workspace).to_vec())
    }

    /// Returns the coefficient and the edge logit of every edge and head, for each attention layer, without
    /// dropout.
    pub fn attention(&self, example: &Example<T>) -> Result<Vec<EdgeValues<T>>> {
        self.with_attention(example, |layers| {
            let values = |attended: Attended<'_, T>| {
                let [coefficients, logits] = attended.edge_values();
                EdgeValues { heads: attended.heads(), coefficients, logits }
            };
            layers.map(values).collect()
        })
    }

    /// Returns the edge logit of each pair `[source, target]`: the mean over the heads of the last attention
    /// layer, without dropout. Its sigmoid is the probability of an edge. Returns `None` for models without
    /// attention.
    pub fn pair_logits(&self, example: &Example<T>, pairs: &[[u32; 2]]) -> Result<Option<Vec<T>>> {
        let nodes = example.graph.nodes();
        if let Some(edge) = pairs.iter().position(|pair| pair.iter().any(|&node| node as usize >= nodes)) {
            let [from, to] = pairs[edge];
            return Err(Error::NodeOutOfRange { edge, from, to, nodes });
        }
        self.with_attention(example, |layers| layers.last().map(|attended| attended.pair_logits(pairs)))
    }

    /// Runs all layers without dropout and passes the attention of every attention layer to `read`.
    fn with_attention<R>(
        &self,
        example: &Example<T>,
        read: impl FnOnce(&mut dyn Iterator<Item = Attended<'_, T>>) -> R,
    ) -> Result<R> {
        let prepared = Prepared::for_evaluation(example, self.architecture)?;
        let mut workspace = self.workspace(prepared.size(false));
        let context = prepared.context(0, None);
        self.forward(&context, &mut workspace);
        Ok(read(&mut self.attended(context, &workspace)))
    }

    /// Returns the attention of every attention layer in the last forward pass over a context.
    pub(crate) fn attended<'a>(
        &'a self,
        context: Context<'a, T>,
        workspace: &'a Workspace<T>,
    ) -> impl Iterator<Item = Attended<'a, T>> {
        self.layers.iter().zip(&workspace.caches).filter_map(move |(layer, cache)| layer.attended(&context, cache))
    }
}

impl<T: Primitives> Workspace<T> {
    /// Returns the samples of the edge loss; `None` for models without it.
    pub(crate) fn samples_mut(&mut self) -> Option<&mut EdgeSamples> {
        self.scratch.samples.edges_mut()
    }
}

/// Attention of one layer on every edge, in the order of the graph's incoming lists: element `edge * heads +
/// head`.
///
/// ```
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels, Model};
/// let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
/// let features = Features::dense(2, 1, vec![1.0f32, 3.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1] };
/// let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
/// let default = Architecture::new("gat-go".parse().unwrap(), &example);
/// let model = Model::zeros(Architecture { layers: 1, output_heads: 1, ..default })?;
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
