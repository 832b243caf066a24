//! Graph convolutions over edges with given weights, which the systems of this folder share.
//!
//! ```text
//! z_l     = drop(h_l) W_l
//! s_l,i   = sum of w_e z_l,j    over the incoming edges e = (j -> i), self-loops included
//! h_(l+1) = ReLU(s_l); the logits are the sums of the last layer
//! ```
//!
//! With g_l the gradient of s_l, the gradient of a weight is `d w_e = sum over l of g_l,i . z_l,j`, and that of a row is
//! `d z_l,j = sum of w_e g_l,i` over the outgoing edges e = (j -> i).

use supergat_core::device::prelude::*;
use supergat_core::device::{Adam, Draw, Input, LabelLoss, LayerWidth, Mask, Place, Readings};
use supergat_core::example::ExampleShape;
use supergat_core::graph::Adjacency;
use supergat_core::layers::{Context, Parameter};
use supergat_core::memory::{Arena, Buffer};
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Dropout, Graph, HeadLayout, Precision, Prepared, Result};
use supergat_cpu::kernels::{Aggregation, EdgeRows, Parts, Primitives, Rows};
use supergat_cpu::{Cpu, CpuScratch};

/// Layers of graph convolutions, with the memory for their passes over one example.
#[derive(Debug)]
pub(super) struct Convolutions<T: Primitives> {
    layers: Vec<Layer<T>>,
    dropout: Dropout,
    /// Division of nodes by their edges.
    pub(super) parts: Parts,
    ones: Buffer<T>,
    /// Weights of edges in the order of the outgoing lists.
    by_outgoing: Buffer<T>,
    logits: Buffer<T>,
    label_gradient: Buffer<T>,
    /// Gradients of the sums and of the projected rows of a layer.
    sums: Buffer<T>,
    projected: Buffer<T>,
    pub(super) scratch: CpuScratch<T>,
    pub(super) record: Readings,
}

#[derive(Debug)]
struct Layer<T: Primitives> {
    weight: Parameter<Cpu<T>>,
    stride: usize,
    keep: Vec<u8>,
    z: Buffer<T>,
    output: Buffer<T>,
}

/// Size of another matrix that is multiplied with the features, for which the scratch memory must be large enough.
pub(super) fn width_of<T: Primitives>(weight: &Parameter<Cpu<T>>, stride: usize) -> LayerWidth {
    LayerWidth { stride, heads: 0, precision: Precision::F32, weight: weight.stored(), sums: stride }
}

impl<T: Primitives> Convolutions<T> {
    /// Allocates layers for the only example of `prepared`, with zero weights. `other` is the size of another matrix that
    /// is multiplied with the features.
    pub(super) fn new(
        prepared: &Prepared<Cpu<T>>,
        other: Option<LayerWidth>,
        training: bool,
        arena: &mut Arena,
    ) -> Result<Self> {
        let (device, a) = (prepared.device(), prepared.architecture());
        let example = prepared.context(0, None).example;
        let (nodes, graph) = (example.nodes(), &*example.graph);
        let (mut layers, mut widths) = (Vec::new(), Vec::new());
        let mut input = HeadLayout::plain(a.input_features);
        let mut mask_bytes = example.feature_mask_bytes();
        let network = &a.network;
        for index in 0..network.layers {
            let output = HeadLayout::plain(if index + 1 == network.layers { a.classes } else { network.hidden });
            let stride = output.stride();
            let name = format!("layer{}.w", index + 1);
            let weight = Parameter::weight(device, name, input, index > 0, output, 1)?;
            widths.push(width_of(&weight, stride));
            layers.push(Layer {
                weight,
                stride,
                keep: arena.list(if training && network.dropout > 0.0 { mask_bytes } else { 0 }),
                z: arena.numbers(nodes * stride),
                output: arena.numbers(nodes * stride),
            });
            (input, mask_bytes) = (output, nodes * Dropout::mask_bytes(stride));
        }
        // The first width is that of products with features.
        if let Some(other) = other {
            widths[0].weight = widths[0].weight.max(other.weight);
        }
        let work: Vec<u64> =
            graph.incoming().offsets.iter().zip(&graph.outgoing().offsets).map(|(a, b)| a + b).collect();
        let widest = widths.iter().map(|width| width.stride).max().unwrap_or(0);
        let rows = if training { nodes * widest } else { 0 };
        let mut ones = arena.numbers(nodes);
        ones.fill(T::ONE);
        Ok(Self {
            layers,
            dropout: Dropout::new(network.dropout),
            parts: Parts::by_offsets(&work),
            ones,
            by_outgoing: arena.numbers(if training { graph.edges() } else { 0 }),
            logits: arena.numbers(nodes * a.classes),
            label_gradient: arena.numbers(if training { nodes * a.classes } else { 0 }),
            sums: arena.numbers(rows),
            projected: arena.numbers(rows),
            scratch: device.scratch(prepared.problems(), &widths, training, arena)?,
            record: Readings::new(1),
        })
    }

