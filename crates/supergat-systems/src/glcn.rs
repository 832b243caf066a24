//! GLCN: graph convolutions over edges whose weights are learned from the features of their ends (Jiang et al.,
//! "Semi-supervised learning with graph learning-convolutional networks", CVPR 2019).
//!
//! ```text
//! h   = drop(X) P
//! u_e = ReLU(sum over c of a_c |h_i,c - h_j,c|)                      for every edge e = (j -> i), self-loops included
//! S_e = A_e exp(u_e) / sum of A_f exp(u_f)                           over the incoming edges f of i
//! L   = L_labels(graph convolutions with the weights S)
//!       + lambda sum over e of (|h_i - h_j|^2 S_e + gamma S_e^2)
//! ```
//!
//! With d_e the gradient of S_e, which has the terms `lambda (|h_i - h_j|^2 + 2 gamma S_e)` and, if the graph learns from
//! labels, that of the convolutions:
//!
//! ```text
//! r_e   = S_e (d_e - sum of S_f d_f over f), or 0 where u_e = 0      gradient of a . |h_i - h_j|
//! d a_c = sum over e of r_e |h_i,c - h_j,c|
//! t_e,c = r_e a_c sign(h_i,c - h_j,c) + 2 lambda S_e (h_i,c - h_j,c)
//! d h_i = sum of t_e over incoming edges e of i - sum of t_e over outgoing edges e of i
//! ```

use super::convolutions::{Convolutions, mask_of, per_edge, position_of_outgoing, width_of};
use super::edge_weights;
use super::learner::Learner;
use supergat_core::device::prelude::*;
use supergat_core::device::{Adam, Draw, Input};
use supergat_core::example::ExampleShape;
use supergat_core::hyperparameters::GlcnOptions;
use supergat_core::layers::{Context, Parameter};
use supergat_core::memory::{Arena, Buffer};
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Dropout, EdgeValues, HeadLayout, Prepared, Result, StepLoss};
use supergat_cpu::Cpu;
use supergat_cpu::kernels::{PerPart, Primitives, Rows, sum_parts};

/// Number of epochs after which learning rates are multiplied by their decay.
const DECAY_EPOCHS: u32 = 100;
/// Number of the graph learner among layers, for random numbers.
const GRAPH_LAYER: u16 = u16::MAX;

/// GLCN on one example.
#[derive(Debug)]
pub(super) struct Glcn<'p, T: Primitives> {
    prepared: &'p Prepared<Cpu<T>>,
    options: GlcnOptions,
    projection: Parameter<Cpu<T>>,
    vector: Parameter<Cpu<T>>,
    convolutions: Convolutions<T>,
    stride: usize,
    dropout: Dropout,
    keep: Vec<u8>,
    h: Buffer<T>,
    /// u_e and S_e.
    scores: Buffer<T>,
    weights: Buffer<T>,
    /// d_e, then r_e.
    of_weights: Buffer<T>,
    of_h: Buffer<T>,
    /// Gradients of a and losses, by part.
    of_vector: Buffer<T>,
    losses: Vec<f64>,
}

impl<'p, T: Primitives> Glcn<'p, T> {
    pub(super) fn new(
        prepared: &'p Prepared<Cpu<T>>,
        options: GlcnOptions,
        training: bool,
        arena: &mut Arena,
    ) -> Result<Self> {
        let (device, a) = (prepared.device(), prepared.architecture());
        let example = prepared.context(0, None).example;
        let (nodes, edges) = (example.nodes(), example.graph.edges());
        let layout = HeadLayout::plain(options.graph_hidden);
        let (input, stride) = (HeadLayout::plain(a.input_features), layout.stride());
        let projection = Parameter::weight(device, "graph.p".into(), input, false, layout, 1)?;
        let convolutions = Convolutions::new(prepared, Some(width_of(&projection, stride)), training, arena)?;
        let parts = convolutions.parts.len();
        let mut if_training = |len: usize| arena.numbers(if training { len } else { 0 });
        let (of_weights, of_h, of_vector) =
            (if_training(edges), if_training(nodes * stride), if_training(parts * stride));
        Ok(Self {
            prepared,
            options,
            projection,
            vector: Parameter::row(device, "graph.a".into(), layout)?,
            convolutions,
            stride,
            dropout: Dropout::new(a.network.dropout),
            keep: arena.list(if training && a.network.dropout > 0.0 { example.feature_mask_bytes() } else { 0 }),
            h: arena.numbers(nodes * stride),
            scores: arena.numbers(edges),
            weights: arena.numbers(edges),
            of_weights,
            of_h,
            of_vector,
            losses: arena.list(parts),
        })
    }

