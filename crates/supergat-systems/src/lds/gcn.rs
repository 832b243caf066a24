//! The network of LDS, a GCN of two layers without biases on a sampled graph, with first and second derivatives.
//!
//! ```text
//! Z1 = drop(X) W1      S1 = A^ Z1      H = gate * S1      Z2 = H W2      logits = A^ Z2
//! gate = [S1 > 0] and the dropout of hidden features            A^ = D^-1/2 (A + I) D^-1/2, symmetric
//!
//! L = mean cross-entropy of some nodes + lambda / 2 |W1|^2      G2 = dL/dlogits
//! dZ2 = A^ G2          dW2 = H^T dZ2         dS1 = gate * (dZ2 W2^T)     dZ1 = A^ dS1
//! dW1 = drop(X)^T dZ1 + lambda W1            dL/dA^ = G2 Z2^T + dS1 Z1^T
//! ```
//!
//! The derivative of all of these along a direction of the weights, marked by `'`, has the product of the Hessian with the
//! direction, and the mixed derivative by weights and edges:
//!
//! ```text
//! Z1' = drop(X) W1'    S1' = A^ Z1'    H' = gate * S1'   Z2' = H' W2 + H W2'    logits' = A^ Z2'
//! G2' = p * (logits' - sum_k p_k logits'_k) / nodes
//! dZ2' = A^ G2'        dW2' = H'^T dZ2 + H^T dZ2'        dS1' = gate * (dZ2' W2^T + dZ2 W2'^T)
//! dZ1' = A^ dS1'       dW1' = drop(X)^T dZ1' + lambda W1'
//! (dL/dA^)' = G2' Z2^T + G2 Z2'^T + dS1' Z1^T + dS1 Z1'^T
//! ```

use super::sampled::SampledGraph;
use supergat_core::memory::Buffer;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Dropout, Features, HeadLayout};
use supergat_cpu::device::{InputParts, Rows};
use supergat_cpu::kernels::{Dense, DropoutMask, Mask, Primitives, transpose};

/// Both matrices of weights, or something of their shape.
pub(super) type Pair<T> = [Buffer<T>; 2];

/// A GCN of two layers on the features of a graph, with the memory of its passes.
#[derive(Debug)]
pub(super) struct Gcn<'f, T> {
    features: &'f Features<T>,
    parts: InputParts,
    pub(super) shape: Shape,
    /// Weight decay of the first layer.
    lambda: f64,
    dropout: Dropout,
    keep: [Vec<u8>; 2],
    has_dropout: bool,
    copies: Buffer<T>,
    transposed: Buffer<T>,
    gate: Buffer<T>,
    h: Buffer<T>,
    pub(super) z1: Buffer<T>,
    pub(super) z2: Buffer<T>,
    pub(super) logits: Buffer<T>,
    /// Probabilities of the nodes of the loss.
    p: Buffer<T>,
    pub(super) g2: Buffer<T>,
    pub(super) d_s1: Buffer<T>,
    d_z2: Buffer<T>,
    d_z1: Buffer<T>,
    pub(super) tangent: Tangent<T>,
    sum: Buffer<T>,
}

/// Derivatives along a direction of the weights.
#[derive(Debug)]
pub(super) struct Tangent<T> {
    pub(super) z1: Buffer<T>,
    h: Buffer<T>,
    pub(super) z2: Buffer<T>,
    pub(super) g2: Buffer<T>,
    pub(super) d_s1: Buffer<T>,
    d_z2: Buffer<T>,
}

/// Sizes of the network. Rows are padded to whole vectors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) nodes: usize,
    pub(super) columns: usize,
    pub(super) hidden: usize,
    pub(super) classes: usize,
}

impl Shape {
    /// Returns the numbers per row of hidden features and of logits.
    pub(super) fn strides(&self) -> [usize; 2] {
        [self.hidden, self.classes].map(|width| HeadLayout::plain(width).stride())
    }

    /// Returns the numbers of both matrices of weights, padding included.
    pub(super) fn weights(&self) -> [usize; 2] {
        let [hidden, classes] = self.strides();
        [self.columns * hidden, hidden * classes]
    }
}

/// Nodes of a loss and their classes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Targets<'a> {
    pub(super) nodes: &'a [u32],
    pub(super) class_of: &'a [u32],
}

