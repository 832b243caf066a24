//! Graph convolutions: neighbours are averaged with weights that the graph fixes. The baselines GCN and GraphSAGE.
//!
//! ```text
//! GCN        h'_i = sum_j z_j / sqrt(d_i d_j) + b,             j over neighbours and i, d counts outgoing edges (as published) or
//!                                                              incoming ones (the usual form), and the self-loop
//! SAGE       h'_i = mean of z_j + b,                           j over neighbours and i, as published
//! SAGE-root  h'_i = mean of z_j + r_i + b,                     j over neighbours only, r = W_r^T drop(h): the usual form
//! ```
//!
//! with `z = W^T drop(h)`. In the last form W and W_r lie side by side in one matrix.

use super::input::Input;
use super::output::{FromAbove, Join, Output};
use super::parameter::Parameter;
use super::{Context, Scratch, Size};
use crate::graph::Graph;
use crate::kernels::{Aggregation, Buffer, Dropout, HeadLayout, Mask, Real, Slice};
use crate::memory::Room;
use crate::random::{Purpose, Stream};
use serde::{Deserialize, Serialize};

/// Which weights neighbours get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Convolution {
    /// GCN (Kipf & Welling 2017) as the paper's numbers were made: degrees count outgoing edges.
    Gcn,
    /// GCN whose degrees count incoming edges. On undirected graphs both are the same.
    GcnIncoming,
    /// GraphSAGE (Hamilton et al. 2017) as the paper's numbers were made.
    Sage,
    /// GraphSAGE with a separate weight for the node itself.
    SageRoot,
}

/// Graph convolution layer.
#[derive(Debug, Clone)]
pub struct ConvolutionLayer<T> {
    convolution: Convolution,
    layout: HeadLayout,
    dropout: Dropout,
    index: u16,
    input_width: usize,
    /// `W`, [input features, features]; with a root weight [input features, 2 * features], W before W_r.
    pub weight: Parameter<T>,
    /// Bias and activation.
    pub output: Output<T>,
}

/// What forward leaves for backward.
#[derive(Debug)]
pub struct ConvolutionCache<T> {
    keep_input: Vec<u8>,
    z: Buffer<T>,
    outer: Vec<T>,
    inner: Vec<T>,
    sums: Buffer<T>,
    /// The layer's output.
    pub output: Buffer<T>,
}

impl<T: Real> ConvolutionLayer<T> {
    /// A layer whose parameters are zero.
    pub fn new(
        index: u16,
        convolution: Convolution,
        input: HeadLayout,
        hidden_input: bool,
        features: usize,
        join: Join,
        dropout: f64,
    ) -> Self {
        let name = format!("layer{}", index + 1);
        let layout = HeadLayout::plain(features);
        let input_width = if hidden_input { input.stride() } else { input.features };
        let halves = if convolution == Convolution::SageRoot { 2 } else { 1 };
        let stride = layout.stride();
        let rows: Vec<usize> = if hidden_input { input.canonical().collect() } else { (0..input.features).collect() };
        let places = rows.into_iter().flat_map(move |r| {
            (0..halves).flat_map(move |half| (0..features).map(move |f| (r * halves + half) * stride + f))
        });
        let shape = [input.heads * input.features, halves * features];
        Self {
            convolution,
            layout,
            dropout: Dropout::new(dropout),
            index,
            input_width,
            weight: Parameter::new(format!("{name}.w"), shape, input_width * halves * stride, places),
            output: Output::new(&name, layout, join),
        }
    }

    /// GCN: Glorot weights, bias zero. GraphSAGE: weights and bias uniform in +-1 / sqrt(input features).
    pub fn initialise(&mut self, seed: u64) {
        let stream = |purpose| Stream::new(seed, 0, self.index, purpose);
        if matches!(self.convolution, Convolution::Gcn | Convolution::GcnIncoming) {
            self.weight.glorot(stream(Purpose::Weights));
        } else {
            let limit = 1.0 / (self.weight.shape[0] as f64).sqrt();
            let (weights, bias) = (stream(Purpose::Weights), stream(Purpose::AttentionVectors));
            self.weight.uniform(weights, limit);
            self.output.bias.uniform(bias, limit);
        }
    }

    /// Its parameters.
    pub fn parameters(&self) -> [Option<&Parameter<T>>; 3] {
        [Some(&self.weight), Some(&self.output.bias), None]
    }

    /// Its parameters, to change them.
    pub fn parameters_mut(&mut self) -> [Option<&mut Parameter<T>>; 3] {
        [Some(&mut self.weight), Some(&mut self.output.bias), None]
    }