    /// Computes the learned weights of the edges, and the logits.
    fn forward(&mut self, context: &Context<'_, Cpu<T>>) -> Result<()> {
        if let Some(random) = context.random(GRAPH_LAYER, Purpose::InputDropout).filter(|_| !self.dropout.is_none()) {
            let bytes = self.keep.len();
            context.device.draw_mask(random, self.dropout, bytes, &mut self.keep)?;
        }
        let Self { projection, vector, convolutions, stride, dropout, keep, h, scores, weights, .. } = self;
        let (stride, mask) = (*stride, mask_of(context, *dropout, keep));
        context.device.product(context.problem, Input::Features, mask, &projection.value, stride, h)?;
        let (lists, given) = (context.example.graph.incoming(), edge_weights(context));
        convolutions.parts.for_each((per_edge(lists, scores), per_edge(lists, weights)), |nodes, (scores, weights)| {
            let first = lists.range(nodes.start).start;
            for i in nodes {
                let (range, own) = (lists.range(i), &h[i * stride..(i + 1) * stride]);
                let mut largest = T::ZERO;
                for e in range.clone() {
                    let j = lists.neighbours[e] as usize;
                    let score = distance(&vector.value, own, &h[j * stride..(j + 1) * stride]).max(T::ZERO);
                    scores.data[e - first] = score;
                    largest = largest.max(score);
                }
                let mut sum = T::ZERO;
                for e in range.clone() {
                    let weight = given.get(e).copied().unwrap_or(T::ONE) * (scores.data[e - first] - largest).exp();
                    weights.data[e - first] = weight;
                    sum += weight;
                }
                range.for_each(|e| weights.data[e - first] = weights.data[e - first] / sum);
            }
        });
        convolutions.forward(context, weights)
    }

    /// Computes all gradients, and returns the losses of labels and of the graph.
    fn backward(&mut self, context: &Context<'_, Cpu<T>>) -> Result<[f64; 2]> {
        let Self { options, projection, vector, convolutions, dropout, keep, h, scores, weights, .. } = self;
        let (of_weights, of_h, of_vector, losses) =
            (&mut self.of_weights, &mut self.of_h, &mut self.of_vector, &mut self.losses);
        let stride = self.stride;
        let from_labels = options.graph_from_labels.then_some(&mut of_weights[..]);
        let label = convolutions.backward(context, weights, from_labels)?;
        if !options.graph_from_labels {
            T::clear_list(of_weights);
        }
        let (graph, parts) = (&*context.example.graph, &convolutions.parts);
        let (lists, outgoing) = (graph.incoming(), graph.outgoing());
        let row = |i: usize| &h[i * stride..(i + 1) * stride];
        let [lambda, gamma] = [options.lambda_graph, options.gamma_graph].map(T::from_f64);
        let two = T::from_f64(2.0);
        let outputs = (per_edge(lists, of_weights), PerPart { data: &mut losses[..parts.len()], width: 1 });
        parts.for_each(outputs, |nodes, (out, loss)| {
            let first = lists.range(nodes.start).start;
            let mut sum = 0.0;
            for i in nodes {
                let mut mean = T::ZERO;
                for e in lists.range(i) {
                    let (s, square) = (weights[e], squared_distance(row(i), row(lists.neighbours[e] as usize)));
                    sum += (s * (square + gamma * s)).to_f64();
                    let d = &mut out.data[e - first];
                    *d += lambda * (square + two * gamma * s);
                    mean += s * *d;
                }
                for e in lists.range(i) {
                    let d = &mut out.data[e - first];
                    *d = if scores[e] > T::ZERO { weights[e] * (*d - mean) } else { T::ZERO };
                }
            }
            loss.data[0] = sum;
        });
        let of_score = &*of_weights;
        let outputs = (
            Rows { data: of_h, width: stride },
            PerPart { data: &mut of_vector[..parts.len() * stride], width: stride },
        );
        parts.for_each(outputs, |nodes, (of_h, of_vector)| {
            of_vector.data.fill(T::ZERO);
            for (i, out) in nodes.zip(of_h.data.chunks_exact_mut(stride)) {
                out.fill(T::ZERO);
                for e in lists.range(i) {
                    let (r, smooth) = (of_score[e], two * lambda * weights[e]);
                    let ends = row(i).iter().zip(row(lists.neighbours[e] as usize));
                    let to = out.iter_mut().zip(of_vector.data.iter_mut()).zip(&vector.value[..]);
                    for ((x, y), ((out, of_a), a)) in ends.zip(to) {
                        let difference = *x - *y;
                        *of_a += r * difference.abs();
                        *out += r * *a * sign(difference) + smooth * difference;
                    }
                }
                for edge in outgoing.range(i) {
                    let e = position_of_outgoing(graph, edge);
                    let (r, smooth) = (of_score[e], two * lambda * weights[e]);
                    let ends = row(outgoing.neighbours[edge] as usize).iter().zip(row(i));
                    for ((x, y), (out, a)) in ends.zip(out.iter_mut().zip(&vector.value[..])) {
                        let difference = *x - *y;
                        *out += -(r * *a * sign(difference) + smooth * difference);
                    }
                }
            }
        });
        sum_parts(parts.len(), of_vector, &mut vector.gradient);
        let (device, problem, scratch) = (context.device, context.problem, &mut convolutions.scratch);
        let mask = mask_of(context, *dropout, keep);
        device.weight_gradient(problem, Input::Features, mask, of_h, stride, scratch, &mut projection.gradient)?;
        Ok([label, self.options.lambda_graph * self.losses.iter().sum::<f64>()])
    }
}

