//! Candidates of the margin losses in the memory of the GPU.

use super::lists::Lists;
use crate::launch::Cuda;
use cudarc::driver::CudaSlice;
use supergat_core::contrast::ClassEdges;
use supergat_core::graph::Adjacency;
use supergat_core::{Contrast, Example, Result};

/// Constraints on one example.
#[derive(Debug)]
pub(crate) struct MarginPlan {
    pub(crate) contrast: Contrast,
    /// Number of triples of the loss between edges and non-edges.
    pub(crate) triples: usize,
    pub(crate) classes: Option<Classes>,
}

/// Edges of the training nodes, by class.
#[derive(Debug)]
pub(crate) struct Classes {
    /// Bit per edge: whether it joins training nodes of the same class.
    pub(crate) alike: CudaSlice<u8>,
    /// For each training node, the training nodes of other classes that have an edge to it.
    pub(crate) unlike: Lists,
    /// Number of triples of the loss between classes.
    pub(crate) triples: usize,
}

impl MarginPlan {
    /// Validates the constraints and prepares them for an example.
    pub(crate) fn new(cuda: &Cuda, example: &Example<f32>, contrast: Contrast) -> Result<Self> {
        contrast.check()?;
        let graph = &*example.graph;
        let incoming = graph.incoming();
        let (nodes, per_edge) = (graph.nodes(), contrast.constraints.negatives_per_edge);
        let outside = |i: usize| nodes - incoming.range(i).len();
        let classes = contrast.training_classes(&example.labels, &example.train)?;
        let (triples, classes) = match classes.map(|class| ClassEdges::new(incoming.lists(), 0, &class)) {
            None => (count(incoming, None, outside) * per_edge, None),
            Some(ClassEdges { alike, unlike }) => {
                let classes = Classes {
                    alike: cuda.uploaded(&alike)?,
                    triples: count(incoming, Some(&alike), |i| unlike.range(i).len()) * per_edge,
                    unlike: Lists::new(cuda, &unlike)?,
                };
                (count(incoming, Some(&alike), outside) * per_edge, Some(classes))
            }
        };
        Ok(Self { contrast, triples, classes })
    }
}

/// Returns the number of edges that have rivals: those with a bit in `among` whose target has a pool.
fn count(incoming: &Adjacency, among: Option<&[u8]>, pool: impl Fn(usize) -> usize) -> usize {
    let is_among = |e: usize| among.is_none_or(|bits| bits[e / 8] >> (e % 8) & 1 == 1);
    let nodes = incoming.offsets.len() - 1;
    (0..nodes).filter(|&i| pool(i) > 0).map(|i| incoming.range(i).filter(|&e| is_among(e)).count()).sum()
}
