//! Both problems of LDS.

use super::gcn::{Gcn, Pair, Shape, Targets};
use super::hypergradient::{Factors, Reverse, Step};
use super::model::{LearnedGraphs, Mean, saved};
use super::sampled::{EdgeProbabilities, SampledGraph, stream};
use crate::learned::Learned;
use crate::{Options, SystemModel, TrainedSystem};
use std::ops::ControlFlow;
use supergat_core::hyperparameters::{LdsOptions, TrainingSettings};
use supergat_core::memory::Buffer;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Architecture, Epoch, Error, Example, Labels, Outcome, Prepared, Result, Score, StepLoss};
use supergat_cpu::Cpu;
use supergat_cpu::kernels::{Adam, Primitives};

/// Relative decrease of the training loss that counts as smaller.
const LEAST_DECREASE: f64 = 0.001;

/// A training by LDS.
#[derive(Debug)]
pub(super) struct LdsTrainer<'e> {
    architecture: Architecture,
    training: TrainingSettings,
    example: &'e Example<f32>,
    options: LdsOptions,
    seed: u64,
    class_of: &'e [u32],
    /// Validation nodes of the outer problem, and those that select.
    halves: [Vec<u32>; 2],
    edges: EdgeProbabilities<f32>,
    gcn: Gcn<'e, f32>,
    learned: [Learned<f32>; 2],
    steps: Vec<Step<f32>>,
    graph: SampledGraph<f32>,
    /// Weights after the last step.
    last: Pair<f32>,
    reverse: Reverse<f32>,
    factors: Factors<f32>,
    mean: Mean<f32>,
    /// Number of steps so far.
    step: u32,
}

