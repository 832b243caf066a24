//! Labels and split in the memory of the GPU.

use crate::launch::Cuda;
use crate::memory::address;
use cudarc::driver::CudaSlice;
use supergat_core::{Architecture, Example, Labels, Result};

/// Largest number of blocks of a kernel that sums losses.
pub(crate) const BLOCKS: usize = 1024;

/// Labels and split in the memory of the GPU.
#[derive(Debug)]
pub(crate) struct LabelMemory {
    pub(crate) classes: usize,
    /// Class of each node; for single labels.
    pub(crate) single: Option<CudaSlice<u32>>,
    /// 0 or 1 for each node and class; for multiple labels.
    pub(crate) multi: Option<CudaSlice<u8>>,
    /// Training nodes, as a mask, their number, and the sum of their weights.
    pub(crate) chosen: CudaSlice<u8>,
    pub(crate) train: usize,
    pub(crate) total: f64,
    /// Place of each node among the training nodes; empty unless labels are input.
    pub(crate) places: CudaSlice<u32>,
    /// Weight of each class; `None` if all are 1.
    pub(crate) class_weights: Option<CudaSlice<f64>>,
    /// Validation and test nodes.
    pub(crate) validation: CudaSlice<u32>,
    pub(crate) test: CudaSlice<u32>,
    pub(crate) counts: [usize; 2],
    /// Sums of the blocks of an evaluation.
    pub(crate) partial: CudaSlice<f64>,
    /// Number of blocks of an evaluation that are done; zero between kernels.
    pub(crate) tickets: CudaSlice<u32>,
}

impl LabelMemory {
    /// Places labels and split in the memory of the GPU.
    pub fn new(cuda: &Cuda, example: &Example<f32>, architecture: &Architecture) -> Result<Self> {
        let places = if architecture.reads_labels() { example.training_places() } else { Vec::new() };
        let mut chosen = vec![0u8; example.graph.nodes()];
        example.train.iter().for_each(|&node| chosen[node as usize] = 1);
        let (single, multi) = match &example.labels {
            Labels::Single { of, .. } => (Some(cuda.uploaded(of)?), None),
            Labels::Multi { of, .. } => (None, Some(cuda.uploaded(of)?)),
        };
        Ok(Self {
            classes: example.labels.classes(),
            single,
            multi,
            chosen: cuda.uploaded(&chosen)?,
            train: example.train.len(),
            total: example.training_weight(),
            places: cuda.uploaded(&places)?,
            class_weights: example.class_weights.as_deref().map(|weights| cuda.uploaded(weights)).transpose()?,
            validation: cuda.uploaded(&example.validation)?,
            test: cuda.uploaded(&example.test)?,
            counts: [example.validation.len(), example.test.len()],
            partial: cuda.zeros(2 * 4 * BLOCKS)?,
            tickets: cuda.zeros(2)?,
        })
    }

    /// Returns the addresses of single and of multiple labels; one of them is zero.
    pub fn addresses(&self) -> [u64; 2] {
        [self.single.as_ref().map_or(0, address), self.multi.as_ref().map_or(0, address)]
    }

    /// Returns the lanes that share a row, and the blocks for a number of rows. Many rows have few lanes each, so that more of
    /// them are read at once.
    pub(crate) fn division(&self, rows: usize) -> (u32, usize) {
        let mut lanes = self.classes.div_ceil(4).next_power_of_two().min(32);
        while lanes > 4 && rows * lanes > 256 * BLOCKS {
            lanes /= 2;
        }
        (lanes as u32, rows.div_ceil(256 / lanes).clamp(1, BLOCKS))
    }
}
