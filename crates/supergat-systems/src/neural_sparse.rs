//! NeuralSparse: a learned choice of a few neighbours of each node, before graph convolutions (Zheng et al., "Robust graph
//! representation learning via neural sparsification", ICML 2020).
//!
//! ```text
//! m_e = ReLU(W_1^T x_i + W_2^T x_j + B^T f_e + b)    for every edge e = (j -> i) without self-loops, with features f_e
//! z_e = w . m_e + ln A_e                             pi_e = softmax of z_e over the incoming edges of i
//! ```
//!
//! A node with at most k neighbours keeps all of them. Of the others, k are drawn without replacement. In training, a draw
//! is a row of the Gumbel-softmax with temperature tau, and a neighbour that was drawn is unlikely to be drawn again:
//!
//! ```text
//! q^1_e     = z_e + G_e,  G_e = -ln(-ln U_e)         U_e uniform; ln pi_e is z_e plus a number that cancels
//! p^l_e     = softmax of q^l_e / tau                 l = 1 ... k
//! q^(l+1)_e = q^l_e + ln(1 - p^l_e)
//! y_e       = sum over l of p^l_e                    in evaluation, 1 for the k edges with the largest z_e, 0 for others
//! w_e       = y_e / sqrt(d_i d_j),  d_i = 1 + min(k, neighbours of i)
//! ```
//!
//! The rows p^l sum to one, so the degrees d are constant. With D_e the gradient of y_e and c^(k+1) = 0, backwards over l:
//!
//! ```text
//! D^l_e = D_e - c^(l+1)_e / (1 - p^l_e)
//! c^l_e = c^(l+1)_e + p^l_e (D^l_e - sum of p^l_f D^l_f over f) / tau       c^1 is the gradient of z
//! ```

use super::convolutions::{Convolutions, dot, per_edge, position_of_outgoing, width_of};
use super::edge_weights;
use super::learner::Learner;
use supergat_core::device::prelude::*;
use supergat_core::device::{Adam, Draw, Input};
use supergat_core::example::ExampleShape;
use supergat_core::hyperparameters::NeuralSparseOptions;
use supergat_core::layers::{Context, Parameter};
use supergat_core::memory::{Arena, Buffer};
use supergat_core::random::{Purpose, Stream};
use supergat_core::{EdgeValues, HeadLayout, Prepared, Result, StepLoss};
use supergat_cpu::Cpu;
use supergat_cpu::kernels::{EdgeRows, PerPart, Primitives, Rows, sum_columns};

/// Returns the temperature of an epoch.
pub(super) fn temperature_at(options: &NeuralSparseOptions, epoch: u32) -> f64 {
    let falling = options.temperature * (-options.temperature_decay * f64::from(epoch)).exp();
    falling.max(options.least_temperature)
}

/// Number of the scores among layers, for random numbers.
const SAMPLER_LAYER: u16 = u16::MAX;
/// Least probability that a neighbour is not drawn, so that its logarithm is finite.
const LEAST_REST: f64 = 1e-6;

/// NeuralSparse on one example.
#[derive(Debug)]
pub(super) struct NeuralSparse<'p, T: Primitives> {
    prepared: &'p Prepared<Cpu<T>>,
    options: NeuralSparseOptions,
    /// W_1 and W_2 side by side.
    ends: Parameter<Cpu<T>>,
    bias: Parameter<Cpu<T>>,
    vector: Parameter<Cpu<T>>,
    /// B, if edges have features.
    of_edges: Option<Parameter<Cpu<T>>>,
    convolutions: Convolutions<T>,
    /// Numbers per row of W_1^T x.
    stride: usize,
    /// 1 / sqrt(d) of each node.
    factors: Buffer<T>,
    /// W_1^T x and W_2^T x of each node, then their gradients.
    rows: Buffer<T>,
    of_rows: Buffer<T>,
    /// z_e, y_e and w_e.
    scores: Buffer<T>,
    kept: Buffer<T>,
    weights: Buffer<T>,
    /// p^l_e: k rows for each node.
    draws: Buffer<T>,
    /// Gradients of w_e, then of z_e.
    of_weights: Buffer<T>,
    of_scores: Buffer<T>,
    /// Gradients of bias, vector and B, by part.
    sums: Buffer<T>,
    /// Neighbours of each node while the largest scores are found.
    order: Vec<u32>,
}

