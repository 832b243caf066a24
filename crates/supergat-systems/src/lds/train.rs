//! Both problems of LDS.

use super::gcn::{Gcn, Pair, Shape, Targets};
use super::hypergradient::{Factors, Reverse, Step};
use super::model::{LdsModel, Mean, unpadded};
use super::sampled::{EdgeProbabilities, SampledGraph, stream};
use crate::Learned;
use std::ops::ControlFlow;
use supergat_core::memory::Buffer;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Epoch, Error, Example, Labels, Outcome, Result, Score, StepLoss};
use supergat_cpu::kernels::{Adam, Primitives};

/// Graph that training starts from.
///
/// See [`LdsTrainer`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialGraph {
    /// The given graph.
    Given,
    /// Each node with this number of nodes with the most similar features. The given graph is not used.
    Neighbours(usize),
}

/// Hyperparameters of LDS.
///
/// See [`LdsTrainer`] for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LdsConfig {
    /// Number of hidden features.
    pub hidden: usize,
    /// Dropout probability of features and hidden features in training.
    pub dropout: f64,
    /// Learning rate of the weights (Adam).
    pub lr: f64,
    /// Weight decay of the first layer.
    pub lambda_2: f64,
    /// Graph that training starts from.
    pub graph: InitialGraph,
    /// Learning rate of the probabilities of edges (gradient descent).
    pub edge_lr: f64,
    /// Number of steps between two updates of the probabilities, which their gradient passes through (tau).
    pub steps: usize,
    /// Maximum number of steps of an epoch.
    pub max_steps: usize,
    /// Number of steps without a smaller loss after which an epoch ends.
    pub step_patience: usize,
    /// Number of sampled graphs of a prediction (S).
    pub samples: usize,
    /// Maximum number of epochs.
    pub max_epochs: usize,
    /// Number of epochs after the best one.
    pub patience: usize,
}

/// Relative decrease of the training loss that counts as smaller.
const LEAST_DECREASE: f64 = 0.001;

/// Result of a training by LDS.
///
/// See [`LdsTrainer`] for an example.
#[derive(Debug)]
pub struct LdsTrained<T> {
    /// Model of the best epoch.
    pub model: LdsModel<T>,
    /// Scores of the best epoch. Those of validation nodes are of the half that selects.
    pub outcome: Outcome,
    /// Logits of all nodes, computed by the model.
    pub logits: Vec<T>,
}

/// A training by LDS.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_systems::lds::{InitialGraph, LdsConfig, LdsTrainer};
/// use supergat_core::{Direction, Example, Features, Graph, Labels};
/// let links: Vec<(u32, u32)> = (0..11).map(|i| (i, i + 1)).collect();
/// let graph = Graph::from_edges(12, &links, Direction::Undirected)?;
/// let features = Features::dense(12, 1, (0..12).map(|i| if i < 6 { 1.0f32 } else { -1.0 }).collect())?;
/// let labels = Labels::Single { classes: 2, of: (0..12).map(|i| u32::from(i >= 6)).collect() };
/// let example = Example::new(graph, features, labels, [vec![0, 11], vec![2, 3, 8, 9], vec![4, 7]])?;
/// let config = LdsConfig {
///     hidden: 8,
///     dropout: 0.0,
///     lr: 0.05,
///     lambda_2: 0.0,
///     graph: InitialGraph::Given,
///     edge_lr: 0.1,
///     steps: 5,
///     max_steps: 50,
///     step_patience: 10,
///     samples: 4,
///     max_epochs: 3,
///     patience: 3,
/// };
/// let trained = LdsTrainer::new(&example, config, 0)?.run(|_| ControlFlow::Continue(()))?;
/// assert_eq!((trained.outcome.epochs, trained.outcome.test.metric), (3, 1.0));
/// assert_eq!(trained.model.logits(&example.features)?, trained.logits);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LdsTrainer<'e, T: Primitives> {
    example: &'e Example<T>,
    config: LdsConfig,
    seed: u64,
    class_of: &'e [u32],
    /// Validation nodes of the outer problem, and those that select.
    halves: [Vec<u32>; 2],
    edges: EdgeProbabilities<T>,
    gcn: Gcn<'e, T>,
    learned: [Learned<T>; 2],
    steps: Vec<Step<T>>,
    graph: SampledGraph<T>,
    /// Weights after the last step.
    last: Pair<T>,
    reverse: Reverse<T>,
    factors: Factors<T>,
    mean: Mean<T>,
    /// Number of steps so far.
    step: u32,
}

