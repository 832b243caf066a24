//! Layers: parameters, forward, hand-derived backward. No layer contains a loop over edges; kernels do.

mod attention;
mod contrast;
mod convolution;
mod input;
mod layer;
mod output;
mod parameter;

pub use attention::{Attended, AttentionCache, AttentionMixing};
pub use contrast::{Boundary, Contrast, ContrastPlan, ContrastSamples, Scores};
pub use convolution::{Convolution, Factors};
pub use input::{Input, InputParts};
pub use layer::{Cache, Layer, Mixing, Shape};
pub use output::{FromAbove, Join, Output};
pub use parameter::Parameter;

use crate::error::Result;
use crate::example::Example;
use crate::kernels::{Buffer, Dense, Parts, Real, transpose};
use crate::memory::Arena;
use crate::random::{Purpose, Stream};
use crate::sampling::{EdgeSamples, NegativeSampler, SampleSizes};

/// The randomness of one training step.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the step.
    pub step: u32,
}

/// How the work on one example is divided, and how its edges are sampled. Made once, shared by all runs.
#[derive(Debug)]
pub struct Plan {
    /// Division by rows and by stored features.
    pub input: InputParts,
    /// Division of nodes by their edges.
    pub edges: Parts,
    /// Marks training nodes.
    pub chosen: Vec<bool>,
    /// Sampling for the edge loss.
    pub edge_samples: Option<(NegativeSampler, SampleSizes)>,
    /// Constraints on attention.
    pub contrast: Option<ContrastPlan>,
}

impl Plan {
    /// Looks at an example; `edge_sampling` is (p_e, p_n) when there will be an edge loss.
    pub fn new<T: Real>(example: &Example<T>, edge_sampling: Option<(f64, f64)>) -> Result<Self> {
        let graph = &example.graph;
        let work: Vec<u64> =
            graph.incoming().offsets.iter().zip(&graph.outgoing().offsets).map(|(a, b)| a + b).collect();
        let mut chosen = vec![false; graph.nodes()];
        example.train.iter().for_each(|&node| chosen[node as usize] = true);
        let edge_samples = match edge_sampling {
            Some((p_e, p_n)) if !example.train.is_empty() => {
                Some((NegativeSampler::new(graph), SampleSizes::new(graph, p_e, p_n)?))
            }
            _ => None,
        };
        let input = InputParts::new(&example.features);
        Ok(Self { input, edges: Parts::by_offsets(&work), chosen, edge_samples, contrast: None })
    }

    /// The same plan with constraints on attention in training steps.
    pub fn contrasting<T: Real>(mut self, example: &Example<T>, contrast: Contrast) -> Result<Self> {
        if !example.train.is_empty() {
            self.contrast = Some(ContrastPlan::new(example, contrast)?);
        }
        Ok(self)
    }
}

/// One example in one pass.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a, T> {
    /// The example.
    pub example: &'a Example<T>,
    /// Its plan.
    pub plan: &'a Plan,
    /// Randomness when training; `None` when evaluating.
    pub draw: Option<Draw>,
}

impl<'a, T> Context<'a, T> {
    /// Randomness of a layer in training.
    pub fn stream(&self, layer: u16, purpose: Purpose) -> Option<Stream> {
        self.draw.map(|draw| Stream::new(draw.seed, draw.step, layer, purpose))
    }

    /// Constraints on attention, which there are in training only.
    pub fn contrast(&self) -> Option<(&'a ContrastPlan, Draw)> {
        self.plan.contrast.as_ref().zip(self.draw)
    }
}

/// The largest graph that memory is made for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Size {
    /// Whether backward passes will be made.
    pub training: bool,
    /// Nodes.
    pub nodes: usize,
    /// Edges, self-loops included.
    pub edges: usize,
    /// Edges of a graph whose edges are sampled.
    pub positives: usize,
    /// Sampled non-edges.
    pub negatives: usize,
    /// Slots for nodes that edges are compared with.
    pub contrast: [usize; 2],
    /// Parts of any plan.
    pub parts: usize,
    /// Copies of the weights that gradients of the first and of later layers need.
    pub copies: [usize; 2],
    /// Bytes of the largest dropout mask of features.
    pub feature_mask: usize,
}

