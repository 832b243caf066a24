//! An example on the CPU: the division of its work among threads, and the samplers of its loss on attention.

use super::contrast::ContrastPlan;
use super::input::InputParts;
use crate::architecture::Architecture;
use crate::error::Result;
use crate::example::Example;
use crate::graph::Graph;
use crate::kernels::{Parts, Primitives};
use crate::layers::AttentionLoss;
use crate::model_kind::ModelKind;
use crate::sampling::{NegativeSampler, SampleSizes};

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
    /// Loss on attention; none where the example has no training nodes.
    pub(super) supervision: Sampler,
    /// Weights of the sums of a graph convolution: outer and inner factors. Empty for other models.
    pub(super) factors: [Vec<T>; 2],
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
        let supervision = match loss {
            _ if example.train.is_empty() => Sampler::None,
            AttentionLoss::None => Sampler::None,
            AttentionLoss::Edges { p_e, p_n } => {
                Sampler::Edges(NegativeSampler::new(graph), SampleSizes::new(graph, p_e, p_n)?)
            }
            AttentionLoss::Margins(contrast) => Sampler::Margins(ContrastPlan::new(example, contrast)?),
        };
        let factors = match architecture.model {
            ModelKind::Convolution(convolution) => {
                convolution.factors(graph).map(|factors| factors.into_iter().map(T::from_f64).collect())
            }
            _ => [Vec::new(), Vec::new()],
        };
        let input = InputParts::new(&example.features);
        let edges = Parts::by_offsets(&work);
        Ok(Self { example: example.clone(), input, edges, chosen, supervision, factors })
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.example.graph
    }

    pub(super) fn nodes(&self) -> usize {
        self.example.graph.nodes()
    }
}