impl<'e, T: Primitives> LdsTrainer<'e, T> {
    /// Allocates the memory of a training. Fails if the graph is too large, or nodes may have several classes.
    pub fn new(example: &'e Example<T>, config: LdsConfig, seed: u64) -> Result<Self> {
        let refuse = |reason: &str| Error::Hyperparameter { name: "model", value: "lds".into(), reason: reason.into() };
        let Labels::Single { classes, of } = &example.labels else {
            return Err(refuse("needs nodes with one class each, and these may have several"));
        };
        if example.class_weights.is_some() {
            return Err(refuse("has no weights of classes; train without them, or choose another model"));
        }
        if example.train.is_empty() {
            return Err(Error::EmptySplit { split: "training" });
        }
        if example.validation.len() < 2 {
            return Err(refuse(
                "needs two validation nodes or more: one half trains the edges, the other half selects",
            ));
        }
        let edges = match config.graph {
            InitialGraph::Given => EdgeProbabilities::of_graph(&example.graph)?,
            InitialGraph::Neighbours(count) => EdgeProbabilities::of_neighbours(&example.features, count)?,
        };
        let mut outer = example.validation.clone();
        Stream::new(seed, 0, 0, Purpose::ValidationHalf).shuffle(&mut outer);
        let selects = outer.split_off(outer.len() / 2);
        let gcn = Gcn::new(&example.features, config.hidden, *classes, config.lambda_2, config.dropout);
        let shape = gcn.shape;
        let pair = || shape.weights().map(Buffer::zeros);
        let step = |_| Step {
            number: 0,
            adam_step: 0,
            graph: SampledGraph::new(shape.nodes),
            weights: pair(),
            gradient: pair(),
            moments: [pair(), pair()],
        };
        Ok(Self {
            example,
            config,
            seed,
            class_of: of,
            halves: [outer, selects],
            edges,
            learned: shape.weights().map(Learned::zeros),
            steps: (0..config.steps).map(step).collect(),
            graph: SampledGraph::new(shape.nodes),
            last: pair(),
            reverse: Reverse::new(shape),
            factors: Factors::new(shape, config.steps),
            mean: Mean::new(shape),
            gcn,
            step: 0,
        })
    }

    /// Returns the number of bytes that a training allocates. Fails if the graph is too large.
    pub fn bytes(example: &Example<T>, config: &LdsConfig) -> Result<u64> {
        EdgeProbabilities::<T>::check(example.graph.nodes())?;
        let (nodes, columns) = (example.graph.nodes(), example.features.columns());
        let shape = Shape { nodes, columns, hidden: config.hidden, classes: example.labels.classes() };
        let weights: usize = shape.weights().iter().sum();
        let (edges, entries) = match config.graph {
            InitialGraph::Given => (example.graph.edges(), 0),
            // Links in both directions and self-loops; first, all features by column with their nodes.
            InitialGraph::Neighbours(count) => (nodes * (2 * count.min(nodes) + 1), 16 * example.features.stored()),
        };
        // Graphs of steps, those of a prediction and of the best one, and one more.
        let graphs = (config.steps + 2 * config.samples + 1) * (48 * nodes + 16 * edges) + entries;
        let weights = (4 * config.steps + 12) * weights * size_of::<T>();
        let rows = Gcn::bytes(&example.features, shape) + Factors::<T>::bytes(shape, config.steps);
        Ok(EdgeProbabilities::<T>::bytes(nodes) + rows + (weights + graphs) as u64)
    }

    /// Runs all epochs. `observe` is called after every epoch and may stop the training.
    ///
    /// The training loss of an epoch is that of its last step; its edge loss is that of the outer problem.
    pub fn run(mut self, mut observe: impl FnMut(&Epoch) -> ControlFlow<()>) -> Result<LdsTrained<T>> {
        let mut best: Option<(Outcome, LdsModel<T>, Vec<T>)> = None;
        let (mut epochs, mut interrupted, mut since) = (0, false, 0);
        while epochs < self.config.max_epochs && since < self.config.patience && !interrupted {
            let epoch = epochs;
            let train = self.train(epoch);
            let graphs = self.predict(epoch);
            let logits = self.mean.logits();
            let score = |nodes: &[u32]| {
                let (loss, counts) = T::evaluate(&self.example.labels, nodes, &logits);
                Score { loss: loss / nodes.len().max(1) as f64, metric: counts.micro_f1() }
            };
            let (validation, test) = (score(&self.halves[1]), score(&self.example.test));
            if let Some(loss) = [train.total, validation.loss].into_iter().find(|loss| !loss.is_finite()) {
                return Err(Error::Diverged { epoch, loss, has_edge_loss: false });
            }
            epochs += 1;
            since += 1;
            let is_best = best.as_ref().is_none_or(|(best, ..)| validation.metric >= best.validation.metric);
            if is_best {
                since = if best.as_ref().is_none_or(|(best, ..)| validation.metric > best.validation.metric) {
                    0
                } else {
                    since
                };
                let outcome = Outcome { epochs, best_epoch: epoch, validation, test, interrupted: false };
                let Shape { hidden, classes, .. } = self.gcn.shape;
                let weights = unpadded(self.gcn.shape, &self.last);
                best = Some((outcome, LdsModel { hidden, classes, weights, graphs }, logits));
            }
            interrupted = observe(&Epoch { epoch, train, validation, test, best: is_best }).is_break();
        }
        let (outcome, model, logits) = best.expect("at least one epoch was run");
        Ok(LdsTrained { model, outcome: Outcome { epochs, interrupted, ..outcome }, logits })
    }