    /// Draws all weights (Glorot & Bengio 2010).
    pub(super) fn initialise(&mut self, device: &Cpu<T>, seed: u64) -> Result<()> {
        for (index, layer) in self.layers.iter_mut().enumerate() {
            layer.weight.glorot(device, Stream::new(seed, 0, index as u16, Purpose::Weights))?;
        }
        Ok(())
    }

    /// Calls `f` with the weights of every layer.
    pub(super) fn for_each_parameter(&mut self, f: &mut dyn FnMut(&mut Parameter<Cpu<T>>) -> Result<()>) -> Result<()> {
        self.layers.iter_mut().try_for_each(|layer| f(&mut layer.weight))
    }

    /// Returns the logits of the last forward pass.
    pub(super) fn logits(&self) -> &Buffer<T> {
        &self.logits
    }

    /// Computes the logits; `weights` are those of the edges, in the order of the incoming lists.
    pub(super) fn forward(&mut self, context: &Context<'_, Cpu<T>>, weights: &[T]) -> Result<()> {
        let (device, problem, graph) = (context.device, context.problem, &*context.example.graph);
        let Self { layers, dropout, parts, ones, logits, .. } = self;
        let count = layers.len();
        for index in 0..count {
            let (before, here) = layers.split_at_mut(index);
            let Layer { weight, stride, keep, z, output } = &mut here[0];
            let input = input_of(before);
            if let Some(random) = context.random(index as u16, Purpose::InputDropout).filter(|_| !dropout.is_none()) {
                let bytes = keep.len();
                device.draw_mask(random, *dropout, bytes, keep)?;
            }
            device.product(problem, input, mask_of(context, *dropout, keep), &weight.value, *stride, z)?;
            let lists = graph.incoming().lists();
            let sum = Aggregation { lists, outer: ones, inner: ones, weights, own: true };
            T::aggregate(parts, sum, *stride, z, *stride, None, output, *stride);
            if index + 1 < count {
                relu(parts, *stride, output);
            }
        }
        let (last, classes) = (layers.last().expect("a network has layers"), logits.len() / ones.len().max(1));
        parts.for_each(Rows { data: logits, width: classes }, |nodes, logits| {
            let rows = last.output[nodes.start * last.stride..].chunks_exact(last.stride);
            for (row, sums) in logits.data.chunks_exact_mut(classes).zip(rows) {
                row.copy_from_slice(&sums[..classes]);
            }
        });
        Ok(())
    }

    /// Computes the gradients of all weights after a forward pass, and returns the loss of the labels. Writes the
    /// gradients of the weights of edges to `of_edges`, unless it is `None`.
    pub(super) fn backward(
        &mut self,
        context: &Context<'_, Cpu<T>>,
        weights: &[T],
        mut of_edges: Option<&mut [T]>,
    ) -> Result<f64> {
        let (device, problem, graph) = (context.device, context.problem, &*context.example.graph);
        let Self { layers, dropout, parts, ones, by_outgoing, logits, label_gradient, sums, projected, .. } = self;
        let (scratch, record) = (&mut self.scratch, &mut self.record);
        let loss = LabelLoss { settings: context.training, shown: None };
        let place = Place { record, example: 0 };
        device.label_loss_backward(problem, logits, loss, label_gradient, scratch, place)?;
        parts.for_each(per_edge(graph.outgoing(), by_outgoing), |nodes, out| {
            let first = graph.outgoing().range(nodes.start).start;
            for (k, weight) in out.data.iter_mut().enumerate() {
                *weight = weights[position_of_outgoing(graph, first + k)];
            }
        });
        if let Some(of_edges) = of_edges.as_deref_mut() {
            T::clear_list(of_edges);
        }
        let classes = logits.len() / ones.len().max(1);
        let stride = layers.last().expect("a network has layers").stride;
        parts.for_each(Rows { data: &mut sums[..ones.len() * stride], width: stride }, |nodes, out| {
            let rows = label_gradient[nodes.start * classes..].chunks_exact(classes);
            for (out, row) in out.data.chunks_exact_mut(stride).zip(rows) {
                out[..classes].copy_from_slice(row);
                out[classes..].fill(T::ZERO);
            }
        });
        for index in (0..layers.len()).rev() {
            let (before, here) = layers.split_at_mut(index);
            let Layer { weight, stride, keep, z, .. } = &mut here[0];
            let stride = *stride;
            if let Some(of_edges) = of_edges.as_deref_mut() {
                add_edge_products(parts, graph, stride, sums, z, of_edges);
            }
            let lists = graph.outgoing().lists();
            let sum = Aggregation { lists, outer: ones, inner: ones, weights: by_outgoing, own: true };
            let of_z = &mut projected[..ones.len() * stride];
            T::aggregate(parts, sum, stride, sums, stride, None, of_z, stride);
            let (input, mask) = (input_of(before), mask_of(context, *dropout, keep));
            device.weight_gradient(problem, input, mask, projected, stride, scratch, &mut weight.gradient)?;
            if let Some(previous) = before.last() {
                let width = previous.stride;
                device.input_gradient(problem, projected, stride, &weight.value, width, scratch, sums)?;
                let keep = mask_of(context, *dropout, keep).map(|mask| &mask.keep[..]);
                gate(parts, width, &previous.output, keep, dropout.scale(), sums);
            }
        }
        Ok(record.losses[0][0])
    }

