//! Margin losses of CGAT on the CPU: what is prepared for an example, and the samples of a step. Formulas are in
//! `layers/contrast.rs`.

use crate::kernels::{
    Attention, Margin, NodeScores, OutgoingEdges, Parts, Pool, Primitives, RivalDraws, ScoreGradient, draw_rivals,
    group_by_rival,
};
use supergat_core::contrast::ClassEdges;
use supergat_core::device::STATE;
use supergat_core::hyperparameters::{ClassConstraintSettings, ConstraintSettings};
use supergat_core::memory::Arena;
use supergat_core::random::{Purpose, Stream};
use supergat_core::stopwatch::timed;
use supergat_core::{Contrast, Example, Graph, Result};

/// Constraints on one example. Built once and shared by all runs.
#[derive(Debug)]
pub struct ContrastPlan {
    contrast: Contrast,
    classes: Option<ClassEdges>,
}

impl ContrastPlan {
    /// Validates the constraints and prepares them for an example.
    pub fn new<T: Primitives>(example: &Example<T>, contrast: Contrast) -> Result<Self> {
        contrast.check()?;
        let classes = contrast.training_classes(&example.labels, &example.train)?;
        let classes = classes.map(|class| ClassEdges::new(example.graph.incoming().lists(), 0, &class));
        Ok(Self { contrast, classes })
    }

    /// Returns the number of edges per node that each head attends to in training.
    pub fn top_k(&self) -> usize {
        self.contrast.constraints.top_k
    }

    /// Returns the maximum number of comparisons on `graph`, for each of the two losses.
    pub fn slots(&self, graph: &Graph) -> [usize; 2] {
        let slots = graph.edges() * self.contrast.constraints.negatives_per_edge;
        [slots, if self.classes.is_some() { slots } else { 0 }]
    }
}

/// Samples of one layer and step. The memory fits the largest graph and is reused in every step.
#[derive(Debug)]
pub struct ContrastSamples {
    structure: Comparisons,
    boundary: Comparisons,
}

/// Sampled triples of a margin loss.
#[derive(Debug)]
struct Comparisons {
    rivals: Vec<u32>,
    offsets: Vec<u64>,
    triples: Vec<[u32; 2]>,
}

impl Comparisons {
    fn with_capacity(nodes: usize, slots: usize, arena: &mut Arena) -> Self {
        let offsets = if slots == 0 { 0 } else { nodes + 1 };
        Self { rivals: arena.empty(slots), offsets: arena.empty(offsets), triples: arena.empty(slots) }
    }

    /// Draws `per_edge` nodes for every edge, or for the edges whose bit in `among` is set.
    fn draw(
        &mut self,
        graph: &Graph,
        parts: &Parts,
        pool: Pool<'_>,
        among: Option<&Vec<u8>>,
        stream: Stream,
        per_edge: usize,
    ) {
        let draws = RivalDraws { stream, first_edge: 0, per_edge };
        let incoming = graph.incoming().lists();
        self.rivals.resize(graph.edges() * per_edge, 0);
        timed("draw_rivals", || draw_rivals(parts, incoming, pool, among.map(Vec::as_slice), draws, &mut self.rivals));
        let Self { rivals, offsets, triples } = self;
        timed("group_by_rival", || group_by_rival(incoming, rivals, per_edge, offsets, triples));
    }

    /// Collects the arguments of the margin kernel.
    fn margin(&self, per_edge: usize, heads: usize, lambda: f64, margin: f64) -> Margin<'_> {
        let weight = lambda / (self.triples.len().max(1) * heads) as f64;
        Margin { rivals: &self.rivals, per_edge, offsets: &self.offsets, triples: &self.triples, margin, weight }
    }
}

/// Arguments of the margin losses besides the samples, as attention's own backward pass uses them.
#[derive(Debug, Clone, Copy)]
pub struct Scores<'a, T> {
    /// Division of nodes by their edges.
    pub parts: &'a Parts,
    /// Graph of the example.
    pub graph: &'a Graph,
    /// Attention in training.
    pub attention: Attention<'a, T>,
    /// State of every node.
    pub state: &'a [T],
}

impl ContrastSamples {
    /// Allocates samples for graphs of up to `nodes` nodes and up to `slots` comparisons in each loss.
    pub fn with_capacity(nodes: usize, slots: [usize; 2], arena: &mut Arena) -> Self {
        let [structure, boundary] = slots.map(|slots| Comparisons::with_capacity(nodes, slots, arena));
        Self { structure, boundary }
    }

    /// Draws the samples of a step; `stream` returns the random stream of a purpose.
    pub fn draw(&mut self, graph: &Graph, parts: &Parts, plan: &ContrastPlan, stream: impl Fn(Purpose) -> Stream) {
        let Self { structure, boundary } = self;
        let (incoming, per_edge) = (graph.incoming().lists(), plan.contrast.constraints.negatives_per_edge);
        let others = (Pool::Outside(incoming, graph.nodes()), stream(Purpose::ContrastRivals));
        match &plan.classes {
            None => structure.draw(graph, parts, others.0, None, others.1, per_edge),
            Some(ClassEdges { alike, unlike }) => {
                structure.draw(graph, parts, others.0, Some(alike), others.1, per_edge);
                let stream = stream(Purpose::BoundaryRivals);
                boundary.draw(graph, parts, Pool::Listed(unlike.lists()), Some(alike), stream, per_edge);
            }
        }
    }

    /// Adds the gradients of both losses to those of attention. Returns the weighted sum of the losses.
    pub fn backward<T: Primitives>(
        &self,
        plan: &ContrastPlan,
        scores: Scores<'_, T>,
        d_z: &mut [T],
        d_vectors: &mut [T],
        losses: &mut [f64],
    ) -> f64 {
        let ConstraintSettings { negatives_per_edge, lambda_g, margin_g, .. } = plan.contrast.constraints;
        let heads = scores.attention.layout.heads;
        let structure = self.structure.margin(negatives_per_edge, heads, lambda_g, margin_g);
        let of_classes = |ClassConstraintSettings { lambda_b, margin_b }| {
            self.boundary.margin(negatives_per_edge, heads, lambda_b, margin_b)
        };
        let boundary = plan.contrast.boundary.map(of_classes);
        let Scores { parts, graph, attention, state } = scores;
        let first_edges = &graph.incoming().offsets;
        let outgoing = OutgoingEdges { lists: graph.outgoing().lists(), places: graph.place_at_target(), first_edges };
        let scores = NodeScores { targets: state, target_rows: STATE, sources: attention.source_score, first_node: 0 };
        let mut sum = 0.0;
        for margin in [Some(structure), boundary].into_iter().flatten() {
            let to = ScoreGradient { z: &mut *d_z, vectors: &mut *d_vectors, losses: &mut *losses };
            T::margin_backward(parts, attention, scores, margin, outgoing, to);
            sum += margin.weight * losses.iter().sum::<f64>();
        }
        sum
    }
}
