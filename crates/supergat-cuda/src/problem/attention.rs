//! Division of the work of attention on the edges of an example.

use crate::launch::Cuda;
use cudarc::driver::CudaSlice;
use supergat_core::Result;
use supergat_core::device::Lists;
use supergat_core::graph::Adjacency;

/// Division of the work of attention on a graph.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Position of each outgoing edge among the incoming edges.
    pub(crate) positions: CudaSlice<u32>,
    /// Nodes with more incoming edges than light nodes have, the heaviest first.
    pub(crate) heavy_targets: Heavy,
    /// Nodes with more incoming or outgoing edges than light nodes have; `None` if they are the same, in a symmetric
    /// graph.
    heavy: Option<Heavy>,
    /// Largest number of edges of a light node.
    pub(crate) most_edges: u32,
    /// Lanes that share a light node.
    pub(crate) lanes: i64,
}

/// Nodes that have a block each.
#[derive(Debug)]
pub(crate) struct Heavy {
    pub(crate) nodes: CudaSlice<u32>,
    pub(crate) count: usize,
}

impl Heavy {
    fn new(cuda: &Cuda, nodes: usize, most_edges: usize, degree: impl Fn(usize) -> usize) -> Result<Self> {
        let mut heavy: Vec<u32> = (0..nodes as u32).filter(|&i| degree(i as usize) > most_edges).collect();
        heavy.sort_by_key(|&i| (std::cmp::Reverse(degree(i as usize)), i));
        Ok(Self { nodes: cuda.uploaded(&heavy)?, count: heavy.len() })
    }

    /// Returns the number of blocks for these nodes.
    pub(crate) fn blocks(&self, cuda: &Cuda) -> u32 {
        self.count.min(HEAVY_BLOCKS * cuda.multiprocessors()) as u32
    }
}

/// Largest number of blocks per multiprocessor for heavy nodes.
const HEAVY_BLOCKS: usize = 4;

/// Number of nodes from which on a graph alone keeps a GPU busy, so that only much larger nodes need a block.
pub(crate) const LARGE_GRAPH: usize = 100_000;

impl Plan {
    /// Divides the work on the edges of a graph.
    pub(crate) fn new(cuda: &Cuda, lists: Lists<'_>) -> Result<Self> {
        let Lists { incoming, outgoing, edges, .. } = lists;
        let nodes = incoming.offsets.len() - 1;
        let most_edges = if nodes < LARGE_GRAPH { 32 } else { 256 };
        let degree = |lists: &Adjacency, i: usize| lists.range(i).len();
        let heavy_targets = Heavy::new(cuda, nodes, most_edges, |i| degree(incoming, i))?;
        let heavy = match lists.symmetric {
            true => None,
            false => Some(Heavy::new(cuda, nodes, most_edges, |i| degree(incoming, i).max(degree(outgoing, i)))?),
        };
        let positions: Vec<u32> = outgoing
            .neighbours
            .iter()
            .zip(lists.place_at_target)
            .map(|(&target, &place)| incoming.offsets[target as usize] as u32 + place)
            .collect();
        // Few nodes leave lanes idle unless many lanes share each of them. Many nodes fill the GPU with few lanes each, which
        // have fewer sums to combine.
        let is_small = nodes * 16 < cuda.multiprocessors() * 1024;
        let lanes = match nodes {
            _ if is_small || edges >= 16 * nodes => 32,
            LARGE_GRAPH.. => 8,
            _ => 16,
        };
        Ok(Self { positions: cuda.uploaded(&positions)?, heavy_targets, heavy, most_edges: most_edges as u32, lanes })
    }

    /// Returns the nodes that have a block each in the backward pass.
    pub(crate) fn heavy(&self) -> &Heavy {
        self.heavy.as_ref().unwrap_or(&self.heavy_targets)
    }
}
