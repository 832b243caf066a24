//! The gradient of the validation loss by the probabilities of edges, through the last steps of training, and the update.
//!
//! ```text
//! F = validation loss of the weights after the last of tau steps
//! w_t+1 = Adam(w_t, g_t)     g_t = dL(w_t, A_t)/dw       A_t is the graph that step t sampled
//!
//! a = dF/dw_tau, back through every step: u = a through Adam to g_t,  a <- a + d2L/dw2 u,
//! dF/dA_t = d(g_t . u)/dA_t
//! ```
//!
//! A sampled edge counts as its probability (straight-through estimator), so the gradient by a probability is the sum of
//! those by the edge in all graphs. By a normalised edge it is a sum of products of two narrow rows, `P_ij = l_i . r_j`. With
//! `A^_ij = A_ij / sqrt(d_i d_j)` and the degree `d_i = sum_j A_ij`:
//!
//! ```text
//! dF/dA_ij = P_ij / sqrt(d_i d_j) + D_i          D_i = -1 / (2 d_i) sum_j A_ij (P_ij + P_ji) / sqrt(d_i d_j)
//! ```
//!
//! All rows of all steps are kept side by side, [`Factors`]. The gradient of a pair is then one product of two rows, which
//! exists only for a panel of columns at a time. The update is a step of gradient descent, followed by a projection
//! onto [0, 1].

use super::gcn::{Gcn, Pair, Shape, Targets};
use super::sampled::{EdgeProbabilities, SampledGraph};
use crate::convolutions::dot;
use supergat_core::memory::Buffer;
use supergat_cpu::kernels::{Adam, AdamGradient, Dense, EdgeRows, Parts, Primitives, Rows, adam_backward};

/// Number of columns of a panel of the gradient.
const PANEL: usize = 256;

/// Rows whose products are the gradients of pairs of nodes.
#[derive(Debug)]
pub(super) struct Factors<T> {
    nodes: usize,
    /// Numbers per node on each side.
    rank: usize,
    used: usize,
    left: Buffer<T>,
    right: Buffer<T>,
    /// Gradients by degrees.
    degree: Vec<T>,
    /// Both sides of every node, its gradient by the degree and 1, in the order of the left factor of a product.
    rows: Buffer<T>,
    panel: Buffer<T>,
    gradient: Buffer<T>,
    parts: Parts,
    /// Division of the rows of each panel: pairs i < j need those up to its last column.
    panels: Vec<Parts>,
}

impl<T: Primitives> Factors<T> {
    /// Allocates memory for the gradients through `steps` steps.
    pub(super) fn new(shape: Shape, steps: usize) -> Self {
        let rank = Self::rank(shape, steps);
        let (nodes, width) = (shape.nodes, Self::width(rank));
        Self {
            nodes,
            rank,
            used: 0,
            left: Buffer::zeros(nodes * rank),
            right: Buffer::zeros(nodes * rank),
            degree: vec![T::ZERO; nodes],
            rows: Buffer::zeros(nodes * width),
            panel: Buffer::zeros(width * PANEL),
            gradient: Buffer::zeros(nodes * PANEL),
            parts: Parts::even(0..nodes, 1024),
            panels: (0..nodes)
                .step_by(PANEL)
                .map(|first| Parts::even(0..(first + PANEL).min(nodes), 1 << 12))
                .collect(),
        }
    }

    fn rank(shape: Shape, steps: usize) -> usize {
        (2 * steps + 1) * shape.strides().iter().sum::<usize>()
    }

    fn width(rank: usize) -> usize {
        2 * rank + 8
    }

    /// Returns the number of bytes of the factors.
    pub(super) fn bytes(shape: Shape, steps: usize) -> u64 {
        let rank = Self::rank(shape, steps);
        let width = Self::width(rank);
        ((shape.nodes * (2 * rank + width + PANEL) + width * PANEL) * size_of::<T>()) as u64
    }

    fn clear(&mut self) {
        self.used = 0;
        self.degree.fill(T::ZERO);
    }

    /// Adds `P = sum of left right^T` by the normalised edges of a graph, where both sides are lists of rows with a stride.
    fn add<const N: usize>(&mut self, graph: &SampledGraph<T>, sides: [(&[T], &[T], usize); N]) {
        let (rank, first) = (self.rank, self.used);
        for (left, right, stride) in sides {
            for i in 0..self.nodes {
                let scale = graph.scale[i];
                for (to, from) in [(&mut self.left, left), (&mut self.right, right)] {
                    let to = &mut to[i * rank + self.used..][..stride];
                    to.iter_mut().zip(&from[i * stride..]).for_each(|(t, f)| *t = *f * scale);
                }
            }
            self.used += stride;
        }
        let (left, right, used) = (&self.left, &self.right, self.used);
        let row = |side, i: usize| -> &[T] {
            let side: &Buffer<T> = side;
            &side[i * rank + first..i * rank + used]
        };
        self.parts.for_each(Rows { data: &mut self.degree, width: 1 }, |nodes, degree| {
            for (i, degree) in nodes.zip(degree.data) {
                let mut sum = T::ZERO;
                for &j in graph.neighbours(i) {
                    let j = j as usize;
                    sum += dot(row(left, i), row(right, j));
                    sum += dot(row(left, j), row(right, i));
                }
                let inverse = graph.scale[i] * graph.scale[i];
                *degree += -(T::from_f64(0.5) * inverse * sum);
            }
        });
    }