impl Size {
    /// The largest of all examples. Without `training`, what only backward needs is left out.
    pub fn of<T: Real>(examples: &[Example<T>], plans: &[Plan], training: bool) -> Self {
        let mut size = Self { training, ..Self::default() };
        for (example, plan) in examples.iter().zip(plans) {
            let edges = example.graph.edges();
            size.nodes = size.nodes.max(example.graph.nodes());
            size.edges = size.edges.max(edges);
            size.parts = size.parts.max(plan.edges.len()).max(plan.input.rows.len());
            if training && !example.train.is_empty() {
                size.copies = [0, 1].map(|k| size.copies[k].max(plan.input.copies(k == 0)));
                size.feature_mask = size.feature_mask.max(Input::Features(&example.features).mask_bytes());
                if let Some((_, sizes)) = &plan.edge_samples {
                    size.positives = size.positives.max(edges);
                    size.negatives = size.negatives.max(sizes.negatives);
                }
                if let Some(contrast) = &plan.contrast {
                    let slots = contrast.slots(&example.graph);
                    size.contrast = [0, 1].map(|k| size.contrast[k].max(slots[k]));
                }
            }
        }
        size
    }
}

/// Memory that the backward passes of all layers share.
#[derive(Debug)]
pub struct Scratch<T> {
    /// Gradient of a layer's output, then of its weighted sums.
    pub gradient: Buffer<T>,
    /// Whether a node's row of it is not all zero.
    pub active: Vec<bool>,
    /// Gradient of the projected features.
    pub projected: Buffer<T>,
    /// Sums per part.
    pub partial: Buffer<T>,
    /// Losses per part.
    pub losses: Vec<f64>,
    /// Samples of the edge loss of one layer.
    pub samples: EdgeSamples,
    /// Samples of the margin losses of one layer.
    pub contrast: ContrastSamples,
    /// Copies of a layer's weights for sums over rows.
    pub copies: Buffer<T>,
    transposed: Buffer<T>,
}

impl<T: Real> Scratch<T> {
    /// Room for all layers.
    pub fn new(size: Size, layers: &[Layer<T>], arena: &mut Arena) -> Self {
        let widest = |f: &dyn Fn(&Layer<T>) -> usize| layers.iter().map(f).max().unwrap_or(0);
        let rows = if size.training { size.nodes * widest(&|l| l.stride()) } else { 0 };
        let parts = if size.training { size.parts } else { 0 };
        let copies =
            layers.iter().enumerate().map(|(k, l)| size.copies[k.min(1)] * l.weight.value.len()).max().unwrap_or(0);
        Self {
            gradient: arena.numbers(rows),
            active: arena.list(if size.training { size.nodes } else { 0 }),
            projected: arena.numbers(rows),
            partial: arena.numbers(parts * widest(&|l| 2 * l.stride())),
            losses: arena.list(parts),
            samples: EdgeSamples::with_capacity(size.nodes, size.positives, size.negatives, arena),
            contrast: ContrastSamples::with_capacity(size.nodes, size.contrast, arena),
            copies: arena.numbers(if size.training { copies } else { 0 }),
            transposed: arena.numbers(if size.training { widest(&|l| l.weight.value.len()) } else { 0 }),
        }
    }

    /// `gradient = projected W^T`: from the projected features of a layer to its (dropped) input.
    pub fn input_gradient(&mut self, parts: &Parts, nodes: usize, layer: &Layer<T>) {
        let (stride, width) = (layer.stride(), layer.input_width());
        let weight = &layer.weight.value;
        let transposed = &mut self.transposed[..weight.len()];
        transpose(weight, width, stride, transposed);
        let x = Dense { values: &self.projected[..nodes * stride], columns: stride };
        T::dense_product(parts, x, None, transposed, width, &mut self.gradient[..nodes * width]);
    }
}