impl<'p, T: Primitives> NeuralSparse<'p, T> {
    pub(super) fn new(
        prepared: &'p Prepared<Cpu<T>>,
        options: NeuralSparseOptions,
        training: bool,
        arena: &mut Arena,
    ) -> Result<Self> {
        let (device, a) = (prepared.device(), prepared.architecture());
        let example = prepared.context(0, None).example;
        let (nodes, edges) = (example.nodes(), example.graph.edges());
        let layout = HeadLayout::plain(options.sampler_hidden);
        let stride = layout.stride();
        let ends =
            Parameter::weight(device, "sampler.ends".into(), HeadLayout::plain(a.input_features), false, layout, 2)?;
        let of_edges = match a.edge_features {
            0 => None,
            width => {
                let input = HeadLayout::plain(width);
                Some(Parameter::weight(device, "sampler.edges".into(), input, false, layout, 1)?)
            }
        };
        let convolutions = Convolutions::new(prepared, Some(width_of(&ends, 2 * stride)), training, arena)?;
        let mut factors = arena.numbers(nodes);
        for (node, factor) in factors.iter_mut().enumerate() {
            let kept = example.graph.degree(node).min(options.sampled_neighbours);
            *factor = T::from_f64(1.0 / (1.0 + kept as f64).sqrt());
        }
        let sums = convolutions.parts.len() * (2 + a.edge_features) * stride;
        let mut if_training = |len: usize| arena.numbers(if training { len } else { 0 });
        let [of_rows, draws, of_weights, of_scores, sums] =
            [2 * nodes * stride, options.sampled_neighbours * edges, edges, edges, sums].map(&mut if_training);
        Ok(Self {
            prepared,
            options,
            ends,
            bias: Parameter::row(device, "sampler.bias".into(), layout)?,
            vector: Parameter::row(device, "sampler.vector".into(), layout)?,
            of_edges,
            convolutions,
            stride,
            factors,
            rows: arena.numbers(2 * nodes * stride),
            of_rows,
            scores: arena.numbers(edges),
            kept: arena.numbers(edges),
            weights: arena.numbers(edges),
            draws,
            of_weights,
            of_scores,
            sums,
            order: arena.list(edges),
        })
    }