    /// Calls `with` for every pair i < j with its gradient, on all threads; `values` has a number for each pair.
    pub(super) fn for_each_pair(&mut self, offsets: &[u64], values: &mut [T], with: impl Fn(&mut T, T) + Sync) {
        let (rank, used, width) = (self.rank, self.used, 2 * self.used + 8);
        for i in 0..self.nodes {
            let row = &mut self.rows[i * width..(i + 1) * width];
            row[..used].copy_from_slice(&self.left[i * rank..][..used]);
            row[used..2 * used].copy_from_slice(&self.right[i * rank..][..used]);
            row[2 * used..].fill(T::ZERO);
            row[2 * used] = self.degree[i];
            row[2 * used + 1] = T::ONE;
        }
        let rows = &self.rows[..self.nodes * width];
        for first in (0..self.nodes).step_by(PANEL) {
            let last = (first + PANEL).min(self.nodes);
            // The right factor has both sides exchanged, so that the product is the sum of both directions.
            let panel = &mut self.panel[..width * PANEL];
            panel.fill(T::ZERO);
            for j in first..last {
                let row = &rows[j * width..][..width];
                for k in 0..used {
                    panel[k * PANEL + j - first] = row[used + k];
                    panel[(used + k) * PANEL + j - first] = row[k];
                }
                panel[2 * used * PANEL + j - first] = T::ONE;
                panel[(2 * used + 1) * PANEL + j - first] = row[2 * used];
            }
            let parts = &self.panels[first / PANEL];
            let x = Dense { values: &rows[..last * width], columns: width };
            T::dense_product(parts, x, None, panel, PANEL, &mut self.gradient[..last * PANEL]);
            let gradient = &self.gradient;
            let output = EdgeRows { data: &mut *values, offsets, width: 1 };
            parts.for_each(output, |range, output| {
                let start = output.offsets[0];
                for (k, i) in range.enumerate() {
                    let place = (output.offsets[k] - start) as usize;
                    for j in first.max(i + 1)..last {
                        with(&mut output.data[place + j - i - 1], gradient[i * PANEL + j - first]);
                    }
                }
            });
        }
    }

    /// Moves the probabilities against their gradient, and back into [0, 1].
    pub(super) fn descend(&mut self, edges: &mut EdgeProbabilities<T>, rate: f64) {
        let rate = T::from_f64(rate);
        self.for_each_pair(&edges.offsets, &mut edges.values, |value, gradient| {
            let moved = (*value - rate * gradient).max(T::ZERO);
            *value = if moved > T::ONE { T::ONE } else { moved };
        });
    }
}

/// A step of training, kept for the reverse pass.
#[derive(Debug)]
pub(super) struct Step<T> {
    pub(super) number: u32,
    /// Number of the step of the optimiser, from 1.
    pub(super) adam_step: u64,
    pub(super) graph: SampledGraph<T>,
    pub(super) weights: Pair<T>,
    pub(super) gradient: Pair<T>,
    /// Moments of both matrices after the step.
    pub(super) moments: [Pair<T>; 2],
}

/// Memory of the reverse pass.
#[derive(Debug)]
pub(super) struct Reverse<T> {
    by_weights: Pair<T>,
    by_moments: [Pair<T>; 2],
    by_gradient: Pair<T>,
    product: Pair<T>,
}

impl<T: Primitives> Reverse<T> {
    pub(super) fn new(shape: Shape) -> Self {
        let pair = || shape.weights().map(Buffer::zeros);
        Self { by_weights: pair(), by_moments: [pair(), pair()], by_gradient: pair(), product: pair() }
    }

    /// Computes the gradient of the validation loss with the weights and a graph after the steps. Returns the loss.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn run(
        &mut self,
        gcn: &mut Gcn<'_, T>,
        seed: u64,
        lr: f64,
        steps: &[Step<T>],
        (graph, weights): (&SampledGraph<T>, &Pair<T>),
        [train, validation]: [Targets<'_>; 2],
        factors: &mut Factors<T>,
    ) -> f64 {
        let [s1, s2] = gcn.shape.strides();
        factors.clear();
        gcn.draw_dropout(None);
        gcn.forward(graph, weights);
        let loss = gcn.backward(graph, weights, validation, false, &mut self.by_weights);
        factors.add(graph, [(&gcn.g2, &gcn.z2, s2), (&gcn.d_s1, &gcn.z1, s1)]);
        self.by_moments.iter_mut().flatten().for_each(|list| list.fill(T::ZERO));
        for step in steps.iter().rev() {
            for k in 0..2 {
                let [first, second] = &mut self.by_moments;
                let to = AdamGradient {
                    weights: &self.by_weights[k],
                    moments: [&mut first[k], &mut second[k]],
                    gradient: &mut self.by_gradient[k],
                };
                let [m, v] = &step.moments;
                let adam = Adam { lr, lambda_2: 0.0, step: step.adam_step };
                adam_backward(adam, &step.gradient[k], [&m[k], &v[k]], to);
            }
            gcn.draw_dropout(Some((seed, step.number)));
            gcn.forward(&step.graph, &step.weights);
            gcn.backward(&step.graph, &step.weights, train, true, &mut self.product);
            gcn.differentiate(&step.graph, &step.weights, &self.by_gradient, train, &mut self.product);
            for k in 0..2 {
                T::add_list(&mut self.by_weights[k], &self.product[k]);
            }
            let t = &gcn.tangent;
            factors.add(
                &step.graph,
                [(&t.g2, &gcn.z2, s2), (&gcn.g2, &t.z2, s2), (&t.d_s1, &gcn.z1, s1), (&gcn.d_s1, &t.z1, s1)],
            );
        }
        loss
    }
}
