//! Weights of graph convolutions in the memory of the GPU.

use super::sparse::Segments;
use crate::launch::Cuda;
use cudarc::driver::CudaSlice;
use supergat_core::{Architecture, EdgeWeights, Example, HeadLayout, ModelKind, Result};

/// Weights of the sums of a graph convolution, and the division of its work.
#[derive(Debug)]
pub(crate) struct Factors {
    pub(crate) outer: CudaSlice<f32>,
    pub(crate) inner: CudaSlice<f32>,
    pub(crate) incoming: Segments,
    /// `None` if the graph is symmetric.
    pub(crate) outgoing: Option<Segments>,
    /// Weights of edges by incoming and by outgoing list; `None` if all are 1.
    pub(crate) edge_weights: Option<[CudaSlice<f32>; 2]>,
    pub(crate) partial: CudaSlice<f32>,
}

impl Factors {
    /// Computes the weights of all nodes; `None` for networks without convolutions.
    pub fn new(cuda: &Cuda, example: &Example<f32>, architecture: &Architecture) -> Result<Option<Self>> {
        let ModelKind::Convolution(convolution) = architecture.model else { return Ok(None) };
        let graph = &*example.graph;
        let weights = EdgeWeights::new(graph, example.edges.as_deref());
        let factors = convolution.factors(graph.nodes(), |node| weights.degrees(graph, node));
        let [outer, inner] = factors.map(|factors| factors.iter().map(|&factor| factor as f32).collect::<Vec<_>>());
        let edge_weights = match weights.by_incoming.is_empty() {
            true => None,
            false => Some([cuda.uploaded(&weights.by_incoming)?, cuda.uploaded(&weights.by_outgoing)?]),
        };
        let incoming = Segments::new(cuda, graph.incoming().offsets.iter().copied())?;
        let outgoing = if graph.is_symmetric() {
            None
        } else {
            Some(Segments::new(cuda, graph.outgoing().offsets.iter().copied())?)
        };
        let rows = incoming.rows.max(outgoing.as_ref().map_or(0, |o| o.rows));
        let widths = [
            architecture.network.heads * architecture.network.hidden,
            architecture.classes,
            architecture.network.output_heads * architecture.classes,
        ];
        let width = widths.map(|features| HeadLayout::plain(features).stride()).into_iter().max().unwrap_or(0);
        Ok(Some(Self {
            outer: cuda.uploaded(&outer)?,
            inner: cuda.uploaded(&inner)?,
            incoming,
            outgoing,
            edge_weights,
            partial: cuda.zeros(rows * width)?,
        }))
    }
}