    /// Computes the scores, the choice of neighbours and the logits.
    fn forward(&mut self, context: &Context<'_, Cpu<T>>) -> Result<()> {
        let (graph, k) = (&*context.example.graph, self.options.sampled_neighbours);
        let lists = graph.incoming();
        let stride = self.stride;
        context.device.product(context.problem, Input::Features, None, &self.ends.value, 2 * stride, &mut self.rows)?;
        let hidden = Hidden::of(&self.rows, stride, &self.bias.value, self.of_edges.as_ref(), context);
        let (vector, given) = (&self.vector.value, edge_weights(context));
        let parts = &self.convolutions.parts;
        parts.for_each(per_edge(lists, &mut self.scores), |nodes, out| {
            let first = lists.range(nodes.start).start;
            for i in nodes {
                for e in lists.range(i) {
                    let mut score = T::ZERO;
                    for c in (0..stride).step_by(8) {
                        score += dot(&vector[c..c + 8], &hidden.at(lists.neighbours[e] as usize, i, e, c));
                    }
                    let prior = given.get(e).map_or(0.0, |weight| weight.to_f64().ln());
                    out.data[e - first] = score + T::from_f64(prior);
                }
            }
        });
        let scores = &self.scores;
        match context.clock {
            Some(clock) => {
                let tau = temperature_at(&self.options, clock.step);
                let stream = Stream::new(clock.seed, clock.step, SAMPLER_LAYER, Purpose::SampledNeighbours);
                let draws = EdgeRows { data: &mut self.draws, offsets: &lists.offsets, width: k };
                let outputs = (per_edge(lists, &mut self.kept), per_edge(lists, &mut self.weights), draws);
                parts.for_each(outputs, |nodes, (kept, noisy, draws)| {
                    let first = lists.range(nodes.start).start;
                    for i in nodes {
                        let (range, own) = (lists.range(i), place_of_self(lists.of(i), i));
                        let local = range.start - first..range.end - first;
                        let (kept, noisy) = (&mut kept.data[local.clone()], &mut noisy.data[local.clone()]);
                        if kept.len() <= k + 1 {
                            kept.fill(T::ONE);
                            continue;
                        }
                        let draws = &mut draws.data[local.start * k..local.end * k];
                        for (place, (q, e)) in noisy.iter_mut().zip(range).enumerate() {
                            let uniform = stream.uniform(e as u64) + f64::EPSILON / 4.0;
                            let noise = T::from_f64(-(-uniform.ln()).ln());
                            *q = if place == own { T::NEG_INFINITY } else { scores[e] + noise };
                        }
                        draw(noisy, T::from_f64(1.0 / tau), draws, kept);
                        kept[own] = T::ONE;
                    }
                });
            }
            None => {
                let order = per_edge(lists, &mut self.order);
                parts.for_each((per_edge(lists, &mut self.kept), order), |nodes, (kept, order)| {
                    let first = lists.range(nodes.start).start;
                    for i in nodes {
                        let (range, own) = (lists.range(i), place_of_self(lists.of(i), i));
                        let local = range.start - first..range.end - first;
                        let (kept, order) = (&mut kept.data[local.clone()], &mut order.data[local]);
                        choose(&scores[range], own, k, order, kept);
                    }
                });
            }
        }
        let (kept, factors) = (&self.kept, &self.factors);
        parts.for_each(per_edge(lists, &mut self.weights), |nodes, out| {
            let first = lists.range(nodes.start).start;
            for i in nodes {
                for e in lists.range(i) {
                    out.data[e - first] = kept[e] * factors[i] * factors[lists.neighbours[e] as usize];
                }
            }
        });
        self.convolutions.forward(context, &self.weights)
    }