    /// Updates the weights by one step of Adam. Weight decay applies to all layers but the last, as in the code of GCN.
    pub(super) fn update(&mut self, device: &Cpu<T>, adam: Adam, clock: &Draw) -> Result<()> {
        let (last, others) = self.layers.split_last_mut().expect("a network has layers");
        device.adam(adam, clock, others.iter_mut().map(|layer| layer.weight.memory()))?;
        device.adam(Adam { lambda_2: 0.0, ..adam }, clock, std::iter::once(last.weight.memory()))
    }
}

/// Returns the input of the layer that follows others.
fn input_of<T: Primitives>(before: &[Layer<T>]) -> Input<'_, Cpu<T>> {
    match before.last() {
        None => Input::Features,
        Some(layer) => Input::Hidden { rows: &layer.output, width: layer.stride },
    }
}

/// Returns the dropout mask of a pass, if it has one.
pub(super) fn mask_of<'k, T: Primitives>(
    context: &Context<'_, Cpu<T>>,
    dropout: Dropout,
    keep: &'k Vec<u8>,
) -> Option<Mask<'k, Cpu<T>>> {
    (context.clock.is_some() && !dropout.is_none()).then_some(Mask { keep, dropout })
}

/// Returns a number per edge, in the order of some lists, as an output that is divided by nodes.
pub(super) fn per_edge<'a, T>(lists: &'a Adjacency, data: &'a mut [T]) -> EdgeRows<'a, T> {
    EdgeRows { data, offsets: &lists.offsets, width: 1 }
}

/// Returns the position of an edge in the incoming lists, by its position in the outgoing ones.
#[inline]
pub(super) fn position_of_outgoing(graph: &Graph, edge: usize) -> usize {
    let target = graph.outgoing().neighbours[edge] as usize;
    graph.incoming().offsets[target] as usize + graph.place_at_target()[edge] as usize
}

/// Computes `rows = max(rows, 0)`.
fn relu<T: Primitives>(parts: &Parts, width: usize, rows: &mut [T]) {
    parts.for_each(Rows { data: rows, width }, |_, rows| {
        rows.data.iter_mut().for_each(|x| *x = x.max(T::ZERO));
    });
}

/// Multiplies gradients by the derivative of dropout after ReLU: zero where the output was not positive or was dropped.
fn gate<T: Primitives>(parts: &Parts, width: usize, output: &[T], keep: Option<&[u8]>, scale: T, gradient: &mut [T]) {
    let bytes = Dropout::mask_bytes(width);
    parts.for_each(Rows { data: &mut gradient[..output.len()], width }, |nodes, rows| {
        for (i, row) in nodes.zip(rows.data.chunks_exact_mut(width)) {
            let output = &output[i * width..(i + 1) * width];
            for (c, (g, y)) in row.iter_mut().zip(output).enumerate() {
                let factor = match keep {
                    None => T::ONE,
                    Some(keep) if keep[i * bytes + c / 8] >> (c % 8) & 1 == 1 => scale,
                    Some(_) => T::ZERO,
                };
                *g = if *y > T::ZERO { *g * factor } else { T::ZERO };
            }
        }
    });
}

/// Computes `out_e += g_i . z_j` for every edge e = (j -> i), in the order of the incoming lists.
fn add_edge_products<T: Primitives>(parts: &Parts, graph: &Graph, width: usize, g: &[T], z: &[T], out: &mut [T]) {
    let lists = graph.incoming();
    parts.for_each(per_edge(lists, out), |nodes, out| {
        let first = lists.range(nodes.start).start;
        for i in nodes {
            let g = &g[i * width..(i + 1) * width];
            for e in lists.range(i) {
                let j = lists.neighbours[e] as usize;
                out.data[e - first] += dot(g, &z[j * width..(j + 1) * width]);
            }
        }
    });
}

/// Returns the product of two rows of whole vectors, in eight sums.
#[inline]
pub(super) fn dot<T: Primitives>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::ZERO; 8];
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += *a * *b;
        }
    }
    sums.into_iter().sum()
}
