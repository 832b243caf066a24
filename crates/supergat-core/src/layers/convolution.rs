//! Graph convolutions: sums over neighbours whose weights depend on the graph only. The baselines GCN and
//! GraphSAGE.
//!
//! ```text
//! GCN        s_i = sum_j z_j / sqrt(d_i d_j)    j over neighbours and i; d counts the self-loop and the
//!                                               outgoing (as published) or incoming (the usual form) edges
//! SAGE       s_i = mean of z_j                  j over neighbours and i, as published
//! SAGE-root  s_i = mean of z_j + r_i            j over neighbours only, r = W_r^T drop(h): the usual form
//! ```
//!
//! In the last form, W and W_r are the two halves of one matrix, and z and r the two halves of one row.

use super::plan::Context;
use super::scratch::{Scratch, Size};
use crate::graph::Graph;
use crate::kernels::{Aggregation, HeadLayout, Neighbours, Primitives, Slice};
use crate::memory::Arena;
use crate::model_kind::Convolution;

/// Weights of the sums: `s_i = outer_i * sum_j inner_j z_j`.
#[derive(Debug)]
pub struct Factors<T> {
    outer: Vec<T>,
    inner: Vec<T>,
}

impl<T> Factors<T> {
    /// Allocates memory for graphs up to a size.
    pub fn new(size: Size, arena: &mut Arena) -> Self {
        Self { outer: arena.empty(size.nodes), inner: arena.empty(size.nodes) }
    }
}

impl Convolution {
    /// Returns the number of matrices that are stored side by side in the weights.
    pub fn halves(self) -> usize {
        if self == Self::SageRoot { 2 } else { 1 }
    }

    /// Computes the weighted sums of the projected features `z`.
    pub fn forward<T: Primitives>(
        self,
        context: &Context<'_, T>,
        layout: HeadLayout,
        z: &[T],
        factors: &mut Factors<T>,
        sums: &mut [T],
    ) {
        let graph = &context.example.graph;
        let (width, stride) = (layout.stride(), self.halves() * layout.stride());
        self.factors(graph, factors);
        let aggregation = self.aggregation(graph.incoming().lists(), &factors.outer, &factors.inner);
        let root = (stride > width).then_some(Slice { stride, offset: width });
        T::aggregate(&context.plan.edges, aggregation, width, z, stride, root, sums, width);
    }

    /// Computes the gradient of the projected features (`scratch.projected`) from the gradient `g` of the
    /// sums (`scratch.gradient`): `d z_j = inner_j * sum of outer_i g_i` over the outgoing edges j -> i. It
    /// is the forward sum with `outer` and `inner` swapped.
    pub fn backward<T: Primitives>(
        self,
        context: &Context<'_, T>,
        layout: HeadLayout,
        factors: &Factors<T>,
        scratch: &mut Scratch<T>,
    ) {
        let graph = &context.example.graph;
        let (nodes, width, stride) = (graph.nodes(), layout.stride(), self.halves() * layout.stride());
        let aggregation = self.aggregation(graph.outgoing().lists(), &factors.inner, &factors.outer);
        let (gradient, projected) = (&scratch.gradient[..nodes * width], &mut scratch.projected[..nodes * stride]);
        T::aggregate(&context.plan.edges, aggregation, width, gradient, width, None, projected, stride);
        if stride > width {
            for (row, g) in projected.chunks_exact_mut(stride).zip(gradient.chunks_exact(width)) {
                row[width..].copy_from_slice(g);
            }
        }
    }

    fn aggregation<'a, T>(self, lists: Neighbours<'a>, outer: &'a [T], inner: &'a [T]) -> Aggregation<'a, T> {
        Aggregation { lists, outer, inner, own: self != Self::SageRoot }
    }

    /// Computes the weights of all nodes.
    fn factors<T: Primitives>(self, graph: &Graph, Factors { outer, inner }: &mut Factors<T>) {
        outer.clear();
        inner.clear();
        for i in 0..graph.nodes() {
            let inverse = |n: usize| if n == 0 { 0.0 } else { 1.0 / n as f64 };
            let (o, n) = match self {
                Self::Gcn => [inverse(graph.outgoing().range(i).len()).sqrt(); 2].into(),
                Self::GcnIncoming => [inverse(graph.incoming().range(i).len()).sqrt(); 2].into(),
                Self::Sage => (inverse(graph.incoming().range(i).len()), 1.0),
                Self::SageRoot => (inverse(graph.degree(i)), 1.0),
            };
            outer.push(T::from_f64(o));
            inner.push(T::from_f64(n));
        }
    }
}
