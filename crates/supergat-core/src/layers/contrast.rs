//! What constrained graph attention (CGAT, Wang et al. 2019) adds to GO attention, as the paper's baseline uses it.
//!
//! ```text
//! s_ij  = LeakyReLU(a^T [z_i ; z_j])                                 the score of GO attention, for each head
//! alpha = softmax over j in top_k(i) of s_ij                         in training; over all j when evaluating
//! L_g   = mean over (i, j, k) and heads of relu(s_ik + margin_g - s_ij)     k is no neighbour of i
//! L_b   = mean over (i, j, k) and heads of relu(s_ik + margin_b - s_ij)     k is a neighbour of another class
//! loss  = label loss + sum over layers of (lambda_g L_g + lambda_b L_b)
//! ```
//!
//! What the paper leaves open is settled so:
//!
//! - Scores enter the margins after LeakyReLU and head by head: each head must keep the margin by itself.
//! - The edges `j -> i` are those of attention, self-loops included.
//! - Leaving out all but the best edges takes the place of dropout on coefficients: there is none, also in the published results.
//! - `cgat` compares every edge. `cgat-full-supervised` compares those between two training nodes of equal class, and has L_b.
//! - Every edge is compared with `negatives_per_edge` nodes k, drawn uniformly and independently: for L_g from all nodes without an edge to i, for L_b from
//!   the training nodes with an edge to i whose class is not that of i. Where there is no such node, the edge has no term; means are over the terms there are.
//! - top_k(i) is chosen by each head, the self-loop being one of the candidates; of equal scores the earlier edge is taken. It is constant for the gradient.
//!
//! The gradient: the softmax over chosen edges has the usual one with zero coefficients elsewhere; that of the margins is derived in `kernels/margin.rs`.

use crate::error::{Error, Result};
use crate::example::Example;
use crate::graph::{Adjacency, Graph};
use crate::hyperparameters::check;
use crate::kernels::{
    Attention, Margin, Parts, Pool, Primitives, ScoreGradient, compare_classes, draw_rivals, group_by_rival,
};
use crate::labels::Labels;
use crate::memory::Arena;
use crate::random::{Purpose, Stream};
use crate::stopwatch::timed;
use serde::{Deserialize, Serialize};

/// How attention is constrained in training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// Edges that each node and head attends to.
    pub top_k: usize,
    /// Nodes that each edge is compared with.
    pub negatives_per_edge: usize,
    /// Weight of the graph structure's margin loss.
    pub lambda_g: f64,
    /// Its margin.
    pub margin_g: f64,
    /// Constraints by classes, for the fully supervised setting.
    pub boundary: Option<Boundary>,
}

/// The class boundary's margin loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Boundary {
    /// Its weight.
    pub lambda_b: f64,
    /// Its margin.
    pub margin_b: f64,
}

impl Contrast {
    /// Validates every number.
    pub fn check(&self) -> Result<()> {
        check("top_k", self.top_k)?;
        check("negatives_per_edge", self.negatives_per_edge)?;
        check("lambda_g", self.lambda_g)?;
        check("margin_g", self.margin_g)?;
        if let Some(Boundary { lambda_b, margin_b }) = self.boundary {
            check("lambda_b", lambda_b)?;
            check("margin_b", margin_b)?;
        }
        Ok(())
    }
}

/// The constraints on one example. Made once, shared by all runs.
#[derive(Debug)]
pub struct ContrastPlan {
    contrast: Contrast,
    classes: Option<Classes>,
}

/// What the classes of training nodes say about edges.
#[derive(Debug)]
struct Classes {
    /// Edges between training nodes of equal class, as bits.
    alike: Vec<u8>,
    /// For each training node, the training nodes of other classes with an edge to it.
    unlike: Adjacency,
}

impl ContrastPlan {
    /// Looks at an example.
    pub fn new<T: Primitives>(example: &Example<T>, contrast: Contrast) -> Result<Self> {
        contrast.check()?;
        let graph = &example.graph;
        let classes = match (&contrast.boundary, &example.labels) {
            (None, _) => None,
            (Some(_), Labels::Single { of, .. }) => {
                let mut class = vec![Labels::UNKNOWN; graph.nodes()];
                example.train.iter().for_each(|&node| class[node as usize] = of[node as usize]);
                let (alike, offsets, neighbours) = compare_classes(graph.incoming().lists(), &class, Labels::UNKNOWN);
                Some(Classes { alike, unlike: Adjacency { offsets, neighbours } })
            }
            (Some(_), Labels::Multi { .. }) => {
                return Err(Error::Hyperparameter {
                    name: "lambda_b",
                    value: "given".into(),
                    reason: "classes have a boundary only where every node has one class; use the model cgat".into(),
                });
            }
        };
        Ok(Self { contrast, classes })
    }

