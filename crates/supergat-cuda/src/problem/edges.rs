//! Weights and features of edges in the memory of the GPU.

use crate::launch::Cuda;
use cudarc::driver::CudaSlice;
use supergat_core::device::{LayerWidth, NoLoops};
use supergat_core::{Architecture, Example, ModelKind, Result};

/// Weights and features of the edges of an example, as attention reads them.
#[derive(Debug)]
pub(crate) struct EdgeMemory {
    /// ln of the weight of each edge; `None` if all weights are 1.
    pub(crate) log_weights: Option<CudaSlice<f32>>,
    /// Features, a row per edge.
    pub(crate) features: CudaSlice<f32>,
    /// Number of features per edge.
    pub(crate) width: usize,
    /// Whether messages carry features.
    pub(crate) messages: bool,
}

impl EdgeMemory {
    /// Places what a network reads of the weights and features of edges; `None` if it reads nothing.
    pub(crate) fn new(
        cuda: &Cuda,
        example: &Example<f32>,
        no_loops: Option<&NoLoops>,
        architecture: &Architecture,
    ) -> Result<Option<Self>> {
        let (Some(edges), ModelKind::Attention { .. }) = (&example.edges, architecture.model) else { return Ok(None) };
        let logs: Vec<f32> = edges.weights().iter().map(|&weight| f64::from(weight).ln() as f32).collect();
        if logs.is_empty() && edges.width() == 0 {
            return Ok(None);
        }
        let (logs, without) = match no_loops {
            Some(lists) => (lists.gathered(&logs, 1), lists.gathered(edges.features(), edges.width())),
            None => (logs, Vec::new()),
        };
        let features = if no_loops.is_some() { &without } else { edges.features() };
        Ok(Some(Self {
            log_weights: if logs.is_empty() { None } else { Some(cuda.uploaded(&logs)?) },
            features: cuda.uploaded(features)?,
            width: edges.width(),
            messages: architecture.network.edge_messages,
        }))
    }

    /// Returns the numbers per block, and the counters, that gradients of the parameters of edge features need.
    pub(crate) fn scratch(&self, layers: &[LayerWidth]) -> [usize; 2] {
        let row = |layer: &LayerWidth| if self.messages { layer.stride.max(layer.heads) } else { layer.heads };
        [self.width * layers.iter().map(row).max().unwrap_or(0), self.width]
    }
}