/// Returns `sum over c of a_c |x_c - y_c|`, in eight sums.
#[inline]
fn distance<T: Primitives>(a: &[T], x: &[T], y: &[T]) -> T {
    let mut sums = [T::ZERO; 8];
    let rows = x.as_chunks::<8>().0.iter().zip(y.as_chunks::<8>().0);
    for ((x, y), a) in rows.zip(a.as_chunks::<8>().0) {
        for (c, sum) in sums.iter_mut().enumerate() {
            *sum += a[c] * (x[c] - y[c]).abs();
        }
    }
    sums.into_iter().sum()
}

/// Returns `|x - y|^2`, in eight sums.
#[inline]
fn squared_distance<T: Primitives>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::ZERO; 8];
    for (x, y) in x.as_chunks::<8>().0.iter().zip(y.as_chunks::<8>().0) {
        for (c, sum) in sums.iter_mut().enumerate() {
            *sum += (x[c] - y[c]) * (x[c] - y[c]);
        }
    }
    sums.into_iter().sum()
}

#[inline]
fn sign<T: Primitives>(x: T) -> T {
    if x > T::ZERO {
        T::ONE
    } else if x < T::ZERO {
        -T::ONE
    } else {
        T::ZERO
    }
}

impl<T: Primitives> Learner<T> for Glcn<'_, T> {
    fn initialise(&mut self, seed: u64) -> Result<()> {
        let device = self.prepared.device();
        self.projection.glorot(device, Stream::new(seed, 0, GRAPH_LAYER, Purpose::Weights))?;
        // A column, as in the authors' code.
        let limit = (6.0 / (self.options.graph_hidden + 1) as f64).sqrt();
        self.vector.uniform(device, Stream::new(seed, 0, GRAPH_LAYER, Purpose::AttentionVectors), limit)?;
        self.convolutions.initialise(device, seed)
    }

    fn differentiate(&mut self, clock: &Draw) -> Result<StepLoss> {
        let prepared = self.prepared;
        let context = prepared.context(0, Some(clock));
        self.forward(&context)?;
        let [label, edge] = self.backward(&context)?;
        Ok(StepLoss { label, edge, total: label + edge })
    }

    fn update(&mut self, clock: &Draw) -> Result<()> {
        let (device, config) = (self.prepared.device(), self.prepared.config());
        let decay = self.options.lr_decay.powi((clock.step / DECAY_EPOCHS) as i32);
        let adam = Adam { lr: decay * config.training.lr, lambda_2: config.training.lambda_2 };
        let of_graph = Adam { lr: decay * self.options.graph_lr, ..adam };
        let parameters = [&mut self.projection, &mut self.vector];
        device.adam(of_graph, clock, parameters.into_iter().map(Parameter::memory))?;
        self.convolutions.update(device, adam, clock)
    }

    fn evaluate(&mut self) -> Result<()> {
        let prepared = self.prepared;
        self.forward(&prepared.context(0, None))
    }

    fn logits(&self) -> &Buffer<T> {
        self.convolutions.logits()
    }

    fn edges(&self) -> EdgeValues<T> {
        EdgeValues { heads: 1, coefficients: self.weights.to_vec(), logits: self.scores.to_vec() }
    }

    fn for_each_parameter(&mut self, f: &mut dyn FnMut(&mut Parameter<Cpu<T>>) -> Result<()>) -> Result<()> {
        f(&mut self.projection)?;
        f(&mut self.vector)?;
        self.convolutions.for_each_parameter(f)
    }
}