impl<'f, T: Primitives> Gcn<'f, T> {
    pub(super) fn new(features: &'f Features<T>, hidden: usize, classes: usize, lambda: f64, dropout: f64) -> Self {
        let shape = Shape { nodes: features.rows(), columns: features.columns(), hidden, classes };
        let [s1, s2] = shape.strides();
        let parts = InputParts::new(features);
        let [w1, w2] = shape.weights();
        let copies = (parts.copies(true) * w1).max(parts.copies(false) * w2);
        let rows = |stride: usize| Buffer::zeros(shape.nodes * stride);
        let dropout = Dropout::new(dropout);
        Self {
            features,
            parts,
            shape,
            lambda,
            dropout,
            keep: [vec![0; features.mask_bytes()], vec![0; shape.nodes * Dropout::mask_bytes(s1)]],
            has_dropout: false,
            copies: Buffer::zeros(copies),
            transposed: Buffer::zeros(w2),
            gate: rows(s1),
            h: rows(s1),
            z1: rows(s1),
            z2: rows(s2),
            logits: rows(s2),
            p: rows(s2),
            g2: rows(s2),
            d_s1: rows(s1),
            d_z2: rows(s2),
            d_z1: rows(s1),
            tangent: Tangent { z1: rows(s1), h: rows(s1), z2: rows(s2), g2: rows(s2), d_s1: rows(s1), d_z2: rows(s2) },
            sum: rows(s1.max(s2)),
        }
    }

    /// Returns the number of bytes of a network of this shape and of its passes.
    pub(super) fn bytes(features: &Features<T>, shape: Shape) -> u64 {
        let [s1, s2] = shape.strides();
        let numbers = shape.nodes * (9 * s1 + 8 * s2) + 9 * shape.weights()[0];
        (numbers * size_of::<T>() + features.mask_bytes()) as u64
    }

    /// Draws dropout for the following passes: that of a training step, or none.
    pub(super) fn draw_dropout(&mut self, seed_and_step: Option<(u64, u32)>) {
        self.has_dropout = seed_and_step.is_some() && !self.dropout.is_none();
        if let Some((seed, step)) = seed_and_step.filter(|_| self.has_dropout) {
            for (layer, keep) in self.keep.iter_mut().enumerate() {
                self.dropout.fill(Stream::new(seed, step, layer as u16, Purpose::InputDropout), keep);
            }
        }
    }

    /// Computes the logits of all nodes.
    pub(super) fn forward(&mut self, graph: &SampledGraph<T>, weights: &Pair<T>) {
        let [s1, s2] = self.shape.strides();
        let mask = self.has_dropout.then(|| Mask { keep: &self.keep[0], scale: self.dropout.scale() });
        let InputParts { features, bitmap, .. } = &self.parts;
        Rows::Features(self.features).product(features, bitmap.as_ref(), mask, &weights[0], s1, &mut self.z1);
        graph.convolve(&self.z1, s1, &mut self.h);
        let scale = if self.has_dropout { self.dropout.scale() } else { T::ONE };
        for (k, (h, gate)) in self.h.iter_mut().zip(self.gate.iter_mut()).enumerate() {
            // A row has whole bytes, because its length is a multiple of eight.
            let keeps = !self.has_dropout || self.keep[1][k / 8] >> (k % 8) & 1 == 1;
            *gate = if keeps && *h > T::ZERO { scale } else { T::ZERO };
            *h *= *gate;
        }
        let h = Dense { values: &self.h, columns: s1 };
        T::dense_product(&self.parts.rows, h, None, &weights[1], s2, &mut self.z2);
        graph.convolve(&self.z2, s2, &mut self.logits);
    }

    /// Writes the softmax of the logits of a node.
    fn probabilities(&mut self, node: usize) {
        let (stride, classes) = (self.shape.strides()[1], self.shape.classes);
        let (row, p) = (&self.logits[node * stride..][..classes], &mut self.p[node * stride..][..classes]);
        crate::gam::softmax(row, classes, p);
    }

    /// Computes the gradients of the loss after a forward pass, without weight decay if `decays` is false. Returns the
    /// cross-entropy.
    pub(super) fn backward(
        &mut self,
        graph: &SampledGraph<T>,
        weights: &Pair<T>,
        targets: Targets<'_>,
        decays: bool,
        to: &mut Pair<T>,
    ) -> f64 {
        let [s1, s2] = self.shape.strides();
        self.g2.fill(T::ZERO);
        let (share, mut loss) = (1.0 / targets.nodes.len().max(1) as f64, 0.0);
        for &node in targets.nodes {
            let (node, class) = (node as usize, targets.class_of[node as usize] as usize);
            self.probabilities(node);
            let p = &self.p[node * s2..][..self.shape.classes];
            // `max` would hide that a number is not finite.
            let likelihood = p[class].to_f64();
            loss -= share * if likelihood.is_nan() { f64::NAN } else { likelihood.max(f64::MIN_POSITIVE).ln() };
            let row = &mut self.g2[node * s2..][..self.shape.classes];
            for (k, (g, p)) in row.iter_mut().zip(p).enumerate() {
                let truth = if k == class { T::ONE } else { T::ZERO };
                *g = (*p - truth) * T::from_f64(share);
            }
        }
        graph.convolve(&self.g2, s2, &mut self.d_z2);
        let h = Rows::Hidden(Dense { values: &self.h, columns: s1 });
        h.weight_gradient(&self.parts, None, &self.d_z2, s2, &mut self.copies, &mut to[1]);
        transpose(&weights[1], s1, s2, &mut self.transposed);
        let d = Dense { values: &self.d_z2, columns: s2 };
        T::dense_product(&self.parts.rows, d, None, &self.transposed, s1, &mut self.d_s1);
        self.d_s1.iter_mut().zip(self.gate.iter()).for_each(|(d, gate)| *d *= *gate);
        graph.convolve(&self.d_s1, s1, &mut self.d_z1);
        self.features_gradient(decays, &weights[0], &mut to[0]);
        loss
    }