impl<'e> LdsTrainer<'e> {
    /// Allocates the memory of a training. Fails if there are several graphs, if the graph is too large, or if nodes may
    /// have several classes.
    pub(super) fn new(prepared: &'e Prepared<Cpu<f32>>, options: LdsOptions, seed: u64) -> Result<Self> {
        let refuse = |reason: &str| Error::Hyperparameter { name: "model", value: "lds".into(), reason: reason.into() };
        if let Some(select) = prepared.config().select {
            let reason = "lds selects by accuracy; choose accuracy, or another model".into();
            return Err(Error::Hyperparameter { name: "select", value: select.to_string(), reason });
        }
        let (architecture, training) = (*prepared.architecture(), prepared.config().training);
        if training.focal_gamma != 0.0 {
            let (value, reason) = (training.focal_gamma.to_string(), "lds trains with cross-entropy; set it to 0");
            return Err(Error::Hyperparameter { name: "focal_gamma", value, reason: reason.into() });
        }
        let [example] = prepared.examples() else {
            return Err(refuse("needs one graph, and the dataset has several"));
        };
        let network = architecture.network;
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
        let edges = match options.similar_neighbours {
            0 => EdgeProbabilities::of_graph(&example.graph)?,
            count => EdgeProbabilities::of_neighbours(&example.features, count)?,
        };
        let mut outer = example.validation.clone();
        Stream::new(seed, 0, 0, Purpose::ValidationHalf).shuffle(&mut outer);
        let selects = outer.split_off(outer.len() / 2);
        let gcn = Gcn::new(&example.features, network.hidden, *classes, training.lambda_2, network.dropout);
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
            architecture,
            training,
            example,
            options,
            seed,
            class_of: of,
            halves: [outer, selects],
            edges,
            learned: shape.weights().map(Learned::zeros),
            steps: (0..options.edge_steps).map(step).collect(),
            graph: SampledGraph::new(shape.nodes),
            last: pair(),
            reverse: Reverse::new(shape),
            factors: Factors::new(shape, options.edge_steps),
            mean: Mean::new(shape),
            gcn,
            step: 0,
        })
    }

    /// Returns the number of bytes that a training allocates. Fails if the graph is too large.
    pub(super) fn bytes(example: &Example<f32>, hidden: usize, options: &LdsOptions) -> Result<u64> {
        EdgeProbabilities::<f32>::check(example.graph.nodes())?;
        let (nodes, columns) = (example.graph.nodes(), example.features.columns());
        let shape = Shape { nodes, columns, hidden, classes: example.labels.classes() };
        let weights: usize = shape.weights().iter().sum();
        let (edges, entries) = match options.similar_neighbours {
            0 => (example.graph.edges(), 0),
            // Links in both directions and self-loops; first, all features by column with their nodes.
            count => (nodes * (2 * count.min(nodes) + 1), 16 * example.features.stored()),
        };
        // Graphs of steps, those of a prediction and of the best one, and one more.
        let graphs = (options.edge_steps + 2 * options.graph_samples + 1) * (48 * nodes + 16 * edges) + entries;
        let weights = (4 * options.edge_steps + 12) * weights * size_of::<f32>();
        let rows = Gcn::bytes(&example.features, shape) + Factors::<f32>::bytes(shape, options.edge_steps);
        Ok(EdgeProbabilities::<f32>::bytes(nodes) + rows + (weights + graphs) as u64)
    }

    /// Runs all epochs. `observe` is called after every epoch and may stop the training.
    ///
    /// The training loss of an epoch is that of its last step; its edge loss is that of the outer problem.
    pub(super) fn run(mut self, observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>) -> Result<TrainedSystem> {
        let mut best: Option<(Outcome, SystemModel, Vec<f32>)> = None;
        let (mut epochs, mut interrupted, mut since) = (0, false, 0);
        while epochs < self.training.max_epochs && since < self.options.outer_patience && !interrupted {
            let epoch = epochs;
            let train = self.train(epoch);
            let graphs = self.predict(epoch);
            let logits = self.mean.logits();
            let score = |nodes: &[u32]| {
                let (loss, counts) = f32::evaluate(&self.example.labels, nodes, &logits);
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
                let model = SystemModel {
                    architecture: self.architecture,
                    options: Options::Lds(self.options),
                    weights: saved(self.gcn.shape, &self.last),
                    graphs: Some(LearnedGraphs::new(&self.example.graph, &graphs)),
                };
                best = Some((outcome, model, logits));
            }
            interrupted = observe(&Epoch { epoch, train, validation, test, best: is_best }).is_break();
        }
        let (outcome, model, logits) = best.expect("at least one epoch was run");
        Ok(TrainedSystem { model, outcome: Outcome { epochs, interrupted, ..outcome }, logits })
    }

    /// Trains new weights, and the probabilities of edges with them. Returns the last losses.
    fn train(&mut self, epoch: usize) -> StepLoss {
        let (shape, lr) = (self.gcn.shape, self.training.lr);
        let [s1, s2] = shape.strides();
        let sizes = [([shape.columns, shape.hidden], s1), ([shape.hidden, shape.classes], s2)];
        for (k, (size, stride)) in sizes.into_iter().enumerate() {
            self.learned[k].draw(Stream::new(self.seed, epoch as u32, k as u16, Purpose::Weights), size, stride);
        }
        let targets = |nodes| Targets { nodes, class_of: self.class_of };
        let [train, outer] = [targets(&self.example.train), targets(&self.halves[0])];
        let (mut best, mut since, mut losses) = (f64::INFINITY, 0, StepLoss::default());
        for number in 0..self.options.inner_steps {
            let place = number % self.options.edge_steps;
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
            if place + 1 == self.options.edge_steps {
                self.edges.sample(Stream::new(self.seed, self.step, 1, Purpose::GraphSample), &mut self.graph);
                for (last, learned) in self.last.iter_mut().zip(&self.learned) {
                    last.copy_from_slice(&learned.value);
                }
                let Self { reverse, gcn, seed, steps, factors, graph, last, .. } = self;
                losses.edge = reverse.run(gcn, *seed, lr, steps, (graph, last), [train, outer], factors);
                factors.descend(&mut self.edges, self.options.edge_lr);
            }
            if losses.label < best * (1.0 - LEAST_DECREASE) {
                (best, since) = (losses.label, 0);
            } else {
                since += 1;
                if since >= self.options.inner_patience {
                    break;
                }
            }
        }
        StepLoss { total: losses.label + losses.edge, ..losses }
    }

    /// Computes mean probabilities over sampled graphs, and returns the graphs.
    fn predict(&mut self, epoch: usize) -> Vec<SampledGraph<f32>> {
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
        (0..self.options.graph_samples).map(sample).collect()
    }
}