    /// Computes all gradients, and returns the loss of the labels.
    fn backward(&mut self, context: &Context<'_, Cpu<T>>, clock: &Draw) -> Result<f64> {
        let (graph, k) = (&*context.example.graph, self.options.sampled_neighbours);
        let (lists, outgoing) = (graph.incoming(), graph.outgoing());
        let stride = self.stride;
        let label = self.convolutions.backward(context, &self.weights, Some(&mut self.of_weights))?;
        let parts = &self.convolutions.parts;
        let per_temperature = T::from_f64(1.0 / temperature_at(&self.options, clock.step));
        let (draws, factors) = (&self.draws, &self.factors);
        parts.for_each(
            (per_edge(lists, &mut self.of_weights), per_edge(lists, &mut self.of_scores)),
            |nodes, (of_kept, out)| {
                let first = lists.range(nodes.start).start;
                for i in nodes {
                    let range = lists.range(i);
                    let local = range.start - first..range.end - first;
                    let (of_kept, out) = (&mut of_kept.data[local.clone()], &mut out.data[local]);
                    out.fill(T::ZERO);
                    if out.len() <= k + 1 {
                        continue;
                    }
                    let own = place_of_self(lists.of(i), i);
                    for (d, &j) in of_kept.iter_mut().zip(lists.of(i)) {
                        *d *= factors[i] * factors[j as usize];
                    }
                    of_kept[own] = T::ZERO;
                    draw_backward(&draws[range.start * k..range.end * k], per_temperature, of_kept, out);
                }
            },
        );
        let hidden = Hidden::of(&self.rows, stride, &self.bias.value, self.of_edges.as_ref(), context);
        let (vector, of_scores) = (&self.vector.value, &self.of_scores);
        let attributes = hidden.features;
        let width = (2 + hidden.width) * stride;
        let outputs = (
            Rows { data: &mut self.of_rows, width: 2 * stride },
            PerPart { data: &mut self.sums[..parts.len() * width], width },
        );
        parts.for_each(outputs, |nodes, (of_rows, sums)| {
            sums.data.fill(T::ZERO);
            let (of_bias, sums) = sums.data.split_at_mut(stride);
            let (of_vector, of_matrix) = sums.split_at_mut(stride);
            for (i, out) in nodes.zip(of_rows.data.chunks_exact_mut(2 * stride)) {
                let (of_target, of_source) = out.split_at_mut(stride);
                of_target.fill(T::ZERO);
                for e in lists.range(i).filter(|&e| of_scores[e] != T::ZERO) {
                    let (d, features) = (of_scores[e], &attributes[e * hidden.width..(e + 1) * hidden.width]);
                    for c in (0..stride).step_by(8) {
                        let m = hidden.at(lists.neighbours[e] as usize, i, e, c);
                        for (lane, m) in m.into_iter().enumerate().filter(|(_, m)| *m > T::ZERO) {
                            let (c, slope) = (c + lane, d * vector[c + lane]);
                            of_vector[c] += d * m;
                            of_bias[c] += slope;
                            of_target[c] += slope;
                            for (row, feature) in of_matrix.chunks_exact_mut(stride).zip(features) {
                                row[c] += slope * *feature;
                            }
                        }
                    }
                }
                of_source.fill(T::ZERO);
                for edge in outgoing.range(i) {
                    let (e, target) = (position_of_outgoing(graph, edge), outgoing.neighbours[edge] as usize);
                    let d = of_scores[e];
                    if d == T::ZERO {
                        continue;
                    }
                    for c in (0..stride).step_by(8) {
                        let m = hidden.at(i, target, e, c);
                        for (lane, _) in m.into_iter().enumerate().filter(|(_, m)| *m > T::ZERO) {
                            of_source[c + lane] += d * vector[c + lane];
                        }
                    }
                }
            }
        });
        sum_columns(parts.len(), &self.sums, width, 0, &mut self.bias.gradient);
        sum_columns(parts.len(), &self.sums, width, stride, &mut self.vector.gradient);
        if let Some(of_edges) = &mut self.of_edges {
            sum_columns(parts.len(), &self.sums, width, 2 * stride, &mut of_edges.gradient);
        }
        let (of_rows, scratch) = (&self.of_rows, &mut self.convolutions.scratch);
        let to = &mut self.ends.gradient;
        context.device.weight_gradient(context.problem, Input::Features, None, of_rows, 2 * stride, scratch, to)?;
        Ok(label)
    }
}

/// Hidden features m_e of the scores.
struct Hidden<'a, T> {
    rows: &'a [T],
    stride: usize,
    bias: &'a [T],
    /// B, and the features of edges: `width` numbers per edge.
    matrix: &'a [T],
    features: &'a [T],
    width: usize,
}

impl<'a, T: Primitives> Hidden<'a, T> {
    fn of(
        rows: &'a [T],
        stride: usize,
        bias: &'a [T],
        matrix: Option<&'a Parameter<Cpu<T>>>,
        context: &Context<'a, Cpu<T>>,
    ) -> Self {
        let matrix = matrix.map_or(&[][..], |matrix| &matrix.value);
        let edges = context.example.edges.as_ref().filter(|_| !matrix.is_empty());
        let (features, width) = edges.map_or((&[][..], 0), |edges| (edges.features(), edges.width()));
        Self { rows, stride, bias, matrix, features, width }
    }