    /// Writes `drop(X)^T dZ1 + lambda W1`.
    fn features_gradient(&mut self, decays: bool, weight: &[T], to: &mut [T]) {
        let stride = self.shape.strides()[0];
        let mask = self.has_dropout.then(|| Mask { keep: &self.keep[0], scale: self.dropout.scale() });
        let x = Rows::Features(self.features);
        x.weight_gradient(&self.parts, mask, &self.d_z1, stride, &mut self.copies, to);
        if decays {
            let lambda = T::from_f64(self.lambda);
            to.iter_mut().zip(weight).for_each(|(g, w)| *g += lambda * *w);
        }
    }

    /// Computes the derivatives of the gradients along `direction`, after a backward pass with weight decay: `to` is the
    /// product of the Hessian with the direction. The memory of `d_z1` is replaced.
    pub(super) fn differentiate(
        &mut self,
        graph: &SampledGraph<T>,
        weights: &Pair<T>,
        direction: &Pair<T>,
        targets: Targets<'_>,
        to: &mut Pair<T>,
    ) {
        let [s1, s2] = self.shape.strides();
        let mask = self.has_dropout.then(|| Mask { keep: &self.keep[0], scale: self.dropout.scale() });
        let InputParts { features, bitmap, .. } = &self.parts;
        Rows::Features(self.features).product(features, bitmap.as_ref(), mask, &direction[0], s1, &mut self.tangent.z1);
        graph.convolve(&self.tangent.z1, s1, &mut self.tangent.h);
        self.tangent.h.iter_mut().zip(self.gate.iter()).for_each(|(h, gate)| *h *= *gate);
        let dense = |values, columns| Dense { values, columns };
        T::dense_product(&self.parts.rows, dense(&self.tangent.h, s1), None, &weights[1], s2, &mut self.tangent.z2);
        let sum = &mut self.sum[..self.shape.nodes * s2];
        T::dense_product(&self.parts.rows, dense(&self.h, s1), None, &direction[1], s2, sum);
        T::add_list(&mut self.tangent.z2, sum);
        graph.convolve(&self.tangent.z2, s2, sum);
        self.tangent.g2.fill(T::ZERO);
        let share = T::from_f64(1.0 / targets.nodes.len().max(1) as f64);
        for &node in targets.nodes {
            let row = node as usize * s2..node as usize * s2 + self.shape.classes;
            let (p, logits) = (&self.p[row.clone()], &sum[row.clone()]);
            let mean: T = p.iter().zip(logits).map(|(p, x)| *p * *x).sum();
            for (g, (p, x)) in self.tangent.g2[row].iter_mut().zip(p.iter().zip(logits)) {
                *g = *p * (*x - mean) * share;
            }
        }
        graph.convolve(&self.tangent.g2, s2, &mut self.tangent.d_z2);
        let rows = |values| Rows::Hidden(Dense { values, columns: s1 });
        rows(&self.tangent.h).weight_gradient(&self.parts, None, &self.d_z2, s2, &mut self.copies, &mut to[1]);
        let second = &mut self.transposed;
        rows(&self.h).weight_gradient(&self.parts, None, &self.tangent.d_z2, s2, &mut self.copies, second);
        T::add_list(&mut to[1], second);
        transpose(&weights[1], s1, s2, &mut self.transposed);
        let [first, last] = [&self.tangent.d_z2, &self.d_z2].map(|values| Dense { values: &values[..], columns: s2 });
        T::dense_product(&self.parts.rows, first, None, &self.transposed, s1, &mut self.tangent.d_s1);
        transpose(&direction[1], s1, s2, &mut self.transposed);
        let sum = &mut self.sum[..self.shape.nodes * s1];
        T::dense_product(&self.parts.rows, last, None, &self.transposed, s1, sum);
        T::add_list(&mut self.tangent.d_s1, sum);
        self.tangent.d_s1.iter_mut().zip(self.gate.iter()).for_each(|(d, gate)| *d *= *gate);
        graph.convolve(&self.tangent.d_s1, s1, &mut self.d_z1);
        self.features_gradient(true, &direction[0], &mut to[0]);
    }
}
