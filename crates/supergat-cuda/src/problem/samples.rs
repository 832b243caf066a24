//! Samplers of the loss on attention, prepared for an example.

use super::margin::MarginPlan;
use crate::error::device_error;
use crate::launch::{Cuda, SIDE_BY_SIDE, SMALL_GRAPH};
use cudarc::driver::CudaSlice;
use supergat_core::device::AttentionLoss;
use supergat_core::random::Permutation;
use supergat_core::sampling::{SampleSizes, non_edges};
use supergat_core::{Example, Graph, Result};

/// Threads of a block of the kernel.
pub(crate) const THREADS: u32 = 512;
/// Blocks per multiprocessor that run at once.
const BLOCKS: usize = 2;

/// Loss on attention, prepared for one example.
#[derive(Debug)]
pub(crate) enum Plan {
    /// No loss on attention.
    None,
    /// Samplers of the edge loss.
    Edges(EdgePlan),
    /// Candidates of the margin losses.
    Margins(MarginPlan),
}

/// Samplers of the edge loss.
#[derive(Debug)]
pub(crate) struct EdgePlan {
    pub(crate) sizes: SampleSizes,
    /// Number of candidates that are proposed.
    pub(crate) candidates: usize,
    /// All non-edges `[source, target]` and their number, if the graph has few of them.
    pub(crate) listed: Option<(CudaSlice<u32>, usize)>,
    /// Number of blocks of the kernel.
    pub(crate) blocks: usize,
}

impl Plan {
    /// Prepares the loss on attention for an example, of whose edges attention reads `edges`.
    pub(crate) fn new(cuda: &Cuda, example: &Example<f32>, edges: usize, loss: AttentionLoss) -> Result<Self> {
        let graph = &*example.graph;
        Ok(match loss {
            _ if example.train.is_empty() => Self::None,
            AttentionLoss::None => Self::None,
            AttentionLoss::Edges { p_e, p_n } => {
                SampleSizes::new(graph, p_e, p_n)?;
                Self::Edges(EdgePlan::new(cuda, graph, SampleSizes::of(graph.nodes(), edges, p_e, p_n)?)?)
            }
            AttentionLoss::Margins(contrast) => Self::Margins(MarginPlan::new(cuda, example, contrast)?),
        })
    }

    /// Returns the candidates of the margin losses.
    pub(crate) fn margins(&self) -> Option<&MarginPlan> {
        if let Self::Margins(plan) = self { Some(plan) } else { None }
    }

    /// Returns the samplers of the edge loss.
    pub(crate) fn edges(&self) -> Option<&EdgePlan> {
        if let Self::Edges(plan) = self { Some(plan) } else { None }
    }
}

impl EdgePlan {
    fn new(cuda: &Cuda, graph: &Graph, sizes: SampleSizes) -> Result<Self> {
        let is_dense = graph.non_edges() < graph.edges() as u64 || (graph.nodes() as u64) < Permutation::SHORTEST;
        let listed = if is_dense {
            let pairs = non_edges(graph.incoming());
            Some((cuda.uploaded(pairs.as_flattened())?, pairs.len()))
        } else {
            None
        };
        let candidates = if is_dense { 0 } else { candidates(graph, sizes.negatives) };
        if candidates >= 1 << 31 || sizes.negatives >= 1 << 31 {
            return Err(device_error(format!(
                "{} negative pairs per step are more than a GPU can number: lower p_n or p_e",
                sizes.negatives
            )));
        }
        let work =
            [graph.edges().div_ceil(8), candidates, sizes.negatives, graph.nodes()].into_iter().max().unwrap_or(0);
        // Blocks wait for one another, so all blocks of all trainings that run side by side must fit at once.
        let trainings = if graph.nodes() <= SMALL_GRAPH { SIDE_BY_SIDE } else { 1 };
        let most = (BLOCKS * cuda.multiprocessors() / trainings).max(1);
        let blocks = work.div_ceil(THREADS as usize).clamp(1, most);
        Ok(Self { sizes, candidates, listed, blocks })
    }
}

/// Returns how many candidates contain `wanted` non-edges: the mean, ten standard deviations and a few more, or all
/// pairs.
fn candidates(graph: &Graph, wanted: usize) -> usize {
    if wanted == 0 {
        return 0;
    }
    let pairs = (graph.nodes() as f64).powi(2);
    let accepted = graph.non_edges() as f64 / pairs;
    let wanted = wanted as f64;
    let count = (wanted + 10.0 * (wanted * (1.0 - accepted)).sqrt()) / accepted + 64.0;
    count.min(pairs).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;

    #[test]
    fn proposes_enough_candidates_but_never_more_than_all_pairs() {
        let edges: Vec<(u32, u32)> = (0..99).map(|i| (i, i + 1)).collect();
        let graph = Graph::from_edges(100, &edges, Direction::Undirected).unwrap();
        // 97.02 % of the pairs are non-edges: (100 + 10 sqrt(100 * 0.0298)) / 0.9702 + 64 = 184.9.
        assert_eq!([0, 100].map(|wanted| candidates(&graph, wanted)), [0, 185]);
        assert_eq!(candidates(&graph, graph.non_edges() as usize), 10_000);
    }
}