    /// Returns the numbers from `c` on of m_e, where e joins `source` to `target`.
    #[inline]
    fn at(&self, source: usize, target: usize, e: usize, c: usize) -> [T; 8] {
        let stride = self.stride;
        let of_target = &self.rows[2 * target * stride + c..][..8];
        let of_source = &self.rows[(2 * source + 1) * stride + c..][..8];
        let bias = &self.bias[c..c + 8];
        let mut m: [T; 8] = std::array::from_fn(|lane| of_target[lane] + of_source[lane] + bias[lane]);
        let features = &self.features[e * self.width..(e + 1) * self.width];
        for (row, feature) in self.matrix.chunks_exact(stride).zip(features) {
            m.iter_mut().zip(&row[c..]).for_each(|(m, b)| *m += *feature * *b);
        }
        m.map(|m| m.max(T::ZERO))
    }
}

/// Returns the place of a node in its own list.
fn place_of_self(list: &[u32], node: usize) -> usize {
    list.binary_search(&(node as u32)).expect("every node has a self-loop")
}

/// Draws rows of the Gumbel-softmax without replacement: `draws` has as many rows of `q.len()` numbers as are drawn, and
/// `kept` becomes their sum. Changes q.
fn draw<T: Primitives>(q: &mut [T], per_temperature: T, draws: &mut [T], kept: &mut [T]) {
    let least = T::from_f64(LEAST_REST);
    kept.fill(T::ZERO);
    for p in draws.chunks_exact_mut(q.len()) {
        let largest = q.iter().copied().fold(T::NEG_INFINITY, T::max);
        let mut sum = T::ZERO;
        for (p, q) in p.iter_mut().zip(&*q) {
            *p = ((*q - largest) * per_temperature).exp();
            sum += *p;
        }
        for ((p, q), kept) in p.iter_mut().zip(&mut *q).zip(&mut *kept) {
            *p = *p / sum;
            *kept += *p;
            *q += T::from_f64((T::ONE - *p).max(least).to_f64().ln());
        }
    }
}

/// Computes the gradient of [`draw`] by q, from that of `kept`. `out` must be zero.
fn draw_backward<T: Primitives>(draws: &[T], per_temperature: T, of_kept: &[T], out: &mut [T]) {
    let least = T::from_f64(LEAST_REST);
    for p in draws.chunks_exact(out.len()).rev() {
        let of_draw = |p: T, d: T, c: T| if T::ONE - p > least { d - c / (T::ONE - p) } else { d };
        let terms = p.iter().zip(of_kept).zip(&*out);
        let mean: T = terms.map(|((p, d), c)| *p * of_draw(*p, *d, *c)).sum();
        for ((p, d), c) in p.iter().zip(of_kept).zip(&mut *out) {
            *c += *p * (of_draw(*p, *d, *c) - mean) * per_temperature;
        }
    }
}

/// Writes 1 for the node itself and for the `k` others with the largest scores, earlier ones first among equals, and 0 for
/// the rest.
fn choose<T: Primitives>(scores: &[T], own: usize, k: usize, order: &mut [u32], kept: &mut [T]) {
    if scores.len() <= k + 1 {
        return kept.fill(T::ONE);
    }
    order.iter_mut().enumerate().for_each(|(place, at)| *at = place as u32);
    order.swap(0, own);
    let (_, others) = order.split_first_mut().expect("the node itself");
    others.select_nth_unstable_by(k - 1, |a, b| {
        scores[*b as usize].to_f64().total_cmp(&scores[*a as usize].to_f64()).then(a.cmp(b))
    });
    kept.fill(T::ZERO);
    order[..=k].iter().for_each(|place| kept[*place as usize] = T::ONE);
}

