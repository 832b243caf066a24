//! Plan of an example: everything that stays constant during training. Context: an example and its plan in
//! one pass.

use super::contrast::{Contrast, ContrastPlan};
use super::input::InputParts;
use crate::error::Result;
use crate::example::Example;
use crate::graph::Graph;
use crate::kernels::{Parts, Primitives};
use crate::random::{Purpose, Stream};
use crate::sampling::{NegativeSampler, SampleSizes};

/// Seed and step that determine all random numbers of a training step.
///
/// See [`crate::Session`] for an example.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the step, from 0.
    pub step: u32,
}

/// Kind of loss on attention that a model is trained with.
///
/// [`crate::Prepared`] chooses it by the model kind and has an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttentionLoss {
    /// No loss on attention: labels only.
    None,
    /// SuperGAT: edges against sampled non-edges.
    Edges {
        /// Share of the edges that is sampled in each step.
        p_e: f64,
        /// Number of non-edges per sampled edge.
        p_n: f64,
    },
    /// CGAT: margins between the scores of edges.
    Margins(Contrast),
}

/// Loss on attention, prepared for one example.
#[derive(Debug)]
pub(crate) enum Supervision {
    /// No loss on attention.
    None,
    /// Samplers of the edge loss.
    Edges(NegativeSampler, SampleSizes),
    /// Candidates of the margin losses.
    Margins(ContrastPlan),
}

impl Supervision {
    /// Capacity of the two lists of samples that a step on `graph` needs.
    pub(crate) fn capacity(&self, graph: &Graph) -> [usize; 2] {
        match self {
            Self::None => [0, 0],
            Self::Edges(_, sizes) => [graph.edges(), sizes.negatives],
            Self::Margins(plan) => plan.slots(graph),
        }
    }
}

/// Division of the work on one example among threads, and the samplers of its loss on attention. Built once
/// and shared by all runs.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Division by rows and by stored features.
    pub(crate) input: InputParts,
    /// Division of nodes by their edges.
    pub(crate) edges: Parts,
    /// Training nodes, as a mask.
    pub(crate) chosen: Vec<bool>,
    /// Loss on attention; none where the example has no training nodes.
    pub(crate) supervision: Supervision,
}

impl Plan {
    /// Prepares an example for training with `loss`.
    pub(crate) fn new<T: Primitives>(example: &Example<T>, loss: AttentionLoss) -> Result<Self> {
        let graph = &*example.graph;
        let work: Vec<u64> =
            graph.incoming().offsets.iter().zip(&graph.outgoing().offsets).map(|(a, b)| a + b).collect();
        let mut chosen = vec![false; graph.nodes()];
        example.train.iter().for_each(|&node| chosen[node as usize] = true);
        let supervision = match loss {
            _ if example.train.is_empty() => Supervision::None,
            AttentionLoss::None => Supervision::None,
            AttentionLoss::Edges { p_e, p_n } => {
                Supervision::Edges(NegativeSampler::new(graph), SampleSizes::new(graph, p_e, p_n)?)
            }
            AttentionLoss::Margins(contrast) => Supervision::Margins(ContrastPlan::new(example, contrast)?),
        };
        let input = InputParts::new(&example.features);
        Ok(Self { input, edges: Parts::by_offsets(&work), chosen, supervision })
    }
}

/// One example with its plan, and the randomness of the pass. Created by [`crate::Prepared::context`].
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a, T> {
    pub(crate) example: &'a Example<T>,
    pub(crate) plan: &'a Plan,
    /// Randomness in training; `None` in evaluation.
    pub(crate) draw: Option<Draw>,
}

impl<'a, T> Context<'a, T> {
    /// Returns the random stream of a layer in training.
    pub(crate) fn stream(&self, layer: u16, purpose: Purpose) -> Option<Stream> {
        self.draw.map(|draw| Stream::new(draw.seed, draw.step, layer, purpose))
    }

    /// Returns CGAT's constraints on attention, which apply in training only.
    pub(crate) fn constraint(&self) -> Option<(&'a ContrastPlan, Draw)> {
        match &self.plan.supervision {
            Supervision::Margins(plan) => Some(plan).zip(self.draw),
            _ => None,
        }
    }
}
