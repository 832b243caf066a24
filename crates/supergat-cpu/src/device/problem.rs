//! An example on the CPU: the division of its work among threads, and the samplers of its loss on attention.

use super::contrast::ContrastPlan;
use super::input::InputParts;
use crate::Cpu;
use crate::kernels::{Dense, EdgeTerms, Parts, Primitives};
use crate::sampling::NegativeSampler;
use supergat_core::device::{AttentionLoss, Input, LayerWidth, Lists, NoLoops};
use supergat_core::heads::LANES;
use supergat_core::memory::Buffer;
use supergat_core::sampling::SampleSizes;
use supergat_core::{Architecture, EdgeWeights, Example, Graph, ModelKind, Result};

/// An example with everything that stays constant in training.
#[derive(Debug)]
pub struct CpuProblem<T> {
    pub(super) example: Example<T>,
    /// Division by rows and by stored features.
    pub(super) input: InputParts,
    /// Division of nodes by their edges.
    pub(super) edges: Parts,
    /// Training nodes, as a mask.
    pub(super) chosen: Vec<bool>,
    /// Place of each node among the training nodes, if labels are input.
    pub(super) places: Vec<u32>,
    /// Loss on attention; none where the example has no training nodes.
    pub(super) supervision: Sampler,
    /// Weights of the sums of a graph convolution: outer and inner factors. Empty for other models.
    pub(super) factors: [Vec<T>; 2],
    /// Weights of edges in graph convolutions; empty for other models.
    pub(super) edge_weights: EdgeWeights<T>,
    /// ln of the weights of edges in attention; empty if all are 1.
    log_weights: Vec<T>,
    /// Neighbour lists of attention without self-loops, if it has none.
    pub(super) no_loops: Option<NoLoops>,
    /// Features of edges in attention without self-loops.
    features_without_loops: Vec<T>,
}

/// Samplers of the loss on attention.
#[derive(Debug)]
pub(super) enum Sampler {
    /// No loss on attention.
    None,
    /// Samplers of the edge loss.
    Edges(NegativeSampler, SampleSizes),
    /// Candidates of the margin losses.
    Margins(ContrastPlan),
}

impl Sampler {
    /// Capacity of the two lists of samples that a step on `graph` needs.
    pub(super) fn capacity(&self, graph: &Graph) -> [usize; 2] {
        match self {
            Self::None => [0, 0],
            // One bit per edge; without self-loops there are fewer.
            Self::Edges(_, sizes) => [graph.edges(), sizes.negatives],
            Self::Margins(plan) => plan.slots(graph),
        }
    }
}

impl<T: Primitives> CpuProblem<T> {
    /// Prepares an example for a network that is trained with `loss`.
    pub(super) fn new(example: &Example<T>, architecture: &Architecture, loss: AttentionLoss) -> Result<Self> {
        let graph = &*example.graph;
        let work: Vec<u64> =
            graph.incoming().offsets.iter().zip(&graph.outgoing().offsets).map(|(a, b)| a + b).collect();
        let mut chosen = vec![false; graph.nodes()];
        example.train.iter().for_each(|&node| chosen[node as usize] = true);
        let places = if architecture.reads_labels() { example.training_places() } else { Vec::new() };
        let no_loops = (!architecture.network.attends_to_self()).then(|| NoLoops::new(graph));
        let supervision = match loss {
            _ if example.train.is_empty() => Sampler::None,
            AttentionLoss::None => Sampler::None,
            AttentionLoss::Edges { p_e, p_n } => {
                let all = SampleSizes::new(graph, p_e, p_n)?;
                let sizes = match &no_loops {
                    Some(lists) => SampleSizes::of(graph.nodes(), lists.lists().edges, p_e, p_n)?,
                    None => all,
                };
                Sampler::Edges(NegativeSampler::new(graph), sizes)
            }
            AttentionLoss::Margins(contrast) => Sampler::Margins(ContrastPlan::new(example, contrast)?),
        };
        let weights = example.edges.as_ref().map_or(&[][..], |edges| edges.weights());
        if !weights.is_empty() {
            architecture.model.accepts_edge_weights()?;
        }
        let (mut log_weights, mut factors) = (Vec::new(), [Vec::new(), Vec::new()]);
        let mut edge_weights = EdgeWeights { by_incoming: Vec::new(), by_outgoing: Vec::new() };
        match architecture.model {
            ModelKind::Attention { .. } => {
                log_weights = weights.iter().map(|weight| T::from_f64(weight.to_f64().ln())).collect();
            }
            ModelKind::Convolution(convolution) => {
                edge_weights = EdgeWeights::new(graph, example.edges.as_deref());
                factors = convolution
                    .factors(graph.nodes(), |node| edge_weights.degrees(graph, node))
                    .map(|factors| factors.into_iter().map(T::from_f64).collect());
            }
            _ => {}
        }
        let precision = architecture.network.precision;
        precision.accepts_links(example.edges.is_some())?;
        let mut features_without_loops = Vec::new();
        if let Some(lists) = &no_loops {
            log_weights = lists.gathered(&log_weights, 1);
            if let Some(edges) = &example.edges {
                features_without_loops = lists.gathered(edges.features(), edges.width());
            }
        }
        Ok(Self {
            example: example.clone(),
            input: InputParts::new(&example.features),
            edges: Parts::by_offsets(&work),
            chosen,
            places,
            supervision,
            factors,
            edge_weights,
            log_weights,
            no_loops,
            features_without_loops,
        })
    }

    /// Checks that the backward pass of a layer can gather rows in its precision.
    pub(super) fn check_precision(&self, layer: &LayerWidth) -> Result<()> {
        let is_usual = self.lists().symmetric && layer.heads <= LANES;
        if !layer.precision.is_half() || self.example.train.is_empty() || is_usual {
            return Ok(());
        }
        Err(layer.precision.refused("trains at most eight heads, on links that count in both directions; use f32"))
    }

    /// Returns the weights and features of edges in attention.
    pub(super) fn edge_terms<'a>(&'a self, vectors: Option<&'a Buffer<T>>) -> Option<EdgeTerms<'a, T>> {
        let (vectors, attributes) = (vectors.map_or(&[][..], |vectors| vectors), self.example.edges.as_ref()?);
        let (width, features) = match &self.no_loops {
            _ if vectors.is_empty() => (0, &[][..]),
            Some(_) => (attributes.width(), &self.features_without_loops[..]),
            None => (attributes.width(), attributes.features()),
        };
        let is_read = !(vectors.is_empty() && self.log_weights.is_empty());
        is_read.then_some(EdgeTerms { log_weights: &self.log_weights, width, features, vectors })
    }

    /// Returns the rows of labels that a layer's input has.
    pub(super) fn labels<'a>(&self, input: Input<'a, Cpu<T>>) -> Option<Dense<'a, T>> {
        match input {
            Input::Labelled { rows, classes } => {
                Some(Dense { values: &rows[..self.nodes() * classes], columns: classes })
            }
            Input::Features | Input::Hidden { .. } => None,
        }
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.example.graph
    }

    /// Returns the nodes that attend to no node.
    pub(super) fn isolated(&self) -> &[u32] {
        self.no_loops.as_ref().map_or(&[], NoLoops::isolated)
    }

    /// Returns the neighbour lists of attention.
    pub(super) fn lists(&self) -> Lists<'_> {
        self.no_loops.as_ref().map_or_else(|| Lists::of(self.graph()), NoLoops::lists)
    }

    pub(super) fn nodes(&self) -> usize {
        self.example.graph.nodes()
    }
}