    /// Trains new weights, and the probabilities of edges with them. Returns the last losses.
    fn train(&mut self, epoch: usize) -> StepLoss {
        let (shape, lr) = (self.gcn.shape, self.config.lr);
        let [s1, s2] = shape.strides();
        let sizes = [([shape.columns, shape.hidden], s1), ([shape.hidden, shape.classes], s2)];
        for (k, (size, stride)) in sizes.into_iter().enumerate() {
            self.learned[k].draw(Stream::new(self.seed, epoch as u32, k as u16, Purpose::Weights), size, stride);
        }
        let targets = |nodes| Targets { nodes, class_of: self.class_of };
        let [train, outer] = [targets(&self.example.train), targets(&self.halves[0])];
        let (mut best, mut since, mut losses) = (f64::INFINITY, 0, StepLoss::default());
        for number in 0..self.config.max_steps {
            let place = number % self.config.steps;
            let step = &mut self.steps[place];
            (step.number, step.adam_step) = (self.step, number as u64 + 1);
            self.edges.sample(stream(self.seed, self.step), &mut step.graph);
            for (weights, learned) in step.weights.iter_mut().zip(&self.learned) {
                weights.copy_from_slice(&learned.value);
            }
            self.gcn.draw_dropout(Some((self.seed, self.step)));
            self.gcn.forward(&step.graph, &step.weights);
            losses.label = self.gcn.backward(&step.graph, &step.weights, train, true, &mut step.gradient);
            self.step += 1;
            let adam = Adam { lr, lambda_2: 0.0, step: step.adam_step };
            for (k, learned) in self.learned.iter_mut().enumerate() {
                learned.gradient.copy_from_slice(&step.gradient[k]);
                learned.step(adam);
                let [first, second] = &mut step.moments;
                first[k].copy_from_slice(&learned.moments[0]);
                second[k].copy_from_slice(&learned.moments[1]);
            }
            if place + 1 == self.config.steps {
                self.edges.sample(Stream::new(self.seed, self.step, 1, Purpose::GraphSample), &mut self.graph);
                for (last, learned) in self.last.iter_mut().zip(&self.learned) {
                    last.copy_from_slice(&learned.value);
                }
                let Self { reverse, gcn, seed, steps, factors, graph, last, .. } = self;
                losses.edge = reverse.run(gcn, *seed, lr, steps, (graph, last), [train, outer], factors);
                factors.descend(&mut self.edges, self.config.edge_lr);
            }
            if losses.label < best * (1.0 - LEAST_DECREASE) {
                (best, since) = (losses.label, 0);
            } else {
                since += 1;
                if since >= self.config.step_patience {
                    break;
                }
            }
        }
        StepLoss { total: losses.label + losses.edge, ..losses }
    }

    /// Computes mean probabilities over sampled graphs, and returns the graphs.
    fn predict(&mut self, epoch: usize) -> Vec<SampledGraph<T>> {
        self.gcn.draw_dropout(None);
        self.mean.clear();
        for (last, learned) in self.last.iter_mut().zip(&self.learned) {
            last.copy_from_slice(&learned.value);
        }
        let sample = |number: usize| {
            let stream = Stream::new(self.seed, epoch as u32, 2 + number as u16, Purpose::GraphSample);
            self.edges.sample(stream, &mut self.graph);
            self.gcn.forward(&self.graph, &self.last);
            self.mean.add(&self.gcn);
            self.graph.clone()
        };
        (0..self.config.samples).map(sample).collect()
    }
}