    /// Memory for graphs up to a size.
    pub fn cache(&self, size: Size, mask_bytes: usize, room: &mut Room) -> ConvolutionCache<T> {
        ConvolutionCache {
            keep_input: room.list(if self.dropout.is_none() { 0 } else { mask_bytes }),
            z: room.numbers(size.nodes * self.stride()),
            outer: room.empty(size.nodes),
            inner: room.empty(size.nodes),
            sums: room.numbers(size.nodes * self.layout.stride()),
            output: room.numbers(size.nodes * self.output.width()),
        }
    }

    /// Numbers per node of the projected rows.
    pub fn stride(&self) -> usize {
        if self.convolution == Convolution::SageRoot { 2 * self.layout.stride() } else { self.layout.stride() }
    }

    /// Width of an input row, padding included.
    pub fn input_width(&self) -> usize {
        self.input_width
    }

    /// Computes the output into the cache.
    pub fn forward(&self, context: &Context<'_, T>, input: Input<'_, T>, cache: &mut ConvolutionCache<T>) {
        let graph = &context.example.graph;
        let (nodes, stride, width) = (graph.nodes(), self.stride(), self.layout.stride());
        let mask = context.draw.and_then(|draw| {
            let stream = Stream::new(draw.seed, draw.step, self.index, Purpose::InputDropout);
            input.draw_mask(self.dropout, stream, &mut cache.keep_input)
        });
        input.product(&context.plan.input, mask, &self.weight, stride, &mut cache.z[..nodes * stride]);
        self.factors(graph, &mut cache.outer, &mut cache.inner);
        let aggregation = Aggregation {
            lists: graph.incoming().lists(),
            outer: &cache.outer,
            inner: &cache.inner,
            own: self.convolution != Convolution::SageRoot,
        };
        let root = (stride > width).then_some(Slice { stride, offset: width });
        let sums = &mut cache.sums[..nodes * width];
        T::aggregate(&context.plan.edges, aggregation, width, &cache.z[..nodes * stride], stride, root, sums, width);
        self.output.forward(&context.plan.input.rows, sums, &mut cache.output[..nodes * self.output.width()]);
    }

    /// Factors of sums and of nodes within sums.
    fn factors(&self, graph: &Graph, outer: &mut Vec<T>, inner: &mut Vec<T>) {
        outer.clear();
        inner.clear();
        for i in 0..graph.nodes() {
            let inverse = |n: usize| if n == 0 { 0.0 } else { 1.0 / n as f64 };
            let (o, n) = match self.convolution {
                Convolution::Gcn => [inverse(graph.outgoing().range(i).len()).sqrt(); 2].into(),
                Convolution::GcnIncoming => [inverse(graph.incoming().range(i).len()).sqrt(); 2].into(),
                Convolution::Sage => (inverse(graph.incoming().range(i).len()), 1.0),
                Convolution::SageRoot => (inverse(graph.degree(i)), 1.0),
            };
            outer.push(T::from_f64(o));
            inner.push(T::from_f64(n));
        }
    }

    /// The mask that dropped this layer's input in the last forward pass.
    pub fn input_mask<'k>(&self, context: &Context<'_, T>, cache: &'k ConvolutionCache<T>) -> Option<Mask<'k, T>> {
        let dropped = context.draw.is_some() && !self.dropout.is_none();
        dropped.then(|| Mask { keep: &cache.keep_input, scale: self.dropout.scale() })
    }

    /// Gradients of all parameters; that of the projected features is left in `scratch.projected`.
    pub fn backward(
        &mut self,
        context: &Context<'_, T>,
        input: Input<'_, T>,
        above: FromAbove<'_, T>,
        cache: &mut ConvolutionCache<T>,
        scratch: &mut Scratch<T>,
    ) {
        let graph = &context.example.graph;
        let (nodes, stride, width) = (graph.nodes(), self.stride(), self.layout.stride());
        let rows = &context.plan.input.rows;
        self.output.backward(rows, above, &cache.sums[..nodes * width], &cache.output, None, scratch);
        // d z_j = inner_j sum over outgoing edges j -> i of outer_i g_i: the same sums with the roles swapped.
        let aggregation = Aggregation {
            lists: graph.outgoing().lists(),
            outer: &cache.inner,
            inner: &cache.outer,
            own: self.convolution != Convolution::SageRoot,
        };
        let Scratch { gradient, projected, .. } = scratch;
        let (gradient, projected) = (&gradient[..nodes * width], &mut projected[..nodes * stride]);
        T::aggregate(&context.plan.edges, aggregation, width, gradient, width, None, projected, stride);
        if stride > width {
            for (row, g) in projected.chunks_exact_mut(stride).zip(gradient.chunks_exact(width)) {
                row[width..].copy_from_slice(g);
            }
        }
        let mask = self.input_mask(context, cache);
        input.weight_gradient(&context.plan.input, mask, projected, stride, &mut scratch.copies, &mut self.weight);
    }
}