    /// Edges that each node and head attends to in training.
    pub fn top_k(&self) -> usize {
        self.contrast.top_k
    }

    /// Slots for the nodes that the edges of `graph` are compared with, in each of the two losses.
    pub fn slots(&self, graph: &Graph) -> [usize; 2] {
        let slots = graph.edges() * self.contrast.negatives_per_edge;
        [slots, if self.classes.is_some() { slots } else { 0 }]
    }
}

/// The samples of one layer and step, with room for the largest graph, reused from step to step.
#[derive(Debug)]
pub struct ContrastSamples {
    structure: Comparisons,
    boundary: Comparisons,
}

/// The triples of a margin loss.
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

    fn draw(
        &mut self,
        graph: &Graph,
        parts: &Parts,
        pool: Pool<'_>,
        among: Option<&Vec<u8>>,
        stream: Stream,
        per_edge: usize,
    ) {
        let incoming = graph.incoming().lists();
        self.rivals.resize(graph.edges() * per_edge, 0);
        timed("draw_rivals", || {
            draw_rivals(parts, incoming, pool, among.map(Vec::as_slice), stream, per_edge, &mut self.rivals)
        });
        let Self { rivals, offsets, triples } = self;
        timed("group_by_rival", || group_by_rival(incoming, rivals, per_edge, offsets, triples));
    }

    fn margin(&self, per_edge: usize, heads: usize, lambda: f64, margin: f64) -> Margin<'_> {
        let weight = lambda / (self.triples.len().max(1) * heads) as f64;
        Margin { rivals: &self.rivals, per_edge, offsets: &self.offsets, triples: &self.triples, margin, weight }
    }
}

/// What the margin losses are computed from, besides the samples: what attention's own backward pass was.
#[derive(Debug, Clone, Copy)]
pub struct Scores<'a, T> {
    /// Division of nodes by their edges.
    pub parts: &'a Parts,
    /// The graph.
    pub graph: &'a Graph,
    /// Attention in training.
    pub attention: Attention<'a, T>,
    /// State of every node.
    pub state: &'a [T],
    /// `a_target` and `a_source`.
    pub vectors: [&'a [T]; 2],
}

impl ContrastSamples {
    /// Room for so many nodes, and slots of both losses.
    pub fn with_capacity(nodes: usize, slots: [usize; 2], arena: &mut Arena) -> Self {
        let [structure, boundary] = slots.map(|slots| Comparisons::with_capacity(nodes, slots, arena));
        Self { structure, boundary }
    }

    /// Draws the samples of a step; `stream` gives the stream of each purpose.
    pub fn draw(&mut self, graph: &Graph, parts: &Parts, plan: &ContrastPlan, stream: impl Fn(Purpose) -> Stream) {
        let Self { structure, boundary } = self;
        let (incoming, per_edge) = (graph.incoming().lists(), plan.contrast.negatives_per_edge);
        let others = (Pool::Outside(incoming), stream(Purpose::ContrastRivals));
        match &plan.classes {
            None => structure.draw(graph, parts, others.0, None, others.1, per_edge),
            Some(Classes { alike, unlike }) => {
                structure.draw(graph, parts, others.0, Some(alike), others.1, per_edge);
                let stream = stream(Purpose::BoundaryRivals);
                boundary.draw(graph, parts, Pool::Listed(unlike.lists()), Some(alike), stream, per_edge);
            }
        }
    }

    /// Adds the gradients of both losses to those that attention left; the weighted sum of the losses is returned.
    pub fn backward<T: Primitives>(
        &self,
        plan: &ContrastPlan,
        scores: Scores<'_, T>,
        d_z: &mut [T],
        d_vectors: &mut [T],
        losses: &mut [f64],
    ) -> f64 {
        let Contrast { negatives_per_edge, lambda_g, margin_g, boundary, .. } = plan.contrast;
        let heads = scores.attention.layout.heads;
        let structure = self.structure.margin(negatives_per_edge, heads, lambda_g, margin_g);
        let boundary = boundary
            .map(|Boundary { lambda_b, margin_b }| self.boundary.margin(negatives_per_edge, heads, lambda_b, margin_b));
        let Scores { parts, graph, attention, state, vectors } = scores;
        let way_back = (graph.outgoing().lists(), graph.place_at_target());
        let mut sum = 0.0;
        for margin in [Some(structure), boundary].into_iter().flatten() {
            let to = ScoreGradient { z: &mut *d_z, vectors: &mut *d_vectors, losses: &mut *losses };
            T::margin_backward(parts, attention, state, margin, way_back, vectors, to);
            sum += margin.weight * losses.iter().sum::<f64>();
        }
        sum
    }
}
