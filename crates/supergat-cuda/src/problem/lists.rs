//! Lists of neighbours in the memory of the GPU.

use crate::launch::Cuda;
use cudarc::driver::CudaSlice;
use supergat_core::Result;
use supergat_core::graph::Adjacency;

/// Lists of neighbours in compressed form.
#[derive(Debug)]
pub(crate) struct Lists {
    /// Start of each list, and the end of the last.
    pub offsets: CudaSlice<u32>,
    /// All lists, one after another.
    pub nodes: CudaSlice<u32>,
}

impl Lists {
    /// Copies lists to the GPU.
    pub(crate) fn new(cuda: &Cuda, lists: &Adjacency) -> Result<Self> {
        let offsets: Vec<u32> = lists.offsets.iter().map(|&offset| offset as u32).collect();
        Ok(Self { offsets: cuda.uploaded(&offsets)?, nodes: cuda.uploaded(&lists.neighbours)? })
    }
}