impl<T: Primitives> Learner<T> for NeuralSparse<'_, T> {
    fn initialise(&mut self, seed: u64) -> Result<()> {
        let device = self.prepared.device();
        let stream = |purpose| Stream::new(seed, 0, SAMPLER_LAYER, purpose);
        self.ends.glorot_of_halves(device, stream(Purpose::Weights), 2)?;
        self.vector.glorot(device, stream(Purpose::AttentionVectors))?;
        if let Some(of_edges) = &mut self.of_edges {
            of_edges.glorot(device, stream(Purpose::EdgeVectors))?;
        }
        self.convolutions.initialise(device, seed)
    }

    fn differentiate(&mut self, clock: &Draw) -> Result<StepLoss> {
        let prepared = self.prepared;
        let context = prepared.context(0, Some(clock));
        self.forward(&context)?;
        let label = self.backward(&context, clock)?;
        Ok(StepLoss { label, edge: 0.0, total: label })
    }

    fn update(&mut self, clock: &Draw) -> Result<()> {
        let (device, config) = (self.prepared.device(), self.prepared.config());
        let adam = Adam { lr: config.training.lr, lambda_2: config.training.lambda_2 };
        let parameters = [&mut self.ends, &mut self.bias, &mut self.vector].into_iter().chain(&mut self.of_edges);
        device.adam(adam, clock, parameters.map(Parameter::memory))?;
        self.convolutions.update(device, adam, clock)
    }

    fn evaluate(&mut self) -> Result<()> {
        let prepared = self.prepared;
        self.forward(&prepared.context(0, None))
    }

    fn logits(&self) -> &Buffer<T> {
        self.convolutions.logits()
    }

    /// Returns an equal weight for every kept edge of a node, 0 for the others, and the scores.
    fn edges(&self) -> EdgeValues<T> {
        let lists = self.prepared.context(0, None).example.graph.incoming();
        let mut coefficients = self.kept.to_vec();
        for i in 0..self.factors.len() {
            coefficients[lists.range(i)].iter_mut().for_each(|kept| *kept *= self.factors[i] * self.factors[i]);
        }
        EdgeValues { heads: 1, coefficients, logits: self.scores.to_vec() }
    }

    fn for_each_parameter(&mut self, f: &mut dyn FnMut(&mut Parameter<Cpu<T>>) -> Result<()>) -> Result<()> {
        [&mut self.ends, &mut self.bias, &mut self.vector]
            .into_iter()
            .chain(&mut self.of_edges)
            .try_for_each(&mut *f)?;
        self.convolutions.for_each_parameter(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws are rows that sum to one; at a low temperature they are different neighbours.
    #[test]
    fn draws_without_replacement() {
        let mut q = [0.3f64, 2.0, -1.0, 1.0, 0.5];
        let (mut draws, mut kept) = ([0.0; 15], [0.0; 5]);
        draw(&mut q.clone(), 1.0, &mut draws, &mut kept);
        assert!(draws.chunks_exact(5).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
        assert!(kept.iter().all(|kept| *kept > 0.0) && kept[1] > kept[3] && kept[3] > kept[4]);
        draw(&mut q, 50.0, &mut draws, &mut kept);
        let expected = [0.0, 1.0, 0.0, 1.0, 1.0];
        assert!(kept.iter().zip(expected).all(|(kept, expected)| (kept - expected).abs() < 1e-3), "{kept:?}");
    }

    #[test]
    fn chooses_the_largest_scores() {
        let (mut order, mut kept) = ([0; 5], [0.0; 5]);
        choose(&[1.0, -9.0, 3.0, 1.0, 2.0], 1, 2, &mut order, &mut kept);
        assert_eq!(kept, [0.0, 1.0, 1.0, 0.0, 1.0]);
        choose(&[1.0, 1.0, 1.0, 1.0, 1.0], 4, 2, &mut order, &mut kept);
        assert_eq!(kept, [1.0, 1.0, 0.0, 0.0, 1.0], "earlier neighbours among equals");
        choose(&[1.0, 1.0, 1.0, 1.0, 1.0], 4, 4, &mut order, &mut kept);
        assert_eq!(kept, [1.0; 5]);
    }
}
